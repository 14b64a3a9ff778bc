#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check JSON of depctl against the schemas in Documentation/schema.

json_schema.py FILE SCHEMA: FILE holds one JSON text, or several, one a line; each must be valid
json_schema.py --keys MANUAL: each key means one thing, and MANUAL names it
"""
import json
import os
import re
import sys

import jsonschema

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../Documentation/schema")


def files():
    return sorted(f for f in os.listdir(FOLDER) if f.endswith(".json"))


def load(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as text:
        return json.load(text)


def validator(name):
    base = "file://" + os.path.abspath(FOLDER) + "/"
    schema = load(name)
    store = {base + f: load(f) for f in files()}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(
        schema, resolver=jsonschema.RefResolver(base + name, schema, store))


def no_twice(pairs):
    keys = [key for key, value in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError("key %s is there twice" % key)
    return dict(pairs)


def shape(line):
    """The same for lines whose addresses differ, and digits of their numbers: one is validated."""
    return re.sub("[0-9]", "0", re.sub("0x[0-9a-f]+", "0x0", line))


def check(file, name):
    with open(file, encoding="utf-8") as text:
        lines = [line for line in text if line.strip()]
    if not lines:
        return "no JSON"
    values = [json.loads(line, object_pairs_hook=no_twice) for line in lines]
    valid = validator(name)
    for value in {shape(line): value for line, value in zip(lines, values)}.values():
        error = jsonschema.exceptions.best_match(valid.iter_errors(value))
        if error:
            return "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:300])
    return None


def kind(schema, root):
    """The JSON types that a schema allows, null aside."""
    if "$ref" in schema:
        file, _, path = schema["$ref"].partition("#")
        root = load(file) if file else root
        for part in path.strip("/").split("/"):
            schema = root[part] if part == "$defs" else schema[part] if part in schema else \
                root["$defs"][part]
        return kind(schema, root)
    if "oneOf" in schema:
        return set().union(*(kind(s, root) for s in schema["oneOf"]))
    types = schema["type"]
    return {"number" if t == "integer" else t
            for t in ([types] if isinstance(types, str) else types) if t != "null"}


def properties(schema):
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        for value in schema.values():
            yield from properties(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from properties(value)


def check_keys(manual):
    with open(manual, encoding="utf-8") as text:
        known = set(re.findall(r"\w+", text.read()))
    types, wrong = {}, []
    for file in files():
        root = load(file)
        for key, schema in properties(root):
            if key in ("properties", "description"):
                continue
            types.setdefault(key, set()).update(kind(schema, root))
    for key in sorted(types):
        if len(types[key]) != 1:
            wrong.append("%s is %s" % (key, " and ".join(sorted(types[key]))))
        if not re.fullmatch("[a-z][a-z0-9_]*", key):
            wrong.append("%s is not in lower case with underscores" % key)
        if key not in known:
            wrong.append("%s is not in %s" % (key, os.path.basename(manual)))
    return "; ".join(wrong)


why = check_keys(sys.argv[2]) if sys.argv[1] == "--keys" else check(*sys.argv[1:3])
if why:
    sys.exit(why)

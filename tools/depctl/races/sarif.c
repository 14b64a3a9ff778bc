// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print races as SARIF 2.1.0.  A race is a result at the location of the earlier access.  The later
 * access and the creation of the threads are related locations.  Each of the two threads has a
 * thread flow.
 */
#include <stdio.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

static const struct rule {
	const char *id, *name, *level, *brief, *text, *help;
} rules[RACE_RANKS] = {
	[RACE_CERTAIN] = {
		"data-race", "DataRace", "error", "Data race",
		"Two threads access the same memory, at least one of them writes, and no "
		"synchronisation orders the two accesses.",
		"Let both threads hold the same lock, make the variable atomic, or let one thread "
		"wait for the other between the two accesses.",
	},
	[RACE_UNLESS_ATOMIC] = {
		"data-race-unless-atomic", "DataRaceUnlessAtomic", "warning",
		"Data race, unless the variable is atomic",
		"One of the accesses is a plain load or store of a word that other code accesses "
		"by locked instructions, or that a thread waited for in a loop. Compilers "
		"translate atomic loads and stores into such plain instructions.",
		"If the variable is not atomic in the source, make it atomic; otherwise there is "
		"nothing to do.",
	},
	[RACE_UNLESS_OVERREAD] = {
		"data-race-unless-overread", "DataRaceUnlessOverread", "note",
		"Data race, unless a string function overreads",
		"One of the accesses is a read by a function like strlen, which reads whole "
		"vectors and so also bytes after the end of the string.",
		"If the other thread writes only after the end of the string, there is nothing to "
		"do.",
	},
	[RACE_UNLESS_SPECULATIVE] = {
		"data-race-unless-speculative-load", "DataRaceUnlessSpeculativeLoad", "note",
		"Data race, unless a load is speculative",
		"One of the accesses is a load whose value is used only under a condition. "
		"Compilers may move such a load before its condition.",
		"If the source reads the variable only under that condition, and the other thread "
		"never writes the variable while the condition is true, there is nothing to do.",
	},
	[RACE_IN_LIBRARY] = {
		"data-race-in-library", "DataRaceInLibrary", "note",
		"Data race inside of the C library",
		"Both accesses are made by the C library to its own data.",
		"There is nothing to do.",
	},
};

static void message(struct json *j, const char *key, const char *text)
{
	json_object(j, key);
	json_str(j, "text", text);
	json_close(j, '}');
}

/* ---- places ---- */

/* Write a path as a URI.  A relative path stays relative: its base directory is not known. */
static void put_uri(struct json *j, const char *path)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/+@,=";
	char uri[8192];
	size_t n = 0;

	if (*path == '/')
		n = (size_t)snprintf(uri, sizeof(uri), "file://");
	for (; *path && n + 4 < sizeof(uri); path++) {
		if (strchr(plain, *path))
			uri[n++] = *path;
		else
			n += (size_t)snprintf(uri + n, 4, "%%%02X", (unsigned char)*path);
	}
	uri[n] = '\0';
	json_object(j, "artifactLocation");
	json_str(j, "uri", uri);
	json_close(j, '}');
}

static void physical(struct json *j, const struct dep_place *p)
{
	char name[512];

	json_object(j, "physicalLocation");
	if (p->file) {
		put_uri(j, p->file);
		if (p->line) {
			json_object(j, "region");
			json_u64(j, "startLine", p->line);
			if (p->column)
				json_u64(j, "startColumn", p->column);
			json_close(j, '}');
		}
	} else if (*p->module == '/') {
		put_uri(j, p->module);
	}
	snprintf(name, sizeof(name), "%s+0x%llx", *p->build_id ? p->build_id : p->module,
		 (unsigned long long)p->offset);
	json_object(j, "address");
	json_str(j, "fullyQualifiedName", name);
	json_close(j, '}');
	json_close(j, '}');
}

/* Write the members of a location except its id. */
static void location(struct json *j, const struct dep_place *p, const char *text)
{
	physical(j, p);
	if (p->function) {
		json_array(j, "logicalLocations");
		json_object(j, NULL);
		json_str(j, "fullyQualifiedName", p->function);
		if (p->symbol)
			json_str(j, "decoratedName", p->symbol);
		json_str(j, "kind", "function");
		json_close(j, '}');
		json_close(j, ']');
	}
	if (text)
		message(j, "message", text);
}

static void related(struct json *j, unsigned int id, const struct dep_place *p, const char *text)
{
	json_object(j, NULL);
	json_u64(j, "id", id);
	location(j, p, text);
	json_close(j, '}');
}

static void held(struct json *j, const struct race_view *v, int side, unsigned int *id)
{
	const struct dep_race_access *a = &v->race->access[side];
	char text[384], what[320];
	size_t i;

	for (i = 0; i < a->nheld; i++) {
		const struct race_stack *s = &v->held[side].lock[i].stack;

		if (!s->n)
			continue;
		race_say_lock(what, sizeof(what), v, side, i);
		snprintf(text, sizeof(text), "thread %u takes %s", a->tid, what);
		related(j, (*id)++, &s->place[s->own], text);
	}
}

/* Write the stack of an access as a thread flow, outermost frame first. */
static void flow(struct json *j, const struct race_view *v, int side, const char *text)
{
	const struct race_stack *s = &v->stack[side];
	char id[32];
	size_t i;

	snprintf(id, sizeof(id), "thread %u", v->race->access[side].tid);
	json_object(j, NULL);
	json_str(j, "id", id);
	json_array(j, "locations");
	for (i = s->n; i--;) {
		json_object(j, NULL);
		json_object(j, "location");
		location(j, &s->place[i], i ? NULL : text);
		json_close(j, '}');
		json_u64(j, "nestingLevel", s->n - 1 - i);
		json_str(j, "importance", i ? "important" : "essential");
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

/* ---- results ---- */

static void say_access(char *text, size_t size, const struct race_view *v, int side)
{
	const struct dep_place *p = &v->stack[side].place[v->stack[side].own];
	char held[512];

	race_say_held(held, sizeof(held), v, side);
	snprintf(text, size, "%s by thread %u in %.200s, %s",
		 race_access_name(&v->race->access[side]), v->race->access[side].tid,
		 p->function ? p->function : p->module, held);
}

void race_print_sarif(struct json *j, const struct race_view *v)
{
	const struct rule *rule = &rules[v->rank];
	char text[4096], access[2][896], created[96], how[1024], times[64];
	const struct race_stack *s = v->stack;
	unsigned int id = 2;
	int i;

	say_access(access[0], sizeof(access[0]), v, 0);
	say_access(access[1], sizeof(access[1]), v, 1);
	race_say_witness(how, sizeof(how), v);
	snprintf(times, sizeof(times), " It happened %llu time%s.",
		 (unsigned long long)v->race->count, v->race->count == 1 ? "" : "s");
	snprintf(text, sizeof(text), "%s%s: %s%s%llu bytes, %s, and %s, not ordered by "
		 "synchronisation.%s", v->race->predicted ? "Predicted: " : "", rule->brief,
		 v->named ? v->object.name : "", v->named ? ", " : "",
		 (unsigned long long)v->race->size, access[0], access[1],
		 v->race->predicted ? how : times);
	json_object(j, NULL);
	json_str(j, "ruleId", rule->id);
	json_u64(j, "ruleIndex", v->rank);
	json_str(j, "level", rule->level);
	message(j, "message", text);
	json_array(j, "locations");
	json_object(j, NULL);
	location(j, &s[0].place[s[0].own], access[0]);
	json_close(j, '}');
	json_close(j, ']');
	json_array(j, "relatedLocations");
	related(j, 1, &s[1].place[s[1].own], access[1]);
	for (i = 0; i < 2; i++) {
		if (!v->birth[i].n)
			continue;
		snprintf(created, sizeof(created), "thread %u is created by thread %u",
			 v->race->access[i].tid, v->race->access[i].creator_tid);
		related(j, id++, &v->birth[i].place[v->birth[i].own], created);
	}
	held(j, v, 0, &id);
	held(j, v, 1, &id);
	json_close(j, ']');
	json_array(j, "codeFlows");
	json_object(j, NULL);
	json_array(j, "threadFlows");
	flow(j, v, 0, access[0]);
	flow(j, v, 1, access[1]);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
	json_object(j, "partialFingerprints");
	json_str(j, "adeptRace/v1", v->fingerprint);
	json_close(j, '}');
	json_u64(j, "occurrenceCount", v->race->count);
	json_close(j, '}');
}

/* ---- the run ---- */

static void print_rule(struct json *j, const struct rule *r)
{
	json_object(j, NULL);
	json_str(j, "id", r->id);
	json_str(j, "name", r->name);
	message(j, "shortDescription", r->brief);
	message(j, "fullDescription", r->text);
	message(j, "help", r->help);
	json_object(j, "defaultConfiguration");
	json_str(j, "level", r->level);
	json_close(j, '}');
	json_close(j, '}');
}

void races_begin_sarif(struct json *j)
{
	size_t i;

	json_object(j, NULL);
	json_str(j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_str(j, "version", "2.1.0");
	json_array(j, "runs");
	json_object(j, NULL);
	json_object(j, "tool");
	json_object(j, "driver");
	json_str(j, "name", "Adept");
	json_str(j, "version", ADEPT_VERSION);
	json_array(j, "rules");
	for (i = 0; i < RACE_RANKS; i++)
		print_rule(j, &rules[i]);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, '}');
	/* Without this member, SARIF readers count columns in UTF-16 code units. */
	json_str(j, "columnKind", "unicodeCodePoints");
	json_array(j, "results");
}

static void notify(struct json *j, const char *text)
{
	json_object(j, NULL);
	json_str(j, "level", "warning");
	message(j, "message", text);
	json_close(j, '}');
}

void races_end_sarif(struct json *j, const struct races_summary *s)
{
	struct reasons why;
	size_t i;

	races_reasons(&why, s);
	json_close(j, ']');
	json_array(j, "invocations");
	json_object(j, NULL);
	json_bool(j, "executionSuccessful", true);
	json_array(j, "toolExecutionNotifications");
	for (i = 0; i < why.n; i++)
		notify(j, why.text[i]);
	if (!s->tsc_synchronized)
		notify(j, RACES_CLOCKS);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
	json_object(j, "properties");
	json_bool(j, "complete", s->complete);
	json_u64(j, "suppressed", s->suppressed);
	json_u64(j, "notNew", s->known);
	json_close(j, '}');
	json_close(j, '}');
	json_close(j, ']');
	json_close(j, '}');
	json_line(j);
}

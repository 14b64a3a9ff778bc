// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Describe the rules as JSON, with the keys of depd.conf(5).
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "libdep/abi/session_file.h"
#include "policy.h"

/* Texts of a configuration are valid UTF-8, so they need no conversion for JSON. */
static bool add_text(cJSON *o, const char *key, const char *text)
{
	return !text || cJSON_AddStringToObject(o, key, text);
}

static bool add_number(cJSON *o, const char *key, double n)
{
	return cJSON_AddNumberToObject(o, key, n);
}

static bool add_conditions(cJSON *o, const struct policy_rule *r)
{
	return add_text(o, "comm", r->comm) && add_text(o, "path", r->path) &&
	       add_text(o, "cgroup", r->cgroup) && add_text(o, "argv_pattern", r->argv) &&
	       (!r->has_uid || add_number(o, "uid", r->uid)) && add_number(o, "every", r->every) &&
	       add_number(o, "at_once", r->at_once) &&
	       cJSON_AddBoolToObject(o, "terminal", r->terminal);
}

static bool add_how(cJSON *o, const struct policy_rule *r)
{
	static const char *const transport[] = { "auto", "kmod", "shm" };
	static const char *const keep_if[DEP_KEEP_IFS] = { "always", "failure", "crash" };

	return (!r->ring_size || add_number(o, "ring_size", r->ring_size)) &&
	       add_text(o, "on_full", r->flags & ADEPT_S_DROP ? "drop" : "wait") &&
	       (!r->max_size || add_number(o, "max_size", r->max_size)) &&
	       (!r->last_bytes || add_number(o, "last_bytes", r->last_bytes)) &&
	       (!r->last_ns || add_number(o, "last_ns", r->last_ns)) &&
	       (!r->last_bytes ||
		cJSON_AddBoolToObject(o, "last_on_disk", r->last_on_disk)) &&
	       add_text(o, "keep_if", keep_if[r->keep_if]) &&
	       (!r->level || add_number(o, "level", r->level)) &&
	       add_text(o, "transport", transport[r->transport]) &&
	       cJSON_AddBoolToObject(o, "follow", !(r->flags & ADEPT_S_NO_FOLLOW)) &&
	       cJSON_AddBoolToObject(o, "self_check", !!(r->flags & ADEPT_S_SELF_CHECK)) &&
	       cJSON_AddBoolToObject(o, "discarded", !!(r->flags & ADEPT_S_NULL)) &&
	       add_text(o, "store", r->store) &&
	       (!r->shared || add_number(o, "share", r->group));
}

char *policy_describe(const struct depd_config *c)
{
	cJSON *all = cJSON_CreateArray(), *o;
	char *text = NULL;

	for (uint32_t i = 0; all && i < c->nrules; i++) {
		o = cJSON_CreateObject();
		if (!o || !cJSON_AddItemToArray(all, o)) {
			cJSON_Delete(o);
			goto out;
		}
		if (!add_text(o, "name", c->rule[i].name) || !add_conditions(o, &c->rule[i]) ||
		    !add_how(o, &c->rule[i]))
			goto out;
	}
	if (all)
		text = cJSON_PrintUnformatted(all);
out:
	cJSON_Delete(all);
	return text;
}

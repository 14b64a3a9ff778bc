// SPDX-License-Identifier: GPL-2.0-or-later
/* The triggers of a recording, as depd's request "record" has them. */
#include <inttypes.h>
#include <stdio.h>

#include "depd_session.h"

static cJSON *trigger_json(const struct adept_triggers *t, uint32_t number)
{
	cJSON *j = cJSON_CreateObject(), *offsets = NULL;
	uint32_t i;

	cJSON_AddStringToObject(j, "glob", t->of[number].glob);
	if (t->of[number].slow_ns)
		cJSON_AddNumberToObject(j, "slow_ns", (double)t->of[number].slow_ns);
	for (i = 0; i < t->nplaces; i++) {
		if (t->place[i].number != number)
			continue;
		if (!offsets)
			offsets = cJSON_AddArrayToObject(j, "offsets");
		cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)t->place[i].offset));
	}
	return j;
}

void triggers_json(cJSON *options, const struct record_options *o)
{
	const struct adept_triggers *t = &o->triggers;
	cJSON *list, *file;
	char inode[24];
	uint32_t i;

	if (!o->last_bytes)
		return;
	cJSON_AddNumberToObject(options, "snapshots", o->snapshots);
	list = o->ntriggers ? cJSON_AddArrayToObject(options, "triggers") : NULL;
	for (i = 0; i < o->ntriggers; i++)
		cJSON_AddItemToArray(list, trigger_json(t, i));
	if (!t->nplaces)
		return;
	file = cJSON_AddObjectToObject(options, "trigger_file");
	cJSON_AddNumberToObject(file, "major", (double)(t->dev >> 32));
	cJSON_AddNumberToObject(file, "minor", (double)(uint32_t)t->dev);
	/* As text: a JSON number does not hold 64 bits. */
	snprintf(inode, sizeof(inode), "%" PRIu64, t->inode);
	cJSON_AddStringToObject(file, "inode", inode);
}

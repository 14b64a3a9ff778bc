// SPDX-License-Identifier: GPL-2.0-or-later
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "depctl.h"
#include "query.h"

#define BASELINE_BYTES	(256u << 20)

int races_known_add(struct races_known *k, const char *fingerprint)
{
	size_t room = k->room ? k->room * 2 : 64;
	void *more;

	if (k->n == k->room) {
		more = realloc(k->print, room * sizeof(*k->print));
		if (!more)
			return -ENOMEM;
		k->print = more;
		k->room = room;
	}
	memcpy(k->print[k->n++], fingerprint, RACE_FINGERPRINT);
	k->sorted = false;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, RACE_FINGERPRINT);
}

bool races_known_has(struct races_known *k, const char *fingerprint)
{
	if (!k->n)
		return false;
	if (!k->sorted)
		qsort(k->print, k->n, sizeof(*k->print), compare);
	k->sorted = true;
	return bsearch(fingerprint, k->print, k->n, sizeof(*k->print), compare);
}

static bool is_fingerprint(const char *s)
{
	return s && strlen(s) == RACE_FINGERPRINT - 1 &&
	       strspn(s, "0123456789abcdef") == RACE_FINGERPRINT - 1;
}

static int take(struct races_known *k, const cJSON *answer, const char *file)
{
	const cJSON *races = cJSON_GetObjectItemCaseSensitive(answer, "races"), *race;
	const char *print;

	if (!cJSON_IsArray(races)) {
		warn("%s is not what depctl query races --json prints", file);
		return -1;
	}
	cJSON_ArrayForEach(race, races) {
		print = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(race, "fingerprint"));
		if (!is_fingerprint(print)) {
			warn("%s: a race has no fingerprint", file);
			return -1;
		}
		if (races_known_add(k, print)) {
			warn("out of memory");
			return -1;
		}
	}
	return 0;
}

int races_known_read(struct races_known *k, const char *file)
{
	size_t size;
	char *text = read_input(file, BASELINE_BYTES, &size);
	cJSON *answer;
	int ret = -1;

	if (!text)
		return -1;
	answer = cJSON_ParseWithLength(text, size);
	if (answer)
		ret = take(k, answer, file);
	else
		warn("%s is no JSON", file);
	cJSON_Delete(answer);
	free(text);
	return ret;
}

void races_known_free(struct races_known *k)
{
	free(k->print);
}

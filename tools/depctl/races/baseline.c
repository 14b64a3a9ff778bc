// SPDX-License-Identifier: GPL-2.0-or-later
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "races.h"

#define BASELINE_BYTES	(256u << 20)

/* Find the hash table entry that has the fingerprint, or the free entry where it belongs. */
static char *slot_of(const struct races_baseline *k, const char *fingerprint)
{
	char digits[16] = "";
	size_t i;

	memcpy(digits, fingerprint, sizeof(digits) - 1);
	for (i = strtoull(digits, NULL, 16); *k->print[i & (k->room - 1)]; i++)
		if (!memcmp(k->print[i & (k->room - 1)], fingerprint, RACE_FINGERPRINT))
			break;
	return k->print[i & (k->room - 1)];
}

static int grow(struct races_baseline *k)
{
	struct races_baseline more = { .room = k->room ? k->room * 2 : 64 };
	size_t i;

	more.print = calloc(more.room, sizeof(*more.print));
	if (!more.print)
		return -ENOMEM;
	for (i = 0; i < k->room; i++)
		if (*k->print[i])
			memcpy(slot_of(&more, k->print[i]), k->print[i], RACE_FINGERPRINT);
	more.n = k->n;
	free(k->print);
	*k = more;
	return 0;
}

int races_baseline_add(struct races_baseline *k, const char *fingerprint)
{
	char *slot;

	if (2 * k->n >= k->room && grow(k))
		return -ENOMEM;
	slot = slot_of(k, fingerprint);
	k->n += !*slot;
	memcpy(slot, fingerprint, RACE_FINGERPRINT);
	return 0;
}

bool races_baseline_has(const struct races_baseline *k, const char *fingerprint)
{
	return k->n && *slot_of(k, fingerprint);
}

static bool is_fingerprint(const char *s)
{
	return s && strlen(s) == RACE_FINGERPRINT - 1 &&
	       strspn(s, "0123456789abcdef") == RACE_FINGERPRINT - 1;
}

static int take(struct races_baseline *k, const cJSON *answer, const char *file)
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
		if (races_baseline_add(k, print)) {
			warn("out of memory");
			return -1;
		}
	}
	return 0;
}

int races_baseline_read(struct races_baseline *k, const char *file)
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
		warn("%s is not JSON", file);
	cJSON_Delete(answer);
	free(text);
	return ret;
}

void races_baseline_free(struct races_baseline *k)
{
	free(k->print);
}

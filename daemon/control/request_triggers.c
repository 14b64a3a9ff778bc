// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request_triggers.h"

#define WHOLE_MAX	((1ull << 53) - 1)	/* as in request.c */

/** struct why - where a message goes */
struct why {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static int refuse(const struct why *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->text, w->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/*
 * Find the @n members of object @o that @name lists; NULL: absent.  Return: false if @o is not an
 * object or has another member, or one twice.
 */
static bool members(const cJSON *o, const char *const *name, const cJSON **member, size_t n)
{
	const cJSON *v;
	size_t i;

	for (i = 0; i < n; i++)
		member[i] = NULL;
	if (!cJSON_IsObject(o))
		return false;
	cJSON_ArrayForEach(v, o) {
		for (i = 0; i < n && strcmp(v->string, name[i]); i++)
			;
		if (i == n || member[i])
			return false;
		member[i] = v;
	}
	return true;
}

static bool whole(const cJSON *v, uint64_t min, uint64_t max, uint64_t *out)
{
	double d = cJSON_IsNumber(v) ? v->valuedouble : -1;

	if (!(d >= (double)min && d <= (double)max) || d != (double)(uint64_t)d)
		return false;
	*out = (uint64_t)d;
	return true;
}

/* ---- triggers ---- */

/* Only * and ? are special; [, ] and \ are refused, since other programs give them a meaning. */
static bool is_glob(const cJSON *v)
{
	const char *s = cJSON_IsString(v) ? v->valuestring : "";

	return *s && strlen(s) < ADEPT_TRIGGER_GLOB && !strpbrk(s, "[]\\");
}

static int take_offsets(struct adept_triggers *t, uint32_t number, const cJSON *list,
			const struct why *w)
{
	uint64_t offset;
	const cJSON *v;

	if (!cJSON_IsArray(list))
		return refuse(w, "the field offsets of a trigger must be an array");
	cJSON_ArrayForEach(v, list) {
		if (!whole(v, 0, WHOLE_MAX, &offset))
			return refuse(w, "the field offsets of a trigger must have whole numbers "
				      "from 0 to %llu", WHOLE_MAX);
		if (t->nplaces == ADEPT_TRIGGER_PLACES)
			return refuse(w, "the triggers have more than %u offsets",
				      ADEPT_TRIGGER_PLACES);
		t->place[t->nplaces].offset = offset;
		t->place[t->nplaces++].number = number;
	}
	return 0;
}

static int take_trigger(struct adept_triggers *t, uint32_t number, const cJSON *o,
			const struct why *w)
{
	static const char *const names[] = { "glob", "slow_ns", "offsets" };
	const cJSON *m[3];
	uint64_t slow = 0;

	if (!members(o, names, m, 3))
		return refuse(w, "a trigger must be an object that has only the fields glob, "
			      "slow_ns and offsets, each at most once");
	if (!is_glob(m[0]))
		return refuse(w, "the field glob of a trigger must be a string of 1 to %u bytes "
			      "without [, ] and \\", ADEPT_TRIGGER_GLOB - 1);
	if (m[1] && !whole(m[1], 1, WHOLE_MAX, &slow))
		return refuse(w, "the field slow_ns of a trigger must be a whole number from 1 to "
			      "%llu", WHOLE_MAX);
	strcpy(t->of[number].glob, m[0]->valuestring);
	t->of[number].slow_ns = slow;
	return m[2] ? take_offsets(t, number, m[2], w) : 0;
}

int request_take_triggers(struct adept_triggers *t, const cJSON *v, char *why, size_t size)
{
	const struct why w = { why, size };
	uint32_t number = 0;
	const cJSON *o;
	int ret;

	if (!cJSON_IsArray(v) || !cJSON_GetArraySize(v) ||
	    cJSON_GetArraySize(v) > (int)ADEPT_TRIGGERS)
		return refuse(&w, "the field triggers must be an array of 1 to %u triggers",
			      ADEPT_TRIGGERS);
	cJSON_ArrayForEach(o, v) {
		ret = take_trigger(t, number++, o, &w);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- trigger_file ---- */

/* A decimal number of 64 bits, which not every JSON number can hold. */
static bool take_digits(const cJSON *v, uint64_t *out)
{
	const char *s = cJSON_IsString(v) ? v->valuestring : "";
	size_t n = strlen(s);
	char again[24];

	if (!n || n > 20 || strspn(s, "0123456789") != n)
		return false;
	*out = strtoull(s, NULL, 10);
	/* Refuse zero, leading zeros, and what does not fit. */
	snprintf(again, sizeof(again), "%" PRIu64, *out);
	return *out && !strcmp(s, again);
}

int request_take_trigger_file(struct adept_triggers *t, const cJSON *v, char *why, size_t size)
{
	static const char *const names[] = { "major", "minor", "inode" };
	const struct why w = { why, size };
	uint64_t major, minor;
	const cJSON *m[3];

	if (!members(v, names, m, 3) || !whole(m[0], 0, UINT32_MAX, &major) ||
	    !whole(m[1], 0, UINT32_MAX, &minor) || !take_digits(m[2], &t->inode))
		return refuse(&w, "the field trigger_file must be an object with the numbers major "
			      "and minor, and inode, a string of digits");
	t->dev = major << 32 | minor;
	return 0;
}

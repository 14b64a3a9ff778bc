// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text that grows, and JSON in it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"
#include "utf8.h"

static bool reserve(struct text *t, size_t size)
{
	size_t room = t->room ? t->room : 1024;
	char *s;

	if (t->failed)
		return false;
	while (room - t->len <= size)
		room *= 2;
	if (room == t->room)
		return true;
	s = realloc(t->s, room);
	if (!s) {
		t->failed = true;
		return false;
	}
	t->s = s;
	t->room = room;
	return true;
}

void text_put(struct text *t, const char *data, size_t size)
{
	if (!reserve(t, size))
		return;
	memcpy(t->s + t->len, data, size);
	t->len += size;
	t->s[t->len] = 0;
}

void text_str(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(t, n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->s + t->len, n + 1, fmt, ap);
	va_end(ap);
	t->len += n;
}

char *text_take(struct text *t)
{
	char *s = t->s;

	if (t->failed) {
		free(s);
		s = NULL;
	}
	*t = (struct text){ 0 };
	return s;
}

/* ---- JSON ---- */

static void quoted(struct text *t, const char *s)
{
	char one[JSON_CHAR_MAX];
	unsigned int size;

	text_put(t, "\"", 1);
	while (*s) {
		s += json_char(s, one, &size);
		text_put(t, one, size);
	}
	text_put(t, "\"", 1);
}

static void key_of(struct text *t, const char *key)
{
	if (t->more)
		text_put(t, ",", 1);
	t->more = true;
	if (key) {
		quoted(t, key);
		text_put(t, ":", 1);
	}
}

void text_open(struct text *t, const char *key, char bracket)
{
	key_of(t, key);
	text_put(t, &bracket, 1);
	t->more = false;
}

void text_close(struct text *t, char bracket)
{
	text_put(t, &bracket, 1);
	t->more = true;
}

void text_u64(struct text *t, const char *key, uint64_t v)
{
	key_of(t, key);
	text_printf(t, "%" PRIu64, v);
}

void text_i64(struct text *t, const char *key, int64_t v)
{
	key_of(t, key);
	text_printf(t, "%" PRId64, v);
}

void text_bool(struct text *t, const char *key, bool v)
{
	key_of(t, key);
	text_str(t, v ? "true" : "false");
}

void text_string(struct text *t, const char *key, const char *s)
{
	key_of(t, key);
	if (s)
		quoted(t, s);
	else
		text_str(t, "null");
}

void text_raw(struct text *t, const char *key, const char *json)
{
	key_of(t, key);
	text_str(t, json);
}

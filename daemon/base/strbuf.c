// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Growable string buffer and JSON output.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"
#include "utf8.h"

static bool reserve(struct strbuf *t, size_t size)
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

void strbuf_put(struct strbuf *t, const char *data, size_t size)
{
	if (!reserve(t, size))
		return;
	memcpy(t->s + t->len, data, size);
	t->len += size;
	t->s[t->len] = 0;
}

void strbuf_str(struct strbuf *t, const char *s)
{
	strbuf_put(t, s, strlen(s));
}

void strbuf_printf(struct strbuf *t, const char *fmt, ...)
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

char *strbuf_take(struct strbuf *t)
{
	char *s = t->s;

	if (t->failed) {
		free(s);
		s = NULL;
	}
	*t = (struct strbuf){ 0 };
	return s;
}

/* ---- JSON ---- */

static void quoted(struct strbuf *t, const char *s)
{
	char one[JSON_CHAR_MAX];
	unsigned int size;

	strbuf_put(t, "\"", 1);
	while (*s) {
		s += json_char(s, one, &size);
		strbuf_put(t, one, size);
	}
	strbuf_put(t, "\"", 1);
}

static void key_of(struct strbuf *t, const char *key)
{
	if (t->more)
		strbuf_put(t, ",", 1);
	t->more = true;
	if (key) {
		quoted(t, key);
		strbuf_put(t, ":", 1);
	}
}

void strbuf_open(struct strbuf *t, const char *key, char bracket)
{
	key_of(t, key);
	strbuf_put(t, &bracket, 1);
	t->more = false;
}

void strbuf_close(struct strbuf *t, char bracket)
{
	strbuf_put(t, &bracket, 1);
	t->more = true;
}

void strbuf_u64(struct strbuf *t, const char *key, uint64_t v)
{
	key_of(t, key);
	strbuf_printf(t, "%" PRIu64, v);
}

void strbuf_i64(struct strbuf *t, const char *key, int64_t v)
{
	key_of(t, key);
	strbuf_printf(t, "%" PRId64, v);
}

void strbuf_bool(struct strbuf *t, const char *key, bool v)
{
	key_of(t, key);
	strbuf_str(t, v ? "true" : "false");
}

void strbuf_string(struct strbuf *t, const char *key, const char *s)
{
	key_of(t, key);
	if (s)
		quoted(t, s);
	else
		strbuf_str(t, "null");
}

void strbuf_raw(struct strbuf *t, const char *key, const char *json)
{
	key_of(t, key);
	strbuf_str(t, json);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Check of a request line before cJSON parses it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "json_scan.h"

#define DIGITS_MAX	20

struct scan {
	const char *line, *at, *end;
	const char *text, *text_end;	/* the last string, which can be a number's key */
	unsigned int depth;
	bool ended;		/* the outermost object is complete */
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4)))
static int refuse(struct scan *s, int err, const char *fmt, ...)
{
	int n = snprintf(s->why, s->why_size, "at byte %td: ", s->at - s->line + 1);
	va_list ap;

	if (n < 0 || (size_t)n >= s->why_size)
		return err;
	va_start(ap, fmt);
	vsnprintf(s->why + n, s->why_size - n, fmt, ap);
	va_end(ap);
	return err;
}

static int scan_escape(struct scan *s)
{
	if (s->end - s->at >= 6 && !memcmp(s->at, "\\u0000", 6))
		return refuse(s, -EPROTO, "a string must not contain NUL (\\u0000)");
	s->at += s->end - s->at > 1 ? 2 : 1;
	return 0;
}

static int scan_string(struct scan *s)
{
	int ret;

	s->text = ++s->at;
	while (s->at < s->end && *s->at != '"') {
		if ((unsigned char)*s->at < 0x20)
			return refuse(s, -EPROTO, "control characters in strings must be escaped "
				      "as \\u00XX");
		if (*s->at != '\\') {
			s->at++;
			continue;
		}
		ret = scan_escape(s);
		if (ret)
			return ret;
	}
	if (s->at >= s->end) {
		s->at = s->end;
		return refuse(s, -EPROTO, "a string has no end");
	}
	s->text_end = s->at++;
	return 0;
}

/* Refuse a number; the message names its key (the last string) as far as it is printable. */
static int refuse_number(struct scan *s, const char *expected)
{
	int n = s->text ? s->text_end - s->text : 0, i;

	for (i = 0; i < n; i++)
		if (s->text[i] < 0x20 || s->text[i] > 0x7e)
			n = 0;
	if (n > 0 && n <= 32)
		return refuse(s, -EINVAL, "%.*s: %s", n, s->text, expected);
	return refuse(s, -EINVAL, "%s", expected);
}

static bool is_digit(const struct scan *s)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static int scan_number(struct scan *s)
{
	const char *begin;

	if (*s->at == '-')
		s->at++;
	begin = s->at;
	while (is_digit(s))
		s->at++;
	if (s->at < s->end && strchr(".eE+-", *s->at) && *s->at)
		return refuse_number(s, "a number must be whole and have only digits");
	if (s->at == begin || (*begin == '0' && s->at - begin > 1))
		return refuse_number(s, "this is not a JSON number");
	if (s->at - begin > DIGITS_MAX)
		return refuse_number(s, "this number has too many digits");
	return 0;
}

static int scan_open(struct scan *s)
{
	if (++s->depth > JSON_DEPTH_MAX)
		return refuse(s, -EPROTO, "brackets are nested too deeply");
	s->at++;
	return 0;
}

static int scan_close(struct scan *s)
{
	if (!s->depth)
		return refuse(s, -EPROTO, "this closing bracket has no opening bracket");
	s->ended = !--s->depth;
	s->at++;
	return 0;
}

static int scan_token(struct scan *s)
{
	char c = *s->at;

	if (c == ' ' || c == '\t' || c == '\r') {
		s->at++;
		return 0;
	}
	if (s->ended)
		return refuse(s, -EPROTO, "text after the JSON object is not allowed");
	if (!s->depth && c != '{')
		return refuse(s, -EPROTO, "a request must be one JSON object on one line");
	if (c == '"')
		return scan_string(s);
	if (c == '{' || c == '[')
		return scan_open(s);
	if (c == '}' || c == ']')
		return scan_close(s);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	if (c == ',' || c == ':' || (c >= 'a' && c <= 'z')) {
		s->at++;
		return 0;
	}
	return refuse(s, -EPROTO, "this is not JSON");
}

int json_scan(const char *line, size_t size, char *why, size_t why_size)
{
	struct scan s = {
		.line = line, .at = line, .end = line + size, .why = why, .why_size = why_size,
	};
	int ret;

	while (s.at < s.end) {
		ret = scan_token(&s);
		if (ret)
			return ret;
	}
	if (!s.ended)
		return refuse(&s, -EPROTO, size ? "the JSON object has no end" :
			      "a request must be one JSON object on one line");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffered output and JSON.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/signal_name.h"
#include "daemon/base/utf8.h"
#include "tools/depctl/depctl.h"
#include "output.h"

void out_begin(struct out *o)
{
	static char room[OUT_ROOM + OUT_SLACK];	/* there is one output at a time */

	o->fd = STDOUT_FILENO;
	o->buf = room;
	o->at = o->buf;
	o->error = 0;
}

static void write_out(struct out *o, const char *p, const char *end)
{
	ssize_t n;

	while (p < end && !o->error) {
		n = write(o->fd, p, end - p);
		if (n >= 0)
			p += n;
		else if (errno != EINTR)
			o->error = errno;
	}
}

void out_flush(struct out *o)
{
	write_out(o, o->buf, o->at);
	o->at = o->buf;
}

void out_block(struct out *o, const char *data, size_t size)
{
	out_flush(o);
	write_out(o, data, data + size);
}

int out_end(struct out *o)
{
	out_flush(o);
	if (!o->error)
		return 0;
	warn("the output could not be written: %s", strerror(o->error));
	return 1;
}

void out_text(struct out *o, const char *s)
{
	size_t n = strlen(s), part;

	while (n) {
		out_reserve(o);
		part = n < OUT_SLACK ? n : OUT_SLACK;
		memcpy(o->at, s, part);
		o->at += part;
		s += part;
		n -= part;
	}
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_text(o, text);
}

/* Letters that mean themselves to a shell, wherever they are. */
static bool is_plain(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	return *s && s[strspn(s, plain)] == '\0';
}

void out_command(struct out *o, int argc, char *const *argv)
{
	const char *s;
	int i;

	for (i = 0; i < argc; i++) {
		out_text(o, i ? " " : "");
		if (is_plain(argv[i])) {
			out_text(o, argv[i]);
			continue;
		}
		out_text(o, "'");
		for (s = argv[i]; *s; s++) {
			out_reserve(o);
			if (*s == '\'')
				put_text(o, "'\\''");
			else
				put_char(o, *s);
		}
		out_text(o, "'");
	}
}

void json_begin(struct json *j, struct out *o)
{
	memset(j, 0, sizeof(*j));
	j->o = o;
}

static void put_string(struct json *j, const char *s)
{
	unsigned int size;

	out_text(j->o, "\"");
	while (*s) {
		out_reserve(j->o);
		s += json_char(s, j->o->at, &size);
		j->o->at += size;
	}
	out_text(j->o, "\"");
}

static void key_of(struct json *j, const char *key)
{
	if (j->more[j->depth])
		out_text(j->o, ",");
	j->more[j->depth] = true;
	if (key) {
		put_string(j, key);
		out_text(j->o, ":");
	}
	out_reserve(j->o);
}

static void open_bracket(struct json *j, const char *key, char bracket)
{
	key_of(j, key);
	put_char(j->o, bracket);
	j->more[++j->depth] = false;
}

void json_object(struct json *j, const char *key)
{
	open_bracket(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	open_bracket(j, key, '[');
}

void json_close(struct json *j, char bracket)
{
	out_reserve(j->o);
	put_char(j->o, bracket);
	j->depth--;
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	key_of(j, key);
	put_dec(j->o, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	key_of(j, key);
	if (v < 0)
		put_char(j->o, '-');
	put_dec(j->o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void json_double(struct json *j, const char *key, double v)
{
	key_of(j, key);
	if (isfinite(v))
		out_printf(j->o, "%.6g", v);
	else
		out_text(j->o, "null");
}

void json_bool(struct json *j, const char *key, bool v)
{
	key_of(j, key);
	put_text(j->o, v ? "true" : "false");
}

void json_hex(struct json *j, const char *key, uint64_t v)
{
	key_of(j, key);
	put_text(j->o, "\"0x");
	put_hex(j->o, v);
	put_char(j->o, '"');
}

void json_big(struct json *j, const char *key, uint64_t v)
{
	key_of(j, key);
	put_char(j->o, '"');
	put_dec(j->o, v);
	put_char(j->o, '"');
}

void json_str(struct json *j, const char *key, const char *s)
{
	key_of(j, key);
	if (s)
		put_string(j, s);
	else
		put_text(j->o, "null");
}

void json_exit(struct json *j, int status)
{
	char name[SIGNAL_NAME];

	if (status < 0) {
		json_str(j, "exit", NULL);
		return;
	}
	json_object(j, "exit");
	if (WIFSIGNALED(status))
		json_str(j, "signal", signal_name(WTERMSIG(status), name));
	else
		json_u64(j, "code", WEXITSTATUS(status));
	json_close(j, '}');
}

void json_line(struct json *j)
{
	out_text(j->o, "\n");
	j->more[0] = false;
}

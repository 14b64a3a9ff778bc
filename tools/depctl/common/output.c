// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffered output and JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/signal_name.h"
#include "daemon/base/utf8.h"
#include "tools/depctl/depctl.h"
#include "fold.h"
#include "output.h"

/* Static, since only one struct out is in use at a time. */
static struct fold fold;
static char folded[64u << 10];
static size_t folded_size;

void out_begin(struct out *o)
{
	static char room[OUT_ROOM + OUT_SLACK];	/* only one struct out is in use at a time */

	o->fd = STDOUT_FILENO;
	o->buf = room;
	o->at = o->buf;
	o->error = 0;
	o->width = 0;
	o->color = false;
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

static void flush_folded(struct out *o)
{
	write_out(o, folded, folded + folded_size);
	folded_size = 0;
}

/* Write function of @fold; called with at most FOLD_WORD bytes. */
static void put_folded(void *arg, const char *data, size_t size)
{
	if (folded_size + size > sizeof(folded))
		flush_folded(arg);
	memcpy(folded + folded_size, data, size);
	folded_size += size;
}

void out_layout(struct out *o)
{
	o->color = color_on(o->fd);
	o->width = terminal_width(o->fd);
	fold = (struct fold){ .width = o->width, .write = put_folded, .arg = o };
}

void out_flush(struct out *o)
{
	if (o->width) {
		fold_put(&fold, o->buf, o->at - o->buf);
		flush_folded(o);
	} else {
		write_out(o, o->buf, o->at);
	}
	o->at = o->buf;
}

void out_block(struct out *o, const char *data, size_t size)
{
	out_flush(o);
	if (o->width)
		fold_put(&fold, data, size);
	else
		write_out(o, data, data + size);
}

int out_end(struct out *o)
{
	out_flush(o);
	if (o->width) {
		fold_end(&fold);
		flush_folded(o);
	}
	if (!o->error)
		return 0;
	warn("cannot write the output: %s", strerror(o->error));
	return 1;
}

void out_bytes(struct out *o, const void *data, size_t size)
{
	const char *p = data;
	size_t part;

	while (size) {
		out_reserve(o);
		part = size < OUT_SLACK ? size : OUT_SLACK;
		memcpy(o->at, p, part);
		o->at += part;
		p += part;
		size -= part;
	}
}

void out_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
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

void out_plain_part(struct out *o, const char *s, const char *end)
{
	unsigned int n;

	while (s < end) {
		out_reserve(o);
		n = utf8_printable(s);
		if (!n)
			put_char(o, '?');
		memcpy(o->at, s, n);
		o->at += n;
		s += n ? n : 1;
	}
}

void out_plain(struct out *o, const char *s)
{
	out_plain_part(o, s, s + strlen(s));
}

void out_color(struct out *o, const char *sequence)
{
	if (o->color)
		out_text(o, sequence);
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
		if (*s == '<' && j->in_script) {
			put_text(j->o, "\\u003c");
			s++;
			continue;
		}
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

void json_fixed(struct json *j, const char *key, uint64_t whole, uint32_t millionths)
{
	key_of(j, key);
	out_printf(j->o, "%" PRIu64 ".%06" PRIu32, whole, millionths);
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

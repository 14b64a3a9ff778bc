/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output by the megabyte: a buffer that is formatted into by hand, and JSON on top.
 */
#ifndef DEPCTL_COMMON_OUTPUT_H
#define DEPCTL_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "terminal.h"

#define OUT_ROOM	(1u << 20)
#define OUT_SLACK	256u	/* that much may be put after one out_reserve() */

/** struct out - buffered output; @error is the errno of the first failed write */
struct out {
	int fd;			/* standard output, unless set after out_begin() */
	char *at;
	char *buf;		/* OUT_ROOM + OUT_SLACK bytes */
	int error;
	/* For people, set by out_layout(): */
	unsigned int width;	/* columns of the terminal, 0: lines have any length */
	bool color;
};

void out_begin(struct out *o);
/** out_layout() - what follows is for people: if o->fd is a terminal, fold lines and use color */
void out_layout(struct out *o);
void out_flush(struct out *o);
/** out_block() - put many bytes, in one write of their own */
void out_block(struct out *o, const char *data, size_t size);
/** out_end() - flush; complain if anything could not be written; 0 or 1 for exit() */
int out_end(struct out *o);

/** out_reserve() - make room for OUT_SLACK bytes */
static inline void out_reserve(struct out *o)
{
	if (o->at >= o->buf + OUT_ROOM)
		out_flush(o);
}

/* These need an out_reserve() before. */
static inline void put_char(struct out *o, char c)
{
	*o->at++ = c;
}

static inline void put_hex(struct out *o, uint64_t v)
{
	static const char digits[] = "0123456789abcdef";
	unsigned int n = v ? (67 - __builtin_clzll(v)) / 4 : 1;
	char *p = o->at + n;

	o->at = p;
	do {
		*--p = digits[v & 15];
		v >>= 4;
	} while (--n);
}

static inline void put_dec(struct out *o, uint64_t v)
{
	char tmp[20], *p = tmp + sizeof(tmp);

	do {
		*--p = '0' + v % 10;
		v /= 10;
	} while (v);
	memcpy(o->at, p, tmp + sizeof(tmp) - p);
	o->at += tmp + sizeof(tmp) - p;
}

/* At most OUT_SLACK bytes, checked by the compiler's eyes only: string constants. */
static inline void put_text(struct out *o, const char *s)
{
	size_t n = strlen(s);

	memcpy(o->at, s, n);
	o->at += n;
}

/* These reserve for themselves. */
void out_text(struct out *o, const char *s);
/** out_plain() - put @s with "?" for each byte of what a terminal may act on */
void out_plain(struct out *o, const char *s);
/** out_plain_part() - the same, up to @end, where a character begins */
void out_plain_part(struct out *o, const char *s, const char *end);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** out_color() - put @sequence (COLOR_*), if the output is colored */
void out_color(struct out *o, const char *sequence);

/* ---- quote.c ---- */

/**
 * quote_command() - a command as a shell reads it, with quotes where they are needed
 *
 * Return: text that the caller frees, without control characters; NULL: out of memory.
 */
char *quote_command(int argc, char *const *argv);

/** struct json - where in a JSON text we are */
struct json {
	struct out *o;
	unsigned int depth;
	bool more[16];
};

void json_begin(struct json *j, struct out *o);
/* @key is NULL inside of arrays and for the outermost value. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_close(struct json *j, char bracket);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_double(struct json *j, const char *key, double v);
void json_bool(struct json *j, const char *key, bool v);
/** json_hex() - an address or bits: a string, "0x" and hexadecimal digits */
void json_hex(struct json *j, const char *key, uint64_t v);
/** json_big() - a number that a double may not hold, such as a time: a string of digits */
void json_big(struct json *j, const char *key, uint64_t v);
void json_str(struct json *j, const char *key, const char *s);	/* NULL: null */
/** json_exit() - member "exit": how a process ended, as wait() has it; -1: null, not known */
void json_exit(struct json *j, int status);
/** json_line() - end of the outermost value */
void json_line(struct json *j);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast output: a large buffer with its own formatting functions, and a JSON writer that uses them.
 */
#ifndef DEPCTL_COMMON_OUTPUT_H
#define DEPCTL_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "terminal.h"

#define OUT_ROOM	(1u << 20)
#define OUT_SLACK	256u	/* bytes that may be put after one out_reserve() */

/** struct out - buffered output; @error is the errno of the first failed write */
struct out {
	int fd;			/* standard output by default; may be changed after out_begin() */
	char *at;
	char *buf;		/* OUT_ROOM + OUT_SLACK bytes */
	int error;
	/* set by out_layout(): */
	unsigned int width;	/* columns of the terminal; 0: do not fold lines */
	bool color;
};

void out_begin(struct out *o);
/** out_layout() - from now on, fold lines and use color if o->fd is a terminal */
void out_layout(struct out *o);
void out_flush(struct out *o);
/** out_block() - flush, then write @data directly */
void out_block(struct out *o, const char *data, size_t size);
/** out_bytes() - put @data, which may have NUL bytes */
void out_bytes(struct out *o, const void *data, size_t size);
/** out_end() - flush; warn if a write failed.  Return: exit status 0 or 1 */
int out_end(struct out *o);

/** out_reserve() - make room for OUT_SLACK bytes */
static inline void out_reserve(struct out *o)
{
	if (o->at >= o->buf + OUT_ROOM)
		out_flush(o);
}

/* The caller of the put functions must have called out_reserve(). */
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

/* Put a string constant of at most OUT_SLACK bytes. */
static inline void put_text(struct out *o, const char *s)
{
	size_t n = strlen(s);

	memcpy(o->at, s, n);
	o->at += n;
}

/* The following functions need no out_reserve() before them. */
void out_text(struct out *o, const char *s);
/** out_plain() - put @s; "?" replaces each byte of control characters and of invalid UTF-8 */
void out_plain(struct out *o, const char *s);
/** out_plain_part() - out_plain() up to @end, which must be the beginning of a character */
void out_plain_part(struct out *o, const char *s, const char *end);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** out_color() - put @sequence (COLOR_*), if the output is colored */
void out_color(struct out *o, const char *sequence);

/* ---- quote.c ---- */

/**
 * quote_command() - write a command in the syntax of a shell, with quotes where they are needed
 *
 * Return: text without control characters, which the caller frees; NULL: out of memory.
 */
char *quote_command(int argc, char *const *argv);

/** struct json - a JSON text that is being written, and its open brackets */
struct json {
	struct out *o;
	unsigned int depth;
	bool more[16];
	bool in_script;	/* escape "<", for a script element of HTML; false after json_begin() */
};

void json_begin(struct json *j, struct out *o);
/* In all functions @key is NULL for an element of an array and for the outermost value. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_close(struct json *j, char bracket);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_double(struct json *j, const char *key, double v);
/** json_fixed() - write @whole and @millionths, which is below 1,000,000, as one number */
void json_fixed(struct json *j, const char *key, uint64_t whole, uint32_t millionths);
void json_bool(struct json *j, const char *key, bool v);
/** json_hex() - write an address or bits as a string: "0x" and hexadecimal digits */
void json_hex(struct json *j, const char *key, uint64_t v);
/** json_big() - write a number that a double may not hold exactly as a decimal string */
void json_big(struct json *j, const char *key, uint64_t v);
void json_str(struct json *j, const char *key, const char *s);	/* @s NULL: writes null */
/** json_exit() - write member "exit" for the wait() status @status; -1 (not known): null */
void json_exit(struct json *j, int status);
/** json_line() - end the outermost value with a newline */
void json_line(struct json *j);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growable string buffer and JSON output, for responses and metrics.
 *
 * If memory runs out, strbuf.failed is set and further calls do nothing.
 */
#ifndef DEPD_BASE_STRBUF_H
#define DEPD_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct strbuf - initialise with { 0 }; the user frees @s */
struct strbuf {
	char *s;		/* NUL-terminated text; NULL: empty */
	size_t len, room;
	bool failed;
	bool more;		/* JSON: the next value needs a comma */
};

void strbuf_put(struct strbuf *t, const char *data, size_t size);
void strbuf_str(struct strbuf *t, const char *s);
void strbuf_printf(struct strbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** strbuf_take() - empty @t; return its string, which the caller frees; NULL: out of memory */
char *strbuf_take(struct strbuf *t);

/* Append a JSON value.  @key: name in an object; NULL in an array and for the outermost value. */
void strbuf_open(struct strbuf *t, const char *key, char bracket);
void strbuf_close(struct strbuf *t, char bracket);
void strbuf_u64(struct strbuf *t, const char *key, uint64_t v);
void strbuf_i64(struct strbuf *t, const char *key, int64_t v);
void strbuf_bool(struct strbuf *t, const char *key, bool v);
/* strbuf_string(): if @s is NULL, append null.  strbuf_raw(): @json is the text of a JSON value. */
void strbuf_string(struct strbuf *t, const char *key, const char *s);
void strbuf_raw(struct strbuf *t, const char *key, const char *json);

#endif

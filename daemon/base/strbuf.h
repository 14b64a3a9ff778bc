/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that grows, and JSON in it: answers and metrics.
 *
 * Without memory a text is @failed, and all that follows does nothing.
 */
#ifndef DEPD_BASE_STRBUF_H
#define DEPD_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct text - begin with { 0 }; free(@s) at the end */
struct text {
	char *s;		/* with a NUL behind it, unless it is NULL */
	size_t len, room;
	bool failed;
	bool more;		/* JSON: the next value needs a comma */
};

void text_put(struct text *t, const char *data, size_t size);
void text_str(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** text_take() - the text, the caller's from now on; NULL without memory */
char *text_take(struct text *t);

/* Compact JSON.  @key is NULL inside of arrays and for the outermost value. */
void text_open(struct text *t, const char *key, char bracket);
void text_close(struct text *t, char bracket);
void text_u64(struct text *t, const char *key, uint64_t v);
void text_i64(struct text *t, const char *key, int64_t v);
void text_bool(struct text *t, const char *key, bool v);
void text_string(struct text *t, const char *key, const char *s);	/* NULL: null */
void text_raw(struct text *t, const char *key, const char *json);	/* as it is */

#endif

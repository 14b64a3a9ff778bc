/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make JSON strings of arbitrary bytes: paths and arguments need not be valid UTF-8. */
#ifndef DEPD_BASE_UTF8_H
#define DEPD_BASE_UTF8_H

#include <stdio.h>
#include <string.h>

/** utf8_length() - bytes of the valid multi-byte character at @str; 0: there is none */
static inline unsigned int utf8_length(const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	unsigned int n, i;

	n = *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 :
	    *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
	for (i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/**
 * utf8_printable() - bytes of the character at @s; 0: it must not be sent to a terminal
 *
 * Returns 0 for control characters, including U+0080 to U+009F, and for bytes that are not valid
 * UTF-8.
 */
static inline unsigned int utf8_printable(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	if (*c < 0x80)
		return *c >= 0x20 && *c != 0x7f;
	return c[0] == 0xc2 && c[1] < 0xa0 ? 0 : utf8_length(s);
}

#define JSON_CHAR_MAX 8

/**
 * json_char() - convert the character at @s to its form in a JSON string
 * @out: receives *@size bytes
 *
 * Control characters, including U+0080 to U+009F, are escaped.  A byte that is not valid UTF-8
 * becomes U+FFFD.  Return: the number of bytes of @s that were converted.
 */
static inline unsigned int json_char(const char *s, char out[JSON_CHAR_MAX], unsigned int *size)
{
	const unsigned char *c = (const unsigned char *)s;
	unsigned int n = utf8_printable(s);

	if (*s == '"' || *s == '\\') {
		*size = 2;
		out[0] = '\\';
		out[1] = *s;
	} else if (n) {
		*size = n;
		memcpy(out, s, n);
	} else {
		n = *c < 0x80 ? 1 : utf8_length(s);
		*size = 6;
		snprintf(out, JSON_CHAR_MAX, "\\u%04x", n == 2 ? c[1] : n ? *c : 0xfffd);
	}
	return n ? n : 1;
}

#endif

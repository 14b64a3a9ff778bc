// SPDX-License-Identifier: GPL-2.0-or-later
/* Write commands in the syntax of a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/base/utf8.h"
#include "output.h"

/* True if no character of @s has a special meaning in a shell, anywhere in a command. */
static bool is_plain(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	return *s && s[strspn(s, plain)] == '\0';
}

static bool is_printable(const char *s)
{
	unsigned int n = 1;

	for (; *s && n; s += n)
		n = utf8_printable(s);
	return n;
}

/* Write @s as $'...' with escapes, so that no line end or control character is printed. */
static void quote_escaped(FILE *f, const char *s)
{
	unsigned int n;

	fputs("$'", f);
	for (; *s; s += n ? n : 1) {
		n = utf8_printable(s);
		if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\t')
			fputs("\\t", f);
		else if (!n)
			fprintf(f, "\\%03o", (unsigned char)*s);
		else if (*s == '\'' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			fwrite(s, 1, n, f);
	}
	fputc('\'', f);
}

static void quote(FILE *f, const char *s)
{
	if (is_plain(s)) {
		fputs(s, f);
		return;
	}
	if (!is_printable(s)) {
		quote_escaped(f, s);
		return;
	}
	fputc('\'', f);
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", f);
		else
			fputc(*s, f);
	}
	fputc('\'', f);
}

char *quote_command(int argc, char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int i;

	if (!f)
		return NULL;
	for (i = 0; i < argc; i++) {
		if (i)
			fputc(' ', f);
		quote(f, argv[i]);
	}
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

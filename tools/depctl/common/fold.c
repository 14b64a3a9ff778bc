// SPDX-License-Identifier: GPL-2.0-or-later
/* Folding of long lines; see fold.h. */
#include <ctype.h>

#include "fold.h"

static const char blanks[] = "                                                                ";

static void put_spaces(struct fold *f, unsigned int n)
{
	unsigned int part;

	f->column += n;
	for (; n; n -= part) {
		part = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;
		f->write(f->arg, blanks, part);
	}
}

static unsigned int rest_indent(const struct fold *f)
{
	unsigned int indent = f->indent + 4;

	return indent < f->width / 2 ? indent : f->width / 2;
}

static void new_line(struct fold *f)
{
	f->write(f->arg, "\n", 1);
	f->column = 0;
	put_spaces(f, rest_indent(f));
}

static void put_word(struct fold *f)
{
	if (!f->word_size)
		return;
	if (f->started && f->word_columns &&
	    f->column + f->spaces + f->word_columns > f->width)
		new_line(f);
	else
		put_spaces(f, f->spaces);
	f->write(f->arg, f->word, f->word_size);
	f->column += f->word_columns;
	f->started = true;
	f->spaces = f->word_columns = 0;
	f->word_size = 0;
}

/* True if the word does not fit into a line; it is then broken into parts. */
static bool is_long(const struct fold *f)
{
	unsigned int start = f->started ? rest_indent(f) : f->spaces;

	return start + f->word_columns >= f->width || f->word_size >= FOLD_WORD;
}

static void end_line(struct fold *f)
{
	put_word(f);
	f->write(f->arg, "\n", 1);
	f->started = false;
	f->indent = f->column = f->spaces = 0;
}

/* True for a UTF-8 continuation byte, which takes no column of its own. */
static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Return the length of the escape sequence "\033[...m" at @data; 0: there is none. */
static size_t escape_size(const char *data, size_t size)
{
	size_t i;

	if (size < 3 || data[0] != '\033' || data[1] != '[')
		return 0;
	for (i = 2; i < size && (isdigit((unsigned char)data[i]) || data[i] == ';'); i++)
		;
	return i < size && data[i] == 'm' ? i + 1 : 0;
}

void fold_put(struct fold *f, const char *data, size_t size)
{
	size_t i, k, escape;

	for (i = 0; i < size; i++) {
		if (data[i] == '\n') {
			end_line(f);
			continue;
		}
		if (data[i] == ' ') {
			put_word(f);
			f->spaces++;
			if (!f->started)
				f->indent = f->spaces;
			continue;
		}
		escape = escape_size(data + i, size - i);
		if (escape && f->word_size + escape <= FOLD_WORD) {
			for (k = 0; k < escape; k++)
				f->word[f->word_size++] = data[i + k];
			i += escape - 1;
			continue;
		}
		if (!is_continuation(data[i]) && is_long(f))
			put_word(f);
		if (f->word_size == FOLD_WORD)
			put_word(f);
		f->word[f->word_size++] = data[i];
		f->word_columns += !is_continuation(data[i]);
	}
}

void fold_end(struct fold *f)
{
	put_word(f);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The function and line of an address, as compilers name them.
 *
 * Compilers for LLVM pack three numbers into a discriminator: which block of the line it is, how
 * often the block was copied by loop optimisations (so that the count of one copy is to be
 * multiplied), and which copy it is.  Each takes 7 or 14 bits if it is not 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "source_parts.h"

/* libdep follows 128 nested entries of DWARF at most. */
#define MOST_PLACES	130u

#define SHORT_BITS	5u	/* of a number that takes 7 bits with its two marks */
#define SHORT_MASK	((1u << SHORT_BITS) - 1)

/* ---- discriminators ---- */

/* Take the next number of a discriminator.  Bit 0: it is 0.  Bit 6: it takes 14 bits. */
static uint32_t take_number(uint32_t *discriminator)
{
	uint32_t d = *discriminator, low = d >> 1 & SHORT_MASK;

	if (d & 1) {
		*discriminator = d >> 1;
		return 0;
	}
	if (d & 1u << (SHORT_BITS + 1)) {
		*discriminator = d >> 14;
		return (d >> 7 & 0x7f) << SHORT_BITS | low;
	}
	*discriminator = d >> 7;
	return low;
}

static struct source_at place_of(const struct source_maker *m, const struct dep_place *p,
				 uint32_t *factor)
{
	struct source_at at = { .offset = (p->line - p->start_line) & 0xffff };
	uint32_t rest = p->discriminator;

	*factor = 1;
	if (m->compiler == SOURCE_GCC) {
		at.discriminator = rest & 0xffff;
		return at;
	}
	at.discriminator = take_number(&rest);
	*factor = take_number(&rest);
	if (!*factor)
		*factor = 1;
	return at;
}

/* ---- names ---- */

/*
 * Lists of names are separated by white space, and numbers by colons.  A line that begins with a
 * sign has another meaning than a function's, and a number is that of a count.
 */
static bool is_linker_name(const char *s)
{
	if (!*s || strchr("!#[0123456789", *s))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == ':' || *s == 0x7f)
			return false;
	return true;
}

/* What a compiler appends to the names of copies and parts of a function. */
static size_t without_suffix(const char *name)
{
	static const char *const suffix[] = { ".cold", ".constprop.", ".isra.", ".llvm.",
					      ".lto_priv.", ".part." };
	const char *dot;
	size_t i;

	for (dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		for (i = 0; dot > name && i < sizeof(suffix) / sizeof(suffix[0]); i++)
			if (!strncmp(dot, suffix[i], strlen(suffix[i])))
				return (size_t)(dot - name);
	return strlen(name);
}

static int find_number(struct source_maker *m, const char *symbol, const char *plain,
		       uint32_t *number)
{
	const char *name = symbol, *part;
	char *text;

	*number = SOURCE_NONE;
	if (!name && plain) {
		/* gcc gives local C++ functions no linker's name, and uses the last part itself. */
		part = strrchr(plain, ':');
		name = part ? part + 1 : plain;
	}
	if (!name || !is_linker_name(name))
		return 0;
	text = strndup(name, without_suffix(name));
	if (!text)
		return -ENOMEM;
	*number = number_of(&m->s->names, text, strlen(text) + 1);
	free(text);
	return *number == NUMBERING_FULL ? -ENOMEM : 0;
}

/*
 * Set *@number to that of the name, or SOURCE_NONE if no linker can have it.  A name can be as long
 * as a file, and each instruction asks for some; so the last ones are found by their addresses,
 * which stay valid.
 */
static int number_name(struct source_maker *m, const char *symbol, const char *plain,
		       uint32_t *number)
{
	uintptr_t key = (uintptr_t)symbol * 31 + (uintptr_t)plain;
	struct source_known *k = &m->known[key % SOURCE_KNOWN];
	int err;

	if (!symbol && !plain) {
		*number = SOURCE_NONE;
		return 0;
	}
	if (k->symbol != symbol || k->plain != plain) {
		*k = (struct source_known){ 0 };
		err = find_number(m, symbol, plain, number);
		if (err)
			return err;
		*k = (struct source_known){ symbol, plain, *number };
	}
	*number = k->number;
	return 0;
}

int source_name_of(struct source_maker *m, uint32_t i, uint32_t *name)
{
	const struct function *f;

	*name = SOURCE_NONE;
	if (i == NO_FUNCTION || !m->x->l.function[i].named)
		return 0;
	f = &m->x->l.function[i];
	return number_name(m, f->symbol, f->name, name);
}

/* ---- functions ---- */

static int number_function(struct source_maker *m, uint32_t parent, uint32_t name,
			   struct source_at at, uint32_t *number)
{
	struct source_profile *s = m->s;
	uint32_t key[4] = { parent, name, at.offset, at.discriminator };
	struct source_function *more;
	size_t room;

	*number = number_of(&m->functions, key, sizeof(key));
	if (*number == NUMBERING_FULL)
		return -ENOMEM;
	if (*number < s->nfunctions)
		return 0;
	if (s->nfunctions == m->functions_room) {
		room = m->functions_room ? 2 * m->functions_room : 256;
		more = reallocarray(s->function, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->function = more;
		m->functions_room = room;
	}
	s->function[s->nfunctions++] = (struct source_function){
		.parent = parent, .name = name, .at = at,
	};
	return 0;
}

int source_locate(struct source_maker *m, uint32_t process, uint32_t image, uint64_t pc,
		  uint32_t *function, struct source_at *at, uint32_t *factor)
{
	const struct dep_module *module = &m->program.lines.module[image - 1];
	struct dep_place place[MOST_PLACES];
	uint32_t name[MOST_PLACES], outer = SOURCE_NONE;
	size_t i, n;

	*function = SOURCE_NONE;
	n = dep_symbols_frames(m->x->l.symbols, process, pc, module->from_ns, place, MOST_PLACES);
	if (n > MOST_PLACES)
		return 0;
	for (i = 0; i < n; i++) {
		if (!place[i].line || !place[i].start_line)
			return 0;
		if (number_name(m, place[i].symbol, place[i].function, &name[i]))
			return -ENOMEM;
		if (name[i] == SOURCE_NONE)
			return 0;
	}
	*at = (struct source_at){ 0 };
	*factor = 1;
	while (n--) {
		if (number_function(m, outer, name[n], *at, &outer))
			return -ENOMEM;
		*at = place_of(m, &place[n], factor);
	}
	*function = outer;
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where functions begin and end by ELF symbols.  Of the symbols at an address one gives the name:
 * functions before labels without a type, then as elf_symbols.c does, then the shortest name.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "file_code.h"

/* Longer names are compared by these bytes only, since names of a hostile file can overlap. */
#define MAX_NAME	4096u

/* A symbol in a place with code. */
struct candidate {
	u64 value, size;
	const char *name;
	u32 source, order;
	u16 length;
	u8 rank;
	bool func, local;
};

/** struct dep_name_key - a name, sorted by @hash */
struct dep_name_key {
	u64 hash, value;
	const char *name;
	u32 source;		/* 0: the symbol is global */
	u16 length;
};

struct candidates {
	struct candidate *at;
	size_t n, room;
	bool has_parts;		/* a name is that of a part */
};

static size_t length_of(const char *name)
{
	size_t n = strnlen(name, MAX_NAME);
	const char *at = n ? memchr(name + 1, '@', n - 1) : NULL;

	return at ? (size_t)(at - name) : n;
}

/* Return: the length of NAME if the first @n bytes of @name are NAME.cold or so; else 0. */
static size_t length_of_whole(const char *name, size_t n)
{
	const char *found;
	size_t end = n;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	if (end == n || !end || name[--end] != '.')
		end = n;
	if (end > 5 && !memcmp(name + end - 5, ".cold", 5))
		return end - 5;
	found = memmem(name, n, ".part.", 6);
	return found ? (size_t)(found - name) : 0;
}

/* ---- reading ---- */

/* The section of a symbol without a size must have the address: _etext, for example, has not. */
static bool in_section(const struct dep_elf_table *t, const GElf_Sym *es)
{
	Elf_Scn *scn = es->st_shndx < SHN_LORESERVE ? elf_getscn(t->elf, es->st_shndx) : NULL;
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
	       es->st_value - sh.sh_addr < sh.sh_size;
}

/*
 * Labels in assembler code that are local and have no size are no functions, unless something else
 * says that code begins there.
 */
static bool begins_function(const struct candidate *c, const struct dep_extents *fde)
{
	const struct dep_extent *e;

	if (c->size || c->func || !c->local)
		return true;
	e = dep_extents_find(fde, c->value);
	return !e || e->lo == c->value;
}

static u8 rank_of(const struct candidate *c, const struct dep_elf_symbol *s)
{
	return dep_symbol_rank(s) + (c->func ? 32 : 0);
}

static int add_candidate(struct dep_image *im, u32 i, u32 source, const struct dep_extents *areas,
			 const struct dep_extents *fde, struct candidates *out)
{
	const struct dep_elf_table *t = &im->syms.table[im->syms.sym[i] % DEP_ELF_TABLES];
	struct dep_elf_symbol s = dep_elf_symbol(&im->syms, i);
	const struct dep_extent *area = dep_extents_find(areas, s.value);
	struct candidate c = { .value = s.value, .size = s.size, .name = s.name, .order = i,
			       .source = s.is_local ? source : 0, .local = s.is_local };
	struct candidate *p;
	GElf_Sym es;

	if (s.is_object || !area ||
	    !gelf_getsym(t->data, (int)(im->syms.sym[i] / DEP_ELF_TABLES), &es))
		return 0;
	c.func = GELF_ST_TYPE(es.st_info) != STT_NOTYPE;
	if (c.size > area->hi - c.value)
		c.size = area->hi - c.value;
	if ((!c.size && !in_section(t, &es)) || !begins_function(&c, fde))
		return 0;
	c.length = (u16)length_of(c.name);
	c.rank = rank_of(&c, &s);
	if (length_of_whole(c.name, c.length))
		out->has_parts = true;
	p = dep_grow(out->at, out->n, &out->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	out->at = p;
	p[out->n++] = c;
	return 0;
}

/* Local symbols come behind the symbol of their source file, of type STT_FILE. */
static int read_candidates(struct dep_image *im, const struct dep_extents *areas,
			   const struct dep_extents *fde, struct candidates *out)
{
	struct dep_elf_symbols *t = dep_image_symbols(im);
	u32 i, at = 0, source = 1, table = 0, number;
	GElf_Sym es;
	int err = 0;

	for (i = 0; i < t->n && !err; i++) {
		if (t->sym[i] % DEP_ELF_TABLES != table) {
			table = t->sym[i] % DEP_ELF_TABLES;
			at = 0;
			source++;
		}
		number = t->sym[i] / DEP_ELF_TABLES;
		for (; at < number; at++)
			if (gelf_getsym(t->table[table].data, (int)at, &es) &&
			    GELF_ST_TYPE(es.st_info) == STT_FILE)
				source++;
		err = add_candidate(im, i, source, areas, fde, out);
	}
	return err;
}

/* ---- one function for each address ---- */

static int by_value_and_rank(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;
	int order;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	order = memcmp(a->name, b->name, a->length);
	if (order)
		return order;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Set the ends of functions whose symbols have no size. */
static void set_ends(struct dep_starts *t, const struct dep_extents *areas,
		     const struct dep_extents *fde)
{
	const struct dep_extent *e;
	struct dep_start *s;
	size_t next;
	u64 end;
	u32 i;

	for (i = 0; i < t->n; i++) {
		s = &t->start[i];
		if (s->sized)
			continue;
		end = dep_extents_find(areas, s->lo)->hi;
		if (i + 1 < t->n && t->start[i + 1].lo < end)
			end = t->start[i + 1].lo;
		e = dep_extents_find(fde, s->lo);
		next = dep_extents_upto(fde, s->lo);
		if (e && e->hi < end)
			end = e->hi;
		else if (!e && next < fde->n && fde->at[next].lo < end)
			end = fde->at[next].lo;
		s->hi = end;
	}
}

static int make_starts(const struct candidates *c, struct dep_starts *out)
{
	const struct candidate *p;
	struct dep_start *s = NULL;
	size_t i;

	out->start = malloc(c->n * sizeof(*out->start));
	if (!out->start)
		return -ENOMEM;
	for (i = 0; i < c->n; i++) {
		p = &c->at[i];
		if (!s || s->lo != p->value) {
			s = &out->start[out->n++];
			*s = (struct dep_start){ .lo = p->value, .hi = p->value, .name = p->name,
						 .source = p->source };
		}
		if (p->value + p->size > s->hi)
			s->hi = p->value + p->size;
		s->sized = s->hi > s->lo;
	}
	return 0;
}

/* ---- names ---- */

static int by_hash(const void *pa, const void *pb)
{
	const struct dep_name_key *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

static int make_keys(const struct candidates *c, struct dep_starts *out)
{
	const struct candidate *p;
	size_t i;

	out->key = malloc(c->n * sizeof(*out->key));
	if (!out->key)
		return -ENOMEM;
	for (i = 0; i < c->n; i++) {
		p = &c->at[i];
		out->key[i] = (struct dep_name_key){
			.hash = XXH3_64bits(p->name, p->length), .value = p->value,
			.name = p->name, .source = p->source, .length = p->length,
		};
	}
	qsort(out->key, c->n, sizeof(*out->key), by_hash);
	out->nkeys = (u32)c->n;
	return 0;
}

/* Return: the number of keys before the first one of @hash and @source or more. */
static u32 keys_before(const struct dep_starts *t, u64 hash, u32 source)
{
	u32 lo = 0, hi = t->nkeys, mid;
	struct dep_name_key key = { .hash = hash, .source = source };

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (by_hash(&t->key[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

u64 dep_starts_named(const struct dep_starts *t, const char *name, size_t n, u32 source)
{
	u64 hash = XXH3_64bits(name, n);
	const struct dep_name_key *key;
	u32 turn, i;

	for (turn = 0; turn < 2; turn++) {
		i = keys_before(t, hash, turn ? 0 : source);
		key = i < t->nkeys ? &t->key[i] : NULL;
		if (key && key->hash == hash && key->source == (turn ? 0 : source) &&
		    key->length == n && !memcmp(key->name, name, n))
			return key->value;
	}
	return 0;
}

u32 dep_starts_at(const struct dep_starts *t, u64 at)
{
	u32 lo = 0, hi = t->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->start[mid].lo < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n && t->start[lo].lo == at ? lo : DEP_NO_INDEX;
}

u32 dep_starts_whole(const struct dep_starts *t, u32 i)
{
	const struct dep_start *s = &t->start[i];
	size_t n = length_of_whole(s->name, length_of(s->name));
	u64 at = n && t->nkeys ? dep_starts_named(t, s->name, n, s->source) : 0;
	u32 whole = at ? dep_starts_at(t, at) : DEP_NO_INDEX;

	return whole == DEP_NO_INDEX ? i : whole;
}

int dep_function_starts(struct dep_image *im, const struct dep_extents *areas,
			const struct dep_extents *fde, struct dep_starts *out)
{
	struct candidates c = { 0 };
	int err = read_candidates(im, areas, fde, &c);

	if (err || !c.n)
		goto out_free;
	qsort(c.at, c.n, sizeof(*c.at), by_value_and_rank);
	err = make_starts(&c, out);
	if (!err)
		set_ends(out, areas, fde);
	if (!err && c.has_parts)
		err = make_keys(&c, out);

out_free:
	free(c.at);
	return err;
}

void dep_starts_free(struct dep_starts *t)
{
	free(t->start);
	free(t->key);
	*t = (struct dep_starts){ 0 };
}

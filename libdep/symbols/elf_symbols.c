// SPDX-License-Identifier: LGPL-2.1-or-later
/* ELF symbols: the only names in files without DWARF, and for functions in assembler code. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/symbols/base/demangle.h"
#include "internal.h"

/*
 * Return: the length of a name without its version.  A versioned name is puts@GLIBC_2.2.5, or
 * puts@@GLIBC_2.2.5 in the file that defines the symbol.
 */
static size_t bare_length(const char *name)
{
	const char *at = name[0] ? strchr(name + 1, '@') : NULL;

	return at ? (size_t)(at - name) : strlen(name);
}

int dep_symbol_order(const char *a, const char *b)
{
	size_t na = bare_length(a), nb = bare_length(b);
	int order = memcmp(a, b, na < nb ? na : nb);

	if (order)
		return order;
	return na < nb ? -1 : na > nb;
}

struct dep_elf_symbol dep_elf_symbol(const struct dep_elf_symbols *t, u32 i)
{
	const struct dep_elf_table *table = &t->table[t->sym[i] % DEP_ELF_TABLES];
	struct dep_elf_symbol sym = { .name = "" };
	unsigned int type, bind;
	const char *text;
	GElf_Sym es;

	if (!gelf_getsym(table->data, (int)(t->sym[i] / DEP_ELF_TABLES), &es))
		return sym;
	text = elf_strptr(table->elf, table->names, es.st_name);
	type = GELF_ST_TYPE(es.st_info);
	bind = GELF_ST_BIND(es.st_info);
	sym.value = es.st_value;
	sym.size = es.st_size;
	sym.name = text ? text : "";
	sym.is_func = type == STT_FUNC;
	sym.is_object = type == STT_OBJECT || type == STT_COMMON;
	sym.is_local = bind == STB_LOCAL;
	sym.is_weak = bind == STB_WEAK;
	return sym;
}

/* ---- cache of names ---- */

static struct dep_shown *slot_of(const struct dep_elf_symbols *t, u32 symbol)
{
	u32 i = symbol * 0x9e3779b9u >> 7 & (t->shown_room - 1);

	while (t->shown[i].symbol != DEP_NO_INDEX && t->shown[i].symbol != symbol)
		i = (i + 1) & (t->shown_room - 1);
	return &t->shown[i];
}

/* Enlarge the hash table so that at least half of its entries stay free. */
static int make_room(struct dep_elf_symbols *t)
{
	struct dep_elf_symbols grown = *t;
	u32 i;

	if (t->nshown < t->shown_room / 2)
		return 0;
	grown.shown_room = t->shown_room ? 2 * t->shown_room : 32;
	grown.shown = malloc(grown.shown_room * sizeof(*grown.shown));
	if (!grown.shown)
		return -ENOMEM;
	for (i = 0; i < grown.shown_room; i++)
		grown.shown[i].symbol = DEP_NO_INDEX;
	for (i = 0; i < t->shown_room; i++)
		if (t->shown[i].symbol != DEP_NO_INDEX)
			*slot_of(&grown, t->shown[i].symbol) = t->shown[i];
	free(t->shown);
	*t = grown;
	return 0;
}

const char *dep_symbol_text(struct dep_image *im, const char *raw, const char **mangled)
{
	char *bare = strndup(raw, bare_length(raw));
	char *text = bare ? dep_demangle(bare) : NULL;
	const char *name = dep_string(&im->s->strings, text ? text : bare);

	*mangled = text ? dep_string(&im->s->strings, bare) : NULL;
	free(text);
	free(bare);
	return name;
}

const char *dep_symbol_name(struct dep_image *im, u32 i, const char **mangled)
{
	struct dep_elf_symbols *t = &im->syms;
	struct dep_shown *s;

	*mangled = NULL;
	if (i == DEP_NO_INDEX || make_room(t))
		return NULL;
	s = slot_of(t, i);
	if (s->symbol == DEP_NO_INDEX) {
		s->symbol = i;
		s->name = dep_symbol_text(im, dep_elf_symbol(t, i).name, &s->mangled);
		t->nshown++;
	}
	*mangled = s->mangled;
	return s->name;
}

/* ---- symbol tables ---- */

static int add_symbol(struct dep_elf_symbols *t, u32 number)
{
	size_t room = t->room;
	u32 *p;

	if (t->n >= DEP_NO_INDEX - 1)
		return 0;
	p = dep_grow(t->sym, t->n, &room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->room = (u32)room;
	t->sym = p;
	p[t->n++] = number * DEP_ELF_TABLES + t->ntables - 1;
	return 0;
}

/* True if the symbol is a name for code or data of this file. */
static bool is_named(struct dep_image *im, const struct dep_elf_table *t, const GElf_Sym *es)
{
	const char *name;

	if (es->st_shndx == SHN_UNDEF || !dep_image_is_data(im, es->st_value, es->st_value + 1))
		return false;
	switch (GELF_ST_TYPE(es->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
	case STT_COMMON:
	case STT_NOTYPE:	/* Symbols in assembler code may have no type. */
		name = elf_strptr(t->elf, t->names, es->st_name);
		return name && *name;
	default:
		return false;
	}
}

static int read_section(struct dep_image *im, const struct dep_elf_table *table)
{
	size_t n = table->data ? table->data->d_size / sizeof(Elf64_Sym) : 0, i;
	struct dep_elf_symbols *t = &im->syms;
	GElf_Sym es;
	int err = 0;

	if (!n || t->ntables == DEP_ELF_TABLES)
		return 0;
	t->table[t->ntables++] = *table;
	for (i = 1; i < n && i < INT32_MAX / DEP_ELF_TABLES && !err; i++)
		if (gelf_getsym(table->data, (int)i, &es) && is_named(im, table, &es))
			err = add_symbol(t, (u32)i);
	return err;
}

static int read_table(struct dep_image *im, Elf *elf, u32 type)
{
	struct dep_elf_table table = { .elf = elf };
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		table.data = elf_getdata(scn, NULL);
		table.names = sh.sh_link;
		err = read_section(im, &table);
	}
	return err;
}

#define RANKS	16u

u8 dep_symbol_rank(const struct dep_elf_symbol *s)
{
	unsigned int n = 0, rank;

	if (s->name[0] != '_' || s->name[1] != 'Z')
		while (n < 3 && s->name[n] == '_')
			n++;
	rank = (3 - n) * 2 + !s->is_weak;
	if (!s->is_local)
		rank += 8;
	return (u8)rank;
}

/* Fill @order with the indices of the symbols, in ascending order of rank; stable. */
static void put_in_order(const u8 *rank, u32 n, u32 *order)
{
	u32 from[RANKS + 1] = { 0 }, i;

	for (i = 0; i < n; i++)
		from[rank[i] + 1]++;
	for (i = 1; i <= RANKS; i++)
		from[i] += from[i - 1];
	for (i = 0; i < n; i++)
		order[from[rank[i]]++] = i;
}

static int by_value(const void *pa, const void *pb)
{
	const u64 *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static u64 section_end(const struct dep_elf_symbols *t, u32 i)
{
	const struct dep_elf_table *table = &t->table[t->sym[i] % DEP_ELF_TABLES];
	GElf_Shdr sh;
	GElf_Sym es;

	if (gelf_getsym(table->data, (int)(t->sym[i] / DEP_ELF_TABLES), &es) &&
	    es.st_shndx < SHN_LORESERVE &&
	    gelf_getshdr(elf_getscn(table->elf, es.st_shndx), &sh) &&
	    es.st_value - sh.sh_addr < sh.sh_size)
		return sh.sh_addr + sh.sh_size;
	return UINT64_MAX;
}

/*
 * Return: where symbol @number at address @at ends if its size is unknown: at the next symbol or at
 * the end of its section or segment.  The section matters for _init, for example: PLT stubs follow.
 */
static u64 end_of(const struct dep_image *im, const u64 *value, u32 number, u64 at)
{
	u64 end = at, section = section_end(&im->syms, number);
	u32 lo = 0, n = im->syms.n, hi = n, mid, i;
	const struct dep_load *l;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (value[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = 0; i < im->nloads; i++) {
		l = &im->load[i];
		if (at >= l->vaddr && at < l->vaddr + l->memsz)
			end = l->vaddr + l->memsz;
	}
	if (section < end)
		end = section;
	return lo < n && value[lo] < end ? value[lo] : end;
}

static void add_spans(struct dep_image *im, const u32 *order, const u64 *value)
{
	struct dep_elf_symbols *t = &im->syms;
	struct dep_elf_symbol sym;
	u64 end;
	u32 i;

	for (i = 0; i < t->n; i++) {
		sym = dep_elf_symbol(t, order[i]);
		end = sym.value + sym.size;
		if (sym.is_object && sym.size && dep_image_is_data(im, sym.value, end))
			dep_spans_add(&t->data, sym.value, end, order[i]);
		if (sym.is_object)
			continue;
		if (!sym.size)
			end = end_of(im, value, order[i], sym.value);
		if (dep_image_is_code(im, sym.value, end))
			dep_spans_add(sym.size ? &t->code : &t->loose, sym.value, end, order[i]);
	}
}

static void make_spans(struct dep_image *im)
{
	struct dep_elf_symbols *t = &im->syms;
	u32 *order = malloc((size_t)t->n * sizeof(*order));
	u64 *value = malloc((size_t)t->n * sizeof(*value));
	u8 *rank = malloc(t->n);
	struct dep_elf_symbol sym;
	u32 i;

	if (!order || !value || !rank)
		goto out_free;
	for (i = 0; i < t->n; i++) {
		sym = dep_elf_symbol(t, i);
		value[i] = sym.value;
		rank[i] = dep_symbol_rank(&sym);
	}
	qsort(value, t->n, sizeof(*value), by_value);
	put_in_order(rank, t->n, order);
	add_spans(im, order, value);
	dep_spans_seal(&t->code);
	dep_spans_seal(&t->loose);
	dep_spans_seal(&t->data);

out_free:
	free(order);
	free(value);
	free(rank);
}

struct named {
	const char *name;
	u64 value;
	u32 symbol;
};

static int by_name(const void *pa, const void *pb)
{
	const struct named *a = pa, *b = pb;
	int order = dep_symbol_order(a->name, b->name);

	if (order)
		return order;
	return a->value < b->value ? -1 : a->value > b->value;
}

struct dep_elf_symbols *dep_image_by_name(struct dep_image *im)
{
	struct dep_elf_symbols *t = dep_image_symbols(im);
	struct dep_elf_symbol sym;
	struct named *named;
	u32 i, n = 0;

	if (t->by_name || !t->n)
		return t;
	named = malloc((size_t)t->n * sizeof(*named));
	t->by_name = malloc((size_t)t->n * sizeof(*t->by_name));
	for (i = 0; named && t->by_name && i < t->n; i++) {
		sym = dep_elf_symbol(t, i);
		if (sym.is_func)
			named[n++] = (struct named){ sym.name, sym.value, i };
	}
	if (n)
		qsort(named, n, sizeof(*named), by_name);
	for (i = 0; i < n; i++)
		t->by_name[i] = named[i].symbol;
	t->nby_name = n;
	free(named);
	return t;
}

u32 dep_image_function(struct dep_image *im, u64 vaddr)
{
	struct dep_elf_symbols *t = dep_image_symbols(im);
	u32 i = dep_spans_find(&t->code, vaddr);

	if (i == DEP_SPAN_NONE)
		i = dep_spans_find(&t->loose, vaddr);
	return i;
}

struct dep_elf_symbols *dep_image_symbols(struct dep_image *im)
{
	struct dep_elf_symbols *t = &im->syms;
	u32 n;

	if (im->have_syms || !im->main.elf)
		return t;
	im->have_syms = true;
	/* If the file was stripped, its debug file may have the full symbol table. */
	dep_image_debug(im);
	if (read_table(im, im->main.elf, SHT_DYNSYM))
		return t;
	n = t->n;
	if (read_table(im, im->main.elf, SHT_SYMTAB) ||
	    (im->debug.elf && read_table(im, im->debug.elf, SHT_SYMTAB)))
		return t;
	t->whole = t->n > n;
	if (t->n)
		make_spans(im);
	return t;
}

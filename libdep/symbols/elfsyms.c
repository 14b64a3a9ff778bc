// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ELF symbols: all that a stripped library has, and what tells names of assembler code.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "private.h"

/* puts@GLIBC_2.2.5, or puts@@GLIBC_2.2.5 where it is defined. */
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

const char *dep_symbol_name(struct dep_image *im, struct dep_elf_symbol *sym,
			    const char **mangled)
{
	char *bare, *text;

	if (!sym->shown) {
		bare = strndup(sym->name, bare_length(sym->name));
		text = bare ? dep_demangle(bare) : NULL;
		sym->shown = dep_string(&im->s->strings, text ? text : bare);
		sym->mangled = text ? dep_string(&im->s->strings, bare) : NULL;
		free(text);
		free(bare);
	}
	*mangled = sym->mangled;
	return sym->shown;
}

static int add_symbol(struct dep_elf_symbols *t, const GElf_Sym *es, const char *name)
{
	unsigned int type = GELF_ST_TYPE(es->st_info), bind = GELF_ST_BIND(es->st_info);
	size_t room = t->room;
	struct dep_elf_symbol *p;

	if (t->n >= DEP_NO_INDEX - 1)
		return 0;
	p = dep_grow(t->sym, t->n, &room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->room = (u32)room;
	t->sym = p;
	p[t->n++] = (struct dep_elf_symbol){
		.value = es->st_value, .size = es->st_size, .name = name,
		.is_func = type == STT_FUNC, .is_ifunc = type == STT_GNU_IFUNC,
		.is_object = type == STT_OBJECT || type == STT_COMMON,
		.is_local = bind == STB_LOCAL, .is_weak = bind == STB_WEAK,
	};
	return 0;
}

static int read_table(struct dep_image *im, Elf *elf, u32 type)
{
	struct dep_elf_symbols *t = &im->syms;
	const char *name;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym es;
	size_t i, n;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		data = elf_getdata(scn, NULL);
		n = data ? data->d_size / sizeof(Elf64_Sym) : 0;
		for (i = 1; i < n && i < INT32_MAX && !err; i++) {
			if (!gelf_getsym(data, (int)i, &es) || es.st_shndx == SHN_UNDEF)
				continue;
			if (!dep_image_is_data(im, es.st_value, es.st_value + 1))
				continue;
			/* Assembler code may have no types. */
			switch (GELF_ST_TYPE(es.st_info)) {
			case STT_FUNC:
			case STT_GNU_IFUNC:
			case STT_OBJECT:
			case STT_COMMON:
			case STT_NOTYPE:
				name = elf_strptr(elf, sh.sh_link, es.st_name);
				if (name && *name)
					err = add_symbol(t, &es, name);
				break;
			}
		}
	}
	return err;
}

/* Of several names for one thing people know the one that is global and plain best. */
static unsigned int plainness(const struct dep_elf_symbol *s)
{
	unsigned int n = 0, rank;

	if (s->name[0] != '_' || s->name[1] != 'Z')
		while (n < 3 && s->name[n] == '_')
			n++;
	rank = (3 - n) * 2 + !s->is_weak;
	if (!s->is_local)
		rank += 8;
	return rank;
}

static int by_plainness(const void *pa, const void *pb, void *arg)
{
	const struct dep_elf_symbol *sym = arg, *a, *b;
	unsigned int ra, rb;

	a = &sym[*(const u32 *)pa];
	b = &sym[*(const u32 *)pb];
	ra = plainness(a);
	rb = plainness(b);
	if (ra != rb)
		return ra < rb ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int by_name(const void *pa, const void *pb, void *arg)
{
	const struct dep_elf_symbol *sym = arg, *a, *b;
	int order;

	a = &sym[*(const u32 *)pa];
	b = &sym[*(const u32 *)pb];
	order = dep_symbol_order(a->name, b->name);
	if (order)
		return order;
	return a->value < b->value ? -1 : a->value > b->value;
}

static int by_value(const void *pa, const void *pb)
{
	const u64 *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Where a symbol without size ends: at the next one, or with its segment. */
static u64 end_of(const struct dep_image *im, const u64 *value, u32 n, u64 at)
{
	const struct dep_load *l;
	u32 lo = 0, hi = n, mid, i;
	u64 end = at;

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
	return lo < n && value[lo] < end ? value[lo] : end;
}

static void add_spans(struct dep_image *im, const u32 *order, const u64 *value)
{
	struct dep_elf_symbols *t = &im->syms;
	const struct dep_elf_symbol *sym;
	u64 end;
	u32 i;

	for (i = 0; i < t->n; i++) {
		sym = &t->sym[order[i]];
		end = sym->value + sym->size;
		if (sym->is_object && sym->size && dep_image_is_data(im, sym->value, end))
			dep_spans_add(&t->data, sym->value, end, order[i]);
		if (sym->is_object)
			continue;
		if (!sym->size)
			end = end_of(im, value, t->n, sym->value);
		if (dep_image_is_code(im, sym->value, end))
			dep_spans_add(sym->size ? &t->code : &t->loose, sym->value, end, order[i]);
	}
}

static void make_indexes(struct dep_image *im)
{
	struct dep_elf_symbols *t = &im->syms;
	u32 *order = malloc((size_t)t->n * sizeof(*order));
	u64 *value = malloc((size_t)t->n * sizeof(*value));
	u32 i;

	t->by_name = malloc((size_t)t->n * sizeof(*t->by_name));
	if (!order || !value || !t->by_name)
		goto out_free;
	for (i = 0; i < t->n; i++) {
		order[i] = i;
		value[i] = t->sym[i].value;
		if (t->sym[i].is_func)
			t->by_name[t->nby_name++] = i;
	}
	qsort(value, t->n, sizeof(*value), by_value);
	qsort_r(order, t->n, sizeof(*order), by_plainness, t->sym);
	qsort_r(t->by_name, t->nby_name, sizeof(*t->by_name), by_name, t->sym);
	add_spans(im, order, value);
	dep_spans_seal(&t->code);
	dep_spans_seal(&t->loose);
	dep_spans_seal(&t->data);

out_free:
	free(order);
	free(value);
}

struct dep_elf_symbol *dep_image_function(struct dep_image *im, u64 vaddr)
{
	struct dep_elf_symbols *t = dep_image_symbols(im);
	u32 i = dep_spans_find(&t->code, vaddr);

	if (i == DEP_SPAN_NONE)
		i = dep_spans_find(&t->loose, vaddr);
	return i == DEP_SPAN_NONE ? NULL : &t->sym[i];
}

struct dep_elf_symbols *dep_image_symbols(struct dep_image *im)
{
	struct dep_elf_symbols *t = &im->syms;
	u32 n;

	if (im->have_syms || !im->main.elf)
		return t;
	im->have_syms = true;
	/* It may have the table that was stripped off. */
	dep_image_debug(im);
	if (read_table(im, im->main.elf, SHT_DYNSYM))
		return t;
	n = t->n;
	if (read_table(im, im->main.elf, SHT_SYMTAB) ||
	    (im->debug.elf && read_table(im, im->debug.elf, SHT_SYMTAB)))
		return t;
	t->whole = t->n > n;
	if (t->n)
		make_indexes(im);
	return t;
}

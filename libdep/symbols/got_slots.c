// SPDX-License-Identifier: LGPL-2.1-or-later
/* Relocations of the global offset table (GOT): which symbol's address each slot receives. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "file_code.h"

#define MAX_BYTES	(1u << 28)	/* of relocations, also in a sparse file */

static int add(struct dep_slot **to, size_t *n, size_t *room, const struct dep_slot *slot)
{
	struct dep_slot *p = dep_grow(*to, *n, room, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*to = p;
	p[(*n)++] = *slot;
	return 0;
}

/* The symbol table that a section of relocations refers to; NULL: it has none. */
static Elf_Data *symbols_of(Elf *elf, u32 index, GElf_Shdr *sh)
{
	Elf_Scn *scn = index ? elf_getscn(elf, index) : NULL;

	if (!scn || !gelf_getshdr(scn, sh) || sh->sh_type != SHT_DYNSYM)
		return NULL;
	return elf_getdata(scn, NULL);
}

static const char *name_of(Elf *elf, Elf_Data *syms, u32 strings, u64 number)
{
	const char *name;
	GElf_Sym sym;

	if (!syms || !number || number > INT32_MAX || !gelf_getsym(syms, (int)number, &sym))
		return NULL;
	name = elf_strptr(elf, strings, sym.st_name);
	return name && *name ? name : NULL;
}

static int read_section(struct dep_image *im, Elf_Scn *scn, const GElf_Shdr *sh, bool plt,
			struct dep_slots *out)
{
	Elf *elf = im->main.elf;
	Elf_Data *data = elf_getdata(scn, NULL), *syms;
	size_t i, n = data ? data->d_size / sizeof(Elf64_Rela) : 0;
	struct dep_slot slot;
	GElf_Shdr strings = { 0 };
	GElf_Rela r;
	int err = 0;

	syms = symbols_of(elf, sh->sh_link, &strings);
	for (i = 0; i < n && i < INT32_MAX && !err; i++) {
		if (!gelf_getrela(data, (int)i, &r))
			break;
		slot = (struct dep_slot){ .at = r.r_offset };
		switch (GELF_R_TYPE(r.r_info)) {
		case R_X86_64_IRELATIVE:
			slot.resolver = (u64)r.r_addend;
			break;
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
			slot.name = name_of(elf, syms, strings.sh_link, GELF_R_SYM(r.r_info));
			break;
		default:
			if (!plt)
				continue;
		}
		err = add(&out->slot, &out->n, &out->room, &slot);
		if (!err && plt)
			err = add(&out->plt, &out->nplt, &out->plt_room, &slot);
	}
	return err;
}

static int by_address(const void *pa, const void *pb)
{
	const struct dep_slot *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

int dep_got_slots(struct dep_image *im, struct dep_slots *out)
{
	Elf *elf = im->main.elf;
	u64 left = im->main.size < MAX_BYTES ? im->main.size : MAX_BYTES;
	const char *name;
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;
	int err = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		/* Sections of a hostile file can overlap; together they are at most the file. */
		if (sh.sh_size > left) {
			dep_symbols_message(im->s, "some stubs of %s have no names: its "
					    "relocations are too large", im->path);
			break;
		}
		left -= sh.sh_size;
		name = elf_strptr(elf, names, sh.sh_name);
		err = read_section(im, scn, &sh, name && !strcmp(name, ".rela.plt"), out);
	}
	if (out->n)
		qsort(out->slot, out->n, sizeof(*out->slot), by_address);
	return err;
}

const struct dep_slot *dep_slot_at(const struct dep_slots *t, u64 at)
{
	struct dep_slot key = { .at = at };

	return t->n ? bsearch(&key, t->slot, t->n, sizeof(key), by_address) : NULL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Entries of procedure linkage tables (PLTs).  An entry jumps to the address in a slot of the GOT,
 * so it is named after the symbol of the slot's relocation.
 *
 *	.plt		push; jmp (first entry), then jmp *slot; push number; jmp first
 *	.plt.sec	with indirect branch tracking: endbr64; jmp *slot.  Then the entries of .plt
 *			are endbr64; push number; jmp first
 *	.plt.got	jmp *slot; nop, or as .plt.sec
 *	.iplt		as .plt, without a first entry
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "file_code.h"

#define ENTRY		16u	/* bytes of an entry, unless entry_size() finds 8 */

#define MAX_BYTES	(1u << 26)	/* of PLTs; they are also at most the size of the file */

static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const u8 jump_slot[] = { 0xff, 0x25 };	/* jmp *slot(%rip) */
static const u8 push_slot[] = { 0xff, 0x35 };	/* push slot(%rip) */

struct plt {
	struct dep_image *im;
	struct dep_slots slots;
	struct dep_stubs *out;
	u64 left;		/* bytes that may still be read */
};

static bool starts_with(const u8 *p, size_t n, const u8 *with, size_t size)
{
	return n >= size && !memcmp(p, with, size);
}

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The slot that the entry at address @at jumps through, or whose number it pushes; NULL: none. */
static const struct dep_slot *slot_of(const struct plt *t, u64 at, const u8 *p, size_t n)
{
	const struct dep_slot *slot;
	u32 number;
	size_t i;

	for (i = 0; i + 6 <= n; i++) {
		if (memcmp(p + i, jump_slot, sizeof(jump_slot)))
			continue;
		slot = dep_slot_at(&t->slots, at + i + 6 + (u64)(s64)(s32)get32(p + i + 2));
		if (slot)
			return slot;
	}
	i = starts_with(p, n, endbr64, sizeof(endbr64)) ? sizeof(endbr64) : 0;
	if (i + 5 > n || p[i] != 0x68)
		return NULL;
	number = get32(p + i + 1);
	return number < t->slots.nplt ? &t->slots.plt[number] : NULL;
}

static int add_stub(struct plt *t, u64 at, const u8 *p, size_t n)
{
	const struct dep_slot *slot = slot_of(t, at, p, n);
	struct dep_stubs *out = t->out;
	struct dep_stub *stub = dep_grow(out->stub, out->n, &out->room, sizeof(*stub));

	if (!stub)
		return -ENOMEM;
	out->stub = stub;
	stub[out->n++] = (struct dep_stub){
		.lo = at, .hi = at + n, .name = slot ? slot->name : NULL,
		.resolver = slot ? slot->resolver : 0,
	};
	return 0;
}

/* Entries that are only a jump have 8 bytes: in .plt.got, and in static programs. */
static size_t entry_size(const u8 *code, size_t n)
{
	bool jump = starts_with(code, n, jump_slot, sizeof(jump_slot));

	if (jump && (n == 8 || starts_with(code + 8, n - 8, jump_slot, sizeof(jump_slot))))
		return 8;
	return ENTRY;
}

static int split(struct plt *t, u64 lo, u64 hi)
{
	size_t n = (size_t)(hi - lo), i, k, entry;
	u8 *code;
	int err = 0;

	if (hi - lo > t->left)
		dep_symbols_message(t->im->s, "some stubs of %s are missing: its PLTs are too "
				    "large", t->im->path);
	if (!n || hi - lo > t->left)
		return 0;
	t->left -= hi - lo;
	code = malloc(n);
	if (!code)
		return -ENOMEM;
	if (dep_image_bytes(t->im, lo, code, n) != n)
		n = 0;
	entry = n >= 8 ? entry_size(code, n) : ENTRY;
	for (i = 0; i < n && !err; i += k) {
		k = n - i < entry ? n - i : entry;
		err = add_stub(t, lo + i, code + i, k);
	}
	free(code);
	return err;
}

/* ---- where PLTs are ---- */

static bool is_plt_name(const char *name)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.bnd", ".plt.got", ".iplt" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int by_sections(struct plt *t)
{
	Elf *elf = t->im->main.elf;
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;
	int err = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_EXECINSTR) || sh.sh_addr >> 56 || sh.sh_size >> 56)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && is_plt_name(name))
			err = split(t, sh.sh_addr, sh.sh_addr + sh.sh_size);
	}
	return err;
}

/* Return: true if a range of .eh_frame begins like a PLT with a first entry. */
static bool is_plt(struct plt *t, const struct dep_extent *e)
{
	u8 head[ENTRY];

	return (e->hi - e->lo) % ENTRY == 0 &&
	       dep_image_bytes(t->im, e->lo, head, sizeof(head)) == sizeof(head) &&
	       !memcmp(head, push_slot, sizeof(push_slot)) &&
	       (!memcmp(head + 6, jump_slot, sizeof(jump_slot)) ||
		(head[6] == 0xf2 && !memcmp(head + 7, jump_slot, sizeof(jump_slot))));
}

static int by_eh_frame(struct plt *t, const struct dep_extents *fde)
{
	size_t i;
	int err = 0;

	for (i = 0; i < fde->n && !err; i++)
		if (is_plt(t, &fde->at[i]))
			err = split(t, fde->at[i].lo, fde->at[i].hi);
	return err;
}

int dep_plt_stubs(struct dep_image *im, const struct dep_extents *fde, struct dep_stubs *out)
{
	struct plt t = { .im = im, .out = out };
	int err = dep_got_slots(im, &t.slots);

	t.left = im->main.size < MAX_BYTES ? im->main.size : MAX_BYTES;
	if (!err && elf_nextscn(im->main.elf, NULL))
		err = by_sections(&t);
	else if (!err)
		err = by_eh_frame(&t, fde);
	free(t.slots.slot);
	free(t.slots.plt);
	return err;
}

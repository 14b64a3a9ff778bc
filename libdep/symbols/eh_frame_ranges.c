// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The ranges of code that .eh_frame describes.  Compilers write an entry (FDE) for each function,
 * or for each part of one that is elsewhere, and stripped files keep them.
 */
#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "file_code.h"

#define MAX_AUGMENTATION	16u	/* letters; the longest in use are "zPLRS" and "zPLRBG" */

/* A common part (CIE): what the entries that refer to it need. */
struct common {
	u64 offset;
	u8 encoding;		/* of addresses; DW_EH_PE_omit: it cannot be decoded */
	bool signal;		/* the function is one to which a signal handler returns */
};

struct frames {
	Elf_Data *data;
	u64 addr;		/* linked address of the first byte of @data */
	struct common *common;	/* in ascending order of offset */
	size_t n, room;
	struct dep_extents *out;
};

/* ---- fields ---- */

static size_t size_of(u8 encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

static bool is_signed(u8 encoding)
{
	return encoding & DW_EH_PE_signed;
}

/* Read a field of @encoding at @p, before @end; its base is not added. */
static bool get_number(const u8 *p, const u8 *end, u8 encoding, u64 *out)
{
	size_t n = size_of(encoding);
	u64 v = 0;

	if (!n || p > end || (size_t)(end - p) < n)
		return false;
	memcpy(&v, p, n);
	if (is_signed(encoding) && n < 8 && v >> (8 * n - 1))
		v |= ~0ull << 8 * n;
	*out = v;
	return true;
}

/* ---- common parts ---- */

/* Return: the encoding of addresses, DW_EH_PE_omit: unknown. */
static u8 encoding_of(const Dwarf_CIE *cie)
{
	const u8 *data = cie->augmentation_data;
	size_t size = cie->augmentation_data_size, at = 0;
	const char *letter = cie->augmentation;
	u8 encoding = DW_EH_PE_absptr;

	if (!letter || strnlen(letter, MAX_AUGMENTATION) == MAX_AUGMENTATION)
		return DW_EH_PE_omit;
	if (!*letter)
		return encoding;
	if (*letter++ != 'z' || !data)
		return DW_EH_PE_omit;
	for (; *letter; letter++)
		switch (*letter) {
		case 'R':
			return at < size ? data[at] : DW_EH_PE_omit;
		case 'L':
			at++;
			break;
		case 'P':
			if (at >= size || !size_of(data[at]))
				return DW_EH_PE_omit;
			at += 1 + size_of(data[at]);
			break;
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			return DW_EH_PE_omit;
		}
	return encoding;
}

static bool has_signal_letter(const char *letter)
{
	return letter && memchr(letter, 'S', strnlen(letter, MAX_AUGMENTATION));
}

static int add_common(struct frames *f, u64 offset, const Dwarf_CIE *cie)
{
	struct common *p = dep_grow(f->common, f->n, &f->room, sizeof(*p));

	if (!p)
		return -ENOMEM;
	f->common = p;
	p[f->n].offset = offset;
	p[f->n].encoding = encoding_of(cie);
	p[f->n].signal = has_signal_letter(cie->augmentation);
	f->n++;
	return 0;
}

static int by_offset(const void *key, const void *entry)
{
	const u64 *offset = key;
	const struct common *c = entry;

	return *offset < c->offset ? -1 : *offset > c->offset;
}

/* ---- entries ---- */

static int add_entry(struct frames *f, const Dwarf_FDE *fde)
{
	const u8 *p = fde->start, *end = fde->end, *base = f->data->d_buf;
	u64 cie = fde->CIE_pointer, lo, size;
	const struct common *c;

	c = f->n ? bsearch(&cie, f->common, f->n, sizeof(*c), by_offset) : NULL;
	if (!c || c->encoding == DW_EH_PE_omit || c->encoding & DW_EH_PE_indirect)
		return 0;
	if (!get_number(p, end, c->encoding, &lo) ||
	    !get_number(p + size_of(c->encoding), end, c->encoding & 7, &size))
		return 0;
	switch (c->encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		lo += f->addr + (u64)(p - base);
		break;
	default:
		return 0;
	}
	if (lo >> 56 || size >> 56 || !size)
		return 0;
	/*
	 * The entry of a function to which a signal handler returns begins one byte early, because
	 * unwinders look up the byte before a return address.
	 */
	return dep_extents_add(f->out, lo + (c->signal && size > 1), lo + size);
}

static int read_entries(struct frames *f)
{
	static const u8 ident[EI_NIDENT] = {
		[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB, [EI_VERSION] = EV_CURRENT,
	};
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0, next;
	int err = 0, end;

	while (!err && at < f->data->d_size) {
		end = dwarf_next_cfi(ident, f->data, true, at, &next, &entry);
		/* Behind an entry that cannot be decoded there are others. */
		if (end > 0 || next <= at || next == (Dwarf_Off)-1)
			break;
		if (!end && dwarf_cfi_cie_p(&entry))
			err = add_common(f, at, &entry.cie);
		else if (!end)
			err = add_entry(f, &entry.fde);
		at = next;
	}
	return err;
}

/* ---- where they are ---- */

/*
 * Without section headers, the section .eh_frame_hdr is still found as a segment.  It has the
 * address of .eh_frame, which ends with an entry of length 0.
 */
static Elf_Data *by_segment(struct dep_image *im, u64 *addr)
{
	const struct dep_load *l;
	u8 head[12];
	GElf_Phdr ph;
	size_t i, n;
	u64 at;

	if (elf_getphdrnum(im->main.elf, &n))
		return NULL;
	for (i = 0; i < n; i++)
		if (gelf_getphdr(im->main.elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME)
			break;
	if (i == n || dep_image_bytes(im, ph.p_vaddr, head, sizeof(head)) != sizeof(head) ||
	    head[0] != 1 || head[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    !get_number(head + 4, head + 8, head[1], &at))
		return NULL;
	*addr = ph.p_vaddr + 4 + at;
	l = dep_image_load(im, *addr);
	return l ? elf_getdata_rawchunk(im->main.elf, (off_t)(*addr - l->vaddr + l->offset),
					l->vaddr + l->filesz - *addr, ELF_T_BYTE) : NULL;
}

int dep_eh_frame_ranges(struct dep_image *im, struct dep_extents *out)
{
	struct frames f = { .out = out };
	GElf_Shdr sh;
	Elf_Scn *scn = dep_elf_section(im->main.elf, ".eh_frame", &sh);
	int err = 0;

	f.data = scn ? elf_rawdata(scn, NULL) : by_segment(im, &f.addr);
	if (scn)
		f.addr = sh.sh_addr;
	if (f.data && f.data->d_buf)
		err = read_entries(&f);
	free(f.common);
	dep_extents_sort(out);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * BB_pc, DEPc and CF_bit.
 *
 * BB_pc has 8 bytes per block.  The paper's addresses have 4 bytes: 2 of the H-tag, 2 of the L-tag.
 * BB_pc32 and DEPc32 are the paper's formats without a change, for addresses that have this size.
 * The 64-KiB regions of a store that have blocks get the numbers 1, 2, 3..., in the order of their
 * first blocks, and the number stands for bits 16..63 of an address.  No region has the number 0,
 * as in the paper, where nothing is in the lowest 64 KiB.
 *
 * DEPc32: a block stores its L-tag.  If its H-tag differs from that of the block before, the marker
 * 0x0000 and the H-tag come first.  The L-tag 0x0000 is stored twice.
 *
 * DEPc: an address consists of a 2-byte L-tag, its low 16 bits, and three H-tags, the other 16-bit
 * parts.  A block stores its L-tag.  If some H-tags differ from those of the block before, the
 * block first stores the marker 0x0000, then a 16-bit word whose bits 0..2 select the H-tags that
 * follow (bit 0: bits 16..31 of the address), then these H-tags.  The L-tag 0x0000 is stored as the
 * marker and a word of 0.
 *
 * CF_bit: a bit per conditional branch (jcc, loop, jrcxz), 1 if it is taken, from the lowest bit of
 * a byte upwards; and 8 bytes per indirect branch (jmp, call, ret) for its target.  These are two
 * streams, because no order of both is needed to decode them.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "paper_formats.h"

#define SLOTS	(2 * (PAPER_REGIONS + 1))

static u32 hash(u64 high)
{
	return (u32)(high * 0x9e3779b97f4a7c15ull >> 47) % SLOTS;
}

static u16 add_region(struct paper *t, u32 slot, u64 high)
{
	if (t->regions.n == PAPER_REGIONS) {
		t->err = dep_fail(-EOVERFLOW, "there is code in more than %u regions of 64 KiB",
				  PAPER_REGIONS);
		return 0;
	}
	t->regions.high[slot] = high;
	t->regions.number[slot] = (u16)++t->regions.n;
	paper_put(t, DEP_PAPER_REGIONS, high << 16, 8);
	return (u16)t->regions.n;
}

/* Number of the region of @high; 0 with t->err set if there is none. */
static u16 find_region(struct paper *t, u64 high)
{
	struct paper_regions *r = &t->regions;
	u32 slot = hash(high);

	if (!r->high)
		r->high = calloc(SLOTS, sizeof(*r->high));
	if (!r->number)
		r->number = calloc(SLOTS, sizeof(*r->number));
	if (!r->high || !r->number) {
		t->err = dep_fail(-ENOMEM, "numbers of regions");
		return 0;
	}
	for (; r->number[slot]; slot = (slot + 1) % SLOTS)
		if (r->high[slot] == high)
			return r->number[slot];
	return add_region(t, slot, high);
}

void paper_regions_free(struct paper *t)
{
	free(t->regions.high);
	free(t->regions.number);
}

static void put_depc(struct paper *t, u64 pc)
{
	u64 changed = (pc >> 16) ^ t->high;
	u32 i, word = 0;

	for (i = 0; i < 3; i++)
		if (changed >> (16 * i) & 0xffff)
			word |= 1u << i;
	if (word) {
		paper_put(t, DEP_PAPER_DEPC, 0, 2);
		paper_put(t, DEP_PAPER_DEPC, word, 2);
	}
	for (i = 0; i < 3; i++)
		if (word >> i & 1)
			paper_put(t, DEP_PAPER_DEPC, pc >> (16 * (i + 1)), 2);
	t->high = pc >> 16;
	paper_put(t, DEP_PAPER_DEPC, pc, 2);
	if (!(pc & 0xffff))
		paper_put(t, DEP_PAPER_DEPC, 0, 2);
}

static void put_depc32(struct paper *t, u64 pc)
{
	u16 number = t->region;

	if (!number || pc >> 16 != t->region_high) {
		number = find_region(t, pc >> 16);
		if (!number)
			return;
		paper_put(t, DEP_PAPER_DEPC32, 0, 2);
		paper_put(t, DEP_PAPER_DEPC32, number, 2);
		t->region_high = pc >> 16;
		t->region = number;
	}
	paper_put(t, DEP_PAPER_BB_PC32, (u32)number << 16 | (pc & 0xffff), 4);
	paper_put(t, DEP_PAPER_DEPC32, pc, 2);
	if (!(pc & 0xffff))
		paper_put(t, DEP_PAPER_DEPC32, 0, 2);
}

void paper_block(struct paper *t, u64 pc)
{
	const u32 numbered = 1u << DEP_PAPER_BB_PC32 | 1u << DEP_PAPER_DEPC32 |
			     1u << DEP_PAPER_REGIONS;

	paper_put(t, DEP_PAPER_BB_PC, pc, 8);
	put_depc(t, pc);
	if (t->sink->want & numbered)
		put_depc32(t, pc);
}

static void put_bit(struct paper *t, bool bit)
{
	t->bits |= (u8)(bit << t->nbits);
	if (++t->nbits == 8)
		paper_end_bits(t);
}

void paper_end_bits(struct paper *t)
{
	if (t->nbits)
		paper_put(t, DEP_PAPER_CF_BITS, t->bits, 1);
	t->bits = t->nbits = 0;
}

void paper_arrive(struct paper *t, u64 pc)
{
	if (t->branch & DEP_I_COND)
		put_bit(t, pc && pc != t->next);
	else if (t->branch & DEP_I_INDIRECT)
		paper_put(t, DEP_PAPER_CF_TARGETS, pc, 8);
	t->branch = 0;
}

void paper_branches(struct paper *t, const struct dep_insn *in, const struct dep_insn *end)
{
	for (; in < end; in++) {
		if (t->branch)
			paper_arrive(t, in->pc);
		t->branch = in->flags & (DEP_I_COND | DEP_I_INDIRECT);
		t->next = in->pc + in->len;
	}
}

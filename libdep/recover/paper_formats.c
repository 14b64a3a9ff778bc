// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sizes that a recording would have in the formats of the DEP paper, with 64-bit addresses.
 *
 * BB_pc: 8 bytes per block.
 *
 * DEPc: an address consists of a 2-byte L-tag, its low 16 bits, and three H-tags, the
 * other 16-bit parts.  A block stores its L-tag.  If some H-tags differ from those of
 * the previous block, the block first stores the marker 0x0000, then a 16-bit word
 * whose bits 0..2 select the H-tags that follow (bit 0: bits 16..31 of the address),
 * then these H-tags.  The L-tag 0x0000 is stored as the marker and a word of 0.  At
 * the beginning of a thread all H-tags are 0.
 *
 * CF_bit: a bit per conditional branch (jcc, loop, jrcxz), taken or not, and 8 bytes
 * per indirect branch (jmp, call, ret) for its target.  The bits of a thread are
 * rounded up to whole bytes.
 *
 * Mem_addr: 8 bytes per reference.
 *
 * DEPm: each register is UPDATED or RECORDED.  An instruction that uses an UPDATED
 * register in an address stores its value, 8 bytes, and makes the register RECORDED.
 * Registers that an instruction writes become UPDATED.  All registers are UPDATED at
 * the beginning of a thread and after a gap in the recording.
 */
#include <errno.h>

#include "libdep/format/file/error.h"
#include "libdep/recover/interp/run.h"

struct tally {
	struct dep_formats *f;
	u64 bits, high;
	u16 updated;
};

static void tally_block(struct tally *t, u64 pc)
{
	u64 changed = (pc >> 16) ^ t->high;
	u32 i;

	t->f->bb_pc += 8;
	t->f->depc += 2;
	if (changed) {
		t->f->depc += 4;
		for (i = 0; i < 3; i++)
			if (changed >> (16 * i) & 0xffff)
				t->f->depc += 2;
		t->high = pc >> 16;
	}
	if (!(pc & 0xffff))
		t->f->depc += 2;
}

static void tally_piece(void *arg, const struct dep_program *p, const struct dep_details *d,
			u32 from, u32 to)
{
	const struct dep_insn *in = d->insn + from, *end = d->insn + to;
	struct tally *t = arg;
	u16 updated = t->updated, store;

	(void)p;
	for (; in < end; in++) {
		if (in->flags & DEP_I_BLOCK)
			tally_block(t, in->pc);
		store = in->gpr_addr & updated;
		if (store)
			t->f->depm += 8u * __builtin_popcount(store);
		updated = (updated & ~store) | in->gpr_write;
		if (in->flags & DEP_I_COND)
			t->bits++;
		if (in->flags & DEP_I_INDIRECT)
			t->f->cf_bit += 8;
	}
	t->updated = updated;
}

static void begin_thread(struct tally *t)
{
	t->f->cf_bit += (t->bits + 7) / 8;
	t->bits = 0;
	t->high = 0;
	t->updated = 0xffff;
}

int dep_formats(struct dep_store *s, struct dep_formats *f)
{
	static const struct dep_sink nowhere;
	struct tally t = { .f = f, .updated = 0xffff };
	struct dep_tracer tracer = { tally_piece, &t };
	const struct dep_segment *seg;
	struct dep_counts counts = { 0 };
	struct dep_columns c = { 0 };
	struct dep_interp r;
	size_t i, n;
	int err, first = 0;

	*f = (struct dep_formats){ 0 };
	dep_interp_init(&r, &c, &nowhere, &tracer);
	n = dep_store_segments(s, &seg);
	for (i = 0; i < n; i++) {
		if (i && seg[i].thread != seg[i - 1].thread)
			begin_thread(&t);
		else if (i && seg[i].seq != seg[i - 1].seq + 1)
			t.updated = 0xffff;
		err = dep_recover_traced(s, &seg[i], &r, &counts);
		if (!err)
			continue;
		/* This segment cannot be recovered: continue with the next one. */
		t.updated = 0xffff;
		first = first ? first : err;
	}
	begin_thread(&t);
	f->mem_addr = 8 * counts.refs;
	dep_interp_free(&r);
	dep_columns_free(&c);
	return first;
}

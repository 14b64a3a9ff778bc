/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The streams of the DEP paper while they are written: shared by the files paper_*.c. */
#ifndef ADEPT_RECOVER_PAPER_FORMATS_H
#define ADEPT_RECOVER_PAPER_FORMATS_H

#include "libdep/recover/interp/run.h"

#define PAPER_BUFFER	(64u << 10)
#define PAPER_REGIONS	0xffffu		/* numbers of regions are 1 to this */

/** struct paper_regions - numbers of the 64-KiB regions that blocks are in; open addressing */
struct paper_regions {
	u64 *high;		/* address >> 16 */
	u16 *number;		/* 0: the slot is free */
	u32 n;
};

/**
 * struct paper - state of dep_formats_write()
 * @err: the first error; nothing is written after it
 * @high: bits 16..63 of the last block, for DEPc
 * @region_high, @region: bits 16..63 of the last block with a 4-byte address, and their number; 0:
 *	the segment has no such block yet
 * @bits, @nbits: bits of CF_bit that are no whole byte yet
 * @branch: flags of the last instruction, if its target is not known yet
 * @next: address behind it
 * @updated: registers that are UPDATED
 * @at, @to, @last: next instruction of the piece; its end; the fragment's end
 */
struct paper {
	const struct dep_format_sink *sink;
	u32 thread;
	int err;
	u64 high, region_high;
	u16 region;
	struct paper_regions regions;
	u8 bits, nbits, branch;
	u64 next;
	u16 updated;
	const struct dep_insn *at, *to, *last;
	size_t used[DEP_PAPER_FORMATS];
	u8 buffer[DEP_PAPER_FORMATS][PAPER_BUFFER];
};

/** paper_flush() - pass what is in the buffers to the sink */
void paper_flush(struct paper *t);
/** paper_put() - add the low @bytes bytes of @value to a stream, if it is wanted */
void paper_put(struct paper *t, enum dep_paper_format format, u64 value, u32 bytes);

/* ---- paper_control.c ---- */

/** paper_block() - add a block to BB_pc and DEPc */
void paper_block(struct paper *t, u64 pc);
/** paper_branches() - add the branches of instructions @in to @end - 1 to CF_bit */
void paper_branches(struct paper *t, const struct dep_insn *in, const struct dep_insn *end);
/** paper_arrive() - the last branch leads to @pc */
void paper_arrive(struct paper *t, u64 pc);
/** paper_end_bits() - end the bits of a thread */
void paper_end_bits(struct paper *t);
void paper_regions_free(struct paper *t);

/* ---- paper_registers.c: DEPm ---- */

void paper_before_op(struct paper *t, const struct dep_interp *r, const struct dep_program *p,
		     u32 op);
/** paper_end_piece() - the instructions up to t->to were executed */
void paper_end_piece(struct paper *t);
/** paper_interrupted() - a string instruction ended at @post before its last iteration */
void paper_interrupted(struct paper *t, const struct dep_interp *r, const struct dep_insn *in,
		       u64 post);

#endif

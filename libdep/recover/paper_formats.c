// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The trace of a store in the formats of the DEP paper, with 64-bit addresses: paper_control.c and
 * paper_registers.c describe them.  Mem_addr has 8 bytes per reference.  All numbers are
 * little-endian.
 *
 * The H-tags of DEPc begin anew with each segment, so a segment's part can be decoded alone: in
 * DEPc all of them are 0 at that point, and DEPc32 begins with an H-tag.
 *
 * A branch whose target is not known, because the thread's recording ends or has a gap, is not
 * taken or leads to 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "paper_formats.h"

static void flush_stream(struct paper *t, enum dep_paper_format f)
{
	if (t->used[f] && t->sink->put && !t->err)
		t->err = t->sink->put(t->sink->arg, t->thread, f, t->buffer[f], t->used[f]);
	t->used[f] = 0;
}

void paper_flush(struct paper *t)
{
	u32 f;

	for (f = 0; f < DEP_PAPER_FORMATS; f++)
		flush_stream(t, f);
}

void paper_put(struct paper *t, enum dep_paper_format f, u64 value, u32 bytes)
{
	if (!(t->sink->want >> f & 1))
		return;
	if (t->used[f] + bytes > PAPER_BUFFER)
		flush_stream(t, f);
	memcpy(t->buffer[f] + t->used[f], &value, bytes);
	t->used[f] += bytes;
}

/* ---- the tracer and the sink of recovery ---- */

static void begin_piece(void *arg, const struct dep_program *p, const struct dep_details *d,
			u32 from, u32 to)
{
	struct paper *t = arg;

	t->at = d->insn + from;
	t->to = d->insn + to;
	t->last = d->insn + p->d->ninsns;
	paper_branches(t, t->at, t->to);
}

static void before_op(void *arg, const struct dep_interp *r, const struct dep_program *p, u32 op)
{
	paper_before_op(arg, r, p, op);
}

static void end_piece(void *arg)
{
	paper_end_piece(arg);
}

static void moved(void *arg, u64 pc)
{
	struct paper *t = arg;

	paper_arrive(t, pc);
	t->updated = 0xffff;
}

static void interrupted(void *arg, const struct dep_interp *r, const struct dep_insn *in,
			u64 post)
{
	paper_interrupted(arg, r, in, post);
}

static int take_items(void *arg, const struct dep_segment *seg, const struct dep_item *it,
		      size_t n)
{
	struct paper *t = arg;

	(void)seg;
	for (; n--; it++) {
		if (it->kind == DEP_ITEM_BLOCK)
			paper_block(t, it->block.pc);
		else if (it->kind == DEP_ITEM_REF)
			paper_put(t, DEP_PAPER_MEM_ADDR, it->ref.addr, 8);
	}
	return t->err;
}

/* ---- threads and segments ---- */

static void begin_gap(struct paper *t)
{
	paper_arrive(t, 0);
	t->updated = 0xffff;
}

static void end_thread(struct paper *t)
{
	begin_gap(t);
	paper_end_bits(t);
	paper_flush(t);
}

static void begin_segment(struct paper *t, const struct dep_segment *seg, bool first)
{
	if (!first && seg->thread != seg[-1].thread)
		end_thread(t);
	else if (!first && seg->seq != seg[-1].seq + 1)
		begin_gap(t);
	t->thread = seg->thread;
	t->high = 0;
	t->region = 0;
}

static int write_segments(struct paper *t, struct dep_interp *r, struct dep_store *s,
			  const struct dep_segment *segs, size_t n)
{
	size_t i;
	int err;

	for (i = 0; i < n && !t->err; i++) {
		begin_segment(t, &segs[i], !i);
		err = dep_recover_traced(s, &segs[i], r, NULL);
		if (!err || t->err)
			continue;
		/* This segment cannot be recovered: continue with the next one. */
		begin_gap(t);
		if (t->sink->failed)
			t->sink->failed(t->sink->arg, &segs[i], dep_error());
	}
	end_thread(t);
	return t->err;
}

int dep_formats_write(struct dep_store *s, const struct dep_segment *segs, size_t n,
		      const struct dep_format_sink *sink)
{
	const u32 blocks = 1u << DEP_PAPER_BB_PC | 1u << DEP_PAPER_BB_PC32 |
			   1u << DEP_PAPER_DEPC | 1u << DEP_PAPER_DEPC32 |
			   1u << DEP_PAPER_REGIONS;
	struct paper *t = calloc(1, sizeof(*t));
	const struct dep_sink items = {
		.want = (sink->want & blocks ? DEP_WANT_BLOCKS : 0) |
			(sink->want >> DEP_PAPER_MEM_ADDR & 1 ? DEP_WANT_REFS : 0),
		.batch = take_items, .arg = t,
	};
	const struct dep_tracer tracer = {
		.begin = begin_piece,
		.op = sink->want >> DEP_PAPER_DEPM & 1 ? before_op : NULL,
		.end = end_piece, .moved = moved, .interrupted = interrupted, .arg = t,
	};
	struct dep_columns c = { 0 };
	struct dep_interp r;
	int err;

	if (!t)
		return dep_fail(-ENOMEM, "buffers of the formats");
	t->sink = sink;
	t->updated = 0xffff;
	dep_interp_init(&r, &c, &items, &tracer);
	err = write_segments(t, &r, s, segs, n);
	dep_interp_free(&r);
	dep_columns_free(&c);
	paper_regions_free(t);
	free(t);
	return err;
}

/* ---- sizes only ---- */

struct sizes {
	u64 n[DEP_PAPER_FORMATS];
	int err;
	char why[256];
};

static int add_size(void *arg, uint32_t thread, enum dep_paper_format f, const void *data,
		    size_t size)
{
	struct sizes *s = arg;

	(void)thread;
	(void)data;
	s->n[f] += size;
	return 0;
}

static void note_failed(void *arg, const struct dep_segment *seg, const char *why)
{
	struct sizes *s = arg;

	(void)seg;
	if (s->err)
		return;
	s->err = -EBADMSG;
	strncpy(s->why, why, sizeof(s->why) - 1);
}

int dep_formats(struct dep_store *s, struct dep_formats *f)
{
	struct sizes z = { 0 };
	const struct dep_format_sink sink = {
		.want = 1u << DEP_PAPER_BB_PC | 1u << DEP_PAPER_DEPC | 1u << DEP_PAPER_CF_BITS |
			1u << DEP_PAPER_CF_TARGETS | 1u << DEP_PAPER_MEM_ADDR |
			1u << DEP_PAPER_DEPM,
		.put = add_size, .failed = note_failed, .arg = &z,
	};
	const struct dep_segment *segs;
	size_t n = dep_store_segments(s, &segs);
	int err = dep_formats_write(s, segs, n, &sink);

	*f = (struct dep_formats){
		.bb_pc = z.n[DEP_PAPER_BB_PC], .depc = z.n[DEP_PAPER_DEPC],
		.cf_bit = z.n[DEP_PAPER_CF_BITS] + z.n[DEP_PAPER_CF_TARGETS],
		.mem_addr = z.n[DEP_PAPER_MEM_ADDR], .depm = z.n[DEP_PAPER_DEPM],
	};
	return err ? err : z.err ? dep_fail_again(z.err, z.why) : 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Check of the segment boundary state: the position and the known registers at the end of a segment
 * must equal those at the beginning of the next segment.  If they do, segments can be recovered
 * independently of each other, with the same result as in sequence.
 */
#include <errno.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/recover/interp/run.h"

static const char *const reg_names[16] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static int read_header(struct dep_store *s, const struct dep_segment *seg,
		       struct dep_seg_header *h)
{
	if (!dep_store_header(s, seg, h))
		return 0;
	return dep_fail(-EBADMSG, "thread %u, segment %llu: the segment header cannot be read",
			seg->thread, (unsigned long long)seg->seq);
}

/*
 * Compare the position at the end of a segment (@tail) with the beginning of the next one (@head).
 * A @head between two records is always valid: if @tail is inside a record, the thread left the
 * fragment there.  @tail can have an extra value, which an instruction stored after its execution;
 * this value counts as the last value of @head.
 */
static int same_position(const struct adept_position *tail, const struct adept_position *head)
{
	if (!head->frag)
		return 1;
	return tail->frag == head->frag && tail->insn == head->insn &&
	       tail->nvals + !!tail->has_extra == head->nvals;
}

static int compare(const struct dep_interp *r, const struct dep_segment *seg,
		   const struct dep_seg_header *next)
{
	const struct adept_position *tail = &r->columns->h.tail;
	unsigned long long seq = seg->seq;
	int i;

	if (!same_position(tail, &next->head))
		return dep_fail(-EUCLEAN, "thread %u: segment %llu ends in fragment %u, "
				"instruction %u, value %u, but the next begins in fragment %u, "
				"instruction %u, value %u",
				seg->thread, seq, tail->frag, tail->insn, tail->nvals,
				next->head.frag, next->head.insn, next->head.nvals);
	for (i = 0; i < 16; i++)
		if (r->known & (1u << i) && r->slot[i] != next->regs[i])
			return dep_fail(-EUCLEAN, "thread %u: %s is %#llx at the end of segment "
					"%llu, but %#llx at the beginning of the next", seg->thread,
					reg_names[i], (unsigned long long)r->slot[i], seq,
					(unsigned long long)next->regs[i]);
	if (r->slot[DEP_S_FS] != next->fs_base || r->slot[DEP_S_GS] != next->gs_base)
		return dep_fail(-EUCLEAN, "thread %u: the %s base changes between segment %llu and "
				"the next", seg->thread,
				r->slot[DEP_S_FS] != next->fs_base ? "fs" : "gs", seq);
	return 0;
}

int dep_recover_check_boundary(struct dep_store *s, const struct dep_segment *seg,
			       const struct dep_segment *next, struct dep_counts *counts)
{
	static const struct dep_sink nowhere;
	struct dep_columns c = { 0 };
	struct dep_seg_header h;
	struct dep_interp r;
	int err;

	dep_interp_init(&r, &c, &nowhere, NULL);
	err = dep_recover_traced(s, seg, &r, counts);
	/* If part of this segment is missing, the state at its end is unknown. */
	if (!err && next && !c.h.lost_bytes) {
		err = read_header(s, next, &h);
		if (!err)
			err = compare(&r, seg, &h);
	}
	dep_interp_free(&r);
	dep_columns_free(&c);
	return err;
}

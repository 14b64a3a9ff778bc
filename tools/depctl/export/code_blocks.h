/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Basic blocks of executed code. */
#ifndef DEPCTL_EXPORT_CODE_BLOCKS_H
#define DEPCTL_EXPORT_CODE_BLOCKS_H

#include <dep/profile.h>

/** struct code_block - successive instructions that can only be entered at the first one */
struct code_block {
	size_t first, n;	/* in dep_profile.insn */
};

struct code_blocks {
	const struct dep_profile *p;
	struct code_block *block;	/* in the order of dep_profile.insn */
	size_t n;
};

/** code_blocks_make() - return 0 or -ENOMEM */
int code_blocks_make(struct code_blocks *b, const struct dep_profile *p);
void code_blocks_free(struct code_blocks *b);

#define NO_INSN	SIZE_MAX

/** insn_at() - index of the instruction at @pc in @p->insn, or NO_INSN */
size_t insn_at(const struct dep_profile *p, uint32_t process, uint32_t image, uint64_t pc);

/** insn_follows() - true if instruction @i begins where instruction @i - 1 ends */
static inline bool insn_follows(const struct dep_profile *p, size_t i)
{
	const struct dep_insn_count *at = &p->insn[i];

	return i && at[-1].process == at->process && at[-1].image == at->image &&
	       at[-1].pc + at[-1].size == at->pc;
}

/**
 * flow_begin(), flow_into() - how often control went on to instruction @i from the one in front of
 *	it, which is no branch; @i must not fall between calls
 */
struct flow {
	const struct dep_profile *p;
	const struct dep_edge_count **left;	/* DEP_EDGE_LEFT rows, by process, image, pc */
	size_t n, next;
};

int flow_begin(struct flow *f, const struct dep_profile *p);
uint64_t flow_into(struct flow *f, size_t i);
void flow_end(struct flow *f);

#endif

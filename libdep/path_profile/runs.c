// SPDX-License-Identifier: LGPL-2.1-or-later
/* Runs of code, by address. */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"
#include "pass.h"

/* Address of the first instruction behind @nsteps steps of a fragment. */
static u64 begin_of(const struct dep_fragments *code, u32 fragment, u32 nsteps)
{
	const struct dep_code_fragment *f = code->fragment + fragment;
	const struct dep_branch_step *before = code->step + f->first_step + nsteps - 1;

	if (!nsteps)
		return f->pc;
	return before->branch == DEP_BRANCH_JUMP ? before->target : before->next;
}

int dep_path_insns(const struct dep_path_pass *p, const struct dep_path_run *run, u64 *out)
{
	const struct adept_desc_frag *d = dep_store_fragment(p->store, run->fragment)->d;
	struct dep_desc_at at = { 0 };
	u64 pc = run->start;
	struct x86_insn in;

	while (at.insn < run->to) {
		if (at.insn >= run->from)
			*out++ = pc;
		if (at.insn >= d->ninsns || dep_desc_insn(d, &at, &in))
			return dep_fail(-EBADMSG, "fragment %u is damaged", run->fragment);
		if (at.insn > run->from)
			pc += in.len;
	}
	*out = pc;
	return 0;
}

/* Bytes of a fragment's code in front of step number @nsteps; more than it has if it is damaged. */
static u64 code_in_front(struct dep_path_pass *p, u32 fragment, u32 nsteps)
{
	const struct dep_code_fragment *f = p->code->fragment + fragment;
	const struct dep_branch_step *s = p->code->step + f->first_step;
	u32 *bytes = p->code_of_step + f->first_step, k;
	u64 at = 0;

	if (!nsteps)
		return 0;
	/* All at once: one by one they would take quadratic time. */
	for (k = 0; k < f->nsteps && !bytes[f->nsteps - 1]; k++) {
		at += s[k].next - begin_of(p->code, fragment, k);
		bytes[k] = at > UINT16_MAX ? UINT16_MAX + 1u : (u32)at;
	}
	return bytes[nsteps - 1];
}

/* Set the bytes of @run, which are behind those of the first @nsteps steps of its fragment. */
static int set_bytes(struct dep_path_pass *p, struct dep_path_run *run, u32 nsteps)
{
	const struct adept_desc_frag *d = dep_store_fragment(p->store, run->fragment)->d;
	u64 at = code_in_front(p, run->fragment, nsteps), n = run->next - run->start;

	if (run->to <= run->from || at > d->code_len || n > d->code_len - at)
		return dep_fail(-EBADMSG, "fragment %u is damaged", run->fragment);
	run->bytes = dep_desc_code(d) + at;
	return 0;
}

/*
 * A forged store can have other code with the same hash; only its own rows suffer.  The address as
 * a seed is too little: stubs that push a number and jump to the same place differ by the same
 * number in address and bytes.
 */
static u64 hash(const struct dep_path_run *run)
{
	const u64 both[] = { run->start, XXH3_64bits(run->bytes, run->next - run->start) };

	return XXH3_64bits(both, sizeof(both));
}

/* The index of @run, which is behind @nsteps steps of its fragment. */
static s64 add(struct dep_path_pass *p, const struct dep_walk *w, struct dep_path_run *run,
	       u32 nsteps)
{
	int err = set_bytes(p, run, nsteps);
	const struct dep_row_key key = {
		.a = err ? 0 : hash(run),
		.b = w->moves->family[run->fragment],
		.c = (u32)(run->last - run->start) << 4 | run->branch,
	};
	bool added;
	s64 i;

	if (err)
		return err;
	i = dep_path_index(p, &p->run_map, &key, &p->run, sizeof(*run), &added);
	if (i >= 0 && added)
		*dep_path_run_at(p, (u32)i) = *run;
	return i;
}

s64 dep_path_step_run(struct dep_path_pass *p, const struct dep_walk *w, u32 fragment, u32 step)
{
	const struct dep_branch_step *s = p->code->step + step;
	u32 k = step - p->code->fragment[fragment].first_step;
	struct dep_path_run run = {
		.start = begin_of(p->code, fragment, k), .last = s->pc, .next = s->next,
		.target = s->target, .fragment = fragment, .from = k ? s[-1].insns : 0,
		.to = s->insns, .branch = s->branch,
	};
	s64 i;

	if (p->run_of_step[step])
		return p->run_of_step[step] - 1;
	i = add(p, w, &run, k);
	if (i >= 0)
		p->run_of_step[step] = (u32)i + 1;
	return i;
}

s64 dep_path_piece_run(struct dep_path_pass *p, const struct dep_walk *w, u32 fragment,
		       u32 nsteps, u32 to)
{
	const struct dep_code_fragment *f = p->code->fragment + fragment;
	struct dep_path_run run = {
		.start = begin_of(p->code, fragment, nsteps), .fragment = fragment,
		.from = nsteps ? p->code->step[f->first_step + nsteps - 1].insns : 0,
		.to = (u16)to,
	};
	u64 *pc = calloc(to + 2ull, sizeof(*pc));
	int err;

	if (!pc)
		return dep_fail(-ENOMEM, "paths");
	err = dep_path_insns(p, &run, pc);
	if (!err) {
		run.last = pc[run.to - run.from - 1];
		run.next = run.target = pc[run.to - run.from];
	}
	free(pc);
	return err ? err : add(p, w, &run, nsteps);
}

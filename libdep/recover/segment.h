/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recovery of one segment: declarations shared by segment.c, exits.c and partial_record.c. */
#ifndef ADEPT_RECOVER_SEGMENT_H
#define ADEPT_RECOVER_SEGMENT_H

#include "libdep/format/file/error.h"
#include "libdep/recover/interp/run.h"

/**
 * struct dep_cursor - read position in a segment's columns
 * @control: next word of the control column
 * @control_end: end of the control column
 * @value_end: end of the values that belong to whole records; values of an unfinished record follow
 *
 * The position in the value column is dep_interp.value.
 */
struct dep_cursor {
	const u32 *control, *control_end;
	const u64 *value_end;
};

/**
 * dep_take_values() - decode @words values at r->value in place
 * @id: exit or event that the values belong to; 0: the unfinished record at the segment's end
 * @from: number of values of @id that were decoded before
 */
static inline void dep_take_values(struct dep_interp *r, u32 id, u32 from, u32 words)
{
	struct dep_columns *c = r->columns;

	if (c->differences)
		dep_delta_sum(r->last, id, from, c->value + (r->value - c->value), words);
}

/** dep_check_entry() - check that all registers are known that @p needs on entry; 0 or -EBADMSG */
static inline int dep_check_entry(struct dep_interp *r, const struct dep_program *p)
{
	u16 missing = p->entry_mask & ~r->known;

	if (!missing)
		return 0;
	return dep_fail(-EBADMSG, "fragment %u needs registers (mask %#x) whose values are unknown",
			p->d->first_exit, missing);
}

static inline void dep_take_exit(struct dep_interp *r, const struct dep_exit_info *x)
{
	r->known = x->known;
	r->exit = x;
}

/* ---- exits.c ---- */

/** dep_fragment_program() - get the program of the fragment with first exit @id; 0 or an error */
int dep_fragment_program(struct dep_interp *r, u32 id, const struct dep_program **out);
/** dep_exit_find() - find an exit by its id and compile its fragment if needed; 0 or an error */
int dep_exit_find(struct dep_interp *r, u32 id, const struct dep_exit_info **out);
/** dep_settle_exit() - set r->pc, last_pc and after_syscall from the exit that was taken last */
void dep_settle_exit(struct dep_interp *r);

/* ---- traced_ops.c ---- */

/**
 * dep_run_traced() - dep_interp_ops() for instructions @first to @end - 1, with r->tracer
 *
 * Return: 0, or an error.
 */
int dep_run_traced(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn, u32 first, u32 end);

/* ---- partial_record.c ---- */

/** dep_run_head_record() - run the rest of a record that began in the previous segment */
int dep_run_head_record(struct dep_interp *r, const struct dep_cursor *at,
			const struct dep_exit_info *x, u32 id);
/**
 * dep_run_partial() - run a record that the event @ev ends before an exit of its fragment
 * @head: the record began in the previous segment
 */
int dep_run_partial(struct dep_interp *r, const struct dep_cursor *at,
		    const struct adept_ev_partial *ev, int head);
/**
 * dep_run_tail() - run the unfinished record at the end of the segment
 * @head: the record began in the previous segment
 */
int dep_run_tail(struct dep_interp *r, struct dep_cursor *at, int head);

#endif

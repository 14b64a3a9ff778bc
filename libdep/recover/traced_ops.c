// SPDX-License-Identifier: LGPL-2.1-or-later
/* Run operations one by one for a tracer. */
#include <errno.h>

#include "segment.h"

int dep_run_traced(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn, u32 first, u32 end)
{
	const struct dep_tracer *t = r->tracer;
	const struct dep_details *in;
	int err = dep_program_details(p, &in);

	if (err)
		return err;
	t->begin(t->arg, p, in, first, end);
	if (!t->op)
		err = dep_interp_ops(r, p, from, to, last_insn);
	for (; t->op && from < to && !err; from++) {
		t->op(t->arg, r, p, from);
		err = dep_interp_ops(r, p, from, from + 1, last_insn);
	}
	if (t->end)
		t->end(t->arg);
	return err;
}

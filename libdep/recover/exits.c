// SPDX-License-Identifier: LGPL-2.1-or-later
/* Find the recovery program of a fragment, and its exits.  A program is compiled at first use. */
#include <errno.h>
#include <stdatomic.h>

#include "libdep/format/codec/descriptor.h"
#include "segment.h"

static int get_program(struct dep_interp *r, u32 number, const struct dep_program **out)
{
	struct dep_fragment *f = dep_store_fragment(r->store, number);
	struct dep_program *p = f->prog;
	void *none = NULL;
	int err;

	if (!p) {
		err = dep_program_make(f->d, &p);
		if (err)
			return err;
		__atomic_store_n(&r->store->prog_free, dep_program_free, __ATOMIC_RELAXED);
		/* If another thread has installed a program meanwhile, use that one. */
		if (!atomic_compare_exchange_strong(&f->prog, &none, p)) {
			dep_program_free(p);
			p = none;
		}
	}
	*out = p;
	if (r->filter && !__atomic_load_n(&p->coded, __ATOMIC_ACQUIRE))
		return dep_filter_learn(r->filter, p);
	return 0;
}

int dep_fragment_program(struct dep_interp *r, u32 id, const struct dep_program **out)
{
	const struct dep_exit_entry *e = dep_index_find(&r->store->model.index, id);

	if (!e || !e->first)
		return dep_fail(-EBADMSG, "fragment %u is not in the store", id);
	return get_program(r, e->frag, out);
}

int dep_exit_find(struct dep_interp *r, u32 id, const struct dep_exit_info **out)
{
	const struct dep_exit_entry *e = dep_index_find(&r->store->model.index, id);
	const struct dep_program *p;
	int err;

	if (!e)
		return dep_fail(-EBADMSG, "exit %u is not in the store", id);
	err = get_program(r, e->frag, &p);
	if (!err)
		*out = &p->exit[id - p->d->first_exit];
	return err;
}

void dep_settle_exit(struct dep_interp *r)
{
	const struct dep_exit_info *x = r->exit;
	const struct dep_program *p;

	if (!x)
		return;
	p = x->program;
	r->exit = NULL;
	r->pc = x->kind == ADEPT_X_INDIRECT ? 0 : dep_desc_exits(p->d)[x - p->exit].target;
	r->after_syscall = x->kind == ADEPT_X_SYSCALL;
	r->last_pc = x->ninsns ? dep_program_base(p, x->op_end) + (u64)(s64)x->last_pc : 0;
}

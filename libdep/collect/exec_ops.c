// SPDX-License-Identifier: LGPL-2.1-or-later
/* Following execve: implements struct dep_exec_ops with the functions of libdep/inject. */
#include <errno.h>

#include "exec_ops.h"

static int exec_begin(void *arg, struct dep_session *s, u32 proc)
{
	struct dep_exec *e = arg;
	struct dep_why why = { "" };
	int ret;

	(void)s;
	ret = dep_follow_exec_begin(&e->follow[proc], e->target, proc, &why);
	if (ret && ret != -ESRCH && e->native)
		e->native(e->arg, e->follow[proc].pid, why.text);
	return ret;
}

enum dep_exec_outcome dep_exec_poll(struct dep_follow *f, const struct dep_target *t,
				    struct dep_injected *out, struct dep_why *why)
{
	bool child = f->child;

	switch (dep_follow_exec_poll(f, t, out, why)) {
	case DEP_FOLLOW_PENDING:
		return DEP_EXEC_PENDING;
	case DEP_FOLLOW_EXECED:
		return child ? DEP_EXEC_CHILD_FOLLOWED : DEP_EXEC_FOLLOWED;
	case DEP_FOLLOW_NATIVE:
		return child ? DEP_EXEC_CHILD_RUNS_NATIVE : DEP_EXEC_RUNS_NATIVE;
	case DEP_FOLLOW_REFUSED:
		return DEP_EXEC_REFUSED;
	default:
		/* If the process is dead, dep_procs_poll() notices that by its pidfd. */
		return DEP_EXEC_CANCELLED;
	}
}

static enum dep_exec_outcome exec_poll(void *arg, struct dep_session *s, u32 proc)
{
	struct dep_exec *e = arg;
	struct dep_injected out;
	struct dep_why why = { "" };
	enum dep_exec_outcome o;

	(void)s;
	o = dep_exec_poll(&e->follow[proc], e->target, &out, &why);
	if (e->native && (o == DEP_EXEC_RUNS_NATIVE || o == DEP_EXEC_CHILD_RUNS_NATIVE ||
			  o == DEP_EXEC_REFUSED))
		e->native(e->arg, out.pid, why.text);
	return o;
}

struct dep_exec_ops dep_exec_ops(struct dep_exec *e)
{
	return (struct dep_exec_ops){
		.begin = exec_begin,
		.poll = exec_poll,
		.arg = e,
	};
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Races that do not concern the program: both accesses are by a runtime library to its own data.
 * Races inside the C library are recognised earlier, when the accesses come (events.c).
 */
#include <string.h>

#include "sync.h"

/*
 * Is @path an OpenMP runtime? These synchronise by plain accesses, which must order threads but are
 * no races.
 */
static bool is_runtime(const char *path)
{
	static const char *const names[] = { "libgomp.so", "libomp.so", "libiomp5.so" };
	const char *slash = path ? strrchr(path, '/') : NULL;
	size_t i;

	for (i = 0; slash && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(slash + 1, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool in_runtime(struct dep_store *store, const struct sync_image *p, u64 pc)
{
	const struct dep_module *m;
	size_t n = store ? dep_store_modules(store, &m) : 0;

	for (; n--; m++)
		if (m->process == p->serial && pc - m->start < m->end - m->start &&
		    is_runtime(m->path))
			return true;
	return false;
}

bool sync_is_runtimes(const struct sync_events *f, const struct sync_process *p,
		      const struct race_found *found)
{
	return in_runtime(f->store, sync_image_at(f, p, found->prior.thread), found->prior.pc) &&
	       in_runtime(f->store, sync_image_at(f, p, found->current.thread),
			  found->current.pc);
}

static bool is_inside(enum dep_code code)
{
	return code == DEP_CODE_LIBRARY || code == DEP_CODE_THREADS;
}

/*
 * Can the race be one of atomic accesses that the compiler implemented by plain instructions? This
 * does not explain a race of the C library with program code, such as a write to freed memory.
 */
bool sync_maybe_atomic(struct sync_events *f, struct sync_process *p,
		       const struct race_found *found)
{
	enum dep_code a = sync_code(f, sync_image_at(f, p, found->prior.thread),
				    found->prior.pc);
	enum dep_code b = sync_code(f, sync_image_at(f, p, found->current.thread),
				    found->current.pc);

	if (is_inside(a) != is_inside(b))
		return false;
	return (found->prior.flags | found->current.flags) & SYNC_MAYBE_ATOMIC;
}

u32 sync_condition(struct sync_events *f, const struct sync_process *p,
		   const struct race_access *a)
{
	const struct sync_image *m = sync_image_at(f, p, a->thread);
	struct x86_insn in;

	if (a->flags & (RACE_WRITE | RACE_SYSCALL | SYNC_OBJECT | SYNC_DESCRIPTOR) || !f->store)
		return 0;
	return sync_insn_at(&f->insns, f->store, m->serial, a->pc, &in) &&
	       sync_insn_may_drop(&in) ? DEP_ACCESS_CONDITIONAL : 0;
}

/*
 * Get the code address that is responsible for the access @w: for system calls, frees and copies
 * the caller's.
 */
static u64 place_of(struct sync_events *f, struct sync_image *p, const struct sync_stack *w)
{
	bool for_caller = w->flags & (RACE_SYSCALL | RACE_FREE) ||
			  sync_code(f, p, w->pc) == DEP_CODE_CALLER;

	return !for_caller ? w->pc : w->place.nframes ? w->place.frame[0] : 0;
}

static bool is_librarys(struct sync_events *f, struct sync_image *p, u64 place)
{
	enum dep_code code = place ? sync_code(f, p, place) : DEP_CODE_PROGRAM;

	return is_inside(code) || code == DEP_CODE_LOADER;
}

bool sync_is_librarys(struct sync_events *f, const struct sync_stack *prior,
		      const struct sync_stack *current)
{
	struct sync_process *p = sync_serials_find(&f->process_by, prior->process_serial);
	struct sync_image *ma, *mb;
	u64 a, b;

	/* Only frees and system calls: a library may access the program's memory otherwise. */
	if (!p || !((prior->flags | current->flags) & (RACE_SYSCALL | RACE_FREE)))
		return false;
	ma = sync_image_at(f, p, prior->index);
	mb = sync_image_at(f, p, current->index);
	a = place_of(f, ma, prior);
	b = place_of(f, mb, current);
	return (is_librarys(f, ma, a) && is_librarys(f, mb, b)) ||
	       (in_runtime(f->store, ma, a) && in_runtime(f->store, mb, b));
}

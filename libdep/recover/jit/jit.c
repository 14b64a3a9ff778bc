// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Code memory: a memfd that is mapped twice, once writable and once executable.  Code is only
 * appended, so threads can run existing code meanwhile.  When the memory is full, no more exits are
 * compiled.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libdep/format/read/store.h"
#include "libdep/x86/cpu_features.h"
#include "jit.h"
#include "internal.h"
#include "libdep/recover/interp/run.h"

#define SPACE	(64ul << 20)

struct dep_jit_space {
	pthread_mutex_t lock;
	u8 *write;
	size_t used;
	struct dep_jit_exits exits;
};

static void free_native(void *arg)
{
	struct dep_jit *n = arg;

	if (n->code)
		munmap((void *)n->code, SPACE);
	if (n->space && n->space->write)
		munmap(n->space->write, SPACE);
	if (n->table)
		munmap(n->table, DEP_JIT_IDS * sizeof(*n->table));
	free(n->space);
	free(n);
}

static void *map(int fd, size_t size, int prot)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	void *p = mmap(NULL, size, prot, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool map_all(struct dep_jit *n)
{
	int fd = memfd_create("adept-recovery", MFD_CLOEXEC);
	bool ok = fd >= 0 && !ftruncate(fd, SPACE);

	if (ok) {
		n->space->write = map(fd, SPACE, PROT_READ | PROT_WRITE);
		n->code = map(fd, SPACE, PROT_READ | PROT_EXEC);
		n->table = map(-1, DEP_JIT_IDS * sizeof(*n->table), PROT_READ | PROT_WRITE);
		ok = n->space->write && n->code && n->table;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

static struct emit emit_at(struct dep_jit_space *s)
{
	u8 *from = s->write + s->used, *end = s->write + SPACE;

	return (struct emit){ .p = from,
			      .end = end - from > DEP_JIT_MAX ? from + DEP_JIT_MAX : end };
}

static struct dep_jit *make(bool bmi)
{
	struct dep_jit *n = calloc(1, sizeof(*n));
	struct emit e;
	const u8 *enter;

	if (!n)
		return NULL;
	n->space = calloc(1, sizeof(*n->space));
	if (!n->space || !map_all(n)) {
		free_native(n);
		return NULL;
	}
	pthread_mutex_init(&n->space->lock, NULL);
	n->space->exits.bmi = bmi;
	e = emit_at(n->space);
	enter = dep_jit_emit_shared(&e, &n->space->exits);
	n->enter = n->code + (enter - n->space->write);
	n->space->used = e.p - n->space->write;
	return n;
}

static struct dep_jit *jit_of(struct dep_store *s, bool bmi)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (!s->jit) {
		s->jit = make(bmi);
		s->jit_free = free_native;
	}
	pthread_mutex_unlock(&lock);
	return s->jit;
}

struct dep_jit *dep_jit_of(struct dep_store *s)
{
	return jit_of(s, x86_has_bmi());
}

struct dep_jit *dep_jit_lookup(struct dep_store *s)
{
	return jit_of(s, false);
}

static void compile(struct dep_jit *n, const struct dep_program *p,
		    const struct dep_exit_info *x)
{
	u32 id = p->d->first_exit + (u32)(x - p->exit);
	struct dep_jit_space *s = n->space;
	const u8 *code;
	struct emit e;

	pthread_mutex_lock(&s->lock);
	if (id < DEP_JIT_IDS && !n->table[id]) {
		e = emit_at(s);
		code = dep_jit_emit(&e, &s->exits, p, x);
		if (code && !e.overflow) {
			s->used = e.p - s->write;
			__atomic_store_n(&n->table[id], (u32)(code - s->write), __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

void dep_jit_ran(struct dep_jit *n, const struct dep_program *p,
		 const struct dep_exit_info *x)
{
	u8 *runs = (u8 *)&x->runs, seen = __atomic_load_n(runs, __ATOMIC_RELAXED);

	if (seen >= DEP_JIT_RUNS)
		return;
	/* Two threads that count at the same time may lose one count, which is harmless. */
	__atomic_store_n(runs, ++seen, __ATOMIC_RELAXED);
	if (seen == DEP_JIT_RUNS)
		compile(n, p, x);
}

static void add_counts(struct dep_counts *c, const u32 *count)
{
	c->refs += count[DEP_JIT_REFS];
	c->reads += count[DEP_JIT_READS];
	c->writes += count[DEP_JIT_WRITES];
	c->blocks += count[DEP_JIT_BLOCKS];
	c->instructions += count[DEP_JIT_INSNS];
	c->values_used += count[DEP_JIT_WORDS];
	c->records += count[DEP_JIT_RECORDS];
}

/* Defer one reference for each contiguous group of @bits.  Return: false if one cannot be. */
static bool put_off(struct dep_interp *r, const struct dep_jit_look *look, u64 addr, u64 bits,
		    u32 type)
{
	struct dep_ref ref = { .pc = look->pc, .type = (u16)type, .origin = look->origin + 1 };
	u32 at;

	for (; bits; bits &= bits + 1) {
		at = (u32)__builtin_ctzll(bits);
		ref.addr = addr + at;
		ref.size = (u32)__builtin_ctzll(~(bits >> at));
		bits |= bits - 1;
		if (!dep_filter_defer(r->filter, look->origin, &ref))
			return false;
	}
	return true;
}

u32 dep_jit_call_interp(struct dep_interp *r, const struct dep_jit_look *look, u64 addr)
{
	if (dep_filter_defer_near(r->filter, look->origin, look->pc, addr, look->read, look->wrote))
		return 0;
	return !put_off(r, look, addr, look->wrote, DEP_WRITE) ||
	       !put_off(r, look, addr, look->read, DEP_READ);
}

u32 dep_jit_one(struct dep_interp *r, const struct dep_program *p, u32 op)
{
	int err = dep_interp_reserve(r, p);

	if (!err)
		err = dep_interp_ops(r, p, op, op + 1, 0);
	if (err && !r->failed)
		r->failed = err;
	return err != 0;
}

/* Maximum number of control words in one run, so that no 32-bit count can overflow. */
#define AT_ONCE	(1 << 14)

u32 dep_jit_run(struct dep_interp *r, const u32 **control, const u32 *control_end,
		const u64 *value_end)
{
	const struct dep_jit *n = r->jit;
	u32 (*enter)(struct dep_interp *run, const u8 *code);
	struct dep_jit_state *s = &r->state;
	u32 left;

	if (control_end - *control > AT_ONCE)
		control_end = *control + AT_ONCE;
	s->value_end = value_end;
	s->control = *control + 1;
	s->control_end = control_end;
	s->filter = r->filter;
	s->table = n->table;
	s->code = n->code;
	enter = (u32 (*)(struct dep_interp *, const u8 *))(u64)n->enter;
	s->unknown = (u16)~r->known;
	left = enter(r, n->code + n->table[**control]);
	r->known = (u16)~s->unknown;
	*control = s->control;
	s->ran = s->count[DEP_JIT_RECORDS];
	add_counts(&r->counts, s->count);
	return left;
}

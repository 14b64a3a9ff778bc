// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ring of a thread: chunks, each followed by a guard that is never accessible.  A store into the
 * guard faults.  The signal handler (os/signal.c) then determines the position in the code and
 * calls ring_next_chunk().  For rings of the kernel module see module_ring.c.
 */
#include "process_slots.h"
#include "record.h"
#include "safepoint.h"
#include "thread_slots.h"
#include "libdep/engine/base/prefault.h"

/* Size in bytes of a THREAD_END event, rounded up. */
#define END_ROOM	16u
_Static_assert(sizeof(struct adept_ev_detach) <= sizeof(struct adept_ev_context) + END_ROOM,
	       "ring_reserve_end() must reserve room for a detach event");
/* Size in bytes of a scratch chunk, which takes records that are not stored. */
#define SCRATCH_SIZE	65536u
/* Bytes to populate when a thread begins a later chunk than its first. */
#define DEFERRED_CHUNKS	(256ull << 10)
/* Bytes to populate when a thread that another thread created begins its first chunk. */
#define OTHER_THREADS	(16ull << 10)

static const struct adept_position boundary;

/* Scratch chunk shared by threads that cannot get their own scratch chunk. */
static u64 spare_scratch;

static u64 chunk_addr(const struct tls *t, u32 index)
{
	return boot.session + adept_chunk_off(layout(), t->slot, index);
}

void ring_wakeup(void)
{
	struct adept_session *s = session();

	__atomic_add_fetch(&s->wakeup, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->collector_waits, __ATOMIC_SEQ_CST))
		sys3(__NR_futex, (u64)&s->wakeup, SYS_FUTEX_WAKE, 1);
}

/*
 * Wake the collector if at least half of the ring is published.  The collector polls for fewer
 * chunks, so that not every chunk costs a system call.
 */
static void ring_when_half_full(const struct adept_thread *r)
{
	u32 have = r->head - __atomic_load_n(&r->tail, __ATOMIC_RELAXED);

	if (have * 2 >= layout()->nchunks || layout()->flags & ADEPT_S_DROP)
		ring_wakeup();
}

/*
 * With give_up_ns, a new collector may replace one that was killed.  Threads wait for the new one
 * until the heartbeat is older than give_up_ns, or until the collector and the fd store holder have
 * both died.
 */
int collector_gone(void)
{
	struct adept_session *s = session();
	u32 word;

	if (__atomic_load_n(&s->abandoned, __ATOMIC_RELAXED))
		return 1;
	if (layout()->give_up_ns)
		return adept_session_lost(s) ||
		       (s64)(rt_now() - __atomic_load_n(&s->heartbeat_ns, __ATOMIC_RELAXED)) >
		       (s64)layout()->give_up_ns;
	word = __atomic_load_n(&s->collector, __ATOMIC_RELAXED);
	/* The pid is meaningful only if the collector has the same pid namespace. */
	if (word ? !(word & ADEPT_OWNER_DIED) :
		   boot.ns & ADEPT_NS_TIDS || sys2(__NR_kill, s->collector_pid, 0) != -E_SRCH)
		return 0;
	__atomic_store_n(&s->abandoned, 1, __ATOMIC_RELAXED);
	return 1;
}

static int must_discard(const struct tls *t)
{
	struct adept_session *s = session();

	/* The kernel module itself discards records if the collector requests this. */
	if (module_ring(t))
		return 0;
	return t->discard || layout()->flags & ADEPT_S_NULL ||
	       __atomic_load_n(&s->stop, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&s->abandoned, __ATOMIC_RELAXED);
}

/*
 * Populate pages of a new chunk.  The first thread of /bin/true already writes 100 KiB.  Other
 * threads may write little, and there may be thousands of them.  A thread that has filled one chunk
 * is likely to fill the next.  The pages of a reused chunk are present.
 */
static void prefault_chunk(const struct tls *t, u32 head)
{
	u64 size = DEFERRED_CHUNKS;

	if (module_ring(t) || head >= layout()->nchunks)
		return;
	if (!head)
		size = t->parent_serial ? OTHER_THREADS : PREFAULT_SIZE;
	if (size > layout()->chunk_size)
		size = layout()->chunk_size;
	prefault(t->chunk_base, t->chunk_base + size);
}

static void chunk_begin(struct tls *t, const struct adept_position *at, u64 seq)
{
	struct adept_thread *r = t->ring;
	struct adept_chunk *c = &r->chunk[r->head % layout()->nchunks];

	c->seq = seq;
	c->fill = 0;
	c->tail_at = 0;
	c->head = *at;
	memset(&c->tail, 0, sizeof(c->tail));
	c->start_ns = rt_now();
	c->timestamp = rt_timestamp();
	c->fs_base = t->fs_base;
	c->gs_base = t->app_gs_base;
	memcpy(c->regs, t->regs, sizeof(c->regs));
	t->chunk_base = chunk_addr(t, r->head % layout()->nchunks);
	t->chunk_end = t->chunk_base + layout()->chunk_size;
	prefault_chunk(t, r->head);
}

static int chunk_free(const struct adept_thread *r)
{
	return r->head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) < layout()->nchunks;
}

/* Wait until chunk r->head is free.  Return: 0 if the collector is gone. */
static int chunk_wait(struct adept_thread *r)
{
	static const s64 second[2] = { 1, 0 };
	u32 n = layout()->nchunks;

	for (;;) {
		u32 tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);

		if (r->head - tail < n)
			return 1;
		if (collector_gone())
			return 0;
		__atomic_store_n(&r->tail_waits, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&r->tail, __ATOMIC_SEQ_CST) == tail) {
			ring_wakeup();
			sys4(__NR_futex, (u64)&r->tail, SYS_FUTEX_WAIT, tail, (u64)second);
		}
		__atomic_store_n(&r->tail_waits, 0, __ATOMIC_RELAXED);
	}
}

/*
 * Wait for a free chunk.  The thread is at a safe point meanwhile, since all its records are
 * published.  It has no chunk to write to: chunk_end is 0, so ring_has_room() fails.
 */
static int wait_at_safepoint(struct tls *t)
{
	u64 end = t->chunk_end;
	int ret;

	if (chunk_free(t->ring))
		return 1;
	t->chunk_end = 0;
	safepoint_enter(t);
	ret = chunk_wait(t->ring);
	safepoint_leave(t);
	t->chunk_end = end;
	return ret;
}

/*
 * Start the same chunk again; its contents are lost.  @zero: 1 with ADEPT_S_DROP, where the rest of
 * the chunk must be zero.
 */
static void reuse_chunk(struct tls *t, u32 have, int zero)
{
	u64 fill = t->pp - t->chunk_base;

	memmove((void *)t->chunk_base, (void *)t->pp, have);
	if (zero)
		memset((void *)(t->chunk_base + have), 0, t->chunk_end - t->chunk_base - have);
	if (t->ring && !zero) {
		t->ring->null_bytes += fill;
		t->ring->flushes++;
		__atomic_store_n(&t->ring->discarding, 1, __ATOMIC_RELEASE);
	}
	t->pp = t->chunk_base;
}

/* Begin chunk r->head, which must be free. */
static void chunk_next(struct tls *t, const struct adept_position *at)
{
	struct adept_thread *r = t->ring;
	u32 n = layout()->nchunks;
	const struct adept_chunk *c = &r->chunk[(r->head - 1) % n];
	struct adept_chunk *next = &r->chunk[r->head % n];

	next->dropped_chunks = c->dropped_chunks;
	next->dropped_bytes = c->dropped_bytes;
	chunk_begin(t, at, c->seq + 1 + t->absent_chunks);
	t->absent = 0;
	t->absent_chunks = 0;
}

/* Allocate a scratch chunk with a guard.  Return: 0 if the process has too many mappings. */
static u64 make_scratch(void)
{
	u64 p = (u64)heap_alloc(SCRATCH_SIZE + ADEPT_GUARD_SIZE + ADEPT_PAGE);

	p = ALIGN_UP(p, ADEPT_PAGE);
	return sys3(__NR_mprotect, p + SCRATCH_SIZE, ADEPT_GUARD_SIZE, K_PROT_NONE) < 0 ? 0 : p;
}

int ring_init(void)
{
	spare_scratch = make_scratch();
	return spare_scratch != 0;
}

static void use_scratch(struct tls *t, u64 p)
{
	t->chunk_base = t->pp = p;
	t->chunk_end = p + SCRATCH_SIZE;
}

/*
 * Use a scratch chunk, which is overwritten again and again.  It is in the engine's heap, so that
 * the program's mappings get the same addresses as in a native run.  It is kept for reuse with @t.
 */
static void take_scratch(struct tls *t)
{
	if (!t->scratch_chunk)
		t->scratch_chunk = make_scratch();
	/* Several threads may write to spare_scratch at once, since it is never read. */
	use_scratch(t, t->scratch_chunk ? t->scratch_chunk : spare_scratch);
}

/*
 * The collector is gone: count the scratch chunk as lost, and start it again, or continue in the
 * ring if one of its chunks is free again.
 */
static void next_chunk_absent(struct tls *t, const struct adept_position *at, u32 have)
{
	u64 from = t->pp, fill = t->pp - t->chunk_base;

	t->ring->absent_chunks++;
	t->ring->absent_bytes += fill;
	t->absent_chunks++;
	if (chunk_free(t->ring))
		chunk_next(t, at);
	memmove((void *)t->chunk_base, (void *)from, have);
	t->pp = t->chunk_base;
}

static void drop_chunk(struct tls *t, const struct adept_position *at, u32 have)
{
	struct adept_chunk *c = &t->ring->chunk[t->ring->head % layout()->nchunks];
	u64 fill = t->pp - t->chunk_base, seq = c->seq + 1;

	c->dropped_chunks++;
	c->dropped_bytes += fill;
	/* First: a reader that copies the chunk meanwhile notices that its use has changed. */
	__atomic_store_n(&c->seq, seq, __ATOMIC_RELEASE);
	reuse_chunk(t, have, 1);
	chunk_begin(t, at, seq);
}

/* Read the fs base, which wrfsbase changes without a system call, if the kernel has FSGSBASE. */
static void note_fs_base(struct tls *t)
{
	if (boot.fsgsbase && t == tls_self())
		t->fs_base = get_fs_base();
}

void ring_next_chunk(struct tls *t, const struct adept_position *tail,
		     const struct adept_position *head, u32 have)
{
	struct adept_thread *r = t->ring;
	u32 n = layout()->nchunks, keep;
	u8 partial[ADEPT_MAX_RECORD + 64];
	struct adept_chunk *c;

	note_fs_base(t);
	if (t->pp + have > t->chunk_end)
		have = (u32)(t->chunk_end - t->pp);
	if (module_ring(t)) {
		module_next_chunk(t, tail, have);
		return;
	}
	keep = head->frag ? have : 0;
	if (must_discard(t)) {
		reuse_chunk(t, keep, 0);
		return;
	}
	if (t->absent) {
		next_chunk_absent(t, head, keep);
		return;
	}
	if (layout()->flags & ADEPT_S_DROP &&
	    r->head + 1 - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) >= n) {
		drop_chunk(t, head, keep);
		return;
	}
	c = &r->chunk[r->head % n];
	c->tail_at = (u32)(t->pp - t->chunk_base);
	c->fill = c->tail_at + (tail->frag ? have : 0);
	c->tail = *tail;
	/* Save the unfinished record: the collector can zero a published chunk at any time. */
	memcpy(partial, (void *)t->pp, keep);
	r->flushes++;
	__atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);
	ring_when_half_full(r);
	if (wait_at_safepoint(t)) {
		chunk_next(t, head);
	} else {
		/*
		 * Write to a scratch chunk now: a collector may still read the chunks of the ring.
		 */
		t->absent = layout()->give_up_ns != 0;
		take_scratch(t);
	}
	memcpy((void *)t->chunk_base, partial, keep);
	t->pp = t->chunk_base;
}

int ring_has_room(struct tls *t, u32 bytes)
{
	if (module_ring(t))
		module_find(t);
	return t->pp + bytes <= t->chunk_end;
}

static void need(struct tls *t, u32 bytes)
{
	if (!ring_has_room(t, bytes))
		ring_next_chunk(t, &boundary, &boundary, 0);
}

void ring_reserve_end(struct tls *t)
{
	if (recording())
		need(t, 4 + sizeof(struct adept_ev_context) + END_ROOM);
}

/*
 * The published arguments are those that the program passed, as in ADEPT_EV_SYSCALL events.  The
 * kernel may get others: addresses of copies that the engine made.
 */
void ring_call_begin(struct tls *t, u64 nr)
{
	const u64 *r = t->regs;
	struct adept_call *c;

	if (!t->ring || t->absent || t->marked || module_ring(t))
		return;
	c = &t->ring->call;
	c->nr = nr;
	c->args[0] = r[X86_RDI];
	c->args[1] = r[X86_RSI];
	c->args[2] = r[X86_RDX];
	c->args[3] = r[X86_R10];
	c->args[4] = r[X86_R8];
	c->args[5] = r[X86_R9];
	__atomic_store_n(&c->before, t->before, __ATOMIC_RELEASE);
}

void ring_call_end(struct tls *t)
{
	if (t->ring)
		__atomic_store_n(&t->ring->call.before, 0, __ATOMIC_RELEASE);
}

void ring_put_thread_end(struct tls *t, u32 status)
{
	struct adept_ev_end ev = { status, 0 };
	u32 id = ADEPT_EV_THREAD_END;

	if (!t->ring || t->absent || must_discard(t) || !ring_has_room(t, END_ROOM))
		return;
	/*
	 * Clear the published call before the timestamp is taken: live analysis that finds a thread
	 * in a call assumes that the thread's next event has a later timestamp.
	 */
	ring_call_end(t);
	ev.timestamp = rt_timestamp();
	/* Clear the values of an unfinished record, so that they are not read as records. */
	memset((void *)t->pp, 0, END_ROOM);
	memcpy((void *)(t->pp + 4), &ev, sizeof(ev));
	memcpy((void *)t->pp, &id, 4);
	t->marked = 1;
}

void ring_remove_thread_end(struct tls *t)
{
	if (t->marked)
		memset((void *)t->pp, 0, END_ROOM);
	t->marked = 0;
}

void ring_event(struct tls *t, u32 id, const void *payload, u32 size)
{
	u32 room = 4 + size;

	if (!recording())
		return;
	/*
	 * The context event that follows has other registers.  It must be in the same chunk: the
	 * header of a new chunk would have registers that do not agree with the end of this chunk.
	 */
	if (id == ADEPT_EV_SIGNAL || id == ADEPT_EV_SIGRETURN)
		room += 4 + sizeof(struct adept_ev_context);
	need(t, room);
	memcpy((void *)(t->pp + 4), payload, size);
	__atomic_store_n((u32 *)t->pp, id, __ATOMIC_RELEASE);
	t->pp += 4 + size;
}

void ring_record_context(struct tls *t, u64 pc)
{
	struct adept_ev_context c = { .pc = pc };

	note_fs_base(t);
	c.fs_base = t->fs_base;
	memcpy(c.regs, t->regs, sizeof(c.regs));
	ring_event(t, ADEPT_EV_CONTEXT, &c, sizeof(c));
}

int ring_guard_hit(const struct tls *t, u64 addr)
{
	return t->chunk_end && !module_ring(t) && addr - t->chunk_end < ADEPT_GUARD_SIZE;
}

/* Run @t without a ring.  @tight: 1 if the process has too many mappings for a scratch chunk. */
static void start_unrecorded(struct tls *t, int tight)
{
	/* Do not count the threads of a process that runs unrecorded by design. */
	if (has_slot() || process_without_slot() == ADEPT_NATIVE_LOST)
		__atomic_add_fetch(&session()->lost_threads, 1, __ATOMIC_RELAXED);
	t->ring = NULL;
	t->discard = 1;
	if (tight)
		use_scratch(t, spare_scratch);
	else
		take_scratch(t);
}

void ring_thread_unwanted(struct tls *t)
{
	t->ring = NULL;
	t->discard = 1;
	if (recording())
		take_scratch(t);
}

/*
 * Make the chunks of the ring accessible.  Return: 0 if there is no memory or the process has too
 * many mappings.
 */
static int open_chunks(struct tls *t)
{
	const struct adept_session *l = layout();

	if (module_ring(t))
		return module_begin(t);
	for (u32 i = 0; i < l->nchunks; i++) {
		if (sys3(__NR_mprotect, chunk_addr(t, i), l->chunk_size,
			 K_PROT_READ | K_PROT_WRITE) >= 0)
			continue;
		/*
		 * Undo the protection changes, so that the program can use the remaining mappings.
		 */
		while (i--)
			sys3(__NR_mprotect, chunk_addr(t, i), l->chunk_size, K_PROT_NONE);
		return 0;
	}
	return 1;
}

void ring_thread_start(struct tls *t, u32 tid, u32 parent_serial, u64 created_at)
{
	struct adept_ev_start ev = { tid, parent_serial, created_at, 0 };
	struct adept_thread *r;

	t->nslow = 0;
	if (!recording())
		return;
	if (!has_slot() || !slots_take(t)) {
		start_unrecorded(t, 0);
		return;
	}
	t->discard = t->absent = 0;
	t->absent_chunks = 0;
	r = t->ring;
	if (!open_chunks(t)) {
		int tight = !module_ring(t);

		slots_leave(t, ADEPT_SLOT_FREE);
		start_unrecorded(t, tight);
		return;
	}
	r->tid = tid;
	r->proc = boot.proc;
	r->proc_serial = proc_slot()->serial;
	r->parent_serial = parent_serial;
	r->tid_address = t->tid_address;
	r->head = r->tail = r->tail_waits = 0;
	r->discarding = !!(layout()->flags & ADEPT_S_NULL);
	r->at_safepoint = r->left = 0;
	r->null_bytes = r->flushes = 0;
	r->absent_chunks = r->absent_bytes = 0;
	r->call.before = 0;
	r->start_ns = rt_now();
	slots_name(t);
	memset(r->chunk, 0, layout()->nchunks * sizeof(r->chunk[0]));
	if (!module_ring(t)) {
		chunk_begin(t, &boundary, 0);
		t->pp = t->chunk_base;
	}
	__atomic_store_n(&r->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	ev.timestamp = rt_timestamp();
	ring_event(t, ADEPT_EV_THREAD_START, &ev, sizeof(ev));
}

/* Publish the last chunk and release the slot, which then belongs to the collector. */
static void end_stream(struct tls *t)
{
	struct adept_thread *r = t->ring;

	if (module_ring(t)) {
		module_find(t);
		if (layout()->flags & ADEPT_S_NULL)
			r->null_bytes += t->pp - t->chunk_base;
	} else if (must_discard(t)) {
		r->null_bytes += t->pp - t->chunk_base;
		__atomic_store_n(&r->discarding, 1, __ATOMIC_RELEASE);
	} else if (t->absent) {
		r->absent_chunks++;
		r->absent_bytes += t->pp - t->chunk_base;
	} else {
		struct adept_chunk *c = &r->chunk[r->head % layout()->nchunks];

		c->fill = c->tail_at = (u32)(t->pp - t->chunk_base);
		__atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);
	}
	t->discard = 1;
	r->at_safepoint = 1;
	slots_leave(t, ADEPT_SLOT_ENDED);
}

void ring_thread_end(struct tls *t, u32 status)
{
	struct adept_ev_end ev = { status, rt_timestamp() };

	if (!recording())
		return;
	ring_event(t, ADEPT_EV_THREAD_END, &ev, sizeof(ev));
	if (!t->ring)
		return;
	slots_name(t);
	end_stream(t);
	ring_wakeup();
}

/* ring_reserve_end() has ensured that the chunk has room. */
static void put_detach(struct tls *t, u32 reason)
{
	struct adept_ev_detach ev = { .reason = reason, .timestamp = rt_timestamp() };

	if (!t->absent && !must_discard(t) && ring_has_room(t, 4 + sizeof(ev)))
		ring_event(t, ADEPT_EV_DETACH, &ev, sizeof(ev));
}

static void leave(struct tls *t, u32 reason)
{
	if (!recording())
		return;
	if (t->ring) {
		ring_call_end(t);
		put_detach(t, reason);
		t->ring->left = 1;
		end_stream(t);
	}
	if (t->waits)
		use_scratch(t, spare_scratch);
	else
		take_scratch(t);
}

void ring_thread_leave(struct tls *t)
{
	leave(t, ADEPT_DETACH_LEFT);
}

void ring_thread_pause(struct tls *t)
{
	leave(t, ADEPT_DETACH_PAUSED);
}

void ring_close_chunks(void)
{
	const struct adept_session *l = layout();

	/* The module's rings are one mapping, which module_begin() does not make accessible. */
	if (l->flags & ADEPT_S_MODULE)
		return;
	sys3(__NR_mprotect, boot.session + l->ring_off, l->file_size - l->ring_off, K_PROT_NONE);
}

void ring_thread_vanished(struct tls *t)
{
	slots_leave(t, ADEPT_SLOT_ENDED);
	ring_wakeup();
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/analyze/event_timestamp.h"
#include "events.h"
#include "predict_events.h"

/* Does an atomic word overlap these bytes? */
static bool is_atomic(const struct sync_objects *o, u64 address, u32 size)
{
	u64 word = address / 4, end = (address + size - 1) / 4;

	if (!sync_line_marked(o, address) && !sync_line_marked(o, address + size - 1))
		return false;
	/* An access of more than 16 bytes copies or clears memory and is no synchronisation. */
	for (; size <= 16 && word <= end; word++)
		if (sync_object_find(o, SYNC_WORD, word))
			return true;
	return false;
}

/*
 * Is a plain read of these bytes by a library atomic? Libraries read words plainly to synchronise,
 * as in the fast path of pthread_once(). For libraries, a word that a locked instruction accesses
 * at any time is atomic from the beginning.
 */
static bool will_be_atomic(const struct sync_thread *t, u64 address, u32 size)
{
	const struct dep_word_set *p = &t->image->scope->locked;

	return size <= 16 &&
	       (dep_word_set_maybe(p, address) || dep_word_set_maybe(p, address + size - 1)) &&
	       dep_word_set_has(p, address, size);
}

static int each_word(struct sync_thread *t, u64 address, u32 size,
		     int (*f)(struct sync_thread *t, enum sync_object_kind kind, u64 id))
{
	u64 word = address / 4, end = (address + size - 1) / 4;
	int err = 0;

	for (; word <= end && !err; word++)
		err = f(t, SYNC_WORD, word);
	return err;
}

/* Make the word a synchronisation object without any release. */
static int make_object(struct sync_thread *t, enum sync_object_kind kind, u64 id)
{
	return sync_object_get(&t->process->objects, kind, id) ? 0 : sync_no_memory();
}

/*
 * Handle the access of a locked instruction: access the memory, then release to its words. The
 * acquire comes with the timestamp after the instruction, see timestamp().
 */
static int locked_access(struct sync_thread *t, const struct dep_ref *r, u32 inside)
{
	u32 flags = (t->wrote ? RACE_READ | RACE_WRITE : RACE_READ) | RACE_ATOMIC | inside;
	int err = 0;

	t->locked_at = r->addr;
	t->locked_size = r->size <= 16 ? r->size : 16;
	if (t->sync->nwant && t->wrote && !inside)
		sync_held_locks_own(t, r->pc, r->addr);
	/* Before the release: a thread that acquires the word is ordered after the access, too. */
	err = sync_access(t, r->pc, r->addr, r->size, flags);
	/* Make the words synchronisation objects, for acquires and releases by later accesses. */
	if (!err && t->wrote) {
		sync_functions_locked(t, r->addr);
		sync_robust_locked(t, r->addr / 4);
		err = each_word(t, r->addr, t->locked_size,
				r->type & DEP_REF_COUNTS ? make_object : sync_release);
	}
	return err;
}

static int timestamp(struct sync_thread *t, const struct dep_lock_timestamp *k)
{
	int err = 0;

	if (!k->after) {
		sync_poll_synchronised(t);
		t->locked = true;
		t->wrote = k->wrote;
		t->locked_pc = k->pc;
		t->locked_size = 0;
		return 0;
	}
	/* A locked instruction whose result is unused cannot have waited for another thread. */
	if (t->locked && t->locked_pc == k->pc && t->locked_size && !k->result_unused &&
	    !t->in_library)
		err = each_word(t, t->locked_at, t->locked_size, sync_acquire);
	t->locked = false;
	return err;
}

/*
 * Handle a memory reference.
 * @r: with the detector's address in @r->addr
 * @address: address in the process image
 * @late: called again at the thread's next timestamp
 *
 * Return: 0, -EAGAIN if the reference must be handled at the next timestamp, or an error.
 */
static int reference(struct sync_events *f, struct sync_thread *t, const struct dep_ref *r,
		     u64 address, bool late)
{
	const struct sync_objects *o = &t->process->objects;
	enum dep_code code = r->origin ? r->origin - 1u : sync_code(f, t->image, r->pc);
	u32 type = r->type & DEP_MODIFY, flags = type, inside = 0;
	int (*then)(struct sync_thread *t, enum sync_object_kind kind, u64 id) = NULL;
	int err = 0;

	if (code != DEP_CODE_PROGRAM && code != DEP_CODE_CALLER)
		inside = RACE_INSIDE;
	if (code == DEP_CODE_THREADS)
		t->in_library = true;
	else if (code == DEP_CODE_PROGRAM)
		t->in_library = false;
	if (t->calls.relocked && code == DEP_CODE_PROGRAM)
		err = sync_functions_cancelled(t);
	if (err)
		return err;
	if (t->locked && t->locked_pc == r->pc)
		return locked_access(t, r, inside);
	flags |= inside;
	if (r->addr - t->robust.head < sizeof(struct robust_list_head) && type == DEP_WRITE)
		sync_robust_write(t, r->addr);
	if (is_atomic(o, r->addr, r->size) ||
	    (inside && type == DEP_READ && will_be_atomic(t, address, r->size))) {
		/*
		 * A plain access to an atomic word may be an atomic load or store, but no compiler
		 * implements these by memcpy() or by "add" to memory.
		 */
		if (code != DEP_CODE_CALLER && type != DEP_MODIFY)
			flags |= SYNC_MAYBE_ATOMIC;
		if (flags & RACE_READ && !late)
			return -EAGAIN;
		/*
		 * In the first pass a store to an atomic word releases only if the filter began a
		 * new interval at it. Otherwise dropped accesses after the store would count as
		 * released.
		 */
		if (!(flags & RACE_READ))
			then = f->pass != SYNC_FIRST || r->type & DEP_REF_RELEASES ?
				       sync_release : NULL;
		else if (!t->in_library)
			then = sync_acquire;
	}
	if (f->pass == SYNC_FIRST && code == DEP_CODE_PROGRAM)
		sync_wait_access(t, r);
	/*
	 * Drop accesses of other code while in the thread library, such as allocations for new
	 * threads: they are ordered by locks that do not count here, see timestamp().
	 */
	if (code != DEP_CODE_LOADER && (!t->in_library || code == DEP_CODE_THREADS))
		err = sync_access(t, r->pc, r->addr, r->size, flags);
	/* After the access: a release must include it, and an acquire must not order it. */
	return !err && then ? each_word(t, r->addr, r->size, then) : err;
}

/*
 * Handle a reference of an image in a group of processes that share memory. Private accesses of an
 * image with one thread are skipped, except those to the list of robust mutexes, which may be
 * shared.
 */
static int grouped_reference(struct sync_events *f, struct sync_thread *t,
			     const struct dep_ref *r, bool late)
{
	struct dep_ref at = *r;

	at.addr = sync_place(t->image, r->addr, NULL);
	if (!(at.addr & SYNC_SHARED) && !t->image->multi &&
	    at.addr - t->robust.head >= sizeof(struct robust_list_head))
		return 0;
	return reference(f, t, &at, r->addr, late);
}

/*
 * Handle accesses that the filter merged; only the first pass has them. They do not order threads
 * and do not change t->in_library.
 */
static int joined(struct sync_thread *t, const struct dep_page_accesses *j)
{
	u32 code = j->origin - 1u;
	int err = t->early ? 0 : sync_flush(t);

	if (err || t->early)
		return err;
	if (code == DEP_CODE_PROGRAM)
		sync_wait_page(t, j);
	return race_access_page(t->process->detector, t->index, j,
				code == DEP_CODE_PROGRAM ? 0 : RACE_INSIDE);
}

/* ---- recorded events ---- */

/* What happened before an attach, or before a pause, is before all that follows. */
static int attached(struct sync_thread *t, const struct adept_ev_attach *e)
{
	int err = sync_acquire(t, SYNC_PAUSE, t->image->first_number);

	if (t->image->paused)
		sync_files_forget(&t->image->files);
	t->image->paused = false;
	return !err && e->tid_address ? sync_tid_address(t, e->tid_address) : err;
}

static int detached(struct sync_thread *t, const struct adept_ev_detach *e)
{
	if (e->reason != ADEPT_DETACH_PAUSED)
		return 0;
	t->image->paused = true;
	return sync_release(t, SYNC_PAUSE, t->image->first_number);
}

static int event(struct sync_thread *t, const struct dep_event *e)
{
	const struct adept_ev_signal *sig = e->payload;
	int err;

	switch (e->id) {
	case ADEPT_EV_SYSCALL | DEP_EV_ENTER:
		return sync_call_enter(t, e->payload, e->pc);
	case ADEPT_EV_SYSCALL:
		return sync_call_leave(t, e->payload, e->pc);
	case ADEPT_EV_BUFFER:
		sync_note_buffer(t, e->payload);
		break;
	case ADEPT_EV_SHARED:
		memcpy(&t->shared, e->payload, sizeof(t->shared));
		t->has_shared = true;
		break;
	case ADEPT_EV_FORK:
		return sync_thread_created(t, e->payload);
	case ADEPT_EV_ATTACH:
		return attached(t, e->payload);
	case ADEPT_EV_DETACH:
		return detached(t, e->payload);
	case ADEPT_EV_THREAD_END:
		return sync_thread_ended(t);
	case ADEPT_EV_SIGRETURN:
		t->at.signals++;
		t->in_library = t->was_in_library & 1;
		t->was_in_library >>= 1;
		sync_functions_sigreturn(t);
		break;
	case ADEPT_EV_SIGNAL:
		t->at.signals++;
		t->was_in_library = t->was_in_library << 1 | t->in_library;
		t->in_library = false;
		t->locked = false;
		sync_functions_signal(t, sig->signo);
		err = sync_acquire(t, SYNC_SIGNAL, sync_signal(t->image, sig->signo));
		return err ? err :
		       sync_acquire(t, SYNC_SIGNAL, sync_signal(t->image, 0));
	}
	return 0;
}

/* ---- all items ---- */

static u64 place_of(const struct dep_item *it)
{
	switch (it->kind) {
	case DEP_ITEM_REF:
		return it->ref.pc;
	case DEP_ITEM_TIMESTAMP:
		return it->timestamp.pc;
	case DEP_ITEM_EVENT:
		return it->event.pc;
	case DEP_ITEM_CALL:
		return it->call.pc;
	case DEP_ITEM_FUNCTION:
		return it->function.pc;
	case DEP_ITEM_PAGE:
		return it->joined->pc;
	case DEP_ITEM_BLOCK:
		return it->block.pc;
	}
	return 0;
}

static int one_item(struct sync_events *f, struct sync_thread *t, const struct dep_item *it,
		    bool late)
{
	int err = 0;

	if (t->jump)
		err = sync_note_pc(t, place_of(it));
	if (err)
		return err;
	switch (it->kind) {
	case DEP_ITEM_REF:
		if (t->muted)
			sync_functions_left(t, it->ref.pc);
		if (!t->muted)
			err = t->image->grouped ? grouped_reference(f, t, &it->ref, late) :
						  reference(f, t, &it->ref, it->ref.addr, late);
		break;
	case DEP_ITEM_TIMESTAMP:
		/*
		 * Handle timestamps even inside hooked functions, since a function's return may be
		 * emitted after the timestamp.
		 */
		err = timestamp(t, &it->timestamp);
		break;
	case DEP_ITEM_EVENT:
		err = event(t, &it->event);
		break;
	case DEP_ITEM_CALL:
		t->at.branches++;
		if (f->predict)
			err = sync_note_call(t, &it->call);
		break;
	case DEP_ITEM_FUNCTION:
		err = sync_function(t, &it->function);
		break;
	case DEP_ITEM_PAGE:
		/*
		 * Handle merged accesses even inside hooked functions: they were made before the
		 * function was entered.
		 */
		err = joined(t, it->joined);
		break;
	case DEP_ITEM_BLOCK:
		break;
	}
	return err;
}

/* Do @items begin at or after the moment from which on everything was recorded? */
static bool is_late_enough(const struct sync_events *f, const struct dep_item *it)
{
	u64 timestamp = it->kind == DEP_ITEM_TIMESTAMP ? it->timestamp.timestamp :
			it->kind == DEP_ITEM_EVENT ? dep_event_timestamp(&it->event) : 0;

	return timestamp >= f->from;
}

/* -ENOSPC, too many threads, is no error: the process is no longer analyzed. */
static int result(struct sync_thread *t, int err)
{
	if (err != -ENOSPC)
		return err;
	sync_too_many_threads(t->sync, t->process);
	return 0;
}

ssize_t sync_items(void *self, const struct dep_thread *thread, const struct dep_item *items,
		   size_t n, bool late)
{
	struct sync_events *f = self;
	struct sync_thread *t = sync_thread_of(f, thread);
	size_t i = 0;
	int err = 0;

	if (!t)
		return sync_no_memory();
	if (t->process->too_many_threads)
		return (ssize_t)n;
	if (t->early && !late && n)
		t->early = !is_late_enough(f, items);
	if (!t->begun)
		err = sync_thread_begin(t);
	/* Ignore items after a thread's end, which a damaged store may have. */
	for (; i < n && !err && !t->ended; i++) {
		if (i + 1 < n && items[i + 1].kind == DEP_ITEM_PAGE && t->process->detector)
			race_fetch_page(t->process->detector, items[i + 1].joined);
		err = one_item(f, t, &items[i], late);
	}
	err = result(t, err);
	if (t->process->too_many_threads)
		return (ssize_t)n;
	if (err == -EAGAIN) {
		err = 0;
		i--;
	}
	/* Items of another thread may come next, and the detector needs all accesses in order. */
	if (!err)
		err = sync_flush(t);
	if (err)
		return dep_fail(err, "cannot analyze thread %u: %s", t->tid, strerror(-err));
	return t->ended ? (ssize_t)n : (ssize_t)i;
}

int sync_segment(void *self, const struct dep_thread *thread, u32 segment)
{
	struct sync_thread *t = sync_thread_of(self, thread);

	if (!t)
		return sync_no_memory();
	t->at = (struct dep_position){ .segment = segment };
	return 0;
}

/*
 * Records of the thread are missing, so its synchronisation is unknown: order everything before
 * this point in all threads before everything after it.
 */
int sync_gap(void *self, const struct dep_thread *thread)
{
	struct sync_events *f = self;
	struct sync_thread *t = sync_thread_of(f, thread);
	int err = 0;

	if (!t)
		return sync_no_memory();
	if (!t->begun && !t->process->too_many_threads)
		err = result(t, sync_thread_begin(t));
	if (err || t->process->too_many_threads || t->ended)
		return err;
	/* The thread may have entered or left signal handlers in the gap. */
	t->was_in_library = 0;
	sync_functions_lost(t);
	sync_predict_gap(t);
	return sync_barrier_all(t, false);
}

int sync_end(void *self, const struct dep_thread *thread)
{
	struct sync_thread *t = sync_thread_of(self, thread);

	return t && t->begun && !t->process->too_many_threads ? sync_thread_ended(t) : 0;
}

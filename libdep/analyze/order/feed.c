// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../format/error.h"
#include "feed.h"

#define CLONE_VM	0x00000100u
#define SPINS		8	/* who reads the same so often in vain, waits */

static int no_memory(void)
{
	return dep_fail(-ENOMEM, "the race detector");
}

/* ---- processes and threads ---- */

static int add_known(struct race_feed *f, struct race_process *p)
{
	size_t i;

	for (i = 0; i < f->nknown; i++)
		if (f->words->v[i].process == p->serial &&
		    !race_object_get(&p->objects, RACE_O_WORD, f->words->v[i].word))
			return no_memory();
	return 0;
}

static struct race_process *process_of(struct race_feed *f, u32 serial)
{
	struct race_process *p;
	struct race_ops ops = { .report = race_rows_report };

	for (p = f->processes; p; p = p->next)
		if (p->serial == serial)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->serial = serial;
	p->rows = ops.arg = race_rows_create();
	if (!p->rows || race_detector_create(&p->detector, &ops, NULL)) {
		race_rows_free(p->rows);
		free(p);
		return NULL;
	}
	p->next = f->processes;
	f->processes = p;
	return add_known(f, p) ? NULL : p;
}

static struct race_thread *thread_of(struct race_feed *f, const struct dep_thread *t)
{
	struct race_thread *r;
	struct race_thread **more;
	size_t n = f->nthreads ? f->nthreads : 64;

	if (t->serial < f->nthreads && f->thread[t->serial])
		return f->thread[t->serial];
	while (n <= t->serial)
		n *= 2;
	if (n > f->nthreads) {
		more = realloc(f->thread, n * sizeof(struct race_thread *));
		if (!more)
			return NULL;
		memset(more + f->nthreads, 0, (n - f->nthreads) * sizeof(struct race_thread *));
		f->thread = more;
		f->nthreads = n;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->serial = t->serial;
	r->tid = t->tid;
	r->index = RACE_NO_THREAD;
	r->feed = f;
	r->process = process_of(f, t->process);
	if (!r->process) {
		free(r);
		return NULL;
	}
	f->thread[t->serial] = r;
	return r;
}

int race_feed_stack(struct race_process *p, u64 start, u64 size)
{
	u32 i, room;
	void *more;

	for (i = 0; i < p->nstacks && p->stack[i].start != start; i++)
		;
	if (i == p->stacks_room) {
		room = i ? i * 2 : 16;
		more = realloc(p->stack, room * sizeof(*p->stack));
		if (!more)
			return no_memory();
		p->stack = more;
		p->stacks_room = room;
	}
	p->stack[i].start = start;
	p->stack[i].size = size;
	p->nstacks += i == p->nstacks;
	return 0;
}

/* A stack may have been another thread's, which has ended; its last word is in it. */
static int forget_stack(struct race_process *p, u64 child_tid)
{
	u32 i;

	for (i = 0; i < p->nstacks; i++)
		if (child_tid - p->stack[i].start < p->stack[i].size)
			return race_forget(p->detector, p->stack[i].start, p->stack[i].size);
	return 0;
}

/* The child of a clone, from where on it is ordered behind its parent. */
static int created(struct race_thread *t, const struct adept_ev_fork *ev)
{
	struct race_process *p = t->process;
	u32 index, room;
	void *more;
	int err;

	if (!(ev->flags & CLONE_VM))
		return 0;
	err = race_feed_flush(t);
	if (!err)
		err = forget_stack(p, ev->child_tid);
	if (!err)
		err = race_thread_begin(p->detector, t->index, &index);
	if (err)
		return err;
	if (p->nchildren == p->children_room) {
		room = p->children_room ? p->children_room * 2 : 16;
		more = realloc(p->child, room * sizeof(*p->child));
		if (!more)
			return no_memory();
		p->child = more;
		p->children_room = room;
	}
	p->child[p->nchildren].tid = ev->pid;
	p->child[p->nchildren].index = index;
	p->child[p->nchildren++].child_tid = ev->child_tid;
	/* Who waits for its end looks at this word. */
	if (ev->child_tid && !race_object_get(&p->objects, RACE_O_WORD, ev->child_tid / 4))
		return no_memory();
	return 0;
}

static int begin(struct race_thread *t)
{
	struct race_process *p = t->process;
	u32 i = p->nchildren;

	t->begun = true;
	while (i-- && p->child[i].tid != t->tid)
		;
	if (i == ~0u)
		return race_thread_begin(p->detector, RACE_NO_THREAD, &t->index);
	t->index = p->child[i].index;
	t->in_library = true;
	return 0;
}

/* The kernel clears a word then; who sees that goes on behind all that the thread did. */
static int ended(struct race_thread *t)
{
	struct race_process *p = t->process;
	int err = 0;
	u32 i;

	if (t->ended)
		return 0;
	t->ended = true;
	for (i = 0; i < p->nchildren && !err; i++) {
		if (p->child[i].index != t->index)
			continue;
		if (p->child[i].child_tid)
			err = race_feed_release(t, RACE_O_WORD, p->child[i].child_tid / 4);
		p->child[i] = p->child[--p->nchildren];
		break;
	}
	if (!err)
		err = race_feed_flush(t);
	race_thread_end(p->detector, t->index);
	return err;
}

/* ---- accesses and order ---- */

int race_feed_flush(struct race_thread *t)
{
	u32 n = t->nrefs;

	t->nrefs = 0;
	return n ? race_accesses(t->process->detector, t->index, t->ref, n) : 0;
}

static int look_for(struct race_feed *f, struct race_thread *t, u64 pc, u64 address, u64 size);

int race_feed_access(struct race_thread *t, u64 pc, u64 address, u64 size, u32 flags)
{
	int err = 0;

	if (!size)
		return 0;
	if (t->feed->nwant)
		err = look_for(t->feed, t, pc, address, size);
	if (err)
		return err;
	t->ref[t->nrefs++] = (struct race_ref){
		.pc = pc, .address = address, .flags = flags,
		.size = size < UINT32_MAX ? (u32)size : UINT32_MAX,
	};
	return t->nrefs == RACE_BATCH ? race_feed_flush(t) : 0;
}

int race_feed_acquire(struct race_thread *t, enum race_kind kind, u64 id)
{
	const struct race_object *o = race_object_find(&t->process->objects, kind, id);
	int err = o ? race_feed_flush(t) : 0;

	return o && !err ? race_acquire(t->process->detector, t->index, &o->sync) : err;
}

int race_feed_release(struct race_thread *t, enum race_kind kind, u64 id)
{
	struct race_object *o = race_object_get(&t->process->objects, kind, id);
	int err = race_feed_flush(t);

	if (!o)
		return no_memory();
	return err ? err : race_release(t->process->detector, t->index, &o->sync);
}

int race_feed_acquire_all(struct race_thread *t, enum race_kind kind)
{
	const struct race_objects *o = &t->process->objects;
	const struct race_object *at;
	int err = race_feed_flush(t);
	u32 i;

	for (i = 0; i < o->nbuckets; i++)
		for (at = o->bucket[i]; at && !err; at = at->next)
			if (at->kind == kind)
				err = race_acquire(t->process->detector, t->index, &at->sync);
	return err;
}

/* Does a word that is known to be atomic have a byte of it? */
static bool is_atomic(const struct race_objects *o, u64 address, u32 size)
{
	u64 word = address / 4, end = (address + size - 1) / 4;

	if (!race_line_marked(o, address) && !race_line_marked(o, address + size - 1))
		return false;
	/* More than 16 bytes are no operation on a lock, but a copy or a clearing. */
	for (; size <= 16 && word <= end; word++)
		if (race_object_find(o, RACE_O_WORD, word))
			return true;
	return false;
}

static int each_word(struct race_thread *t, u64 address, u32 size,
		     int (*f)(struct race_thread *t, enum race_kind kind, u64 id))
{
	u64 word = address / 4, end = (address + size - 1) / 4;
	int err = 0;

	for (; word <= end && !err; word++)
		err = f(t, RACE_O_WORD, word);
	return err;
}

/* Of a locked instruction: what it releases, before it; what it acquires, behind it. */
static int locked_access(struct race_thread *t, const struct dep_ref *r, u32 inside)
{
	u32 flags = (t->wrote ? RACE_READ | RACE_WRITE : RACE_READ) | RACE_ATOMIC | inside;
	int err = 0;

	t->locked_at = r->addr;
	t->locked_size = r->size <= 16 ? r->size : 16;
	/* From here on it is an object, also to those that only acquire it. */
	if (t->wrote)
		err = each_word(t, r->addr, t->locked_size, race_feed_release);
	return err ? err : race_feed_access(t, r->pc, r->addr, r->size, flags);
}

static int ticket(struct race_thread *t, const struct dep_ticket *k)
{
	int err = 0;

	if (!k->behind) {
		t->locked = true;
		t->wrote = k->wrote;
		t->locked_pc = k->pc;
		t->locked_size = 0;
		return 0;
	}
	/* What it cannot have seen the result of it need not have waited for. */
	if (t->locked && t->locked_pc == k->pc && t->locked_size && !k->blind && !t->in_library)
		err = each_word(t, t->locked_at, t->locked_size, race_feed_acquire);
	t->locked = false;
	return err;
}

/*
 * A loop that does nothing but read waits for another thread; whatever its variable is by
 * name, it is one that threads synchronise by.
 */
static int note_spin(struct race_thread *t, const struct dep_ref *r)
{
	u64 word = r->addr / 4;

	if (r->type != DEP_READ) {
		t->spins = 0;
		return 0;
	}
	if (t->spin_pc != r->pc || t->spin_at != r->addr) {
		/* Others may be read in the same loop. */
		if (!t->spins || t->spin_pc == r->pc) {
			t->spin_pc = r->pc;
			t->spin_at = r->addr;
			t->spins = 1;
		} else if (++t->spins > 4 * SPINS) {
			t->spins = 0;
		}
		return 0;
	}
	if (++t->spins != SPINS || r->size > 8)
		return 0;
	for (; word <= (r->addr + r->size - 1) / 4; word++)
		if (!race_object_get(&t->process->objects, RACE_O_SPUN, word))
			return no_memory();
	return 0;
}

static u32 code_at(const struct race_feed *f, struct race_process *p, u64 pc)
{
	u32 i = (u32)(pc * 0x9e3779b97f4a7c15ull >> 52);

	if (p->code[i].pc != pc) {
		p->code[i].code = f->options->code ?
				  f->options->code(f->options->arg, p->serial, pc) :
				  DEP_CODE_PROGRAM;
		p->code[i].pc = pc;
	}
	return p->code[i].code;
}

/* Return: 0, -EAGAIN: it is to come late; or an error. */
static int reference(struct race_feed *f, struct race_thread *t, const struct dep_ref *r, bool late)
{
	const struct race_objects *o = &t->process->objects;
	u32 flags = r->type & 3, code = code_at(f, t->process, r->pc), inside = 0;
	int err = 0;

	if (code != DEP_CODE_PROGRAM && code != DEP_CODE_CALLER)
		inside = RACE_INSIDE;

	if (code == DEP_CODE_THREADS)
		t->in_library = true;
	else if (code == DEP_CODE_PROGRAM)
		t->in_library = false;
	if (t->locked && t->locked_pc == r->pc)
		return locked_access(t, r, inside);
	flags |= inside;
	if (is_atomic(o, r->addr, r->size)) {
		flags |= RACE_MAYBE_ATOMIC;
		if (flags & RACE_READ && !late)
			return -EAGAIN;
		if (flags & RACE_READ && !t->in_library)
			err = each_word(t, r->addr, r->size, race_feed_acquire);
		else if (!(flags & RACE_READ))
			err = each_word(t, r->addr, r->size, race_feed_release);
	}
	if (!err)
		err = note_spin(t, r);
	if (code == DEP_CODE_LOADER)
		return err;
	return err ? err : race_feed_access(t, r->pc, r->addr, r->size, flags);
}

/* ---- events ---- */

static int event(struct race_thread *t, const struct dep_event *e)
{
	const struct adept_ev_signal *sig = e->payload;
	int err;

	switch (e->id) {
	case ADEPT_EV_SYSCALL | DEP_EV_ENTER:
		return race_call_enter(t, e->payload, e->pc);
	case ADEPT_EV_SYSCALL:
		return race_call_leave(t, e->payload, e->pc);
	case ADEPT_EV_FORK:
		return created(t, e->payload);
	case ADEPT_EV_THREAD_END:
		return ended(t);
	case ADEPT_EV_SIGNAL:
		t->locked = false;
		err = race_feed_acquire(t, RACE_O_SIGNAL, sig->signo);
		return err ? err : race_feed_acquire(t, RACE_O_SIGNAL, 0);
	}
	return 0;
}

/* ---- stacks ---- */

static int note_call(struct race_thread *t, const struct dep_call *c)
{
	u32 room;
	void *more;

	/* Frames that a longjmp, an exception or a return left behind. */
	while (t->depth && t->stack[t->depth - 1].sp < c->sp + (c->is_return ? 0 : 1))
		t->depth--;
	if (c->is_return)
		return 0;
	if (t->depth == t->stack_room) {
		room = t->stack_room ? t->stack_room * 2 : 64;
		more = realloc(t->stack, room * sizeof(*t->stack));
		if (!more)
			return no_memory();
		t->stack = more;
		t->stack_room = room;
	}
	t->stack[t->depth].pc = c->pc;
	t->stack[t->depth++].sp = c->sp;
	return 0;
}

static int keep_stack(struct race_thread *t, struct race_stack *w)
{
	u32 i;

	w->found = true;
	w->thread = t->serial;
	w->tid = t->tid;
	w->frame = malloc((t->depth + 1) * sizeof(*w->frame));
	if (!w->frame)
		return no_memory();
	for (i = t->depth; i--;)
		w->frame[w->nframes++] = t->stack[i].pc;
	return 0;
}

/* Is it one of the accesses whose stack is wanted? */
static int look_for(struct race_feed *f, struct race_thread *t, u64 pc, u64 address, u64 size)
{
	u64 epoch = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < f->nwant && !err; i++) {
		struct race_stack *w = &f->want[i];

		if (w->pc != pc || w->found || w->index != t->index ||
		    w->process_serial != t->process->serial ||
		    address >= w->address + w->size || w->address >= address + size)
			continue;
		if (!epoch) {
			err = race_feed_flush(t);
			epoch = race_epoch(t->process->detector, t->index);
		}
		if (!err && epoch >> 16 == w->epoch >> 16)
			err = keep_stack(t, w);
	}
	return err;
}

/* ---- all items ---- */

static int one_item(struct race_feed *f, struct race_thread *t, const struct dep_item *it,
		    bool late)
{
	int err = 0;

	switch (it->kind) {
	case DEP_ITEM_REF:
		err = reference(f, t, &it->ref, late);
		break;
	case DEP_ITEM_TICKET:
		err = ticket(t, &it->ticket);
		break;
	case DEP_ITEM_EVENT:
		err = event(t, &it->event);
		break;
	case DEP_ITEM_CALL:
		if (f->nwant)
			err = note_call(t, &it->call);
		break;
	case DEP_ITEM_BLOCK:
		break;
	}
	return err;
}

ssize_t race_feed_items(void *self, const struct dep_thread *thread, const struct dep_item *items,
			size_t n, bool late)
{
	struct race_feed *f = self;
	struct race_thread *t = thread_of(f, thread);
	size_t i = 0;
	int err = 0;

	if (!t)
		return no_memory();
	if (!t->begun)
		err = begin(t);
	for (; i < n && !err; i++)
		err = one_item(f, t, &items[i], late);
	if (err == -EAGAIN) {
		err = 0;
		i--;
	}
	/* Others come next: theirs and these are told in the order in which they are shown. */
	if (!err)
		err = race_feed_flush(t);
	return err ? err : (ssize_t)i;
}

/*
 * Nobody knows what it did, or waited for: whatever others did before may be ordered before
 * what it does now, and the other way round.
 */
int race_feed_gap(void *self, const struct dep_thread *thread)
{
	struct race_feed *f = self;
	struct race_thread *t = thread_of(f, thread), *o;
	struct race_sync all = { 0 };
	int err = 0;
	size_t i;

	if (!t)
		return no_memory();
	if (!t->begun)
		err = begin(t);
	for (i = 0; i < 2 * f->nthreads && !err; i++) {
		o = f->thread[i % f->nthreads];
		if (!o || !o->begun || o->ended || o->process != t->process)
			continue;
		if (i < f->nthreads)
			err = race_release(t->process->detector, o->index, &all);
		else
			err = race_acquire(t->process->detector, o->index, &all);
	}
	race_sync_free(t->process->detector, &all);
	return err;
}

int race_feed_end(void *self, const struct dep_thread *thread)
{
	struct race_thread *t = thread_of(self, thread);

	return t && t->begun ? ended(t) : 0;
}

void race_feed_free(struct race_feed *f)
{
	struct race_process *p;
	size_t i;

	for (i = 0; i < f->nthreads; i++) {
		if (f->thread[i])
			free(f->thread[i]->stack);
		free(f->thread[i]);
	}
	free(f->thread);
	f->thread = NULL;
	f->nthreads = 0;
	while ((p = f->processes)) {
		f->processes = p->next;
		race_objects_free(&p->objects, p->detector);
		race_files_free(&p->files);
		race_detector_free(p->detector);
		race_rows_free(p->rows);
		free(p->child);
		free(p->stack);
		free(p);
	}
}

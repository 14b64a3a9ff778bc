// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl info --attach: how the threads of attached processes were entered and left, their call
 * stacks, and the process's open descriptors.
 *
 * A thread's first segments have the events of the attach, its last one that of the detach.
 */
#include <stdlib.h>
#include <string.h>

#include "attach_info.h"

/** struct reader - the events at the beginning of a thread, as they come */
struct reader {
	struct attach_thread *t;
	bool complete;		/* ADEPT_EV_CONTEXT came after ADEPT_EV_ATTACH */
	uint64_t pc, regs[16], sp;
	size_t size;
	uint8_t stack[ATTACH_STACK];
};

/* Append a piece of the stack if it follows the pieces before. */
static void add_piece(struct reader *r, const struct adept_ev_stack *piece)
{
	if (!r->size)
		r->sp = piece->address;
	if (piece->size > ADEPT_STACK_BYTES || piece->size > sizeof(r->stack) - r->size ||
	    piece->address != r->sp + r->size)
		return;
	memcpy(r->stack + r->size, piece->bytes, piece->size);
	r->size += piece->size;
}

static void take_context(struct reader *r, const struct adept_ev_context *c)
{
	r->complete = true;
	r->pc = c->pc;
	memcpy(r->regs, c->regs, sizeof(r->regs));
	if (r->sp != r->regs[4])
		r->size = 0;
}

static int begin_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		       size_t n)
{
	struct reader *r = arg;
	size_t i;

	(void)seg;
	for (i = 0; i < n && !r->complete; i++) {
		const struct dep_event *e = &items[i].event;

		if (items[i].kind != DEP_ITEM_EVENT)
			continue;
		if (e->id == ADEPT_EV_ATTACH) {
			memcpy(&r->t->attach, e->payload, sizeof(r->t->attach));
			r->t->entered = true;
		} else if (e->id == ADEPT_EV_STACK) {
			add_piece(r, e->payload);
		} else if (e->id == ADEPT_EV_CONTEXT) {
			take_context(r, e->payload);
		}
	}
	return r->complete;
}

static int end_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		     size_t n)
{
	struct attach_thread *t = arg;
	size_t i;

	(void)seg;
	for (i = 0; i < n; i++) {
		if (items[i].kind != DEP_ITEM_EVENT || items[i].event.id != ADEPT_EV_DETACH)
			continue;
		memcpy(&t->detach, items[i].event.payload, sizeof(t->detach));
		t->left = true;
	}
	return 0;
}

/* Find the thread's segments.  Return: their number. */
static size_t segments_of(struct attach_info *f, uint32_t thread, const struct dep_segment **out)
{
	const struct dep_segment *seg;
	size_t n = dep_store_segments(f->store, &seg), lo = 0, hi = n, mid, end;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (seg[mid].thread < thread)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < n && seg[end].thread == thread; end++)
		;
	*out = seg + lo;
	return end - lo;
}

static void unwind(struct attach_info *f, const struct reader *r)
{
	const struct dep_stack stack = {
		.pc = r->pc, .regs = r->regs, .bytes = r->stack, .size = r->size,
	};
	struct attach_thread *t = r->t;

	if (t->entered && r->complete)
		t->nframes = dep_symbols_unwind(f->symbols, t->thread->process,
						t->thread->start_ns, &stack, t->frame,
						DEP_STACK_FRAMES);
}

int attach_thread_read(struct attach_info *f, struct attach_thread *t)
{
	struct reader r = { .t = t };
	const struct dep_sink begin = {
		.want = DEP_WANT_EVENTS, .batch = begin_batch, .arg = &r,
	};
	const struct dep_sink end = { .want = DEP_WANT_EVENTS, .batch = end_batch, .arg = t };
	struct dep_counts counts = { 0 };
	const struct dep_segment *seg;
	size_t i, n = segments_of(f, t->thread->serial, &seg);
	int err = 0;

	for (i = 0; i < n && !err && !r.complete; i++)
		err = dep_recover_segment(f->store, &seg[i], &begin, &counts);
	if (err < 0)
		return err;
	unwind(f, &r);
	return n && t->thread->end == DEP_END_DETACHED ?
	       dep_recover_segment(f->store, &seg[n - 1], &end, &counts) : 0;
}

static int print_threads(struct attach_info *f, const struct dep_attach *a)
{
	struct attach_thread *t = calloc(1, sizeof(*t));
	const struct dep_thread *threads;
	size_t i, n = dep_store_threads(f->store, &threads);
	int status = EXIT_SUCCESS;

	if (!t) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	for (i = 0; i < n; i++) {
		if (threads[i].process != a->process)
			continue;
		memset(t, 0, sizeof(*t));
		t->thread = &threads[i];
		if (attach_thread_read(f, t)) {
			warn("thread %u: %s", threads[i].tid, dep_error());
			status = EXIT_FAILURE;
		}
		/* Others were created later. */
		if (t->entered || t->left)
			attach_print_thread(f, t);
	}
	free(t);
	return status;
}

static int print_all(struct attach_info *f)
{
	const struct dep_attach *a;
	size_t i, n = dep_store_attaches(f->store, &a);
	int status = EXIT_SUCCESS;

	json_begin(&f->j, &f->out);
	if (f->json) {
		json_object(&f->j, NULL);
		json_str(&f->j, "store", f->path);
		json_array(&f->j, "attaches");
	} else if (!n) {
		out_text(&f->out, "No process was attached to.\n");
	}
	for (i = 0; i < n; i++) {
		attach_print_process(f, &a[i]);
		status |= print_threads(f, &a[i]);
		attach_print_files(f, &a[i]);
	}
	if (f->json) {
		json_close(&f->j, ']');
		json_close(&f->j, '}');
		json_line(&f->j);
	}
	return status;
}

static void print_messages(struct attach_info *f)
{
	const char *const *message;
	size_t i, n = dep_symbols_messages(f->symbols, &message);

	for (i = 0; i < n; i++)
		warn("%s", message[i]);
}

int attach_info(const char *path, bool json)
{
	struct attach_info f = { .path = path, .json = json };
	int status = EXIT_FAILURE;

	f.store = open_store(path);
	if (!f.store)
		return EXIT_FAILURE;
	if (dep_symbols_open(&f.symbols, f.store)) {
		warn("out of memory");
		goto out_close;
	}
	out_begin(&f.out);
	if (!json)
		out_layout(&f.out);
	status = print_all(&f);
	status |= out_end(&f.out);
	print_messages(&f);
	dep_symbols_close(f.symbols);

out_close:
	dep_store_close(f.store);
	return status;
}

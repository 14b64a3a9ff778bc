// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compare the stacks of libdep/contexts with stacks by true stack pointers.
 *
 *	stacks_check [--no-at] STORE [RANGES]
 *
 * The oracle recovers everything, so it knows rsp at each call and return.  It keeps a naive stack:
 * a call pops all frames that are not above rsp and pushes one.  A return pops those below rsp, or
 * else the last one if it goes to the instruction behind its call.  At each call, the caller's
 * frame and the number of frames must be the same.  RANGES has lines "stack BEGIN END", in
 * hexadecimal: stacks that the program made, besides that of each thread.
 *
 * The rows of intervals of time must add up to the contexts, and each interval must have the
 * instructions that dep_intervals_make() counts in it.
 *
 * At some calls dep_contexts_at() must have the callers of the naive stack, unless the program has
 * code that calls the next instruction (--no-at): that makes a frame, but no context.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dep/profile.h"
#include "dep/recover.h"
#include "libdep/abi/stream.h"
#include "libdep/contexts/make.h"

#define STACKS 4096
#define INSN_MAX 15		/* bytes of an instruction */
#define SAMPLE 997		/* one call in this number is a sample */
#define SAMPLED_FRAMES 4000000

struct frame {
	uint64_t slot, pc;
	int handler;
};

/* A call, and its callers, innermost first; a handler has pc 0. */
struct sample {
	struct dep_position at;
	uint64_t *pc;
	size_t n;
	bool whole;		/* the callers are all: it is the thread's own stack */
};

struct stack {
	uint64_t begin, end;
	struct frame *frame;
	size_t n, room;
};

/* The stacks of a thread: [0] is its own. */
struct stacks {
	struct stack stack[STACKS];
	size_t n;
};

struct forked {
	uint32_t parent, pid, flags;
	struct stacks *stacks;
};

struct oracle {
	struct dep_store *store;
	struct stacks *now;
	uint32_t thread;
	const struct dep_segment *segment;
	int signal, shares;
	struct stack *last;
	struct stack *below;		/* a return has popped no frame of it: where does it go? */
	struct forked *forked;
	size_t nforked;
	/* what is checked */
	struct dep_watched_call *call;
	size_t ncalls, room, at;
	uint64_t wrong, unknown;
	struct dep_position position;
	struct sample *sample;
	size_t nsamples, samples_room, sampled_frames;
	/* stacks of the program */
	struct { uint64_t begin, end; } range[STACKS];
	size_t nranges;
};

static void die(const char *what)
{
	fprintf(stderr, "stacks_check: %s\n", what);
	exit(2);
}

static void *need(void *p)
{
	if (!p)
		die("no memory");
	return p;
}

static void watch(void *arg, const struct dep_watched_call *call)
{
	struct oracle *o = arg;

	if (o->ncalls == o->room) {
		o->room = o->room ? 2 * o->room : 65536;
		o->call = need(realloc(o->call, o->room * sizeof(*o->call)));
	}
	o->call[o->ncalls++] = *call;
}

static struct stack *stack_of(struct stacks *s, uint64_t sp)
{
	size_t i;

	for (i = 1; i < s->n; i++)
		if (sp >= s->stack[i].begin && sp <= s->stack[i].end)
			return s->stack + i;
	return s->stack;
}

static void push(struct stack *s, uint64_t slot, uint64_t pc, int handler)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->frame = need(realloc(s->frame, s->room * sizeof(*s->frame)));
	}
	s->frame[s->n++] = (struct frame){ slot, pc, handler };
}

static void pop(struct stack *s, uint64_t below)
{
	while (s->n && s->frame[s->n - 1].slot < below)
		s->n--;
}

static struct stacks *new_stacks(const struct oracle *o)
{
	struct stacks *s = need(calloc(1, sizeof(*s)));
	size_t i;

	s->n = 1 + o->nranges;
	for (i = 0; i < o->nranges; i++) {
		s->stack[i + 1].begin = o->range[i].begin;
		s->stack[i + 1].end = o->range[i].end;
	}
	return s;
}

static void free_stacks(struct stacks *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++)
		free(s->stack[i].frame);
	free(s);
}

static struct stacks *copy_stacks(const struct stacks *from)
{
	struct stacks *s = need(malloc(sizeof(*s)));
	size_t i;

	*s = *from;
	for (i = 0; i < s->n; i++) {
		if (!s->stack[i].frame)
			continue;
		s->stack[i].frame = need(malloc(s->stack[i].room * sizeof(struct frame)));
		memcpy(s->stack[i].frame, from->stack[i].frame,
		       from->stack[i].n * sizeof(struct frame));
	}
	return s;
}

static const struct dep_thread *thread_of(struct dep_store *store, uint32_t serial)
{
	const struct dep_thread *t;
	size_t n = dep_store_threads(store, &t), i;

	for (i = 0; i < n; i++)
		if (t[i].serial == serial)
			return t + i;
	die("a segment of no thread");
	return NULL;
}

/* A child of fork or vfork begins on a copy of its parent's stack. */
static void begin_thread(struct oracle *o, uint32_t serial)
{
	const struct dep_thread *t = thread_of(o->store, serial);
	size_t i;

	free_stacks(o->now);
	o->now = NULL;
	o->thread = serial;
	o->signal = o->shares = 0;
	o->last = o->below = NULL;
	for (i = 0; i < o->nforked && !o->now; i++)
		if (o->forked[i].stacks && o->forked[i].parent == t->parent &&
		    o->forked[i].pid == t->tid) {
			o->now = o->forked[i].stacks;
			o->shares = !!(o->forked[i].flags & CLONE_VM);
			o->forked[i].stacks = NULL;
		}
	if (!o->now)
		o->now = new_stacks(o);
}

static void take_fork(struct oracle *o, const struct adept_ev_fork *ev)
{
	if (ev->flags & CLONE_THREAD)
		return;
	o->forked = need(realloc(o->forked, (o->nforked + 1) * sizeof(*o->forked)));
	o->forked[o->nforked++] = (struct forked){
		o->thread, ev->pid, ev->flags, copy_stacks(o->now),
	};
}

/* The child of posix_spawn() has a stack of its own. */
static void check_stack(struct oracle *o, uint64_t sp)
{
	struct stack *s = o->now->stack;

	if (o->shares && s->n && (sp > s->frame[s->n - 1].slot ||
				  s->frame[s->n - 1].slot - sp > 1 << 20))
		s->n = 0;
	o->shares = 0;
}

/* A return that goes to another stack, but not to where that was left, begins it anew. */
static void take_return(struct oracle *o, uint64_t sp)
{
	struct stack *s = stack_of(o->now, sp);
	size_t n = s->n;

	pop(s, sp);
	if (o->last && o->last != s && (n == s->n || s->frame[s->n].slot != sp - 8) &&
	    s != o->now->stack)
		s->n = 0;
	o->last = s;
	o->below = n == s->n ? s : NULL;
}

/* A function that moved its return address down ends when it returns behind its call. */
static void take_block(struct oracle *o, uint64_t pc)
{
	struct stack *s = o->below;
	const struct frame *f;

	o->below = NULL;
	if (!s || !s->n)
		return;
	f = &s->frame[s->n - 1];
	if (!f->handler && pc > f->pc && pc - f->pc <= INSN_MAX)
		s->n--;
}

static void take_sample(struct oracle *o, const struct stack *s, uint64_t pc)
{
	struct sample *x;
	size_t i;

	if (o->sampled_frames + s->n > SAMPLED_FRAMES)
		return;
	if (o->nsamples == o->samples_room) {
		o->samples_room = o->samples_room ? 2 * o->samples_room : 64;
		o->sample = need(realloc(o->sample, o->samples_room * sizeof(*o->sample)));
	}
	x = o->sample + o->nsamples++;
	*x = (struct sample){
		.at = o->position, .n = s->n, .whole = s == o->now->stack && !o->shares,
	};
	x->at.pc = pc;
	x->pc = need(malloc((s->n + 1) * sizeof(*x->pc)));
	for (i = 0; i < s->n; i++)
		x->pc[i] = s->frame[s->n - 1 - i].pc;
	o->sampled_frames += s->n;
}

static void check_call(struct oracle *o, const struct dep_call *c)
{
	struct stack *s = stack_of(o->now, c->sp);
	const struct dep_watched_call *is = o->call + o->at++;
	uint64_t slot, depth = 2;
	size_t i;
	int wrong;

	/* The first call on another stack, which may have been used before. */
	if (o->last && o->last != s && s != o->now->stack)
		s->n = 0;
	o->last = s;
	if (o->at > o->ncalls)
		die("fewer calls were seen than recovered");
	pop(s, c->sp + 1);
	for (i = s->n; i > 0 && !s->frame[i - 1].handler; i--)
		depth++;
	slot = s->n && !s->frame[s->n - 1].handler ? s->frame[s->n - 1].slot : 0;
	wrong = is->pc != c->pc || is->thread != o->thread || is->depth != depth;
	o->unknown += slot && !is->slot;
	wrong |= slot && is->slot && slot != is->slot;
	if (wrong && o->wrong++ < 10)
		printf("wrong: call %zu thread %u at %" PRIx64 " sp %" PRIx64 ": depth %" PRIu64
		       " slot %" PRIx64 ", but thread %u pc %" PRIx64 " depth %" PRIu64 " slot %"
		       PRIx64 "\n", o->at, o->thread, c->pc, c->sp, depth, slot, is->thread,
		       is->pc, is->depth, is->slot);
	if (o->at % SAMPLE == 1)
		take_sample(o, s, c->pc);
	push(s, c->sp, c->pc, 0);
}

static void take_event(struct oracle *o, const struct dep_event *ev)
{
	struct adept_ev_context c;
	struct adept_ev_fork f;
	struct stack *s;

	o->below = NULL;
	if (ev->id == ADEPT_EV_SIGNAL) {
		o->signal = 1;
	} else if (ev->id == ADEPT_EV_FORK) {
		memcpy(&f, ev->payload, sizeof(f));
		take_fork(o, &f);
	} else if (ev->id == ADEPT_EV_CONTEXT) {
		memcpy(&c, ev->payload, sizeof(c));
		s = stack_of(o->now, c.regs[4]);
		pop(s, c.regs[4] + o->signal);
		if (o->signal)
			push(s, c.regs[4], 0, 1);
		o->signal = 0;
		o->last = s;
	}
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	struct oracle *o = arg;
	size_t i;

	const struct dep_segment *first;

	dep_store_segments(o->store, &first);
	if (seg->thread != o->thread)
		begin_thread(o, seg->thread);
	if (seg != o->segment)
		o->position = (struct dep_position){ .segment = (uint32_t)(seg - first) };
	o->segment = seg;
	for (i = 0; i < n; i++) {
		if (items[i].kind == DEP_ITEM_CALL && !items[i].call.is_jump)
			check_stack(o, items[i].call.sp);
		if (items[i].kind == DEP_ITEM_BLOCK)
			take_block(o, items[i].block.pc);
		else if (items[i].kind == DEP_ITEM_EVENT)
			take_event(o, &items[i].event);
		else if (items[i].kind == DEP_ITEM_CALL && items[i].call.is_return)
			take_return(o, items[i].call.sp);
		else if (items[i].kind == DEP_ITEM_CALL && !items[i].call.is_jump)
			check_call(o, &items[i].call);
		o->position.branches += items[i].kind == DEP_ITEM_CALL;
		o->position.signals += items[i].kind == DEP_ITEM_EVENT &&
				       (items[i].event.id == ADEPT_EV_SIGNAL ||
					items[i].event.id == ADEPT_EV_SIGRETURN);
	}
	return 0;
}

static int order(const struct dep_context *a, const struct dep_context *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

/* The rules of dep/contexts.h. */
static int check_tree(const struct dep_contexts *c, uint64_t insns, uint64_t refs)
{
	const struct dep_context *x = c->context;
	size_t *last = need(calloc(c->ncontexts + 1, sizeof(*last))), i, wrong = 0;
	uint64_t sum = 0, ref_sum = 0, shares = 0, times = 0;

	wrong += !c->ncontexts || x->kind != DEP_CONTEXT_ROOT || x->insns;
	for (i = 0; i < c->ncontexts; i++) {
		sum += x[i].insns;
		ref_sum += x[i].refs;
		if (!i)
			continue;
		if (x[i].parent >= i) {
			wrong++;
			continue;
		}
		if (last[x[i].parent])
			wrong += order(x + last[x[i].parent], x + i) > 0;
		last[x[i].parent] = i;
	}
	for (i = 0; i < c->nshares; i++)
		shares += c->share[i].insns;
	for (i = 0; i < c->ntimes; i++)
		times += c->time[i].insns;
	free(last);
	if (sum != insns || ref_sum != refs || shares != insns || times != insns)
		printf("wrong: sums are %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		       ", not %" PRIu64 " %" PRIu64 "\n", sum, ref_sum, shares, times, insns, refs);
	return !wrong && sum == insns && ref_sum == refs && shares == insns && times == insns;
}

static bool is_sum(const struct dep_context *x, const struct dep_context_interval *sum)
{
	return sum->calls == x->calls && sum->insns == x->insns && sum->refs == x->refs;
}

/* The rows of intervals are in order, and add up to the contexts. */
static size_t check_interval_rows(const struct dep_contexts *c)
{
	struct dep_context_interval *sum = need(calloc(c->ncontexts + 1, sizeof(*sum)));
	const struct dep_context_interval *r = c->interval;
	size_t i, wrong = 0;

	for (i = 0; i < c->nintervals; i++) {
		wrong += i && (r[i].start_ns < r[i - 1].start_ns ||
			       (r[i].start_ns == r[i - 1].start_ns &&
				r[i].context <= r[i - 1].context));
		if (r[i].context >= c->ncontexts)
			die("a row of an interval without context");
		sum[r[i].context].calls += r[i].calls;
		sum[r[i].context].insns += r[i].insns;
		sum[r[i].context].refs += r[i].refs;
	}
	for (i = 0; i < c->ncontexts; i++)
		wrong += !is_sum(&c->context[i], &sum[i]);
	free(sum);
	return wrong;
}

/* Each interval has the instructions and operands that dep_intervals_make() counts in it. */
static bool check_intervals(const struct oracle *o, const struct dep_fragments *code,
			    const struct dep_contexts *c, uint64_t per_ns)
{
	size_t wrong = check_interval_rows(c), i = 0, n = 0;
	struct dep_intervals *iv;
	struct dep_interval in;
	uint64_t insns, refs;
	int ret;

	if (dep_intervals_make(o->store, code, NULL, per_ns, &iv))
		die(dep_error());
	while ((ret = dep_intervals_next(iv, &in)) > 0) {
		insns = refs = 0;
		for (; i < c->nintervals && c->interval[i].start_ns == in.start_ns; i++) {
			insns += c->interval[i].insns;
			refs += c->interval[i].refs;
		}
		wrong += insns != in.profile->insns || refs != in.profile->refs;
		n += insns > 0;
	}
	if (ret)
		die(dep_error());
	dep_intervals_free(iv);
	wrong += i != c->nintervals;
	if (wrong)
		printf("wrong: %zu rows of %zu intervals\n", wrong, n);
	return !wrong;
}

/* A length that divides the time of all segments into some intervals. */
static uint64_t interval_of(const struct dep_profile *p)
{
	return p->ntimes ? (p->time[p->ntimes - 1].start_ns - p->time[0].start_ns) / 5 + 1 : 1;
}

/* A number for the whole tree. */
static uint64_t hash_tree(const struct dep_contexts *c)
{
	uint64_t h = 0;
	size_t i, k;

	for (i = 0; i < c->ncontexts; i++) {
		const struct dep_context *x = c->context + i;
		const uint64_t v[] = {
			x->parent, x->kind, x->incomplete, x->process, x->pc, x->site, x->calls,
			x->insns, x->refs,
		};

		for (k = 0; k < sizeof(v) / sizeof(*v); k++) {
			h = (h ^ v[k]) * 0x9e3779b97f4a7c15;
			h ^= h >> 29;
		}
	}
	return h;
}

static bool same_stack(const struct sample *x, const struct dep_call_stack *s)
{
	size_t i, k = 0;

	for (i = 0; i < s->n && k < x->n; i++) {
		if (s->frame[i].kind == DEP_CONTEXT_TAIL)
			continue;
		if (s->frame[i].kind == DEP_CONTEXT_SIGNAL ? x->pc[k] :
							     s->frame[i].site != x->pc[k])
			return false;
		k++;
	}
	while (i < s->n && s->frame[i].kind == DEP_CONTEXT_TAIL)
		i++;
	return s->found && k == x->n && (i == s->n || !x->whole);
}

/* Compare dep_contexts_at() with the naive stack.  Return: the number of wrong stacks. */
static size_t check_at(struct oracle *o, const struct dep_fragments *code)
{
	struct dep_position *at = need(calloc(o->nsamples + 1, sizeof(*at)));
	struct dep_call_stacks *s;
	size_t i, wrong = 0;

	/* in another order */
	for (i = 0; i < o->nsamples; i++)
		at[i] = o->sample[o->nsamples - 1 - i].at;
	if (dep_contexts_at(o->store, code, at, o->nsamples, NULL, &s))
		die(dep_error());
	for (i = 0; i < o->nsamples; i++) {
		const struct sample *x = o->sample + o->nsamples - 1 - i;

		if (!same_stack(x, s->stack + i) && wrong++ < 5)
			printf("wrong: stack at %" PRIx64 ", segment %u, branch %u: %zu frames, "
			       "not %zu%s\n", x->at.pc, x->at.segment, x->at.branches,
			       s->stack[i].n, x->n, s->stack[i].found ? "" : ", not found");
	}
	dep_call_stacks_free(s);
	free(at);
	return wrong;
}

static void read_ranges(struct oracle *o, const char *name)
{
	FILE *f = fopen(name, "r");
	char line[256];

	if (!f)
		die("cannot read the ranges");
	while (fgets(line, sizeof(line), f) && o->nranges + 1 < STACKS)
		if (sscanf(line, "stack %" SCNx64 " %" SCNx64, &o->range[o->nranges].begin,
			   &o->range[o->nranges].end) == 2)
			o->nranges++;
	fclose(f);
}

static void free_oracle(struct oracle *o)
{
	size_t i;

	for (i = 0; i < o->nsamples; i++)
		free(o->sample[i].pc);
	free(o->sample);
	for (i = 0; i < o->nforked; i++)
		free_stacks(o->forked[i].stacks);
	free_stacks(o->now);
	free(o->forked);
	free(o->call);
	dep_store_close(o->store);
	free(o);
}

static void print(const struct oracle *o, const struct dep_contexts *c, bool good)
{
	uint64_t tails = 0;
	size_t i;

	for (i = 0; i < c->ncontexts; i++)
		tails += c->context[i].kind == DEP_CONTEXT_TAIL ? c->context[i].calls : 0;
	printf("%s: %zu calls, %" PRIu64 " wrong, %zu stacks, %" PRIu64 " without slot, ",
	       good ? "ok" : "FAILED", o->ncalls, o->wrong, o->nsamples, o->unknown);
	printf("%zu contexts, %" PRIu64 " tail calls, ", c->ncontexts, tails);
	printf("%" PRIu64 " unknown returns, %" PRIu64 " segments recovered, tree %016" PRIx64 "\n",
	       c->unknown_returns, c->recovered, hash_tree(c));
}

int main(int argc, char **argv)
{
	struct dep_contexts_options options = { .times = true }, with_counts = { 0 };
	struct dep_sink sink = {
		.want = DEP_WANT_BLOCKS | DEP_WANT_CALLS | DEP_WANT_JUMPS | DEP_WANT_EVENTS,
		.batch = batch,
	};
	struct oracle *o = need(calloc(1, sizeof(*o)));
	const struct dep_segment *segs;
	struct dep_contexts *c, *plain;
	struct dep_profile *p;
	struct dep_counts counts = { 0 };
	const struct dep_recover_options recover = { .counts = &counts };
	struct dep_fragments *code;
	bool good, at = true;
	size_t n;

	if (argc > 1 && !strcmp(argv[1], "--no-at")) {
		at = false;
		argv++;
		argc--;
	}
	if (argc < 2)
		die("stacks_check [--no-at] STORE [RANGES]");
	if (argc > 2)
		read_ranges(o, argv[2]);
	if (dep_store_open(&o->store, argv[1]) || dep_code_make(o->store, &code) ||
	    dep_profile_make(o->store, code, NULL, &p))
		die(dep_error());
	options.per_ns = interval_of(p);
	/* The second tree comes from the loop for common calls, with entries from the counts. */
	with_counts.counts = p;
	if (dep_contexts_watched(o->store, code, &options, watch, o, &c) ||
	    dep_contexts_make(o->store, code, &with_counts, &plain))
		die(dep_error());
	n = dep_store_segments(o->store, &segs);
	sink.arg = o;
	if (dep_recover(o->store, segs, n, &sink, &recover))
		die(dep_error());
	good = hash_tree(c) == hash_tree(plain) && check_tree(c, p->insns, p->refs) &&
	       o->at == o->ncalls && !o->wrong && counts.instructions == p->insns;
	if (!check_intervals(o, code, c, options.per_ns) || (at && check_at(o, code)))
		good = false;
	if (o->at != o->ncalls)
		printf("wrong: %zu calls were seen, %zu recovered\n", o->ncalls, o->at);
	print(o, c, good);
	dep_contexts_free(c);
	dep_contexts_free(plain);
	dep_profile_free(p);
	dep_code_free(code);
	free_oracle(o);
	return !good;
}

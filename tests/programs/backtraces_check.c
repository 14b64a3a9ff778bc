// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compare the stacks of dep_contexts_at() with those that libgcc's unwinder saw.
 *
 *	backtraces_check STORE BACKTRACES
 *
 * backtraces.c was preloaded into the recorded program, and wrote its backtraces.  The number of a
 * SIGPROF in its thread says which one belongs to it.  At each SIGPROF three stacks must be the
 * same: that of the unwinder, that of libdep in front of the handler's first instruction, and,
 * without the handler's own frame, that of libdep behind the handler.  Where the unwinder itself
 * was interrupted, only the last two are compared.
 *
 * The unwinder has a return address where libdep has the call; the store's code says where a call
 * returns to.  A handler has two addresses: where it returns to, and what it interrupted.
 * Differences that are right:
 *  - A function that was left by a tail call has a frame in libdep only.  So has a PLT stub, which
 *    jumps to the function.
 *  - The unwinder ends at code without unwind tables.  backtraces.c says whether the last address
 *    is in such code, or whether there are no more frames.
 *  - The unwinder ends after BACKTRACES_FRAMES addresses.
 *  - A handler that has returned to the code that calls sigreturn has a frame in libdep up to
 *    sigreturn.  The unwinder has no return address for it any more.
 *  - The unwind tables of longjmp() describe the function that it goes to, from the instruction on
 *    that loads the first register.  libdep has all frames up to the jump.
 *  - The unwinder, too, sets rsp before it jumps to the handler of an exception.  Behind a handler
 *    of a signal, libdep goes by rsp: the frames that the unwinder leaves have ended.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backtraces.h"
#include "dep/contexts.h"
#include "dep/fragment.h"

#define PRINTED		3	/* differences */
#define LONGJMPS	64

/* The last instructions of glibc's longjmp(): from mov (%rdi),%rbx to jmp *%rdx. */
static const uint8_t longjmp_end[] = {
	0x48, 0x8b, 0x1f, 0x4c, 0x8b, 0x67, 0x10, 0x4c, 0x8b, 0x6f, 0x18, 0x4c, 0x8b, 0x77, 0x20,
	0x4c, 0x8b, 0x7f, 0x28, 0x89, 0xf0, 0x4c, 0x89, 0xc4, 0x4c, 0x89, 0xcd, 0xff, 0xe2,
};

/* A SIGPROF, and the positions in front of the handler and behind it. */
struct sample {
	const struct dep_thread *thread;
	struct dep_position at, behind;
	bool has_behind;
	const struct backtrace_note *note;	/* NULL: none */
};

/* A call instruction. */
struct site {
	uint32_t process;
	uint64_t pc, next;
};

struct check {
	struct dep_store *store;
	struct dep_fragments *code;
	const struct dep_segment *segs;
	const struct backtraces *file;
	struct site *site;
	size_t nsites;
	uint64_t longjmp[LONGJMPS];	/* where code with the bytes of longjmp_end is */
	size_t nlongjmps;
	struct sample *sample;
	size_t nsamples, room;
	/* while reading the store */
	const struct dep_thread *thread;
	struct dep_position now;
	uint32_t head;		/* first instruction of a record that began in another segment */
	enum { NO_HANDLER, IN_HANDLER, BEHIND_HANDLER } state;
	/* results */
	size_t compared, frames, partial, behind, handlers, tails, longjmps, unwinders, deepest;
	size_t missing, wrong;
};

static void die(const char *what)
{
	fprintf(stderr, "backtraces_check: %s\n", what);
	exit(2);
}

static void *need(void *p)
{
	if (!p)
		die("no memory");
	return p;
}

/* ---- where calls return to ---- */

static int order_sites(const void *x, const void *y)
{
	const struct site *a = x, *b = y;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static void find_sites(struct check *c)
{
	const struct dep_code_fragment *f;
	const struct dep_branch_step *step;
	uint32_t i, k;

	c->site = need(calloc(c->code->nsteps + 1, sizeof(*c->site)));
	for (i = 0; i < c->code->nfragments; i++) {
		f = c->code->fragment + i;
		for (k = 0; k < f->nsteps; k++) {
			step = c->code->step + f->first_step + k;
			if (step->branch == DEP_BRANCH_CALL ||
			    step->branch == DEP_BRANCH_CALL_INDIRECT)
				c->site[c->nsites++] = (struct site){
					f->process, step->pc, step->next,
				};
		}
	}
	qsort(c->site, c->nsites, sizeof(*c->site), order_sites);
}

/* Does the call at @pc return to @to?  Generated code may have had several calls there. */
static bool returns_to(const struct check *c, uint32_t process, uint64_t pc, uint64_t to)
{
	const struct site key = { process, pc, 0 };
	size_t lo = 0, hi = c->nsites, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (order_sites(c->site + mid, &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < c->nsites && !order_sites(c->site + lo, &key); lo++)
		if (c->site[lo].next == to)
			return true;
	return false;
}

/* ---- the code of longjmp() ---- */

/* glibc has it in one fragment, because no other branch is near. */
static void find_longjmps(struct check *c)
{
	struct dep_fragment_code code;
	const uint8_t *p;
	uint32_t i;

	for (i = 0; i < c->code->nfragments && c->nlongjmps < LONGJMPS; i++) {
		dep_fragment_code(c->store, i, &code);
		p = memmem(code.code, code.code_len, longjmp_end, sizeof(longjmp_end));
		if (p && code.nruns == 1)
			c->longjmp[c->nlongjmps++] = code.runs->pc + (uint64_t)(p - code.code);
	}
}

static bool in_longjmp(const struct check *c, uint64_t pc)
{
	size_t i;

	for (i = 0; i < c->nlongjmps; i++)
		if (pc - c->longjmp[i] < sizeof(longjmp_end))
			return true;
	return false;
}

/* ---- positions of the signals ---- */

static void add_sample(struct check *c)
{
	if (c->nsamples == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		c->sample = need(realloc(c->sample, c->room * sizeof(*c->sample)));
	}
	c->sample[c->nsamples++] = (struct sample){ .thread = c->thread, .at = c->now };
}

/* All signals are blocked in the handler, so the next return from a handler is its own. */
static int take_event(void *arg, const struct dep_event *ev)
{
	struct adept_ev_signal signal;
	struct check *c = arg;

	if (ev->id == ADEPT_EV_SIGNAL) {
		memcpy(&signal, ev->payload, sizeof(signal));
		c->now.signals++;
		c->state = NO_HANDLER;
		if (signal.signo != SIGPROF)
			return 0;
		add_sample(c);
		c->state = IN_HANDLER;
	} else if (ev->id == ADEPT_EV_SIGRETURN) {
		c->now.signals++;
		if (c->state == IN_HANDLER)
			c->sample[c->nsamples - 1].behind = c->now;
		c->state = c->state == IN_HANDLER ? BEHIND_HANDLER : NO_HANDLER;
	}
	return 0;
}

static int take_segment(void *arg, const struct dep_fold_segment *seg)
{
	struct check *c = arg;

	if (c->thread != seg->thread || c->state == BEHIND_HANDLER)
		c->state = NO_HANDLER;
	c->thread = seg->thread;
	c->head = seg->insn;
	c->now = (struct dep_position){ .segment = (uint32_t)(seg->segment - c->segs) };
	return 0;
}

/* Instructions from @from on up to step number @nsteps, and up to the step behind it. */
static void take_steps(struct check *c, uint32_t fragment, uint32_t from, uint32_t nsteps)
{
	const struct dep_branch_step *step = c->code->step + c->code->fragment[fragment].first_step;
	uint32_t k;

	if (c->state == BEHIND_HANDLER) {
		c->sample[c->nsamples - 1].has_behind = true;
		c->state = NO_HANDLER;
	}
	for (k = 0; k < nsteps; k++)
		c->now.branches += step[k].insns > from && step[k].branch >= DEP_BRANCH_JUMP &&
				   step[k].branch <= DEP_BRANCH_RETURN;
}

static int take_exits(void *arg, const uint32_t *exit, size_t n, uint64_t next_pc)
{
	struct check *c = arg;
	const struct dep_code_exit *x;
	size_t i;

	(void)next_pc;
	for (i = 0; i < n; i++) {
		x = c->code->exit + exit[i];
		take_steps(c, x->fragment, c->head, x->nsteps);
		c->head = 0;
	}
	return 0;
}

static int take_piece(void *arg, const struct dep_fold_piece *piece)
{
	struct check *c = arg;
	uint32_t from = piece->from > c->head ? piece->from : c->head;

	if (piece->to > from)
		take_steps(c, piece->fragment, from, piece->nsteps);
	c->head = 0;
	return 0;
}

static void *only_part(void *self, const struct dep_fragments *code)
{
	(void)code;
	return self;
}

static int end_fold(void *self, void *part)
{
	(void)self;
	(void)part;
	return 0;
}

static void find_samples(struct check *c)
{
	static const struct dep_fold fold = {
		.name = "signals", .ordered = true, .part = only_part, .segment = take_segment,
		.exits = take_exits, .piece = take_piece, .event = take_event, .join = end_fold,
	};
	const struct dep_fold *folds = &fold;
	struct dep_fold_loss loss;
	void *self = c;

	dep_store_segments(c->store, &c->segs);
	if (dep_fold_run(c->store, c->code, &folds, &self, 1, NULL, &loss))
		die(dep_error());
	if (loss.segments || loss.gaps)
		die("the store is damaged");
}

/* ---- which backtrace belongs to which signal ---- */

static int order_notes(const void *x, const void *y)
{
	const struct backtrace_note *a = *(const struct backtrace_note *const *)x;
	const struct backtrace_note *b = *(const struct backtrace_note *const *)y;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Signals of a thread are in order, and threads are created in the order of their serials. */
static int order_samples(const void *x, const void *y)
{
	const struct sample *a = x, *b = y;

	if (a->thread->tid != b->thread->tid)
		return a->thread->tid < b->thread->tid ? -1 : 1;
	if (a->thread->serial != b->thread->serial)
		return a->thread->serial < b->thread->serial ? -1 : 1;
	if (a->at.segment != b->at.segment)
		return a->at.segment < b->at.segment ? -1 : 1;
	return a->at.signals < b->at.signals ? -1 : a->at.signals > b->at.signals;
}

static size_t sort_notes(const struct check *c, const struct backtrace_note ***out)
{
	size_t n = c->file->used, used = 0, i;

	if (n > BACKTRACES_NOTES)
		n = BACKTRACES_NOTES;
	*out = need(calloc(n + 1, sizeof(**out)));
	/* Threads can be killed before they write their tid. */
	for (i = 0; i < n; i++)
		if (c->file->note[i].tid)
			(*out)[used++] = c->file->note + i;
	qsort(*out, used, sizeof(**out), order_notes);
	return used;
}

/* A full file has no more notes, and a thread that is killed has none for its last signal. */
static void miss(struct check *c, size_t i)
{
	bool last = i + 1 == c->nsamples || c->sample[i + 1].thread != c->sample[i].thread;

	if (!last && c->file->used <= BACKTRACES_NOTES)
		die("a signal in the middle of a thread has no backtrace");
	c->missing++;
}

static void match(struct check *c)
{
	const struct backtrace_note **note;
	size_t n = sort_notes(c, &note), k = 0, i;
	uint32_t number = 0;

	qsort(c->sample, c->nsamples, sizeof(*c->sample), order_samples);
	for (i = 0; i < c->nsamples; i++) {
		number = i && c->sample[i].thread == c->sample[i - 1].thread ? number + 1 : 0;
		if (k == n || note[k]->tid != c->sample[i].thread->tid) {
			miss(c, i);
			continue;
		}
		if (note[k]->kind == BACKTRACE_NONE)
			miss(c, i);
		else if (note[k]->number != number)
			die("a signal is missing, in the store or in the backtraces");
		else
			c->sample[i].note = note[k];
		k++;
	}
	if (k != n)
		die("the store has fewer signals than there are backtraces");
	free(note);
}

/* ---- comparison ---- */

static void print_address(const struct check *c, uint32_t process, uint64_t pc)
{
	const struct dep_module *m;
	size_t n = dep_store_modules(c->store, &m), i;

	for (i = 0; i < n; i++)
		if (m[i].process == process && pc >= m[i].start && pc < m[i].end) {
			printf("%" PRIx64 " (%s+%" PRIx64 ")\n", pc, m[i].path,
			       pc - m[i].start + m[i].offset);
			return;
		}
	printf("%" PRIx64 "\n", pc);
}

static void print_both(const struct check *c, const struct sample *x,
		       const struct dep_call_stack *s, const char *why)
{
	static const char *const kinds[DEP_CONTEXT_KINDS] = {
		[DEP_CONTEXT_CALL] = "call", [DEP_CONTEXT_TAIL] = "tail call",
		[DEP_CONTEXT_SIGNAL] = "signal",
	};
	size_t i;

	printf("wrong: %s: signal %u of thread %u, segment %u, branch %u\n", why, x->note->number,
	       x->thread->tid, x->at.segment, x->at.branches);
	for (i = 1; i < x->note->n; i++) {
		printf("  unwinder: ");
		print_address(c, x->thread->process, x->note->pc[i]);
	}
	for (i = 0; i < s->n; i++) {
		printf("  libdep, %s: ", kinds[s->frame[i].kind]);
		print_address(c, x->thread->process, s->frame[i].site);
	}
}

/* The two instructions that call sigreturn; @restorer is the first one. */
static bool in_restorer(uint64_t restorer, uint64_t pc)
{
	return pc == restorer || pc == restorer + 7;
}

/* Does frame @f have the address @i of the unwinder?  Returns the number of its addresses, or 0. */
static uint32_t compare_frame(const struct check *c, const struct sample *x,
			      const struct dep_call_frame *f, uint32_t i)
{
	const struct backtrace_note *note = x->note;
	uint64_t restorer = note->pc[1];

	if (f->kind == DEP_CONTEXT_CALL)
		return returns_to(c, x->thread->process, f->site, note->pc[i]);
	if (i + 1 < note->n && note->pc[i] == restorer && note->pc[i + 1] == f->site)
		return 2;
	return i > 1 && in_restorer(restorer, note->pc[i - 1]) && note->pc[i] == f->site;
}

/*
 * Compare the frames from @k on with the addresses from @i on, as far as both have them.
 *
 * Return: what is wrong, or NULL.
 */
static const char *compare_from(struct check *c, const struct sample *x,
				const struct dep_call_stack *s, size_t k, uint32_t i)
{
	const struct backtrace_note *note = x->note;
	bool may_end = note->kind == BACKTRACE_NO_TABLES || note->n >= BACKTRACES_FRAMES - 1;
	size_t frames = 0, handlers = 0, tails = 0;
	uint32_t size;

	for (; k < s->n; k++) {
		if (s->frame[k].kind == DEP_CONTEXT_TAIL) {
			tails++;
			continue;
		}
		if (i == note->n)
			break;
		size = compare_frame(c, x, s->frame + k, i);
		if (!size)
			return "another frame";
		i += size;
		frames++;
		handlers += k && s->frame[k].kind == DEP_CONTEXT_SIGNAL;
	}
	if (i < note->n)
		return "the unwinder has more frames";
	if (k < s->n && !may_end)
		return "libdep has more frames";
	c->partial += k < s->n;
	c->frames += frames;
	c->handlers += handlers;
	c->tails += tails;
	return NULL;
}

static bool in_unwinder(const struct sample *x)
{
	return x->note->kind == BACKTRACE_IN_UNWINDER || x->note->kind == BACKTRACE_UNWOUND;
}

static const char *compare(struct check *c, const struct sample *x, const struct dep_call_stack *s)
{
	const char *why = "another frame";
	size_t k;

	if (!s->found || s->incomplete)
		return s->found ? "incomplete" : "not found";
	if (!s->n || s->frame->kind != DEP_CONTEXT_SIGNAL)
		return "no handler";
	if (c->deepest < s->n)
		c->deepest = s->n;
	if (in_unwinder(x)) {
		c->unwinders++;
		return NULL;
	}
	if (!in_longjmp(c, s->frame->site))
		return compare_from(c, x, s, 0, 1);
	/* [3] is where longjmp() goes to; then come the callers of that function. */
	c->longjmps++;
	for (k = 1; k < s->n && why; k++)
		why = compare_from(c, x, s, k, 4);
	return why;
}

/* Is @behind the same stack as @s without its @skip innermost frames? */
static bool same_from(const struct dep_call_stack *s, size_t skip,
		      const struct dep_call_stack *behind)
{
	size_t i;

	if (!behind->found || behind->n + skip != s->n || behind->incomplete != s->incomplete)
		return false;
	for (i = 0; i < behind->n; i++)
		if (behind->frame[i].kind != s->frame[i + skip].kind ||
		    behind->frame[i].site != s->frame[i + skip].site ||
		    behind->frame[i].pc != s->frame[i + skip].pc)
			return false;
	return true;
}

/* Is @behind the right stack behind the handler, whose frame is the innermost one of @s? */
static bool is_behind(struct check *c, const struct sample *x, const struct dep_call_stack *s,
		      const struct dep_call_stack *behind)
{
	size_t skip;

	if (same_from(s, 1, behind))
		return true;
	/* The rest of longjmp() counts for the function that it goes to. */
	if (behind->found && in_longjmp(c, s->frame->site) && !compare_from(c, x, behind, 0, 4))
		return true;
	for (skip = 2; x->note->kind == BACKTRACE_UNWOUND && skip < s->n; skip++)
		if (same_from(s, skip, behind))
			return true;
	return false;
}

static void compare_sample(struct check *c, const struct sample *x, const struct dep_call_stack *s,
			   const struct dep_call_stack *behind)
{
	const char *why = compare(c, x, s);

	c->compared += !in_unwinder(x);
	if (why) {
		if (c->wrong++ < PRINTED)
			print_both(c, x, s, why);
		return;
	}
	if (!x->has_behind)
		return;
	c->behind++;
	if (is_behind(c, x, s, behind))
		return;
	if (c->wrong++ < PRINTED)
		print_both(c, x, behind, "behind the handler");
}

static void compare_all(struct check *c)
{
	struct dep_position *at = need(calloc(2 * c->nsamples + 1, sizeof(*at)));
	struct dep_call_stacks *s;
	size_t i;

	for (i = 0; i < c->nsamples; i++) {
		at[2 * i] = c->sample[i].at;
		at[2 * i + 1] = c->sample[i].has_behind ? c->sample[i].behind : c->sample[i].at;
	}
	if (dep_contexts_at(c->store, c->code, at, 2 * c->nsamples, NULL, &s))
		die(dep_error());
	for (i = 0; i < c->nsamples; i++)
		if (c->sample[i].note)
			compare_sample(c, c->sample + i, s->stack + 2 * i, s->stack + 2 * i + 1);
	dep_call_stacks_free(s);
	free(at);
}

static const struct backtraces *map_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || st.st_size != sizeof(struct backtraces))
		die("cannot read the backtraces");
	p = mmap(NULL, sizeof(struct backtraces), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		die("cannot map the backtraces");
	return p;
}

int main(int argc, char **argv)
{
	struct check c = { 0 };

	if (argc != 3)
		die("backtraces_check STORE BACKTRACES");
	c.file = map_file(argv[2]);
	if (dep_store_open(&c.store, argv[1]) || dep_code_make(c.store, &c.code))
		die(dep_error());
	find_sites(&c);
	find_longjmps(&c);
	find_samples(&c);
	match(&c);
	compare_all(&c);
	printf("%zu samples, %zu frames, %zu wrong, %zu up to code without tables, %zu behind "
	       "handlers, %zu frames of other handlers, %zu tail calls, %zu in longjmp, "
	       "%zu in the unwinder, %zu deep, %zu missing\n", c.compared, c.frames, c.wrong,
	       c.partial, c.behind, c.handlers, c.tails, c.longjmps, c.unwinders, c.deepest,
	       c.missing);
	free(c.sample);
	free(c.site);
	dep_code_free(c.code);
	dep_store_close(c.store);
	munmap((void *)c.file, sizeof(*c.file));
	return c.wrong != 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mallocs STORE: calls of malloc by call site, the most bytes first.
 *
 * Of a call of malloc, the store has the arguments and the stack pointer.  The call instruction is
 * the last one that left the stack pointer at this value: control may pass through the procedure
 * linkage table and the dynamic loader before it reaches malloc.
 */
#include <dep/recover.h>
#include <dep/symbols.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH	65536
#define SITES	65536

static struct dep_store *store;
static struct call { uint64_t pc, sp; } stack[DEPTH];	/* of the current thread */
static size_t depth;
static struct site { uint64_t pc, calls, bytes; uint32_t process; } sites[SITES];
static size_t nsites;

/* Leave the calls that have returned: the stack grows down. */
static void unwind(uint64_t sp)
{
	while (depth && stack[depth - 1].sp < sp)
		depth--;
}

static int count_call(uint32_t process, const struct dep_function_call *f)
{
	uint64_t pc;
	size_t i;

	unwind(f->passed->sp);
	pc = depth && stack[depth - 1].sp == f->passed->sp ? stack[depth - 1].pc : 0;
	for (i = 0; i < nsites && (sites[i].pc != pc || sites[i].process != process); i++)
		;
	if (i == SITES)
		return -1;
	nsites += i == nsites;
	sites[i].pc = pc;
	sites[i].process = process;
	sites[i].calls++;
	sites[i].bytes += f->known & 1 ? f->passed->value[0] : 0;
	return 0;
}

static uint32_t process_of(uint32_t thread)
{
	const struct dep_thread *t;

	for (size_t n = dep_store_threads(store, &t); n--; t++)
		if (t->serial == thread)
			return t->process;
	return 0;
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *it, size_t n)
{
	uint32_t process = process_of(seg->thread);
	static uint32_t thread;

	(void)arg;
	if (thread != seg->thread)
		depth = 0;
	thread = seg->thread;
	for (; n--; it++) {
		if (it->kind == DEP_ITEM_FUNCTION && it->function.function == DEP_F_MALLOC &&
		    count_call(process, &it->function))
			return -1;
		if (it->kind != DEP_ITEM_CALL || it->call.is_return)
			continue;
		unwind(it->call.sp + 1);
		if (depth == DEPTH)
			return -1;
		stack[depth++] = (struct call){ it->call.pc, it->call.sp };
	}
	return 0;
}

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)arg, (void)seg;
	fprintf(stderr, "mallocs: left out: %s\n", why);
}

static int by_bytes(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct dep_sink sink = {
		.want = DEP_WANT_CALLS | DEP_WANT_FUNCTIONS, .batch = batch,
	};
	struct dep_counts counts = { 0 };
	const struct dep_recover_options options = { .counts = &counts, .failed = failed };
	const struct dep_segment *segs;
	struct dep_symbols *symbols;
	struct dep_place p;
	size_t n;

	if (argc != 2 || dep_store_open(&store, argv[1])) {
		fprintf(stderr, "mallocs: %s\n", argc == 2 ? dep_error() : "usage: mallocs STORE");
		return 1;
	}
	if (dep_store_meta(store)->session_flags & ADEPT_S_NO_FUNCTIONS)
		fprintf(stderr, "mallocs: recorded without function hooks\n");
	n = dep_store_segments(store, &segs);
	if (dep_recover(store, segs, n, &sink, &options) || dep_symbols_open(&symbols, store)) {
		fprintf(stderr, "mallocs: %s\n", depth == DEPTH || nsites == SITES ?
			"too many calls or call sites" : dep_error());
		return 1;
	}
	qsort(sites, nsites, sizeof(*sites), by_bytes);
	for (size_t i = 0; i < nsites; i++) {
		dep_symbols_frames(symbols, sites[i].process, sites[i].pc, 0, &p, 1);
		printf("%8" PRIu64 " calls %12" PRIu64 " bytes  %s  %s:%u  %s\n", sites[i].calls,
		       sites[i].bytes, p.function ? p.function : "?", p.file ? p.file : "?",
		       p.line, p.module);
	}
	dep_symbols_close(symbols);
	dep_store_close(store);
	return 0;
}

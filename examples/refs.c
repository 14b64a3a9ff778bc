// SPDX-License-Identifier: GPL-2.0-or-later
/* refs STORE: memory references by function, the most first. */
#include <dep/recover.h>
#include <dep/symbols.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	(1u << 20)

/* References of one instruction; later, of one function. */
struct count {
	uint64_t pc, n;
	uint32_t process;
	const char *function, *module;
};

static struct dep_store *store;
static struct count *slots;	/* hash table by pc and process; n is 0 in free slots */
static size_t used;

static struct count *find_slot(uint32_t process, uint64_t pc)
{
	size_t i = (pc ^ process * 7919u) % SLOTS;

	while (slots[i].n && (slots[i].pc != pc || slots[i].process != process))
		i = (i + 1) % SLOTS;
	used += !slots[i].n;
	slots[i].pc = pc;
	slots[i].process = process;
	return &slots[i];
}

static uint32_t process_of(uint32_t thread)
{
	const struct dep_thread *t;

	for (size_t n = dep_store_threads(store, &t); n--; t++)
		if (t->serial == thread)
			return t->process;
	return 0;
}

/* Called by one thread at a time, with items of one segment in program order. */
static int count_refs(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		      size_t n)
{
	uint32_t process = process_of(seg->thread);

	(void)arg;
	for (size_t i = 0; i < n && used < SLOTS - 1; i++)
		if (items[i].kind == DEP_ITEM_REF)
			find_slot(process, items[i].ref.pc)->n++;
	return used == SLOTS - 1;
}

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	(void)arg, (void)seg;
	fprintf(stderr, "refs: left out: %s\n", why);
}

static int by_name(const void *a, const void *b)
{
	const struct count *x = a, *y = b;
	int order = strcmp(x->function, y->function);

	return order ? order : strcmp(x->module, y->module);
}

static int by_count(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	return x->n < y->n ? 1 : x->n > y->n ? -1 : by_name(a, b);
}

static void print_functions(struct dep_symbols *symbols)
{
	size_t n = 0, functions = 0;
	struct dep_place place;

	for (size_t i = 0; i < SLOTS; i++)
		if (slots[i].n)
			slots[n++] = slots[i];
	for (size_t i = 0; i < n; i++) {
		dep_symbols_function(symbols, slots[i].process, slots[i].pc, 0, &place);
		slots[i].function = place.function ? place.function : "?";
		slots[i].module = place.module;
	}
	qsort(slots, n, sizeof(*slots), by_name);
	for (size_t i = 0; i < n; i++) {
		if (functions && !by_name(&slots[functions - 1], &slots[i]))
			slots[functions - 1].n += slots[i].n;
		else
			slots[functions++] = slots[i];
	}
	qsort(slots, functions, sizeof(*slots), by_count);
	for (size_t i = 0; i < functions; i++)
		printf("%12" PRIu64 "  %s  %s\n", slots[i].n, slots[i].function, slots[i].module);
}

int main(int argc, char **argv)
{
	const struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = count_refs };
	struct dep_counts counts = { 0 };
	const struct dep_recover_options options = { .counts = &counts, .failed = failed };
	const struct dep_segment *segs;
	struct dep_symbols *symbols;
	size_t n;

	slots = calloc(SLOTS, sizeof(*slots));
	if (argc != 2 || !slots || dep_store_open(&store, argv[1])) {
		fprintf(stderr, "refs: %s\n", argc == 2 ? dep_error() : "usage: refs STORE");
		return 1;
	}
	n = dep_store_segments(store, &segs);
	if (dep_recover(store, segs, n, &sink, &options) || dep_symbols_open(&symbols, store)) {
		fprintf(stderr, "refs: %s\n", used < SLOTS - 1 ? dep_error() :
			"too many different instructions");
		return 1;
	}
	print_functions(symbols);
	dep_symbols_close(symbols);
	dep_store_close(store);
	return 0;
}

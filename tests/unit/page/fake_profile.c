// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands for libdep and tools/depctl/functions: the page's sources call these functions.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_profile.h"
#include "tools/depctl/depctl.h"

/** struct place_of - source line of an instruction */
struct place_of {
	const char *file;
	uint32_t line, function;
};

static struct {
	struct dep_process *process;
	struct dep_thread *thread;
	size_t nprocesses, nthreads;
	struct function *function;
	size_t nfunctions, function_room;
	struct dep_context *context;
	struct dep_context_share *share;
	uint32_t *of;		/* function of each context */
	size_t ncontexts, context_room;
	struct dep_context_time *time;
	struct dep_time_count *segment;
	size_t ntimes, time_room;
	struct dep_insn_count *insn;
	struct place_of *place;
	size_t ninsns, insn_room;
	struct dep_contexts contexts;
	struct dep_profile profile;
	struct dep_fragments code;
	struct page_input input;
} fake;

static struct dep_code_fragment one_fragment;
static char *command[] = { "./program", "--option", "</script><b>" };
static struct dep_meta meta = { .argc = 3, .argv = command,
				.start_realtime_ns = 1700000000000000000 };

/* Make room for one element more. */
static void *grow(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

void fake_end(void)
{
	free(fake.process);
	free(fake.thread);
	free(fake.function);
	free(fake.context);
	free(fake.share);
	free(fake.of);
	free(fake.time);
	free(fake.segment);
	free(fake.insn);
	free(fake.place);
	memset(&fake, 0, sizeof(fake));
}

void fake_begin(unsigned int nprocesses, unsigned int nthreads)
{
	unsigned int i;

	fake_end();
	fake.process = calloc(nprocesses, sizeof(*fake.process));
	fake.thread = calloc(nthreads, sizeof(*fake.thread));
	if (!fake.process || !fake.thread)
		abort();
	for (i = 0; i < nprocesses; i++)
		fake.process[i] = (struct dep_process){ .serial = i + 1, .pid = 1000 + i,
							.exe = "/usr/bin/program" };
	for (i = 0; i < nthreads; i++)
		fake.thread[i] = (struct dep_thread){ .serial = i + 1, .tid = 1000 + i,
						      .process = i % nprocesses + 1,
						      .name = i ? "worker" : "main" };
	fake.nprocesses = nprocesses;
	fake.nthreads = nthreads;
	fake_context(0, NO_FUNCTION, 0, 0, 0);
}

uint32_t fake_function(const char *name, const char *module)
{
	fake.function = grow(fake.function, fake.nfunctions, &fake.function_room,
			     sizeof(*fake.function));
	fake.function[fake.nfunctions] = (struct function){
		.name = name, .module = module, .path = module, .build_id = "", .named = true };
	return fake.nfunctions++;
}

uint32_t fake_context(uint32_t parent, uint32_t function, uint32_t thread, uint64_t calls,
		      uint64_t insns)
{
	size_t n = fake.ncontexts, room = fake.context_room;

	fake.context = grow(fake.context, n, &room, sizeof(*fake.context));
	room = fake.context_room;
	fake.share = grow(fake.share, n, &room, sizeof(*fake.share));
	fake.of = grow(fake.of, n, &fake.context_room, sizeof(*fake.of));
	fake.context[n] = (struct dep_context){
		.parent = parent, .kind = n ? parent ? DEP_CONTEXT_CALL : DEP_CONTEXT_START : 0,
		.process = thread ? fake.thread[thread - 1].process : 0, .pc = function,
		.calls = calls, .insns = insns, .refs = insns / 3 };
	fake.share[n] = (struct dep_context_share){ .thread = thread, .context = n,
						    .calls = calls, .insns = insns };
	fake.of[n] = function;
	return fake.ncontexts++;
}

void fake_time(uint64_t start_ns, uint64_t end_ns, uint32_t thread, uint32_t context,
	       uint64_t insns)
{
	size_t n = fake.ntimes, room = fake.time_room;

	fake.time = grow(fake.time, n, &room, sizeof(*fake.time));
	fake.segment = grow(fake.segment, n, &fake.time_room, sizeof(*fake.segment));
	fake.time[n] = (struct dep_context_time){ start_ns, thread, context, insns };
	fake.segment[n] = (struct dep_time_count){ thread, 0, start_ns, end_ns, insns };
	fake.ntimes++;
}

void fake_insn(uint32_t function, uint64_t pc, uint64_t count, const char *file, uint32_t line)
{
	size_t n = fake.ninsns, room = fake.insn_room;

	fake.insn = grow(fake.insn, n, &room, sizeof(*fake.insn));
	fake.place = grow(fake.place, n, &fake.insn_room, sizeof(*fake.place));
	fake.insn[n] = (struct dep_insn_count){ .pc = pc, .count = count, .process = 1,
						.image = 1, .size = 1 };
	fake.place[n] = (struct place_of){ file, line, function };
	fake.ninsns++;
}

static int by_start(const void *a, const void *b)
{
	const struct dep_time_count *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void sum_functions(void)
{
	uint64_t *inclusive = calloc(fake.ncontexts, sizeof(*inclusive));
	size_t i, at;

	if (!inclusive)
		abort();
	for (i = fake.ncontexts; i-- > 0;) {
		inclusive[i] += fake.context[i].insns;
		if (i)
			inclusive[fake.context[i].parent] += inclusive[i];
	}
	for (i = 1; i < fake.ncontexts; i++) {
		struct function *f = fake.of[i] == NO_FUNCTION ? NULL : &fake.function[fake.of[i]];

		if (!f)
			continue;
		f->insns += fake.context[i].insns;
		f->calls += fake.context[i].calls;
		f->refs += fake.context[i].refs;
		/* Look for the same function above; bounded, the recursions here are short. */
		for (at = fake.context[i].parent; at && fake.of[at] != fake.of[i];)
			at = fake.context[at].parent;
		f->inclusive += at ? 0 : inclusive[i];
	}
	fake.profile.insns = inclusive[0];
	free(inclusive);
}

const struct page_input *fake_input(void)
{
	sum_functions();
	fake.contexts = (struct dep_contexts){
		.context = fake.context, .share = fake.share, .time = fake.time,
		.ncontexts = fake.ncontexts, .nshares = fake.ncontexts, .ntimes = fake.ntimes };
	if (fake.ntimes)
		qsort(fake.segment, fake.ntimes, sizeof(*fake.segment), by_start);
	fake.profile.insn = fake.insn;
	fake.profile.ninsns = fake.ninsns;
	fake.profile.time = fake.segment;
	fake.profile.ntimes = fake.ntimes;
	fake.profile.refs = fake.profile.insns / 3;
	fake.code = (struct dep_fragments){ .fragment = &one_fragment, .nfragments = 1 };
	fake.input = (struct page_input){ .code = &fake.code, .profile = &fake.profile,
					  .contexts = &fake.contexts, .source = true };
	return &fake.input;
}

/* ---- what the page calls ---- */

size_t functions_all(const struct functions *f, const struct function **out)
{
	(void)f;
	*out = fake.function;
	return fake.nfunctions;
}

uint32_t functions_of(const struct functions *f, uint32_t i)
{
	(void)f;
	return fake.of[i];
}

uint32_t functions_at(const struct functions *f, uint32_t process, uint32_t image, uint64_t pc)
{
	size_t i;

	(void)f;
	(void)process;
	(void)image;
	for (i = 0; i < fake.ninsns; i++)
		if (fake.insn[i].pc == pc)
			return fake.place[i].function;
	return NO_FUNCTION;
}

size_t dep_store_processes(struct dep_store *s, const struct dep_process **out)
{
	(void)s;
	*out = fake.process;
	return fake.nprocesses;
}

size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out)
{
	(void)s;
	*out = fake.thread;
	return fake.nthreads;
}

const struct dep_meta *dep_store_meta(struct dep_store *s)
{
	(void)s;
	return &meta;
}

const struct dep_process *process_of(struct dep_store *s, uint32_t serial)
{
	(void)s;
	return serial && serial <= fake.nprocesses ? &fake.process[serial - 1] : NULL;
}

void dep_symbols_module(struct dep_symbols *s, uint32_t process, uint64_t pc, uint64_t time_ns,
			struct dep_place *out)
{
	(void)s;
	(void)process;
	(void)time_ns;
	*out = (struct dep_place){ .module = "program", .linked = pc, .build_id = "" };
}

size_t dep_symbols_frames(struct dep_symbols *s, uint32_t process, uint64_t pc, uint64_t time_ns,
			  struct dep_place *out, size_t max)
{
	size_t i;

	(void)max;
	dep_symbols_module(s, process, pc, time_ns, out);
	for (i = 0; i < fake.ninsns; i++)
		if (fake.insn[i].pc == pc) {
			out->file = fake.place[i].file;
			out->line = fake.place[i].line;
		}
	return 1;
}

size_t dep_insn_bytes(struct dep_store *store, uint32_t fragment, uint64_t pc, void *out)
{
	(void)store;
	(void)fragment;
	(void)pc;
	*(char *)out = (char)0x90;
	return 1;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

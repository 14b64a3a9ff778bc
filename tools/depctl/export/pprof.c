// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof's format (profile.proto), compressed by gzip.
 *
 * Each context of a thread is a sample with three values.  What is referred to by number, such as
 * locations and strings, follows the samples, in the order of its numbers.
 */
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "gzip.h"
#include "lines.h"
#include "names.h"
#include "proto.h"
#include "stacks.h"

/* Fields of the messages in profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
       PROFILE_FUNCTION, PROFILE_STRING, PROFILE_TIME_NANOS = 9, PROFILE_COMMENT = 13,
       PROFILE_DEFAULT_TYPE };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE,
       MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };

struct pprof {
	struct export *x;
	struct gzip gzip;
	struct lines lines;
	struct numbering strings, places;
	struct proto top, sub, inner;	/* reused for each message */
	struct stacks stacks;
	bool failed;
};

static uint64_t string(struct pprof *p, const char *s)
{
	uint32_t n = number_of(&p->strings, s, strlen(s));

	p->failed |= n == NUMBERING_FULL;
	return n;
}

static uint64_t location(struct pprof *p, const struct stack_frame *f)
{
	struct stack_place place = stacks_place(f);
	uint32_t n = number_of(&p->places, &place, sizeof(place));

	p->failed |= n == NUMBERING_FULL;
	return n + 1ull;
}

/* Write p->sub as field @field of the profile. */
static void put(struct pprof *p, unsigned int field)
{
	proto_clear(&p->top);
	proto_message(&p->top, field, &p->sub);
	p->failed |= p->top.failed;
	gzip_put(&p->gzip, p->top.data, p->top.size);
	proto_clear(&p->sub);
}

static void put_inner(struct pprof *p, unsigned int field)
{
	proto_message(&p->sub, field, &p->inner);
	proto_clear(&p->inner);
}

/* ---- samples ---- */

static void put_label(struct pprof *p, const char *key, const char *text, uint64_t number)
{
	proto_number(&p->inner, LABEL_KEY, string(p, key));
	if (text)
		proto_number(&p->inner, LABEL_STRING, string(p, text));
	else
		proto_number(&p->inner, LABEL_NUMBER, number);
	put_inner(p, SAMPLE_LABEL);
}

/* Put the locations of a stack, the innermost first. */
static void put_stack(struct pprof *p, const struct stack_frame *frame, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		proto_varint(&p->inner, location(p, &frame[i]));
	put_inner(p, SAMPLE_LOCATION);
}

/* Locations are shared by all stacks, so a label of the sample says which callers are guesses. */
static void put_guesses(struct pprof *p, const struct stack_frame *frame, size_t n)
{
	const struct export *x = p->x;
	char room[EXPORT_TITLE];
	size_t i;

	for (i = 0; i < n && x->guesses.insns; i++)
		if (frame[i].pc && x->l.contexts->context[frame[i].context].guess)
			put_label(p, "guessed_caller",
				  export_title(x, frame[i].function, room, sizeof(room)), 0);
}

static void put_sample(struct pprof *p, const struct dep_context_share *s)
{
	struct stack_frame frame[STACK_ROOM];
	size_t n = stacks_of(&p->stacks, s->context, frame);
	const struct dep_thread *t = thread_of(p->x->l.store, s->thread);
	uint32_t process = p->x->l.contexts->context[s->context].process;
	const struct dep_process *of = process_of(p->x->l.store, process);

	put_stack(p, frame, n);
	proto_varint(&p->inner, s->insns);
	proto_varint(&p->inner, s->refs);
	proto_varint(&p->inner, s->calls);
	put_inner(p, SAMPLE_VALUE);
	if (t)
		put_label(p, "thread", NULL, t->tid);
	if (of) {
		put_label(p, "process", NULL, of->pid);
		put_label(p, "program", export_program(p->x, process), 0);
	}
	put_guesses(p, frame, n);
	put(p, PROFILE_SAMPLE);
}

static void put_samples(struct pprof *p)
{
	const struct export *x = p->x;
	const struct dep_contexts *c = x->l.contexts;
	const struct dep_context_share *s;
	size_t i;

	for (i = 0; i < c->nshares && !p->failed; i++) {
		s = &c->share[i];
		if (!s->context || (!s->insns && !s->calls))
			continue;
		if (export_share(x, s))
			put_sample(p, s);
	}
}

/* ---- what samples refer to ---- */

static void put_type(struct pprof *p, const char *type)
{
	proto_number(&p->sub, TYPE_TYPE, string(p, type));
	proto_number(&p->sub, TYPE_UNIT, string(p, "count"));
	put(p, PROFILE_SAMPLE_TYPE);
}

static void put_mappings(struct pprof *p)
{
	const struct dep_module *m;
	size_t i, n = dep_store_modules(p->x->l.store, &m);

	for (i = 0; i < n; i++) {
		proto_number(&p->sub, MAPPING_ID, i + 1);
		proto_number(&p->sub, MAPPING_START, m[i].start);
		proto_number(&p->sub, MAPPING_LIMIT, m[i].end);
		proto_number(&p->sub, MAPPING_OFFSET, m[i].offset);
		proto_number(&p->sub, MAPPING_FILE, string(p, m[i].path));
		proto_number(&p->sub, MAPPING_BUILD_ID, string(p, m[i].build_id));
		proto_number(&p->sub, MAPPING_HAS_FUNCTIONS, 1);
		put(p, PROFILE_MAPPING);
	}
}

/* The number of NO_FUNCTION is that of functions + 1, and of frames left out, + 2. */
static void put_locations(struct pprof *p)
{
	const struct dep_file_line *line;
	struct stack_place place;
	uint64_t id;
	uint32_t i;

	for (i = 0; i < p->places.n; i++) {
		memcpy(&place, number_key(&p->places, i), sizeof(place));
		id = place.function == NO_FUNCTION ? p->x->l.nfunctions + 1 + !place.pc :
		     place.function + 1ull;
		line = lines_at(&p->lines, place.image, place.pc);
		proto_number(&p->sub, LOCATION_ID, i + 1ull);
		proto_number(&p->sub, LOCATION_MAPPING, place.image);
		proto_number(&p->sub, LOCATION_ADDRESS, place.pc);
		proto_number(&p->inner, LINE_FUNCTION, id);
		proto_number(&p->inner, LINE_LINE, line ? line->line : 0);
		put_inner(p, LOCATION_LINE);
		put(p, PROFILE_LOCATION);
	}
}

static void put_function(struct pprof *p, uint64_t id, const char *name, const struct function *f)
{
	proto_number(&p->sub, FUNCTION_ID, id);
	proto_number(&p->sub, FUNCTION_NAME, string(p, name));
	proto_number(&p->sub, FUNCTION_SYSTEM_NAME, string(p, f && f->symbol ? f->symbol : name));
	if (f && f->file) {
		proto_number(&p->sub, FUNCTION_FILE, string(p, f->file));
		proto_number(&p->sub, FUNCTION_START_LINE, f->line);
	}
	put(p, PROFILE_FUNCTION);
}

static void put_functions(struct pprof *p)
{
	const struct export *x = p->x;
	char room[EXPORT_TITLE];
	const char *name;
	size_t i;

	for (i = 0; i < x->l.nfunctions; i++) {
		name = export_title(x, (uint32_t)i, room, sizeof(room));
		put_function(p, i + 1, name, &x->l.function[i]);
	}
	put_function(p, i + 1, "[unknown]", NULL);
	put_function(p, i + 2, EXPORT_LEFT_OUT, NULL);
}

static void put_strings(struct pprof *p)
{
	const char *next;
	uint32_t i;

	for (i = 0; i < p->strings.n; i++) {
		next = number_key(&p->strings, i);
		proto_clear(&p->top);
		proto_bytes(&p->top, PROFILE_STRING, next, p->strings.key[i].size);
		p->failed |= p->top.failed;
		gzip_put(&p->gzip, p->top.data, p->top.size);
	}
}

static void put_profile(struct pprof *p)
{
	const struct dep_meta *meta = dep_store_meta(p->x->l.store);
	char *command = quote_command(meta->argc, meta->argv);

	string(p, "");	/* number 0 must be the empty string */
	put_type(p, "instructions");
	put_type(p, "references");
	put_type(p, "calls");
	put_samples(p);
	put_mappings(p);
	put_locations(p);
	put_functions(p);
	proto_clear(&p->top);
	proto_number(&p->top, PROFILE_TIME_NANOS, meta->start_realtime_ns);
	proto_number(&p->top, PROFILE_COMMENT, string(p, command ? command : "?"));
	proto_number(&p->top, PROFILE_DEFAULT_TYPE, string(p, "instructions"));
	p->failed |= p->top.failed;
	gzip_put(&p->gzip, p->top.data, p->top.size);
	put_strings(p);
	free(command);
}

int export_pprof(struct export *x)
{
	struct pprof p = { .x = x };

	if (gzip_begin(&p.gzip, &x->out))
		return 1;
	if (lines_begin(&p.lines, x->l.store, x->l.symbols) || stacks_begin(&p.stacks, x))
		p.failed = true;
	else
		put_profile(&p);
	gzip_end(&p.gzip);
	lines_end(&p.lines);
	numbering_free(&p.strings);
	numbering_free(&p.places);
	stacks_end(&p.stacks);
	proto_free(&p.top);
	proto_free(&p.sub);
	proto_free(&p.inner);
	if (p.failed)
		warn("out of memory");
	return p.failed;
}

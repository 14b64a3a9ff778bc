// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perfetto's trace: a TracePacket with a StackSample for each sample.
 *
 * A sample has the number of instructions as weight.  What samples refer to by number (interned
 * data: strings, mappings, frames, stacks) stands in the first packet that needs it.  So packets
 * are written as they are made, and of what was written only the numbers are kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "lines.h"
#include "names.h"
#include "proto.h"
#include "samples.h"
#include "stacks.h"

/* Fields of the messages in Perfetto's trace.proto and the files that it imports. */
enum { TRACE_PACKET = 1 };
enum { PACKET_PROCESS_TREE = 2, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_INTERNED = 12,
       PACKET_FLAGS, PACKET_DEFAULTS = 59, PACKET_STACK_SAMPLE = 135 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE };	/* of PACKET_FLAGS */
enum { TREE_PROCESS = 1, TREE_THREAD };
enum { PROCESS_PID = 1, PROCESS_PARENT, PROCESS_CMDLINE };
enum { THREAD_TID = 1, THREAD_NAME, THREAD_PID };
enum { DEFAULTS_STACK_SAMPLE = 100 };
enum { SAMPLE_DEFAULTS_SOURCE = 1, SAMPLE_DEFAULTS_COUNTER };
enum { COUNTER_NAME = 2, COUNTER_UNIT };
enum { UNIT_INSTRUCTIONS = 3 };
enum { SAMPLE_TASK = 1, SAMPLE_STACK = 6, SAMPLE_WEIGHT = 11 };
enum { TASK_PID = 2, TASK_TID };
enum { INTERNED_FUNCTION = 5, INTERNED_FRAME, INTERNED_STACK, INTERNED_BUILD_ID = 16,
       INTERNED_PATH, INTERNED_SOURCE, INTERNED_MAPPING };
enum { STRING_ID = 1, STRING_TEXT };
enum { MAPPING_ID = 1, MAPPING_BUILD_ID, MAPPING_START = 4, MAPPING_END, MAPPING_PATH = 7,
       MAPPING_OFFSET };
enum { FRAME_ID = 1, FRAME_FUNCTION, FRAME_MAPPING, FRAME_PC, FRAME_SOURCE, FRAME_LINE };
enum { STACK_ID = 1, STACK_FRAME };

#define SEQUENCE	1u	/* all packets are of one sequence */

struct perfetto {
	struct export *x;
	struct lines lines;
	struct samples samples;
	struct stacks stacks;
	/* The number of a key is its id minus 1. */
	struct numbering functions, sources, frames, mappings;
	bool *written;		/* by context: its stack was written; its id is its index */
	struct proto top, packet, interned, message, inner;	/* reused for each message */
	bool failed;
};

/* Append p->message to @to, as field @field. */
static void put_message(struct perfetto *p, struct proto *to, unsigned int field)
{
	proto_message(to, field, &p->message);
	proto_clear(&p->message);
}

static void put_inner(struct perfetto *p, unsigned int field)
{
	proto_message(&p->message, field, &p->inner);
	proto_clear(&p->inner);
}

static void put_bytes(struct proto *to, unsigned int field, const char *s)
{
	proto_bytes(to, field, s, strlen(s));
}

/* Write p->packet. */
static void put_packet(struct perfetto *p, uint64_t time_ns, unsigned int flags)
{
	proto_number(&p->packet, PACKET_TIMESTAMP, time_ns);
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&p->packet, PACKET_FLAGS, flags);
	proto_clear(&p->top);
	proto_message(&p->top, TRACE_PACKET, &p->packet);
	p->failed |= p->top.failed;
	if (!p->failed)
		out_bytes(&p->x->out, p->top.data, p->top.size);
	proto_clear(&p->packet);
}

/* ---- interned data ---- */

/* The id of a key; *@is_new: it has no message yet. */
static uint64_t id_of(struct perfetto *p, struct numbering *t, const void *key, size_t size,
		      bool *is_new)
{
	uint32_t before = t->n, n = number_of(t, key, size);

	p->failed |= n == NUMBERING_FULL;
	*is_new = t->n != before;
	return n + 1ull;
}

static void put_string(struct perfetto *p, unsigned int field, uint64_t id, const char *s)
{
	proto_number(&p->message, STRING_ID, id);
	put_bytes(&p->message, STRING_TEXT, s);
	put_message(p, &p->interned, field);
}

static uint64_t function_id(struct perfetto *p, const struct stack_frame *f)
{
	char room[EXPORT_TITLE];
	const char *name = EXPORT_LEFT_OUT;
	bool is_new;
	uint64_t id;

	if (f->pc)
		name = export_title(p->x, f->function, room, sizeof(room));
	id = id_of(p, &p->functions, name, strlen(name), &is_new);
	if (is_new)
		put_string(p, INTERNED_FUNCTION, id, name);
	return id;
}

static uint64_t source_id(struct perfetto *p, const char *path)
{
	bool is_new;
	uint64_t id = id_of(p, &p->sources, path, strlen(path), &is_new);

	if (is_new)
		put_string(p, INTERNED_SOURCE, id, path);
	return id;
}

/* Build-ids are binary here, at most as long as those of ELF files. */
static void put_build_id(struct perfetto *p, uint64_t id, const char *hex)
{
	uint8_t binary[64];
	unsigned int byte;
	size_t n = 0;

	for (; n < sizeof(binary) && sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
		binary[n++] = (uint8_t)byte;
	proto_number(&p->message, STRING_ID, id);
	proto_bytes(&p->message, STRING_TEXT, binary, n);
	put_message(p, &p->interned, INTERNED_BUILD_ID);
}

/* The path and build-id of a mapping have its id. */
static uint64_t mapping_id(struct perfetto *p, uint32_t image)
{
	const struct dep_module *m;
	size_t n = dep_store_modules(p->x->l.store, &m);
	uint64_t id;
	bool is_new;

	if (!image || image > n)
		return 0;
	m += image - 1;
	id = id_of(p, &p->mappings, &image, sizeof(image), &is_new);
	if (!is_new)
		return id;
	put_string(p, INTERNED_PATH, id, m->path);
	if (*m->build_id)
		put_build_id(p, id, m->build_id);
	proto_number(&p->message, MAPPING_ID, id);
	proto_number(&p->message, MAPPING_BUILD_ID, *m->build_id ? id : 0);
	proto_number(&p->message, MAPPING_START, m->start);
	proto_number(&p->message, MAPPING_END, m->end);
	proto_number(&p->message, MAPPING_PATH, id);
	proto_number(&p->message, MAPPING_OFFSET, m->offset);
	put_message(p, &p->interned, INTERNED_MAPPING);
	return id;
}

static void put_frame(struct perfetto *p, const struct stack_frame *f, uint64_t id)
{
	const struct dep_file_line *line = lines_at(&p->lines, f->image, f->pc);
	const struct function *of = f->function == NO_FUNCTION ? NULL :
				    &p->x->l.function[f->function];
	uint64_t function = function_id(p, f), mapping = mapping_id(p, f->image), source = 0;
	const struct dep_module *m;

	if (of && of->file)
		source = source_id(p, of->file);
	proto_number(&p->message, FRAME_ID, id);
	proto_number(&p->message, FRAME_FUNCTION, function);
	if (mapping) {
		dep_store_modules(p->x->l.store, &m);
		m += f->image - 1;
		proto_number(&p->message, FRAME_MAPPING, mapping);
		proto_number(&p->message, FRAME_PC, f->pc - m->start + m->offset);
	}
	proto_number(&p->message, FRAME_SOURCE, source);
	proto_number(&p->message, FRAME_LINE, source && line ? line->line : 0);
	put_message(p, &p->interned, INTERNED_FRAME);
}

static uint64_t frame_id(struct perfetto *p, const struct stack_frame *f)
{
	struct stack_place key = stacks_place(f);
	bool is_new;
	uint64_t id = id_of(p, &p->frames, &key, sizeof(key), &is_new);

	if (is_new)
		put_frame(p, f, id);
	return id;
}

static uint64_t stack_id(struct perfetto *p, uint32_t context)
{
	struct stack_frame frame[STACK_ROOM];
	uint64_t id[STACK_ROOM];
	size_t i, n;

	if (p->written[context])
		return context;
	p->written[context] = true;
	n = stacks_of(&p->stacks, context, frame);
	for (i = 0; i < n; i++)
		id[i] = frame_id(p, &frame[i]);
	proto_number(&p->message, STACK_ID, context);
	while (n--)
		proto_number(&p->message, STACK_FRAME, id[n]);
	put_message(p, &p->interned, INTERNED_STACK);
	return context;
}

/* ---- packets ---- */

static void put_sample(struct perfetto *p, const struct segment_samples *b,
		       const struct dep_context_time *row, uint64_t done)
{
	uint64_t stack = stack_id(p, row->context);

	if (p->interned.size)
		proto_message(&p->packet, PACKET_INTERNED, &p->interned);
	proto_clear(&p->interned);
	proto_number(&p->inner, TASK_PID, samples_pid(b));
	proto_number(&p->inner, TASK_TID, samples_tid(b));
	put_inner(p, SAMPLE_TASK);
	proto_number(&p->message, SAMPLE_STACK, stack);
	proto_number(&p->message, SAMPLE_WEIGHT, row->insns);
	put_message(p, &p->packet, PACKET_STACK_SAMPLE);
	put_packet(p, samples_time(b, done).ns, FLAG_NEEDS_STATE);
}

/* The first packet: what all samples have in common. */
static void put_defaults(struct perfetto *p)
{
	struct proto defaults = { 0 };

	put_bytes(&p->inner, COUNTER_NAME, "instructions");
	proto_number(&p->inner, COUNTER_UNIT, UNIT_INSTRUCTIONS);
	put_bytes(&p->message, SAMPLE_DEFAULTS_SOURCE, "adept");
	put_inner(p, SAMPLE_DEFAULTS_COUNTER);
	put_message(p, &defaults, DEFAULTS_STACK_SAMPLE);
	proto_message(&p->packet, PACKET_DEFAULTS, &defaults);
	proto_free(&defaults);
	put_packet(p, 0, FLAG_CLEARED);
}

static void put_command(struct perfetto *p, const struct dep_process *process)
{
	const char *at = process->cmdline, *end;

	if (!at || !process->cmdline_size) {
		put_bytes(&p->message, PROCESS_CMDLINE, export_program(p->x, process->serial));
		return;
	}
	for (end = at + process->cmdline_size; at < end; at += strnlen(at, end - at) + 1)
		proto_bytes(&p->message, PROCESS_CMDLINE, at, strnlen(at, end - at));
}

/* The names of a thread and its process. */
static void put_thread(struct perfetto *p, const struct segment_samples *b)
{
	const struct dep_process *parent;
	struct proto tree = { 0 };

	if (!b->thread || !b->process)
		return;
	parent = process_of(p->x->l.store, b->process->parent);
	proto_number(&p->message, PROCESS_PID, b->process->pid);
	proto_number(&p->message, PROCESS_PARENT, parent ? parent->pid : 0);
	put_command(p, b->process);
	put_message(p, &tree, TREE_PROCESS);
	proto_number(&p->message, THREAD_TID, b->thread->tid);
	put_bytes(&p->message, THREAD_NAME, samples_name(&p->samples, b));
	proto_number(&p->message, THREAD_PID, b->process->pid);
	put_message(p, &tree, TREE_THREAD);
	proto_message(&p->packet, PACKET_PROCESS_TREE, &tree);
	proto_free(&tree);
	put_packet(p, samples_time(b, 0).ns, 0);
}

static void put_trace(struct perfetto *p)
{
	struct segment_samples b = { 0 };
	uint64_t done;
	size_t i;

	put_defaults(p);
	while (!p->failed && samples_next(&p->samples, &b)) {
		if (b.new_thread)
			put_thread(p, &b);
		done = 0;
		for (i = b.first; i < b.first + b.n && !p->failed; i++) {
			put_sample(p, &b, samples_row(&p->samples, i), done);
			done += samples_row(&p->samples, i)->insns;
		}
	}
}

int export_perfetto(struct export *x)
{
	struct perfetto p = { .x = x };

	if (samples_begin(&p.samples, x))
		return 1;
	p.written = calloc(x->l.contexts->ncontexts + 1, sizeof(*p.written));
	p.failed = lines_begin(&p.lines, x->l.store, x->l.symbols) ||
		   stacks_begin(&p.stacks, x) || !p.written;
	if (!p.failed)
		put_trace(&p);
	samples_end(&p.samples);
	lines_end(&p.lines);
	stacks_end(&p.stacks);
	numbering_free(&p.functions);
	numbering_free(&p.sources);
	numbering_free(&p.frames);
	numbering_free(&p.mappings);
	free(p.written);
	proto_free(&p.top);
	proto_free(&p.packet);
	proto_free(&p.interned);
	proto_free(&p.message);
	proto_free(&p.inner);
	if (p.failed)
		warn("out of memory");
	return p.failed;
}

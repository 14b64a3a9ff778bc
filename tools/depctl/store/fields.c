// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl dump --fields: parse the list of fields, and print lines with these fields.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "tools/depctl/depctl.h"
#include "fields.h"

#define ALL	(DEP_WANT_REFS | DEP_WANT_BLOCKS | DEP_WANT_EVENTS | DEP_WANT_TIMESTAMPS | \
		 DEP_WANT_FUNCTIONS)

enum field {
	PROCESS, PID, THREAD, TID, PROGRAM, THREAD_NAME, SEGMENT, TSC, PC, ADDRESS, SIZE, TYPE,
	INSTRUCTIONS, EVENT, TIMESTAMP, PLACE, SP, FUNCTION, NFIELDS,
};

static const struct {
	const char *name;
	unsigned int kinds;	/* DEP_WANT_ flags of the items that have the field */
} fields[NFIELDS] = {
	[PROCESS] = { "process", ALL },
	[PID] = { "pid", ALL },
	[THREAD] = { "thread", ALL },
	[TID] = { "tid", ALL },
	[PROGRAM] = { "program", ALL },
	[THREAD_NAME] = { "thread_name", ALL },
	[SEGMENT] = { "segment", ALL },
	[TSC] = { "tsc", ALL },
	[PC] = { "pc", ALL },
	[ADDRESS] = { "address", DEP_WANT_REFS },
	[SIZE] = { "size", DEP_WANT_REFS },
	[TYPE] = { "type", DEP_WANT_REFS },
	[INSTRUCTIONS] = { "instructions", DEP_WANT_BLOCKS },
	[EVENT] = { "event", DEP_WANT_EVENTS },
	[TIMESTAMP] = { "timestamp", DEP_WANT_TIMESTAMPS },
	[PLACE] = { "place", DEP_WANT_TIMESTAMPS },
	[SP] = { "sp", DEP_WANT_FUNCTIONS },
	[FUNCTION] = { "function", DEP_WANT_FUNCTIONS },
};

/* ---- choosing ---- */

static int find(const char *name, size_t size, unsigned int want)
{
	int i;

	for (i = 0; i < NFIELDS; i++)
		if (fields[i].kinds & want && strlen(fields[i].name) == size &&
		    !memcmp(fields[i].name, name, size))
			return i;
	return -EINVAL;
}

int fields_parse(struct fields *f, const char *list, unsigned int want, char *bad)
{
	size_t size;
	int field;

	f->n = 0;
	do {
		size = strcspn(list, ",");
		field = find(list, size, want);
		if (field < 0 || f->n == FIELDS_MAX) {
			snprintf(bad, FIELDS_NAME, "%.*s", size < 60 ? (int)size : 60, list);
			return -EINVAL;
		}
		f->field[f->n++] = (unsigned char)field;
		list += size;
	} while (*list++);
	return 0;
}

void fields_list(unsigned int want, char *text, size_t size)
{
	size_t n = 0;
	int i;

	*text = '\0';
	for (i = 0; i < NFIELDS && n < size; i++)
		if (fields[i].kinds & want)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "",
					      fields[i].name);
}

bool fields_have_tsc(const struct fields *f)
{
	return memchr(f->field, TSC, f->n);
}

/* ---- printing ---- */

static const char *program(const struct fields_line *l)
{
	const char *exe = l->process && l->process->exe ? l->process->exe : "?";
	const char *name = base_name(exe);

	return *name ? name : exe;
}

static const char *thread_name(const struct fields_line *l)
{
	return l->thread && l->thread->name ? l->thread->name : "?";
}

static uint64_t pc_of(const struct dep_item *it)
{
	switch (it->kind) {
	case DEP_ITEM_REF:
		return it->ref.pc;
	case DEP_ITEM_BLOCK:
		return it->block.pc;
	case DEP_ITEM_TIMESTAMP:
		return it->timestamp.pc;
	case DEP_ITEM_FUNCTION:
		return it->function.pc;
	case DEP_ITEM_EVENT:
		return it->event.pc;
	default:
		return 0;
	}
}

/* Get the value of a field that is a decimal number; 0 if the value is not known. */
static uint64_t number_of(enum field f, const struct fields_line *l)
{
	switch (f) {
	case PROCESS:
		return l->process ? l->process->serial : 0;
	case PID:
		return l->process ? l->process->pid : 0;
	case THREAD:
		return l->thread ? l->thread->serial : 0;
	case TID:
		return l->thread ? l->thread->tid : 0;
	case SEGMENT:
		return l->segment;
	case SIZE:
		return l->item->ref.size;
	case INSTRUCTIONS:
		return l->item->block.ninsns;
	case TSC:
		return l->tsc;
	default:
		return l->item->timestamp.timestamp;
	}
}

static uint64_t address_of(enum field f, const struct fields_line *l)
{
	return f == PC ? pc_of(l->item) : f == ADDRESS ? l->item->ref.addr :
	       l->item->function.passed->sp;
}

static const char *place_of(const struct dep_lock_timestamp *t)
{
	return !t->after ? "before" : t->wrote ? "after" : "after-read";
}

static void text_value(struct out *o, const struct dep_function_call *f, unsigned int i)
{
	put_char(o, ' ');
	if (f->known >> i & 1)
		put_hex(o, f->passed->value[i]);
	else
		put_char(o, '?');
}

static void text_function(struct out *o, const struct dep_function_call *f)
{
	unsigned int i;

	put_text(o, f->is_return ? "return" : dep_function_name(f->function));
	for (i = 0; f->is_return ? i < 1 : f->known >> i; i++)
		text_value(o, f, i);
}

static void json_value(struct json *j, const char *key, const struct dep_function_call *f,
		       unsigned int i)
{
	if (f->known >> i & 1)
		json_hex(j, key, f->passed->value[i]);
	else
		json_str(j, key, NULL);
}

static void json_function(struct json *j, const struct dep_function_call *f)
{
	unsigned int i;

	if (f->is_return) {
		json_value(j, "return_value", f, 0);
		return;
	}
	json_str(j, "function", dep_function_name(f->function));
	json_array(j, "arguments");
	for (i = 0; f->known >> i; i++)
		json_value(j, NULL, f, i);
	json_close(j, ']');
}

static void text_field(struct out *o, enum field f, const struct fields_line *l)
{
	switch (f) {
	case PC:
	case ADDRESS:
	case SP:
		put_hex(o, address_of(f, l));
		break;
	case TYPE:
		put_char(o, "?RWM"[l->item->ref.type & 3]);
		break;
	case PLACE:
		put_text(o, place_of(&l->item->timestamp));
		break;
	case PROGRAM:
		out_plain(o, program(l));
		break;
	case THREAD_NAME:
		out_plain(o, thread_name(l));
		break;
	case EVENT:
		event_text(o, &l->item->event);
		break;
	case FUNCTION:
		text_function(o, &l->item->function);
		break;
	default:
		put_dec(o, number_of(f, l));
	}
}

static void json_field(struct json *j, enum field f, const struct fields_line *l)
{
	static const char *const types[] = { "?", "read", "write", "read-modify-write" };
	const char *key = fields[f].name;

	switch (f) {
	case PC:
	case ADDRESS:
	case SP:
		json_hex(j, key, address_of(f, l));
		break;
	case TYPE:
		json_str(j, key, types[l->item->ref.type & 3]);
		break;
	case PLACE:
		json_str(j, key, place_of(&l->item->timestamp));
		break;
	case PROGRAM:
		json_str(j, key, program(l));
		break;
	case THREAD_NAME:
		json_str(j, key, thread_name(l));
		break;
	case EVENT:
		event_json(j, &l->item->event);
		break;
	case FUNCTION:
		json_function(j, &l->item->function);
		break;
	case TSC:
	case TIMESTAMP:
		json_big(j, key, number_of(f, l));
		break;
	default:
		json_u64(j, key, number_of(f, l));
	}
}

void fields_put(struct out *o, const struct fields *f, const struct fields_line *l, bool json)
{
	struct json j;
	unsigned int i;

	if (json) {
		json_begin(&j, o);
		json_object(&j, NULL);
		for (i = 0; i < f->n; i++)
			json_field(&j, f->field[i], l);
		json_close(&j, '}');
		json_line(&j);
		return;
	}
	for (i = 0; i < f->n; i++) {
		out_reserve(o);
		if (i)
			put_char(o, ' ');
		text_field(o, f->field[i], l);
	}
	out_reserve(o);
	put_char(o, '\n');
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Print the payloads of events by tables of their fields.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "libdep/abi/stream.h"
#include "tools/depctl/depctl.h"
#include "events.h"

struct field {
	const char *name;
	unsigned short at;
	unsigned char size;
	/*
	 * x: hexadecimal; u: unsigned; d: signed; b: unsigned, in JSON a string, since a double may
	 * not hold the number exactly; n: name of a system call; k, r: name of the kind of an
	 * attach, of the reason of a detach
	 */
	char format;
};

#define FIELD(type, member, format) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), format }

static const struct field context[] = {
	FIELD(adept_ev_context, fs_base, 'x'),
	{ "rax", 16, 8, 'x' },
	{ "rcx", 24, 8, 'x' },
	{ "rdx", 32, 8, 'x' },
	{ "rbx", 40, 8, 'x' },
	{ "rsp", 48, 8, 'x' },
	{ "rbp", 56, 8, 'x' },
	{ "rsi", 64, 8, 'x' },
	{ "rdi", 72, 8, 'x' },
	{ "r8", 80, 8, 'x' },
	{ "r9", 88, 8, 'x' },
	{ "r10", 96, 8, 'x' },
	{ "r11", 104, 8, 'x' },
	{ "r12", 112, 8, 'x' },
	{ "r13", 120, 8, 'x' },
	{ "r14", 128, 8, 'x' },
	{ "r15", 136, 8, 'x' },
	{ 0 }
};

static const struct field partial[] = {
	{ "instructions", offsetof(struct adept_ev_partial, ninsns), 4, 'u' },
	{ 0 }
};

static const struct field signal_fields[] = {
	FIELD(adept_ev_signal, signo, 'u'),
	FIELD(adept_ev_signal, code, 'd'),
	{ "address", offsetof(struct adept_ev_signal, addr), 8, 'x' },
	FIELD(adept_ev_signal, timestamp, 'b'),
	{ 0 }
};

static const struct field syscall_fields[] = {
	{ "name", offsetof(struct adept_ev_syscall, nr), 4, 'n' },
	FIELD(adept_ev_syscall, nr, 'u'),
	FIELD(adept_ev_syscall, result, 'd'),
	FIELD(adept_ev_syscall, before, 'b'),
	FIELD(adept_ev_syscall, after, 'b'),
	{ "arg0", offsetof(struct adept_ev_syscall, args), 8, 'x' },
	{ "arg1", offsetof(struct adept_ev_syscall, args) + 8, 8, 'x' },
	{ "arg2", offsetof(struct adept_ev_syscall, args) + 16, 8, 'x' },
	{ "arg3", offsetof(struct adept_ev_syscall, args) + 24, 8, 'x' },
	{ "arg4", offsetof(struct adept_ev_syscall, args) + 32, 8, 'x' },
	{ "arg5", offsetof(struct adept_ev_syscall, args) + 40, 8, 'x' },
	FIELD(adept_ev_syscall, out, 'x'),
	{ 0 }
};

static const struct field base[] = {
	{ "fs_base", 0, 8, 'x' },
	{ 0 }
};

static const struct field start[] = {
	{ "parent", offsetof(struct adept_ev_start, parent_serial), 4, 'u' },
	FIELD(adept_ev_start, created_at, 'x'),
	FIELD(adept_ev_start, timestamp, 'b'),
	{ 0 }
};

static const struct field end[] = {
	FIELD(adept_ev_end, status, 'u'),
	FIELD(adept_ev_end, timestamp, 'b'),
	{ 0 }
};

static const struct field attach[] = {
	FIELD(adept_ev_attach, kind, 'k'),
	FIELD(adept_ev_attach, nr, 'd'),
	{ "name", offsetof(struct adept_ev_attach, nr), 8, 'n' },
	{ "arg0", offsetof(struct adept_ev_attach, args), 8, 'x' },
	{ "arg1", offsetof(struct adept_ev_attach, args) + 8, 8, 'x' },
	{ "arg2", offsetof(struct adept_ev_attach, args) + 16, 8, 'x' },
	{ "arg3", offsetof(struct adept_ev_attach, args) + 24, 8, 'x' },
	{ "arg4", offsetof(struct adept_ev_attach, args) + 32, 8, 'x' },
	{ "arg5", offsetof(struct adept_ev_attach, args) + 40, 8, 'x' },
	FIELD(adept_ev_attach, tid_address, 'x'),
	FIELD(adept_ev_attach, timestamp, 'b'),
	{ 0 }
};

static const struct field detach[] = {
	FIELD(adept_ev_detach, reason, 'r'),
	FIELD(adept_ev_detach, timestamp, 'b'),
	{ 0 }
};

static const struct field stack[] = {
	{ "address", offsetof(struct adept_ev_stack, address), 8, 'x' },
	FIELD(adept_ev_stack, size, 'u'),
	{ 0 }
};

static const struct field fork_fields[] = {
	{ "child_pid", offsetof(struct adept_ev_fork, pid), 4, 'u' },
	FIELD(adept_ev_fork, flags, 'x'),
	FIELD(adept_ev_fork, before, 'b'),
	FIELD(adept_ev_fork, child_tid, 'x'),
	{ 0 }
};

static const struct field buffer[] = {
	{ "address", offsetof(struct adept_ev_buffer, addr), 8, 'x' },
	FIELD(adept_ev_buffer, size, 'u'),
	{ 0 }
};

static const struct field shared[] = {
	FIELD(adept_ev_shared, dev, 'x'),
	FIELD(adept_ev_shared, inode, 'b'),
	FIELD(adept_ev_shared, size, 'u'),
	{ 0 }
};

static const struct field gap[] = {
	{ "bytes", 0, 8, 'u' },
	{ 0 }
};

static const struct {
	const char *name;
	const struct field *fields;
} events[] = {
	[ADEPT_EV_CONTEXT] = { "context", context },
	[ADEPT_EV_PARTIAL] = { "partial", partial },
	[ADEPT_EV_SIGNAL] = { "signal", signal_fields },
	[ADEPT_EV_SIGRETURN] = { "sigreturn", NULL },
	[ADEPT_EV_SYSCALL] = { "syscall", syscall_fields },
	[ADEPT_EV_FSBASE] = { "fsbase", base },
	[ADEPT_EV_GSBASE] = { "gsbase", base },
	[ADEPT_EV_THREAD_START] = { "thread-start", start },
	[ADEPT_EV_THREAD_END] = { "thread-end", end },
	[ADEPT_EV_ATTACH] = { "attach", attach },
	[ADEPT_EV_DETACH] = { "detach", detach },
	[ADEPT_EV_STACK] = { "stack", stack },
	[ADEPT_EV_FORK] = { "fork", fork_fields },
	[ADEPT_EV_GAP] = { "gap", gap },
	[ADEPT_EV_BUFFER] = { "buffer", buffer },
	[ADEPT_EV_SHARED] = { "shared", shared },
};

#define NEVENTS (sizeof(events) / sizeof(events[0]))

static const char *name_of(const struct dep_event *e, char *room, size_t size)
{
	if (e->id < NEVENTS && events[e->id].name)
		return events[e->id].name;
	snprintf(room, size, "event-%u", e->id);
	return room;
}

/* Get the field after @f (NULL: the first field); NULL if the payload ends before it. */
static const struct field *next_field(const struct dep_event *e, const struct field *f)
{
	if (!f)
		f = e->id < NEVENTS ? events[e->id].fields : NULL;
	else
		f++;
	if (!f || !f->name || f->at + f->size > e->size)
		return NULL;
	return f;
}

static uint64_t value_of(const struct dep_event *e, const struct field *f)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)e->payload + f->at, f->size);
	if (f->format == 'd' && f->size == 4)
		v = (uint64_t)(int64_t)(int32_t)v;
	return v;
}

static const char *text_at(const char *const *names, size_t n, uint64_t i)
{
	return i < n ? names[i] : NULL;
}

const char *attach_kind_name(uint64_t kind)
{
	static const char *const names[] = {
		[ADEPT_ATTACH_RUNNING] = "running",
		[ADEPT_ATTACH_CALL] = "call",
		[ADEPT_ATTACH_RETURNED] = "returned",
	};

	return text_at(names, sizeof(names) / sizeof(names[0]), kind);
}

const char *detach_reason_name(uint64_t reason)
{
	static const char *const names[] = {
		[ADEPT_DETACH_LEFT] = "detached",
		[ADEPT_DETACH_PAUSED] = "paused",
	};

	return text_at(names, sizeof(names) / sizeof(names[0]), reason);
}

/* The name of a value; false: it is a number. */
static bool name_of_value(const struct dep_event *e, const struct field *f, const char **name)
{
	uint64_t v = value_of(e, f);

	switch (f->format) {
	case 'n':
		*name = syscall_name(v);
		return true;
	case 'k':
		*name = attach_kind_name(v);
		return true;
	case 'r':
		*name = detach_reason_name(v);
		return true;
	}
	return false;
}

uint64_t event_tsc(const struct dep_event *e)
{
	const struct field *f = NULL;
	uint64_t tsc = 0;

	while ((f = next_field(e, f)))
		if (!strcmp(f->name, "timestamp") || !strcmp(f->name, "before") ||
		    !strcmp(f->name, "after"))
			tsc = value_of(e, f);
	return tsc;
}

void event_text(struct out *o, const struct dep_event *e)
{
	const struct field *f = NULL;
	const char *name;
	char room[24];
	uint64_t v;

	out_reserve(o);
	put_text(o, name_of(e, room, sizeof(room)));
	while ((f = next_field(e, f))) {
		out_reserve(o);
		put_char(o, ' ');
		put_text(o, f->name);
		put_char(o, '=');
		v = value_of(e, f);
		if (name_of_value(e, f, &name)) {
			put_text(o, name ? name : "?");
			continue;
		}
		if (f->format == 'x') {
			put_hex(o, v);
			continue;
		}
		if (f->format == 'd' && (int64_t)v < 0) {
			put_char(o, '-');
			v = -v;
		}
		put_dec(o, v);
	}
}

void event_json(struct json *j, const struct dep_event *e)
{
	const struct field *f = NULL;
	const char *name;
	char room[24];

	json_str(j, "event", name_of(e, room, sizeof(room)));
	while ((f = next_field(e, f))) {
		if (name_of_value(e, f, &name))
			json_str(j, f->name, name);
		else if (f->format == 'x')
			json_hex(j, f->name, value_of(e, f));
		else if (f->format == 'd')
			json_i64(j, f->name, (int64_t)value_of(e, f));
		else if (f->format == 'b')
			json_big(j, f->name, value_of(e, f));
		else
			json_u64(j, f->name, value_of(e, f));
	}
}

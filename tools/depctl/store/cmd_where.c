// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl where: find the functions and lines, or the variable, at an address.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dep/symbols.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"

/* The code or variable found at one address in one process. */
struct answer {
	const struct dep_process *process;
	uint64_t addr;
	bool is_code, is_data;
	size_t nplaces;
	struct dep_place place[DEP_PLACES];
	struct dep_object object;
};

/* A result that was printed already.  Equal results of several processes are printed once. */
struct said {
	const char *module;
	uint64_t linked, offset;
};

struct where {
	const char *path;
	const char **text;	/* the addresses as given on the command line */
	size_t naddrs;
	bool json, by_process;
	uint64_t process, time_ns;

	struct dep_store *store;
	struct dep_symbols *s;
	const struct dep_process *processes;
	size_t nprocesses;
	struct said *said;
	size_t nsaid;
	struct out out;
	struct json j;
};

enum { OPT_TIME = OPT_JSON + 1 };

static const struct argp_option options[] = {
	{ "process", 'p', "SERIAL", 0, "Look in this process only (serial: see `depctl ls --json')",
	  1 },
	{ "time", OPT_TIME, "NS", 0, "Time (CLOCK_MONOTONIC) at which to look, if different files "
	  "were mapped at the address", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object per line", 1 },
	{ 0 }
};

static bool parse_address(const char *s, uint64_t *out)
{
	char *end;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	errno = 0;
	*out = strtoull(s, &end, 16);
	return isxdigit((unsigned char)*s) && !*end && !errno;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct where *w = state->input;
	uint64_t addr;

	switch (key) {
	case 'p':
		w->process = parse_number(state, "--process", arg, 1, UINT32_MAX);
		w->by_process = true;
		return 0;
	case OPT_TIME:
		w->time_ns = parse_number(state, "--time", arg, 1, UINT64_MAX - 1);
		return 0;
	case OPT_JSON:
		w->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!w->path) {
			w->path = arg;
			return 0;
		}
		if (!parse_address(arg, &addr))
			argp_error(state, "an address must be hexadecimal, not '%s'", arg);
		w->text[w->naddrs++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!w->path)
			argp_error(state, "which store?");
		if (!w->naddrs)
			argp_error(state, "which address?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "STORE ADDRESS...",
	"Name the code or data at an address: function, file and line, and inlined functions; or "
	"the variable and its member or element.\v"
	"ADDRESS is hexadecimal, as `depctl dump' prints it. To find the call that returns to an "
	"address, subtract 1 from the address.",
	NULL, NULL, NULL
};

static void ask(struct where *w, const struct dep_process *p, uint64_t addr, struct answer *a)
{
	const struct dep_place *first = a->place;

	a->process = p;
	a->addr = addr;
	a->nplaces = dep_symbols_frames(w->s, p->serial, addr, w->time_ns, a->place, DEP_PLACES);
	if (a->nplaces > DEP_PLACES)
		a->nplaces = DEP_PLACES;
	a->is_code = strcmp(first->module, "[unknown]");
	a->is_data = false;
	/* An address in a code segment that is not in a function may belong to a constant. */
	if (!a->is_code || !first->function)
		a->is_data = dep_symbols_object(w->s, p->serial, addr, 0, w->time_ns, &a->object);
}

static bool said_already(struct where *w, const struct answer *a)
{
	struct said now = { 0 };
	size_t i;

	if (a->is_data) {
		now.module = a->object.module;
		now.linked = a->object.linked;
	} else {
		now.module = a->place->module;
		now.linked = a->place->linked;
		now.offset = a->place->offset;
	}
	for (i = 0; i < w->nsaid; i++)
		if (w->said[i].module == now.module && w->said[i].linked == now.linked &&
		    w->said[i].offset == now.offset)
			return true;
	w->said[w->nsaid++] = now;
	return false;
}

static void text_line(struct where *w, const char *file, uint32_t line, uint32_t column)
{
	if (!file)
		return;
	out_printf(&w->out, " at ");
	out_plain(&w->out, file);
	if (line)
		out_printf(&w->out, ":%u", line);
	if (line && column)
		out_printf(&w->out, ":%u", column);
}

static void text_module(struct where *w, const char *module, uint64_t offset,
			const char *build_id, bool ambiguous)
{
	out_text(&w->out, "    in ");
	out_plain(&w->out, module);
	out_printf(&w->out, "+0x%" PRIx64, offset);
	if (*build_id)
		out_printf(&w->out, ", build-id %s", build_id);
	if (ambiguous)
		out_text(&w->out, "; another file was mapped here at another time");
	out_text(&w->out, "\n");
}

static void text_code(struct where *w, const struct answer *a)
{
	const struct dep_place *p;
	size_t i;

	for (i = 0; i < a->nplaces; i++) {
		p = &a->place[i];
		if (!p->function && !p->file)
			continue;
		out_text(&w->out, "    ");
		out_plain(&w->out, p->function ? p->function : "?");
		text_line(w, p->file, p->line, p->column);
		out_text(&w->out, p->inlined ? ", inlined into\n" : "\n");
	}
	p = a->place;
	text_module(w, p->module, p->offset, p->build_id, p->ambiguous);
}

static void text_data(struct where *w, const struct answer *a)
{
	const struct dep_object *o = &a->object;

	out_text(&w->out, "    ");
	out_plain(&w->out, o->name);
	if (o->offset)
		out_printf(&w->out, "+%" PRIu64, o->offset);
	if (o->type[0]) {
		out_text(&w->out, ", ");
		out_plain(&w->out, o->type);
	}
	if (o->atomic)
		out_text(&w->out, ", atomic");
	out_text(&w->out, "\n");
	if (o->file) {
		out_text(&w->out, "    declared");
		text_line(w, o->file, o->line, 0);
		out_text(&w->out, "\n");
	}
	out_text(&w->out, "    in ");
	out_plain(&w->out, o->module);
	out_printf(&w->out, ", linked at 0x%" PRIx64, o->linked);
	if (*o->build_id)
		out_printf(&w->out, ", build-id %s", o->build_id);
	if (o->ambiguous)
		out_text(&w->out, "; another file was mapped here at another time");
	out_text(&w->out, "\n");
}

static void json_place(struct where *w, const struct dep_place *p)
{
	json_object(&w->j, NULL);
	json_str(&w->j, "function", p->function);
	json_str(&w->j, "symbol", p->symbol);
	json_str(&w->j, "file", p->file);
	json_u64(&w->j, "line", p->line);
	json_u64(&w->j, "column", p->column);
	json_bool(&w->j, "inlined", p->inlined);
	json_close(&w->j, '}');
}

static void json_variable(struct where *w, const struct dep_object *o)
{
	json_object(&w->j, "data");
	json_str(&w->j, "name", o->name);
	json_str(&w->j, "type_name", o->type[0] ? o->type : NULL);
	json_u64(&w->j, "offset", o->offset);
	json_bool(&w->j, "atomic", o->atomic);
	json_hex(&w->j, "start_address", o->start);
	json_u64(&w->j, "size", o->size);
	json_str(&w->j, "file", o->file);
	json_u64(&w->j, "line", o->line);
	json_close(&w->j, '}');
}

static void json_answer(struct where *w, const struct answer *a)
{
	const struct dep_place *p = a->place;
	size_t i;

	json_object(&w->j, NULL);
	json_hex(&w->j, "address", a->addr);
	json_bool(&w->j, "known", a->is_code || a->is_data);
	if (a->is_code || a->is_data) {
		json_u64(&w->j, "process", a->process->serial);
		json_u64(&w->j, "pid", a->process->pid);
	}
	if (a->is_data) {
		json_variable(w, &a->object);
		json_str(&w->j, "module", a->object.module);
		json_hex(&w->j, "linked_address", a->object.linked);
		json_str(&w->j, "build_id", a->object.build_id);
		json_bool(&w->j, "ambiguous", a->object.ambiguous);
	} else if (a->is_code) {
		json_array(&w->j, "functions");
		for (i = 0; i < a->nplaces; i++)
			json_place(w, &p[i]);
		json_close(&w->j, ']');
		json_str(&w->j, "module", p->module);
		json_hex(&w->j, "module_offset", p->offset);
		json_hex(&w->j, "linked_address", p->linked);
		json_str(&w->j, "build_id", p->build_id);
		json_bool(&w->j, "ambiguous", p->ambiguous);
	}
	json_close(&w->j, '}');
	json_line(&w->j);
}

static void say(struct where *w, const struct answer *a)
{
	if (w->json) {
		json_answer(w, a);
		return;
	}
	out_printf(&w->out, "%" PRIx64, a->addr);
	if (!a->is_code && !a->is_data) {
		out_text(&w->out, ": no code or variable is known at this address\n");
		return;
	}
	if (w->nprocesses > 1)
		out_printf(&w->out, ", process %u (%u)", a->process->serial, a->process->pid);
	out_text(&w->out, ":\n");
	if (a->is_data)
		text_data(w, a);
	else
		text_code(w, a);
}

/*
 * Print the code or variable at @addr in each process.  Equal results are printed once.
 * Return: false if nothing is known at @addr in any process.
 */
static bool look_up(struct where *w, uint64_t addr)
{
	struct answer a = { 0 };
	bool known = false;
	size_t i;

	w->nsaid = 0;
	for (i = 0; i < w->nprocesses; i++) {
		if (w->by_process && w->processes[i].serial != w->process)
			continue;
		ask(w, &w->processes[i], addr, &a);
		if (!a.is_code && !a.is_data)
			continue;
		known = true;
		if (!said_already(w, &a))
			say(w, &a);
	}
	if (!known) {
		a = (struct answer){ .addr = addr };
		say(w, &a);
	}
	return known;
}

static bool has_process(struct where *w)
{
	size_t i;

	for (i = 0; i < w->nprocesses; i++)
		if (w->processes[i].serial == w->process)
			return true;
	warn("%s has no process %" PRIu64 "; `depctl ls --json %s' lists them", w->path, w->process,
	     w->path);
	return false;
}

static int look_up_all(struct where *w)
{
	const char *const *note;
	int status = 0;
	size_t i, n;
	uint64_t addr;

	w->nprocesses = dep_store_processes(w->store, &w->processes);
	if (w->by_process && !has_process(w))
		return EXIT_FAILURE;
	w->said = calloc(w->nprocesses + 1, sizeof(*w->said));
	if (!w->said || dep_symbols_open(&w->s, w->store)) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	out_begin(&w->out);
	if (!w->json)
		out_layout(&w->out);
	json_begin(&w->j, &w->out);
	for (i = 0; i < w->naddrs; i++) {
		parse_address(w->text[i], &addr);
		if (!look_up(w, addr))
			status = EXIT_FAILURE;
	}
	status |= out_end(&w->out);
	n = dep_symbols_messages(w->s, &note);
	for (i = 0; i < n; i++)
		warn("%s", note[i]);
	dep_symbols_close(w->s);
	return status;
}

int cmd_where(int argc, char **argv)
{
	struct where *w = calloc(1, sizeof(*w));
	int status = EXIT_FAILURE;

	if (w)
		w->text = calloc((size_t)argc, sizeof(*w->text));
	if (!w || !w->text) {
		warn("out of memory");
		goto out_free;
	}
	parse_args(&argp, argc, argv, 0, w);
	w->store = open_store(w->path);
	if (!w->store)
		goto out_free;
	status = look_up_all(w);
	dep_store_close(w->store);

out_free:
	if (w) {
		free(w->said);
		free(w->text);
	}
	free(w);
	return status;
}

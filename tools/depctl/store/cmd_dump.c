// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl dump: print the items of threads (references, blocks, events..), segments, fragments or
 * the engine's log.
 *
 * Items can be billions of lines, so they are formatted without printf().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "events.h"
#include "fields.h"
#include "fragments.h"
#include "tools/depctl/common/output.h"
#include "verdict.h"

enum what { NOTHING, REFS = 'r', BLOCKS = 'b', EVENTS = 'e', TIMESTAMPS = 't', FUNCTIONS = 'f',
	    SEGMENTS = 's', FRAGMENTS = 'c', LOG = 'l' };

struct dump {
	const char *path;
	enum what what;
	bool json, by_thread, by_segment;
	uint64_t thread, segment;
	unsigned int jobs;
	const char *field_list;
	struct fields fields;

	struct dep_store *store;
	struct dep_segment *segs;
	size_t nsegs, done;
	const struct dep_segment *at;
	uint32_t tid;
	struct fields_line line;	/* data for the fields of --fields */
	uint64_t failures;
	struct out out;
};

enum { OPT_SEGMENT = OPT_JSON + 1, OPT_REFS, OPT_BLOCKS, OPT_EVENTS, OPT_TIMESTAMPS,
       OPT_FUNCTIONS, OPT_SEGMENTS, OPT_FRAGMENTS, OPT_LOG, OPT_FIELDS };

static const struct argp_option options[] = {
	{ "refs", OPT_REFS, NULL, 0, "Memory references: TID PC ADDR SIZE TYPE", 1 },
	{ "blocks", OPT_BLOCKS, NULL, 0, "Executed basic blocks: TID PC", 1 },
	{ "events", OPT_EVENTS, NULL, 0, "Signals, system calls, forks..: TID PC EVENT ...", 1 },
	{ "timestamps", OPT_TIMESTAMPS, NULL, 0,
	  "Times of locked instructions: TID PC TIMESTAMP PLACE", 1 },
	{ "functions", OPT_FUNCTIONS, NULL, 0,
	  "Calls of malloc, pthread_mutex_lock..: TID PC SP NAME ARGUMENT..., and TID PC SP "
	  "return RESULT", 1 },
	{ "segments", OPT_SEGMENTS, NULL, 0, "Stored segments: TID SEQ FILE OFFSET RAW STORED "
	  "CONTROL VALUES", 1 },
	{ "fragments", OPT_FRAGMENTS, NULL, 0, "Recorded code, and its translation if it was "
	  "recorded with --keep-translations", 1 },
	{ "log", OPT_LOG, NULL, 0, "Log of the engine (DEP_LOG of record): TIME PROCESS TID "
	  "AREA TEXT", 1 },
	{ "thread", 't', "TID", 0, "Only threads with this id", 2 },
	{ "segment", OPT_SEGMENT, "N", 0, "Only the segment with this number (of each thread)", 2 },
	{ "fields", OPT_FIELDS, "LIST", 0, "Print only the columns in LIST, separated by commas: "
	  "process, pid, thread, tid, program, thread_name, segment, tsc, pc, and columns of this "
	  "kind of line", 3 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object per line", 3 },
	{ "jobs", 'j', "N", 0, "Recover with N threads (default: one per processor)", 3 },
	{ 0 }
};

static void choose(struct argp_state *state, struct dump *d, enum what what)
{
	if (d->what && d->what != what)
		argp_error(state, "only one of --refs, --blocks, --events, --timestamps, "
			   "--functions, --segments, --fragments and --log can be printed at a "
			   "time");
	d->what = what;
}

/* True if the output lines belong to processes, so that --thread and --segment do not apply. */
static bool of_processes(const struct dump *d)
{
	return d->what == FRAGMENTS || d->what == LOG;
}

static unsigned int wanted(enum what what)
{
	return what == REFS ? DEP_WANT_REFS : what == BLOCKS ? DEP_WANT_BLOCKS :
	       what == TIMESTAMPS ? DEP_WANT_TIMESTAMPS : what == FUNCTIONS ? DEP_WANT_FUNCTIONS :
	       DEP_WANT_EVENTS;
}

static void choose_fields(struct argp_state *state, struct dump *d)
{
	char bad[FIELDS_NAME], names[256];

	if (d->what == SEGMENTS || of_processes(d))
		argp_error(state, "--fields cannot be combined with --segments, --fragments or "
			   "--log");
	if (!fields_parse(&d->fields, d->field_list, wanted(d->what), bad))
		return;
	fields_list(wanted(d->what), names, sizeof(names));
	argp_error(state, "no field '%s' in these lines; their fields are %s", bad, names);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;
	error_t err = parse_store(key, arg, state, &d->path, &d->json, &d->jobs);

	switch (key) {
	case OPT_REFS:
		choose(state, d, REFS);
		break;
	case OPT_BLOCKS:
		choose(state, d, BLOCKS);
		break;
	case OPT_EVENTS:
		choose(state, d, EVENTS);
		break;
	case OPT_TIMESTAMPS:
		choose(state, d, TIMESTAMPS);
		break;
	case OPT_FUNCTIONS:
		choose(state, d, FUNCTIONS);
		break;
	case OPT_FRAGMENTS:
		choose(state, d, FRAGMENTS);
		break;
	case OPT_LOG:
		choose(state, d, LOG);
		break;
	case OPT_SEGMENTS:
		choose(state, d, SEGMENTS);
		break;
	case 't':
		d->thread = parse_number(state, "--thread", arg, 1, UINT32_MAX);
		d->by_thread = true;
		break;
	case OPT_SEGMENT:
		d->segment = parse_number(state, "--segment", arg, 0, UINT64_MAX - 1);
		d->by_segment = true;
		break;
	case OPT_FIELDS:
		d->field_list = arg;
		break;
	case ARGP_KEY_END:
		if (!d->what)
			argp_error(state, "choose what to print: --refs, --blocks, --events, "
				   "--timestamps, --functions, --segments, --fragments or --log");
		if (of_processes(d) && (d->by_thread || d->by_segment))
			argp_error(state, "--thread and --segment cannot be combined with "
				   "--fragments or --log");
		if (d->field_list)
			choose_fields(state, d);
		break;
	default:
		return err;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "STORE",
	"Print the contents of a store, thread by thread, each in program order.", NULL, NULL, NULL
};

/* Select the requested segments.  They stay sorted by thread and number. */
static int select_segments(struct dump *d)
{
	const struct dep_segment *all;
	size_t i, n = dep_store_segments(d->store, &all);
	const struct dep_thread *t, *threads;
	bool known = !d->by_thread;

	for (i = 0; !known && i < dep_store_threads(d->store, &threads); i++)
		known = threads[i].tid == d->thread;
	if (!known) {
		warn("%s has no thread %llu; `depctl ls %s' lists them", d->path,
		     (unsigned long long)d->thread, d->path);
		return -1;
	}
	d->segs = calloc(n + 1, sizeof(*d->segs));
	if (!d->segs) {
		warn("out of memory");
		return -1;
	}
	for (i = 0; i < n; i++) {
		t = thread_of(d->store, all[i].thread);
		if (d->by_thread && (!t || t->tid != d->thread))
			continue;
		if (d->by_segment && all[i].seq != d->segment)
			continue;
		d->segs[d->nsegs++] = all[i];
	}
	if (d->by_segment && !d->nsegs) {
		warn("%s has no segment %llu%s; `depctl dump --segments %s' lists them", d->path,
		     (unsigned long long)d->segment, d->by_thread ? " of that thread" : "",
		     d->path);
		return -1;
	}
	return 0;
}

static uint32_t tid_of(struct dump *d, const struct dep_segment *seg)
{
	const struct dep_thread *t = thread_of(d->store, seg->thread);

	return t ? t->tid : 0;
}

static void text_ref(struct out *o, uint32_t tid, const struct dep_ref *r)
{
	static const char types[] = "?RWM";

	put_dec(o, tid);
	put_char(o, ' ');
	put_hex(o, r->pc);
	put_char(o, ' ');
	put_hex(o, r->addr);
	put_char(o, ' ');
	put_dec(o, r->size);
	put_char(o, ' ');
	put_char(o, types[r->type & 3]);
	put_char(o, '\n');
}

static void json_ref(struct out *o, uint32_t tid, const struct dep_ref *r)
{
	static const char *const types[] = { "?", "read", "write", "read-modify-write" };

	put_text(o, "{\"tid\":");
	put_dec(o, tid);
	put_text(o, ",\"pc\":\"0x");
	put_hex(o, r->pc);
	put_text(o, "\",\"address\":\"0x");
	put_hex(o, r->addr);
	put_text(o, "\",\"size\":");
	put_dec(o, r->size);
	put_text(o, ",\"type\":\"");
	put_text(o, types[r->type & 3]);
	put_text(o, "\"}\n");
}

static void put_block(struct out *o, uint32_t tid, const struct dep_item *it, bool json)
{
	if (json) {
		put_text(o, "{\"tid\":");
		put_dec(o, tid);
		put_text(o, ",\"pc\":\"0x");
		put_hex(o, it->block.pc);
		put_text(o, "\",\"instructions\":");
		put_dec(o, it->block.ninsns);
		put_text(o, "}\n");
		return;
	}
	put_dec(o, tid);
	put_char(o, ' ');
	put_hex(o, it->block.pc);
	put_char(o, '\n');
}

static void put_timestamp(struct out *o, uint32_t tid, const struct dep_lock_timestamp *t,
			  bool json)
{
	const char *place = !t->after ? "before" : t->wrote ? "after" : "after-read";

	put_text(o, json ? "{\"tid\":" : "");
	put_dec(o, tid);
	put_text(o, json ? ",\"pc\":\"0x" : " ");
	put_hex(o, t->pc);
	put_text(o, json ? "\",\"timestamp\":\"" : " ");
	put_dec(o, t->timestamp);
	put_text(o, json ? "\",\"place\":\"" : " ");
	put_text(o, place);
	put_text(o, json ? "\"}\n" : "\n");
}

static unsigned int nvalues(const struct dep_function_call *f)
{
	unsigned int n = 0;

	while (f->known >> n)
		n++;
	return n;
}

static void put_value(struct out *o, const struct dep_function_call *f, unsigned int i, bool json)
{
	if (!(f->known >> i & 1)) {
		put_text(o, json ? "null" : "?");
		return;
	}
	put_text(o, json ? "\"0x" : "");
	put_hex(o, f->passed->value[i]);
	put_text(o, json ? "\"" : "");
}

static void put_function(struct out *o, uint32_t tid, const struct dep_function_call *f, bool json)
{
	unsigned int i, n = f->is_return ? 1 : nvalues(f);

	put_text(o, json ? "{\"tid\":" : "");
	put_dec(o, tid);
	put_text(o, json ? ",\"pc\":\"0x" : " ");
	put_hex(o, f->pc);
	put_text(o, json ? "\",\"sp\":\"0x" : " ");
	put_hex(o, f->passed->sp);
	if (f->is_return) {
		put_text(o, json ? "\",\"return_value\":" : " return ");
		put_value(o, f, 0, json);
		put_text(o, json ? "}\n" : "\n");
		return;
	}
	put_text(o, json ? "\",\"function\":\"" : " ");
	put_text(o, dep_function_name(f->function));
	put_text(o, json ? "\",\"arguments\":[" : "");
	for (i = 0; i < n; i++) {
		put_text(o, !json ? " " : i ? "," : "");
		put_value(o, f, i, json);
	}
	put_text(o, json ? "]}\n" : "\n");
}

/* Print an item that is not an event, in a line of at most LINE_MAX_BYTES. */
static void put_item(struct out *o, uint32_t tid, const struct dep_item *it, bool json)
{
	switch (it->kind) {
	case DEP_ITEM_REF:
		if (json)
			json_ref(o, tid, &it->ref);
		else
			text_ref(o, tid, &it->ref);
		break;
	case DEP_ITEM_BLOCK:
		put_block(o, tid, it, json);
		break;
	case DEP_ITEM_TIMESTAMP:
		put_timestamp(o, tid, &it->timestamp, json);
		break;
	case DEP_ITEM_FUNCTION:
		put_function(o, tid, &it->function, json);
		break;
	case DEP_ITEM_EVENT:
	case DEP_ITEM_CALL:
	case DEP_ITEM_PAGE:
		break;
	}
}

static void put_event(struct out *o, uint32_t tid, const struct dep_event *e, bool json)
{
	struct json j;

	if (json) {
		json_begin(&j, o);
		json_object(&j, NULL);
		json_u64(&j, "tid", tid);
		json_hex(&j, "pc", e->pc);
		event_json(&j, e);
		json_close(&j, '}');
		json_line(&j);
		return;
	}
	put_dec(o, tid);
	put_char(o, ' ');
	put_hex(o, e->pc);
	put_char(o, ' ');
	event_text(o, e);
	out_reserve(o);
	put_char(o, '\n');
}

static void next_segment(struct dump *d, const struct dep_segment *seg)
{
	const struct dep_thread *t = thread_of(d->store, seg->thread);

	if (t != d->line.thread) {
		d->line = (struct fields_line){ .thread = t };
		d->line.process = t ? process_of(d->store, t->process) : NULL;
	}
	d->line.segment = seg->seq;
}

static bool is_wanted(const struct dump *d, const struct dep_item *it)
{
	switch (it->kind) {
	case DEP_ITEM_REF:
		return d->what == REFS;
	case DEP_ITEM_BLOCK:
		return d->what == BLOCKS;
	case DEP_ITEM_EVENT:
		return d->what == EVENTS;
	case DEP_ITEM_TIMESTAMP:
		return d->what == TIMESTAMPS;
	default:
		return d->what == FUNCTIONS && it->kind == DEP_ITEM_FUNCTION;
	}
}

static void put_chosen(struct dump *d, const struct dep_item *it)
{
	uint64_t tsc = it->kind == DEP_ITEM_TIMESTAMP ? it->timestamp.timestamp :
		       it->kind == DEP_ITEM_EVENT ? event_tsc(&it->event) : 0;

	if (tsc)
		d->line.tsc = tsc;
	if (!is_wanted(d, it))
		return;
	d->line.item = it;
	fields_put(&d->out, &d->fields, &d->line, d->json);
}

static int batch(void *arg, const struct dep_segment *seg, const struct dep_item *items, size_t n)
{
	struct dump *d = arg;
	struct out *o = &d->out;
	size_t i;

	if (seg != d->at) {
		d->at = seg;
		d->tid = tid_of(d, seg);
		next_segment(d, seg);
		if (seg >= d->segs && seg < d->segs + d->nsegs)
			progress(seg - d->segs);
	}
	for (i = 0; i < n; i++) {
		out_reserve(o);
		if (d->fields.n)
			put_chosen(d, &items[i]);
		else if (items[i].kind == DEP_ITEM_EVENT)
			put_event(o, d->tid, &items[i].event, d->json);
		else
			put_item(o, d->tid, &items[i], d->json);
	}
	/* Stop on a write error, such as a closed pipe or a full disk. */
	return o->error ? -o->error : 0;
}

#define LINE_MAX_BYTES	256u	/* limit of a line, text or JSON, of an item that is not an event */

/* dep_sink.format(): several workers call it at the same time, so it must not change @arg. */
static size_t format(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		     size_t n, char *to)
{
	struct dump *d = arg;
	struct out o = { .at = to };
	uint32_t tid = tid_of(d, seg);
	size_t i;

	for (i = 0; i < n; i++)
		put_item(&o, tid, &items[i], d->json);
	return o.at - to;
}

static int bytes(void *arg, const struct dep_segment *seg, const char *data, size_t size)
{
	struct dump *d = arg;

	if (seg >= d->segs && seg < d->segs + d->nsegs)
		progress(seg - d->segs);
	out_block(&d->out, data, size);
	return d->out.error ? -d->out.error : 0;
}

static void failed(void *arg, const struct dep_segment *seg, const char *why)
{
	struct dump *d = arg;

	if (d->out.error)
		return;
	d->failures++;
	progress_end();
	warn("cannot recover all of thread %u, segment %llu: %s", tid_of(d, seg),
	     (unsigned long long)seg->seq, why);
}

static void dump_segment_list(struct dump *d)
{
	const struct dep_segment *s;
	struct json j;
	size_t i;

	json_begin(&j, &d->out);
	for (i = 0; i < d->nsegs; i++) {
		s = &d->segs[i];
		if (!d->json) {
			out_printf(&d->out, "%u %llu %u %llu %u %u %u %u\n", tid_of(d, s),
				   (unsigned long long)s->seq, s->file,
				   (unsigned long long)s->offset, s->raw_bytes, s->stored_bytes,
				   s->control_bytes, s->value_bytes);
			continue;
		}
		json_object(&j, NULL);
		json_u64(&j, "tid", tid_of(d, s));
		json_u64(&j, "thread", s->thread);
		json_u64(&j, "segment", s->seq);
		json_u64(&j, "file_index", s->file);
		json_u64(&j, "offset", s->offset);
		json_u64(&j, "raw_bytes", s->raw_bytes);
		json_u64(&j, "stored_bytes", s->stored_bytes);
		json_u64(&j, "control_bytes", s->control_bytes);
		json_u64(&j, "value_bytes", s->value_bytes);
		json_close(&j, '}');
		json_line(&j);
	}
}

static int recover(struct dump *d)
{
	struct dep_sink sink = { .batch = batch, .arg = d };
	struct dep_counts counts = { 0 };
	const struct dep_recover_options options = {
		.jobs = d->jobs, .counts = &counts, .failed = failed, .arg = d,
	};
	int ret;

	sink.want = wanted(d->what);
	/* Field "tsc" needs all items with timestamps, in program order. */
	if (fields_have_tsc(&d->fields))
		sink.want |= DEP_WANT_TIMESTAMPS | DEP_WANT_EVENTS;
	/* Workers format the lines if their length is limited; that of event lines is not. */
	if (d->what != EVENTS && !d->fields.n) {
		sink.format = format;
		sink.bytes = bytes;
		sink.item_bytes = LINE_MAX_BYTES;
	}
	progress_begin("recovering", d->nsegs);
	ret = dep_recover(d->store, d->segs, d->nsegs, &sink, &options);
	progress_end();
	if (ret && !d->failures && !d->out.error) {
		warn("%s: %s", d->path, *dep_error() ? dep_error() : strerror(-ret));
		return -1;
	}
	return d->failures ? -1 : 0;
}

int cmd_dump(int argc, char **argv)
{
	struct dump *d = calloc(1, sizeof(*d));
	int status = EXIT_FAILURE;

	if (!d) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	parse_args(&argp, argc, argv, 0, d);
	out_begin(&d->out);
	if (!d->json)
		out_layout(&d->out);
	d->store = open_store(d->path);
	if (!d->store)
		goto out_free;
	verdict_warn(d->store, d->path);
	if (select_segments(d))
		goto out_close;

	status = 0;
	if (d->what == SEGMENTS)
		dump_segment_list(d);
	else if (d->what == FRAGMENTS)
		status = fragments_dump(d->store, d->path, &d->out, d->json) ? EXIT_FAILURE : 0;
	else if (d->what == LOG)
		status = engine_log_dump(d->store, &d->out, d->json) ? EXIT_FAILURE : 0;
	else if (recover(d))
		status = EXIT_FAILURE;
	/* Nothing is known of a segment whose header is damaged, so it is not in @d->segs. */
	if (!of_processes(d) && dep_store_loss(d->store)->torn_segments)
		status = EXIT_FAILURE;
	status |= out_end(&d->out);
	if (d->failures)
		warn("%llu of %zu segments could not be recovered completely; `depctl verify %s' "
		     "lists all problems", (unsigned long long)d->failures, d->nsegs, d->path);

out_close:
	dep_store_close(d->store);
out_free:
	free(d->segs);
	free(d);
	return status;
}

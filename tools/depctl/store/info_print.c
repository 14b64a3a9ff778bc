// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl info: output as text and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "daemon/base/signal_name.h"
#include "libdep/abi/session_file.h"
#include "tools/depctl/common/table.h"
#include "info.h"
#include "verdict.h"

static const struct {
	const char *name;
	uint32_t flag;
} flag_names[] = {
	{ "null", ADEPT_S_NULL },
	{ "on-full=drop", ADEPT_S_DROP },
	{ "self-check", ADEPT_S_SELF_CHECK },
	{ "strict", ADEPT_S_STRICT },
	{ "no-follow", ADEPT_S_NO_FOLLOW },
	{ "children=no", ADEPT_S_NO_CHILDREN },
	{ "no-functions", ADEPT_S_NO_FUNCTIONS },
	{ "transport=kmod", ADEPT_S_MODULE },
	{ "keep-translations", ADEPT_S_KEEP_TRANSLATIONS },
	{ "engine's log", ADEPT_S_LOG_ALL },
};

#define NFLAGS (sizeof(flag_names) / sizeof(flag_names[0]))

static const char *const ends[] = {
	[DEP_END_UNKNOWN] = "unknown",
	[DEP_END_WHOLE] = "whole",
	[DEP_END_UNFINISHED] = "unfinished",
	[DEP_END_LEFT] = "left",
	[DEP_END_UNTAKEN] = "untaken",
	[DEP_END_STOPPED] = "stopped",
	[DEP_END_CORRUPT] = "corrupt",
	[DEP_END_DETACHED] = "detached",
};

#define NENDS (sizeof(ends) / sizeof(ends[0]))

static double bits(uint64_t bytes, const struct info_row *r)
{
	return r->counts.instructions ? bytes * 8.0 / r->counts.instructions : NAN;
}

static uint64_t flushes_of(const struct info_row *r)
{
	return r->thread ? r->thread->flushes : r->flushes;
}

static uint64_t null_of(const struct info_row *r)
{
	return r->thread ? r->thread->null_bytes : r->null_bytes;
}

static void row_json(struct json *j, const struct info *f, const struct info_row *r)
{
	if (r->thread) {
		json_u64(j, "tid", r->thread->tid);
		json_u64(j, "thread", r->thread->serial);
		json_u64(j, "process", r->thread->process);
		json_str(j, "end", r->thread->end < NENDS ? ends[r->thread->end] : NULL);
	}
	if (!f->quick) {
		json_u64(j, "instructions", r->counts.instructions);
		json_u64(j, "blocks", r->counts.blocks);
		json_u64(j, "references", r->counts.refs);
		json_u64(j, "reads", r->counts.reads);
		json_u64(j, "writes", r->counts.writes);
		json_u64(j, "records", r->counts.records);
		json_u64(j, "events", r->counts.events);
		json_double(j, "bits_per_instruction", bits(r->control + r->value, r));
		json_double(j, "stored_bits_per_instruction", bits(r->stored, r));
	}
	json_u64(j, "control_bytes", r->control);
	json_u64(j, "value_bytes", r->value);
	json_u64(j, "raw_bytes", r->raw);
	json_u64(j, "stored_bytes", r->stored);
	json_u64(j, "segments", r->segments);
	json_u64(j, "missing_segments", r->gaps);
	json_u64(j, "unreadable_segments", r->thread ? r->unreadable : f->unreadable);
	json_u64(j, "flushes", flushes_of(r));
	json_u64(j, "null_bytes", null_of(r));
}

static void meta_json(struct json *j, struct info *f)
{
	const struct dep_meta *m = dep_store_meta(f->store);
	uint32_t flags = m->session_flags;
	int i;

	json_str(j, "store", f->path);
	json_array(j, "argv");
	for (i = 0; i < m->argc; i++)
		json_str(j, NULL, m->argv[i]);
	json_close(j, ']');
	json_str(j, "cwd", m->cwd);
	json_big(j, "start_realtime_ns", m->start_realtime_ns);
	json_bool(j, "aslr", m->aslr);
	json_u64(j, "ring_size", (uint64_t)m->chunk_size * m->nchunks);
	json_u64(j, "max_size", m->max_size);
	json_str(j, "on_full", flags & ADEPT_S_DROP ? "drop" : "wait");
	json_str(j, "transport", flags & ADEPT_S_MODULE ? "kmod" : "shm");
	json_bool(j, "follow", !(flags & ADEPT_S_NO_FOLLOW));
	json_bool(j, "children", !(flags & ADEPT_S_NO_CHILDREN));
	json_bool(j, "function_calls", !(flags & ADEPT_S_NO_FUNCTIONS));
	json_bool(j, "self_check", flags & ADEPT_S_SELF_CHECK);
	json_bool(j, "strict", flags & ADEPT_S_STRICT);
	json_bool(j, "discarded", flags & ADEPT_S_NULL);
	json_exit(j, dep_store_exit_status(f->store));
}

static void sum_translation(struct dep_store *s, uint64_t *built, uint64_t *ns)
{
	const struct dep_process *p;
	size_t n = dep_store_processes(s, &p);

	*built = *ns = 0;
	for (; n--; p++) {
		*built += p->built;
		*ns += p->translate_ns;
	}
}

static void kept_json(struct json *j, const struct dep_last *l)
{
	size_t i;

	json_object(j, "last");
	json_u64(j, "max_bytes", l->max_bytes);
	json_u64(j, "max_ns", l->max_ns);
	json_big(j, "from_ns", l->from_ns);
	json_u64(j, "dropped_chunks", l->chunks);
	json_u64(j, "dropped_bytes", l->bytes);
	json_u64(j, "dropped_threads", l->threads);
	json_u64(j, "dropped_processes", l->processes);
	json_object(j, "kept");
	json_str(j, "reason", dep_keep_name(l->kept.reason));
	json_big(j, "at_ns", l->kept.at_ns);
	json_big(j, "realtime_ns", l->kept.realtime_ns);
	json_u64(j, "value", l->kept.value);
	json_u64(j, "tid", l->kept.tid);
	json_str(j, "what", l->kept.what);
	json_close(j, '}');
	json_array(j, "threads");
	for (i = 0; i < l->nthreads; i++) {
		json_object(j, NULL);
		json_u64(j, "thread", l->thread[i].thread);
		json_u64(j, "dropped_chunks", l->thread[i].chunks);
		json_u64(j, "dropped_bytes", l->thread[i].bytes);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void print_json(struct info *f)
{
	uint64_t frags, code, desc, built, ns;
	const char *const *notes;
	size_t i, n;
	struct json j;

	json_begin(&j, &f->out);
	json_object(&j, NULL);
	meta_json(&j, f);
	json_array(&j, "threads");
	for (i = 0; i < f->nrows; i++) {
		json_object(&j, NULL);
		row_json(&j, f, &f->rows[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_object(&j, "total");
	row_json(&j, f, &f->total);
	json_close(&j, '}');
	if (f->kept_last)
		kept_json(&j, &f->kept);
	dep_store_fragments(f->store, &frags, &code, &desc);
	json_object(&j, "fragments");
	json_u64(&j, "count", frags);
	json_u64(&j, "code_bytes", code);
	json_u64(&j, "descriptor_bytes", desc);
	json_close(&j, '}');
	sum_translation(f->store, &built, &ns);
	json_object(&j, "translation");
	json_u64(&j, "fragments_built", built);
	json_u64(&j, "translate_ns", ns);
	json_close(&j, '}');
	loss_json(&j, dep_store_loss(f->store));
	verdict_json(&j, f->store);
	json_array(&j, "notes");
	n = dep_store_messages(f->store, &notes);
	for (i = 0; i < n; i++)
		json_str(&j, NULL, notes[i]);
	json_close(&j, ']');
	if (f->formats) {
		json_object(&j, "formats");
		json_u64(&j, "bb_pc", f->sizes.bb_pc);
		json_u64(&j, "depc", f->sizes.depc);
		json_u64(&j, "cf_bit", f->sizes.cf_bit);
		json_u64(&j, "mem_addr", f->sizes.mem_addr);
		json_u64(&j, "depm", f->sizes.depm);
		json_close(&j, '}');
	}
	if (f->streams)
		formats_json(&f->paper, &j);
	json_close(&j, '}');
	json_line(&j);
}

static void print_reason(struct info *f, const struct dep_kept *k, uint64_t start)
{
	char text[KEEP_TEXT];

	if (!k->reason)
		return;
	keep_text(k, text);
	out_printf(&f->out, "kept:      at %.3f s: ",
		   k->at_ns > start ? (double)(k->at_ns - start) / 1e9 : 0);
	/* The store may come from anyone: print its text as data. */
	out_plain(&f->out, text);
	out_text(&f->out, "\n");
}

/* What --last kept: "last:      64.00 MiB; dropped 1.20 GiB before 12.345 s" */
static void print_kept(struct info *f)
{
	const struct dep_last *l = &f->kept;
	uint64_t start = dep_store_meta(f->store)->start_ns;
	char a[16], b[16];

	if (!f->kept_last)
		return;
	print_reason(f, &l->kept, start);
	out_printf(&f->out, "last:      %s", human_size(l->max_bytes, a));
	if (l->max_ns)
		out_printf(&f->out, ", %llu s", (unsigned long long)l->max_ns / 1000000000);
	if (!l->chunks) {
		out_text(&f->out, "; nothing was dropped\n");
		return;
	}
	out_printf(&f->out, "; dropped %s in %llu chunks, nothing after %.3f s",
		   human_size(l->bytes, b), (unsigned long long)l->chunks,
		   l->from_ns > start ? (double)(l->from_ns - start) / 1e9 : 0);
	if (l->threads)
		out_printf(&f->out, "; %u threads and %u processes ended before and are not here",
			   l->threads, l->processes);
	out_text(&f->out, "\n");
}

static void print_head(struct info *f)
{
	const struct dep_meta *m = dep_store_meta(f->store);
	time_t when = m->start_realtime_ns / 1000000000ull;
	int st = dep_store_exit_status(f->store);
	char date[32], size[16], name[SIGNAL_NAME], *command = quote_command(m->argc, m->argv);
	size_t k;

	out_text(&f->out, "command:   ");
	out_text(&f->out, command ? command : "?");
	free(command);
	strftime(date, sizeof(date), "%F %T", localtime(&when));
	out_printf(&f->out, "\nrecorded:  %s, ", date);
	if (st < 0)
		out_text(&f->out, "exit status not known\n");
	else if (WIFSIGNALED(st))
		out_printf(&f->out, "killed by signal %d (%s)\n", WTERMSIG(st),
			   signal_name(WTERMSIG(st), name));
	else
		out_printf(&f->out, "exit status %d\n", WEXITSTATUS(st));
	out_printf(&f->out, "settings:  ring of %s%s",
		   human_size((uint64_t)m->chunk_size * m->nchunks, size), m->aslr ? "" :
		   ", no-aslr");
	for (k = 0; k < NFLAGS; k++)
		if (m->session_flags & flag_names[k].flag)
			out_printf(&f->out, ", %s", flag_names[k].name);
	if (m->max_size)
		out_printf(&f->out, ", max-size %s", human_size(m->max_size, size));
	out_text(&f->out, "\n");
	print_kept(f);
	out_text(&f->out, "\n");
}

static const struct table_column columns[] = {
	{ "thread", TABLE_RIGHT },
	{ "instructions", TABLE_RIGHT },
	{ "blocks", TABLE_RIGHT },
	{ "references", TABLE_RIGHT },
	{ "control", TABLE_RIGHT },
	{ "values", TABLE_RIGHT },
	{ "stored", TABLE_RIGHT },
	{ "bit/ins", TABLE_RIGHT },
	{ "stored bit/ins", TABLE_RIGHT },
	{ "flushes", TABLE_RIGHT },
	{ "gaps", TABLE_RIGHT },
};

static const struct table_column quick_columns[] = {
	{ "thread", TABLE_RIGHT },
	{ "control", TABLE_RIGHT },
	{ "values", TABLE_RIGHT },
	{ "stored", TABLE_RIGHT },
	{ "flushes", TABLE_RIGHT },
	{ "gaps", TABLE_RIGHT },
};

#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))
#define NQUICK		(sizeof(quick_columns) / sizeof(quick_columns[0]))

static void table_number(struct table *t, uint64_t n)
{
	table_cell(t, "%llu", (unsigned long long)n);
}

static void add_ratio(struct table *t, double ratio)
{
	if (isnan(ratio))
		table_cell(t, "-");
	else
		table_cell(t, "%.3f", ratio);
}

static void add_row(struct table *t, const struct info *f, const struct info_row *r)
{
	if (r->thread)
		table_number(t, r->thread->tid);
	else
		table_cell(t, "total");
	if (!f->quick) {
		table_number(t, r->counts.instructions);
		table_number(t, r->counts.blocks);
		table_number(t, r->counts.refs);
	}
	table_number(t, r->control);
	table_number(t, r->value);
	table_number(t, r->stored);
	if (!f->quick) {
		add_ratio(t, bits(r->control + r->value, r));
		add_ratio(t, bits(r->stored, r));
	}
	table_number(t, flushes_of(r));
	table_number(t, r->gaps);
}

static int print_threads(struct info *f)
{
	struct table t;
	size_t i;

	if (f->quick ? table_begin(&t, quick_columns, NQUICK) : table_begin(&t, columns, NCOLUMNS))
		return EXIT_FAILURE;
	for (i = 0; i < f->nrows; i++)
		add_row(&t, f, &f->rows[i]);
	add_row(&t, f, &f->total);
	return table_end(&t, &f->out);
}

static void print_loss(struct info *f)
{
	const struct dep_loss *l = dep_store_loss(f->store);
	const struct {
		const char *what;
		uint64_t n;
	} rows[] = {
		{ "chunks dropped because the ring was full", l->dropped_chunks },
		{ "bytes dropped because the ring was full", l->dropped_bytes },
		{ "bytes not stored (--max-size, or a write failed)", l->discarded_bytes },
		{ "threads unrecorded because no slot was free", l->lost_threads },
		{ "programs unrecorded: no slot was free, or execve was not followed",
		  l->lost_processes },
		{ "programs that ran natively", l->native_images },
		{ "of these programs: privileged (set-uid or similar)", l->native_privileged },
		{ "children unrecorded because none was wanted", l->unwanted_children },
		{ "threads killed; the last record of each may be missing", l->unfinished_threads },
		{ "chunks lost while no collector ran", l->absent_chunks },
		{ "bytes lost while no collector ran", l->absent_bytes },
		{ "segments incomplete or damaged", l->torn_segments },
		{ "threads whose last records could not be read", l->untaken_threads },
		{ "descriptors of code, mappings or log lines not recorded", l->lost_descriptors },
		{ "invalid rings, slots or descriptors", l->corrupt },
	};
	const char *const *notes;
	size_t i, n = dep_store_messages(f->store, &notes);
	char line[VERDICT_LINE];
	bool any = false;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].n)
			continue;
		out_printf(&f->out, "%s%14llu %s\n", any ? "" : "\nloss:\n",
			   (unsigned long long)rows[i].n, rows[i].what);
		any = true;
	}
	if (!any)
		out_text(&f->out, "\nloss:      none\n");
	verdict_line(f->store, line, sizeof(line));
	out_printf(&f->out, "verdict:   %s\n", line);
	for (i = 0; i < n; i++) {
		out_text(&f->out, "note:      ");
		out_plain(&f->out, notes[i]);
		out_text(&f->out, "\n");
	}
}

static void print_format(struct info *f, const char *name, uint64_t bytes)
{
	out_printf(&f->out, "%-30s %16llu", name, (unsigned long long)bytes);
	if (f->total.counts.instructions)
		out_printf(&f->out, " %9.3f %9.3f", bits(bytes, &f->total),
			   bits(bytes, &f->total) / 8);
	out_text(&f->out, "\n");
}

static void print_formats(struct info *f)
{
	out_printf(&f->out, "\n%-30s %16s %9s %9s\n", "format", "bytes", "bit/ins", "byte/ins");
	print_format(f, "BB_pc", f->sizes.bb_pc);
	print_format(f, "DEPc (H/L tags)", f->sizes.depc);
	print_format(f, "CF_bit", f->sizes.cf_bit);
	print_format(f, "Mem_addr", f->sizes.mem_addr);
	print_format(f, "DEPm (UPDATED/RECORDED)", f->sizes.depm);
	print_format(f, "BB_pc + Mem_addr", f->sizes.bb_pc + f->sizes.mem_addr);
	print_format(f, "DEPc + DEPm", f->sizes.depc + f->sizes.depm);
	print_format(f, "this store's control stream", f->total.control);
	print_format(f, "this store's value stream", f->total.value);
	print_format(f, "both streams", f->total.control + f->total.value);
	print_format(f, "both streams, as stored", f->total.stored);
}

int info_print(struct info *f)
{
	uint64_t frags, code, desc, built, ns;
	char a[16], b[16];

	if (f->json) {
		print_json(f);
		return 0;
	}
	if (f->csv) {
		formats_csv(&f->paper, &f->out);
		return 0;
	}
	print_head(f);
	if (print_threads(f))
		return EXIT_FAILURE;
	dep_store_fragments(f->store, &frags, &code, &desc);
	out_printf(&f->out, "\nfragments: %llu, %s of code, %s of descriptors\n",
		   (unsigned long long)frags, human_size(code, a), human_size(desc, b));
	sum_translation(f->store, &built, &ns);
	if (built)
		out_printf(&f->out, "translate: %llu fragments built, %.3f s in the dispatcher\n",
			   (unsigned long long)built, ns / 1e9);
	if (f->total.null_bytes)
		out_printf(&f->out, "counted:   %llu bytes, recorded and discarded\n",
			   (unsigned long long)f->total.null_bytes);
	print_loss(f);
	if (f->formats)
		print_formats(f);
	if (f->streams && formats_table(&f->paper, &f->out))
		return EXIT_FAILURE;
	return 0;
}

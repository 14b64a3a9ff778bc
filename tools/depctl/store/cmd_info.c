// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl info: print the number of executed instructions, blocks and references, and the number of
 * bytes that their recording takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "libdep/abi/session_file.h"
#include "tools/depctl/depctl.h"
#include "attach_info.h"
#include "info.h"

enum {
	OPT_FORMATS = OPT_JSON + 1, OPT_QUICK, OPT_ATTACH, OPT_COMPRESS, OPT_OUTPUT, OPT_CSV,
};

static const struct argp_option options[] = {
	{ "formats", OPT_FORMATS, NULL, 0, "Also print the size of the trace in other formats", 1 },
	{ "compress", OPT_COMPRESS, NULL, 0, "With --formats: produce the streams, and compress "
	  "them by Sequitur, bzip2, zstd and xz", 1 },
	{ "output", OPT_OUTPUT, "DIR", 0, "With --formats: write the streams to files in DIR", 1 },
	{ "quick", OPT_QUICK, NULL, 0, "Print only what is known without recovering the trace", 1 },
	{ "attach", OPT_ATTACH, NULL, 0, "Print what is known of the processes that were attached "
	  "to: how their threads were entered and left, call stacks, open descriptors", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 2 },
	{ "csv", OPT_CSV, NULL, 0, "With --compress or --output: print only the formats, as "
	  "comma-separated values", 2 },
	{ "jobs", 'j', "N", 0, "Recover with N threads (default: one per processor)", 2 },
	{ 0 }
};

static void check_options(const struct info *f, struct argp_state *state)
{
	if (f->attach && (f->quick || f->formats))
		argp_error(state, "--attach cannot be combined with --quick and --formats");
	if (f->quick && f->formats)
		argp_error(state, "--formats needs the recovered trace: it cannot be "
			   "combined with --quick");
	if (f->streams && !f->formats)
		argp_error(state, "--compress and --output need --formats");
	if (f->csv && !f->streams)
		argp_error(state, "--csv needs --compress or --output");
	if (f->csv && f->json)
		argp_error(state, "only one of --json and --csv can be given");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info *f = state->input;
	error_t err = parse_store(key, arg, state, &f->path, &f->json, &f->jobs);

	switch (key) {
	case OPT_FORMATS:
		f->formats = true;
		break;
	case OPT_COMPRESS:
		f->paper.compress = f->streams = true;
		break;
	case OPT_OUTPUT:
		f->paper.output = arg;
		f->streams = true;
		break;
	case OPT_CSV:
		f->csv = true;
		break;
	case OPT_QUICK:
		f->quick = true;
		break;
	case OPT_ATTACH:
		f->attach = true;
		break;
	case ARGP_KEY_END:
		check_options(f, state);
		break;
	default:
		return err;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "STORE",
	"Print instructions, references, stream sizes and losses, per thread and in total.", NULL,
	NULL, NULL
};

static struct info_row *row_of(struct info *f, uint32_t serial)
{
	size_t i;

	/* Segments are sorted by thread, so the row is nearly always that of the last segment. */
	if (f->last && f->last->thread->serial == serial)
		return f->last;
	for (i = 0; i < f->nrows; i++)
		if (f->rows[i].thread->serial == serial)
			return f->last = &f->rows[i];
	return NULL;
}

static void count_segment(void *arg, size_t i, int ret, const struct dep_counts *counts,
			  const char *why)
{
	struct info *f = arg;
	const struct dep_segment *s = &f->segs[i];
	struct info_row *row = row_of(f, s->thread);

	if (row)
		add_counts(&row->counts, counts);
	add_counts(&f->total.counts, counts);
	if (!ret)
		return;
	f->unreadable++;
	if (row)
		row->unreadable++;
	if (f->unreadable == 1)
		f->first_error = strdup(why);
}

static void add_sizes(struct info_row *row, const struct dep_segment *s)
{
	row->segments++;
	row->raw += s->raw_bytes;
	row->stored += s->stored_bytes;
	row->control += s->control_bytes;
	row->value += s->value_bytes;
}

static int collect(struct info *f)
{
	struct pool_job job = { .done = count_segment, .arg = f, .jobs = f->jobs };
	const struct dep_thread *t;
	struct info_row *row;
	size_t i;

	f->nrows = dep_store_threads(f->store, &t);
	f->rows = calloc(f->nrows + 1, sizeof(*f->rows));
	if (!f->rows)
		return -1;
	for (i = 0; i < f->nrows; i++) {
		f->rows[i].thread = &t[i];
		f->total.flushes += t[i].flushes;
		f->total.null_bytes += t[i].null_bytes;
	}
	f->kept_last = dep_store_last(f->store, &f->kept);
	for (i = 0; i < f->kept.nthreads; i++) {
		row = row_of(f, f->kept.thread[i].thread);
		if (row)
			row->next_seq = f->kept.thread[i].first;
	}
	f->nsegs = dep_store_segments(f->store, &f->segs);
	for (i = 0; i < f->nsegs; i++) {
		row = row_of(f, f->segs[i].thread);
		if (row)
			add_sizes(row, &f->segs[i]);
		add_sizes(&f->total, &f->segs[i]);
		/* Count missing segment numbers as gaps; --on-full=drop causes gaps, too. */
		if (!row)
			continue;
		if (f->segs[i].seq > row->next_seq)
			row->gaps += f->segs[i].seq - row->next_seq;
		row->next_seq = f->segs[i].seq + 1;
	}
	for (i = 0; i < f->nrows; i++)
		f->total.gaps += f->rows[i].gaps;
	if (f->quick)
		return 0;

	job.store = f->store;
	job.segs = f->segs;
	job.n = f->nsegs;
	progress_begin("recovering", f->nsegs);
	i = pool_run(&job);
	progress_end();
	return i ? -1 : 0;
}

static int collect_formats(struct info *f)
{
	int ret;

	if (f->streams) {
		f->paper.store = f->store;
		f->paper.instructions = f->total.counts.instructions;
		if (formats_collect(&f->paper))
			return 1;
		/* The streams have these sizes: no need to recover the store for them. */
		formats_sizes(&f->paper, &f->sizes);
		return 0;
	}
	/* A segment that cannot be read is left out and is reported at the end. */
	ret = dep_formats(f->store, &f->sizes);
	if (!ret || f->unreadable)
		return 0;
	warn("cannot compute the size of the trace in other formats: %s",
	     *dep_error() ? dep_error() : strerror(-ret));
	return 1;
}

int cmd_info(int argc, char **argv)
{
	struct info *f = calloc(1, sizeof(*f));
	int status = EXIT_FAILURE;

	if (!f) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	parse_args(&argp, argc, argv, 0, f);
	if (f->attach) {
		status = attach_info(f->path, f->json);
		goto out_free;
	}
	out_begin(&f->out);
	if (!f->json && !f->csv)
		out_layout(&f->out);
	f->store = open_store(f->path);
	if (!f->store)
		goto out_free;
	if (collect(f)) {
		warn("out of memory");
		goto out_close;
	}
	if (f->formats && collect_formats(f))
		goto out_close;
	status = info_print(f);
	status |= out_end(&f->out);
	if (f->unreadable) {
		warn("%llu of %zu segments could not be recovered: %s; `depctl verify %s' lists "
		     "all problems", (unsigned long long)f->unreadable, f->nsegs,
		     f->first_error ? f->first_error : "?", f->path);
		status = EXIT_FAILURE;
	}

out_close:
	dep_store_close(f->store);
out_free:
	formats_free(&f->paper);
	free(f->first_error);
	free(f->rows);
	free(f);
	return status;
}

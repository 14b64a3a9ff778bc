// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processed profile of the Firefox Profiler, version 61: threads with samples.
 *
 * Samples have the number of instructions as weight, and refer to the tables of firefox_tables.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "firefox.h"
#include "names.h"

#define FORMAT_VERSION	61u
#define GECKO_VERSION	27u	/* of the unprocessed format; any that the page knows */
#define NS_PER_MS	1000000u

/* ---- threads ---- */

static void put_ms(struct firefox *f, const char *key, uint64_t ns)
{
	ns = ns > f->base_ns ? ns - f->base_ns : 0;
	json_fixed(&f->j, key, ns / NS_PER_MS, (uint32_t)(ns % NS_PER_MS));
}

static void put_time_or_null(struct firefox *f, const char *key, uint64_t ns)
{
	if (ns)
		put_ms(f, key, ns);
	else
		json_str(&f->j, key, NULL);
}

/* The times of the samples [first, first + n), which are those of thread @b. */
static void put_times(struct firefox *f, struct segment_samples b, size_t n)
{
	size_t i, end = b.first + n;
	uint64_t done;

	json_array(&f->j, "time");
	do {
		done = 0;
		for (i = b.first; i < b.first + b.n; i++) {
			put_ms(f, NULL, samples_time(&b, done).ns);
			done += samples_row(&f->samples, i)->insns;
		}
	} while (b.first + b.n < end && samples_next(&f->samples, &b));
	json_close(&f->j, ']');
}

static void put_samples(struct firefox *f, const struct segment_samples *b, size_t n)
{
	struct json *j = &f->j;
	size_t i;

	json_object(j, "samples");
	json_u64(j, "length", n);
	json_array(j, "stack");
	for (i = b->first; i < b->first + n; i++)
		json_u64(j, NULL, f->stack[samples_row(&f->samples, i)->context]);
	json_close(j, ']');
	put_times(f, *b, n);
	json_array(j, "weight");
	for (i = b->first; i < b->first + n; i++)
		json_u64(j, NULL, samples_row(&f->samples, i)->insns);
	json_close(j, ']');
	json_str(j, "weightType", "samples");
	json_close(j, '}');
}

static void put_markers(struct json *j)
{
	json_object(j, "markers");
	json_u64(j, "length", 0);
	firefox_equal(j, "data", 0, 0);
	firefox_equal(j, "name", 0, 0);
	firefox_equal(j, "startTime", 0, 0);
	firefox_equal(j, "endTime", 0, 0);
	firefox_equal(j, "phase", 0, 0);
	firefox_equal(j, "category", 0, 0);
	json_close(j, '}');
}

/* Processes can have the same id one after the other; here each one needs its own. */
static void put_pid(struct firefox *f, const struct segment_samples *b)
{
	const struct dep_process *p;
	size_t i, n = dep_store_processes(f->x->l.store, &p);
	unsigned int same = 0;
	char text[32];

	for (i = 0; i < n && b->process; i++)
		same += p[i].pid == b->process->pid && p[i].serial < b->process->serial;
	snprintf(text, sizeof(text), same ? "%u.%u" : "%u", samples_pid(b), same);
	json_str(&f->j, "pid", text);
}

static void put_thread(struct firefox *f, const struct segment_samples *b, size_t n)
{
	const struct dep_process *p = b->process;
	struct json *j = &f->j;

	json_object(j, NULL);
	json_str(j, "processType", "default");
	put_ms(f, "processStartupTime", p ? p->start_ns : 0);
	put_time_or_null(f, "processShutdownTime", p ? p->end_ns : 0);
	put_ms(f, "registerTime", b->thread ? b->thread->start_ns : 0);
	put_time_or_null(f, "unregisterTime", b->thread ? b->thread->end_ns : 0);
	firefox_equal(j, "pausedRanges", 0, 0);
	json_str(j, "name", samples_name(&f->samples, b));
	json_str(j, "processName", export_program(f->x, p ? p->serial : 0));
	json_bool(j, "isMainThread", samples_pid(b) == samples_tid(b));
	put_pid(f, b);
	json_u64(j, "tid", samples_tid(b));
	put_samples(f, b, n);
	put_markers(j);
	json_close(j, '}');
}

static void put_threads(struct firefox *f)
{
	struct segment_samples b = { 0 }, first;
	bool more = samples_next(&f->samples, &b);
	size_t n;

	json_array(&f->j, "threads");
	while (more) {
		first = b;
		n = b.n;
		while ((more = samples_next(&f->samples, &b)) && !b.new_thread)
			n += b.n;
		put_thread(f, &first, n);
	}
	json_close(&f->j, ']');
}

/* ---- the whole ---- */

static void put_category(struct json *j, const char *name, const char *color)
{
	json_object(j, NULL);
	json_str(j, "name", name);
	json_str(j, "color", color);
	json_array(j, "subcategories");
	json_str(j, NULL, "Other");
	json_close(j, ']');
	json_close(j, '}');
}

static void put_categories(const struct firefox *f, struct json *j)
{
	json_array(j, "categories");
	put_category(j, "Other", "grey");
	if (f->x->guesses.insns)
		put_category(j, "Guessed caller", "orange");
	json_close(j, ']');
}

static void put_meta(struct firefox *f)
{
	const struct dep_meta *meta = dep_store_meta(f->x->l.store);
	char *command = quote_command(meta->argc, meta->argv);
	struct json *j = &f->j;

	json_object(j, "meta");
	json_u64(j, "version", GECKO_VERSION);
	json_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
	json_u64(j, "interval", 1);
	json_fixed(j, "startTime", meta->start_realtime_ns / NS_PER_MS,
		   (uint32_t)(meta->start_realtime_ns % NS_PER_MS));
	json_u64(j, "processType", 0);
	json_u64(j, "stackwalk", 1);
	json_str(j, "product", export_program(f->x, f->x->process ? f->x->process : 1));
	json_str(j, "importedFrom", "depctl " ADEPT_VERSION);
	json_str(j, "arguments", command);
	json_str(j, "abi", "x86_64");
	json_str(j, "platform", "Linux");
	json_bool(j, "symbolicated", true);
	json_bool(j, "symbolicationNotSupported", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	json_bool(j, "keepProfileThreadOrder", true);
	put_categories(f, j);
	firefox_equal(j, "markerSchema", 0, 0);
	json_object(j, "sampleUnits");
	json_str(j, "time", "ms");
	json_str(j, "eventDelay", "ms");
	json_str(j, "threadCPUDelta", "ns");
	json_close(j, '}');
	json_close(j, '}');
	free(command);
}

static void put_profile(struct firefox *f)
{
	f->base_ns = dep_store_meta(f->x->l.store)->start_ns;
	json_begin(&f->j, &f->x->out);
	json_object(&f->j, NULL);
	put_meta(f);
	firefox_tables(f);
	put_threads(f);
	json_close(&f->j, '}');
	json_line(&f->j);
}

int export_firefox(struct export *x)
{
	struct firefox f = { .x = x };

	if (samples_begin(&f.samples, x))
		return 1;
	if (lines_begin(&f.lines, x->l.store, x->l.symbols))
		f.failed = true;
	else if (firefox_number(&f))
		put_profile(&f);
	if (f.failed)
		warn("out of memory");
	samples_end(&f.samples);
	lines_end(&f.lines);
	firefox_free(&f);
	return f.failed;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report of races: find races, filter and print them.  Suppressions and baselines are read first,
 * so that a wrong file name is reported before the analysis or the command starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "races.h"

struct races_report {
	const struct races_options *how;
	struct suppressions suppressions;
	struct races_baseline known;	/* races of --baseline and --new-since */
	struct races_baseline printed;	/* suppression entries that were printed */
	struct races_baseline reported;	/* suspected races printed during the recording */
	int fd;				/* file of --report, or -1 */
	const struct dep_live_options *tail;	/* NULL: the store is complete */
	bool live;
};

/* The analysis of one store, and its results. */
struct asked {
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct dep_races races;
	struct race_view view;
	struct source_file source;
	struct races_report *report;	/* NULL: do not print suspected races */
};

/* ---- analysis of a store ---- */

static void show_progress(size_t done, size_t all)
{
	(void)all;
	progress(done);
}

static bool is_wanted(struct races_report *r, const struct race_view *v)
{
	return (v->rank == RACE_CERTAIN || r->how->all) &&
	       !suppressions_match(&r->suppressions, v->stack,
				   v->named ? v->object.name : NULL) &&
	       !races_baseline_has(&r->known, v->fingerprint);
}

/*
 * Print a suspected race, if it was not printed yet.  Print it as one line, since the recorded
 * command can write to the same terminal in between.
 */
static void tell_suspect(void *arg, const struct dep_race *race)
{
	struct asked *a = arg;
	struct races_report *r = a->report;
	struct out o;

	if (race_view_make(&a->view, a->store, a->symbols, race) || !is_wanted(r, &a->view) ||
	    races_baseline_has(&r->reported, a->view.fingerprint) ||
	    races_baseline_add(&r->reported, a->view.fingerprint))
		return;
	out_begin(&o);
	o.fd = STDERR_FILENO;
	out_layout(&o);
	race_print_suspect(&o, &a->view);
	out_end(&o);
}

static bool is_atomic(void *arg, uint32_t process, uint64_t pc, uint64_t address, uint64_t size)
{
	return race_is_atomic(((struct asked *)arg)->symbols, process, pc, address, size);
}

static bool says_atomic(void *arg, uint32_t process, uint64_t pc)
{
	struct asked *a = arg;

	return race_says_atomic(a->symbols, &a->source, process, pc);
}

static enum dep_code code(void *arg, uint32_t process, uint64_t pc)
{
	return race_code(((struct asked *)arg)->symbols, process, pc);
}

static bool leaves(void *arg, uint32_t process, uint64_t from, uint64_t to)
{
	return race_leaves(((struct asked *)arg)->symbols, process, from, to);
}

static int ask(struct asked *a, struct dep_store *store, const char *path,
	       const struct races_options *how)
{
	struct dep_races_options o = {
		.predict = how->predict, .jobs = how->jobs, .progress = show_progress,
		.is_atomic = is_atomic, .says_atomic = says_atomic, .code = code, .leaves = leaves,
		.arg = a,
	};
	const struct dep_segment *segs;
	int err;

	err = dep_symbols_open(&a->symbols, store);
	if (err) {
		warn("out of memory");
		return err;
	}
	o.symbols = a->symbols;
	if (a->report) {
		o.live = a->report->tail;
		if (a->report->live)
			o.found = tell_suspect;
	}
	progress_begin("looking for races", dep_store_segments(store, &segs));
	err = dep_races_find(store, &o, &a->races);
	progress_end();
	if (err && err != -EOPNOTSUPP)
		warn("%s: %s", path, *dep_error() ? dep_error() : strerror(-err));
	return err;
}

static void ask_no_more(struct asked *a)
{
	race_view_free(&a->view);
	source_file_free(&a->source);
	dep_races_free(&a->races);
	dep_symbols_close(a->symbols);
}

/* ---- beginning ---- */

static int read_suppressions(struct races_report *r, const char *file)
{
	struct suppressions *s = &r->suppressions;
	struct suppressions_error e;
	size_t size, i, n = s->n, useless = 0;
	char *text = read_input(file, SUPPRESSIONS_BYTES, &size);
	int err;

	if (!text)
		return -1;
	err = suppressions_parse(s, file, text, size, &e);
	free(text);
	if (err) {
		if (err == -EINVAL)
			warn("%s:%u: %s", file, e.line, e.text);
		else
			warn("out of memory");
		return -1;
	}
	for (i = n; i < s->n; i++)
		useless += s->v[i].kind == SUPPRESS_USELESS;
	if (useless)
		warn("%s: %zu of %zu suppressions are not for races and have no effect", file,
		     useless, s->n - n);
	return 0;
}

static int read_known(struct races_report *r, const char *path)
{
	struct dep_store *store = open_store(path);
	struct asked a = { .store = store };
	size_t i;
	int err = -1;

	if (!store)
		return -1;
	if (ask(&a, store, path, r->how))
		goto out;
	if (a.races.gaps || a.races.disorder)
		warn("%s is not complete: races that are missing there are reported as new", path);
	err = 0;
	for (i = 0; i < a.races.n && !err; i++) {
		err = race_view_make(&a.view, store, a.symbols, &a.races.race[i]);
		if (!err)
			err = races_baseline_add(&r->known, a.view.fingerprint);
		if (err)
			warn("out of memory");
	}
out:
	ask_no_more(&a);
	dep_store_close(store);
	return err;
}

struct races_report *races_report_begin(const struct races_options *o)
{
	struct races_report *r = calloc(1, sizeof(*r));
	size_t i;

	if (!r) {
		warn("out of memory");
		return NULL;
	}
	r->how = o;
	r->fd = -1;
	for (i = 0; i < o->nsuppressions; i++)
		if (read_suppressions(r, o->suppressions[i]))
			goto bad;
	if (o->baseline && races_baseline_read(&r->known, o->baseline))
		goto bad;
	if (o->new_since && read_known(r, o->new_since))
		goto bad;
	if (o->report) {
		r->fd = open(o->report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (r->fd < 0) {
			warn("%s: %s", o->report, strerror(errno));
			goto bad;
		}
	}
	return r;

bad:
	races_report_end(r);
	return NULL;
}

void races_report_end(struct races_report *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	suppressions_free(&r->suppressions);
	races_baseline_free(&r->known);
	races_baseline_free(&r->printed);
	races_baseline_free(&r->reported);
	free(r);
}

void races_report_tail(struct races_report *r, const struct dep_live_options *tail, bool live)
{
	r->tail = tail;
	r->live = live;
}

int races_report_fd(const struct races_report *r)
{
	return r->fd;
}

/* ---- the races ---- */

static void begin(const struct races_report *r, struct json *j, struct out *o)
{
	json_begin(j, o);
	if (r->how->form == RACES_JSON)
		races_begin_json(j);
	else if (r->how->form == RACES_SARIF)
		races_begin_sarif(j);
}

static void print(struct races_report *r, struct json *j, const struct race_view *v)
{
	switch (r->how->form) {
	case RACES_TEXT:
		race_print_text(j->o, v, r->how->all_frames);
		break;
	case RACES_JSON:
		race_print_json(j, v);
		break;
	case RACES_SARIF:
		race_print_sarif(j, v);
		break;
	case RACES_FOR_TSAN:
	case RACES_FOR_VALGRIND:
		race_print_entry(j->o, v, r->how->form, &r->printed);
		break;
	}
}

static void end(const struct races_report *r, struct json *j, const struct races_summary *s)
{
	if (r->how->form == RACES_TEXT)
		races_end_text(j->o, s, r->how, &r->suppressions);
	else if (r->how->form == RACES_JSON)
		races_end_json(j, s, &r->suppressions);
	else if (r->how->form == RACES_SARIF)
		races_end_sarif(j, s);
	else if (!s->complete)
		warn("there may be more races: a part of the execution was not recorded");
}

static void one_race(struct races_report *r, struct json *j, struct races_summary *s,
		     const struct race_view *v)
{
	bool shown = v->rank == RACE_CERTAIN || r->how->all;

	if (suppressions_match(&r->suppressions, v->stack, v->named ? v->object.name : NULL)) {
		s->suppressed += shown;
	} else if (races_baseline_has(&r->known, v->fingerprint)) {
		s->known += shown;
	} else {
		s->count[v->rank]++;
		if (shown)
			print(r, j, v);
	}
}

static void print_messages(struct dep_symbols *symbols)
{
	const char *const *note;
	size_t i, n = dep_symbols_messages(symbols, &note);

	for (i = 0; i < n; i++)
		warn("%s", note[i]);
}

int races_report(struct races_report *r, struct dep_store *store, const char *path, int fd,
		 size_t *found)
{
	struct asked a = { .store = store, .report = r };
	struct races_summary sums;
	struct out out;
	struct json j;
	int err, status = EXIT_FAILURE;
	size_t i;

	*found = 0;
	err = ask(&a, store, path, r->how);
	if (err == -EOPNOTSUPP)
		status = err;
	if (err)
		goto out;
	if (a.races.again && r->live)
		warn("live analysis failed: the complete recording was analysed again");
	err = races_merge(store, a.symbols, &a.races);
	if (err) {
		warn("out of memory");
		goto out;
	}
	races_summary_init(&sums, store, &a.races);
	out_begin(&out);
	out.fd = r->fd >= 0 ? r->fd : fd;
	if (r->how->form == RACES_TEXT)
		out_layout(&out);
	begin(r, &j, &out);
	for (i = 0; i < a.races.n && !err; i++) {
		if (!a.races.race[i].count)
			continue;
		err = race_view_make(&a.view, store, a.symbols, &a.races.race[i]);
		if (err)
			warn("out of memory");
		else
			one_race(r, &j, &sums, &a.view);
	}
	end(r, &j, &sums);
	status = out_end(&out);
	print_messages(a.symbols);
	if (err)
		status = EXIT_FAILURE;
	*found = sums.count[RACE_CERTAIN];
out:
	ask_no_more(&a);
	return status;
}

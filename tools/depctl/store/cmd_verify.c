// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl verify: check that a store is complete and consistent.
 *
 * libdep's verdict (dep/verdict.h) lists missing data.  Then depctl reads each segment, compares
 * all of its checksums and recovers it alone.  Recovery must use all values of the segment, and the
 * state at its end must equal the state at the beginning of the next segment.  These checks are
 * equivalent to recovering all segments in sequence.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "libdep/abi/session_file.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "verdict.h"
#include "verify_contexts.h"

#define MAX_SHOWN 20u	/* maximum number of problems of one kind that are printed */

/* Kinds of problems that recovery finds.  Missing data is in the verdict instead. */
enum problem { CORRUPT, BOUNDARY, VALUES, CHECK, UNSEEN, CONTEXT, NKINDS };

static const char *const kinds[] = {
	[CORRUPT] = "corrupt", [BOUNDARY] = "seam", [VALUES] = "values", [CHECK] = "check",
	[UNSEEN] = "unseen", [CONTEXT] = "context",
};

struct verify {
	const char *path;
	bool json, quiet, rebuild;
	unsigned int jobs;
	uint64_t contexts;	/* check the context of one call in so many; 0: of none */
	struct dep_context_check context_check;
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t nsegs;
	struct dep_counts counts;
	uint64_t problems[NKINDS];
	struct out out;
	struct json j;
};

#define EXIT_RECORDING 3

enum { OPT_REBUILD = 0x200, OPT_CONTEXTS };

static const struct argp_option options[] = {
	{ "quiet", 'q', NULL, 0, "Print only problems, no summary", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 1 },
	{ "jobs", 'j', "N", 0, "Recover with N threads (default: one per processor)", 1 },
	{ "contexts", OPT_CONTEXTS, "N", OPTION_ARG_OPTIONAL, "Also encode the calling context at "
	  "each call, decode it at one call in N (default: 1000), and compare it with the stack",
	  1 },
	{ "rebuild", OPT_REBUILD, NULL, 0, "Also write catalog.db and segments.index again", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify *v = state->input;

	switch (key) {
	case 'q':
		v->quiet = true;
		return 0;
	case OPT_REBUILD:
		v->rebuild = true;
		return 0;
	case OPT_CONTEXTS:
		v->contexts = arg ? parse_number(state, "--contexts", arg, 1, UINT32_MAX) :
				    VERIFY_CONTEXTS_EVERY;
		return 0;
	default:
		return parse_store(key, arg, state, &v->path, &v->json, &v->jobs);
	}
}

static const struct argp argp = {
	options, parse, "STORE",
	"Check a store's checksums, that no segment is missing, and that all references can be "
	"recovered; list missing data.\v"
	"Exit status 0: nothing is known to be missing, apart from data dropped or discarded on "
	"request; 1: data is wrong or missing; 3: the store is being recorded.", NULL, NULL, NULL
};

static void problem(struct verify *v, enum problem kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void problem(struct verify *v, enum problem kind, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	if (v->problems[kind]++ >= MAX_SHOWN)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (v->json) {
		json_object(&v->j, NULL);
		json_str(&v->j, "kind", kinds[kind]);
		json_str(&v->j, "text", text);
		json_close(&v->j, '}');
		return;
	}
	progress_end();
	out_printf(&v->out, "%s: ", kinds[kind]);
	out_text(&v->out, text);
	out_text(&v->out, "\n");
}

static void checked(void *arg, size_t i, int ret, const struct dep_counts *c, const char *why)
{
	struct verify *v = arg;
	const struct dep_segment *s = &v->segs[i];
	unsigned long long seq = s->seq;

	add_counts(&v->counts, c);
	if (ret == -EUCLEAN)
		problem(v, BOUNDARY, "%s", why);
	else if (ret)
		problem(v, CORRUPT, "%s", *why ? why : strerror(-ret));
	else if (c->values != c->values_used)
		problem(v, VALUES, "thread %u, segment %llu: %llu values stored, %llu recovered",
			s->thread, seq, (unsigned long long)c->values,
			(unsigned long long)c->values_used);
	if (c->check_failures)
		problem(v, CHECK, "thread %u, segment %llu: %llu of %llu stored registers differ "
			"from the recovered values", s->thread, seq,
			(unsigned long long)c->check_failures, (unsigned long long)c->checks);
}

/* True if the command exited normally, but the recorded stream of its last image has no end. */
static bool ended_unseen(struct verify *v)
{
	int status = dep_store_exit_status(v->store);
	const struct dep_process *p, *last;
	const struct dep_thread *t;
	size_t i, n = dep_store_processes(v->store, &p);

	if (!n || status == -1 || !WIFEXITED(status))
		return false;
	for (i = 0, last = p; i < n; i++)
		if (p[i].pid == p->pid)
			last = &p[i];
	n = dep_store_threads(v->store, &t);
	for (i = 0; i < n; i++)
		if (t[i].process == last->serial && t[i].tid == last->pid)
			return t[i].end == DEP_END_UNFINISHED;
	return false;
}

/* Verify the checksums of the uncompressed segments, which recovery does not read. */
static void check_contents(struct verify *v)
{
	size_t i;

	for (i = 0; i < v->nsegs; i++) {
		progress(i);
		if (dep_segment_check(v->store, &v->segs[i]))
			problem(v, CORRUPT, "%s", dep_error());
	}
}

static void mismatch(void *arg, const struct dep_context_mismatch *m)
{
	struct verify *v = arg;

	problem(v, CONTEXT, "thread %u, call %llu: %s", m->tid, (unsigned long long)m->call,
		m->why);
	if (!v->json && v->problems[CONTEXT] <= MAX_SHOWN)
		verify_contexts_stacks(&v->out, m);
}

static void check_contexts(struct verify *v)
{
	int err = verify_contexts(v->store, v->contexts, v->jobs, mismatch, v, &v->context_check);

	if (err)
		problem(v, CONTEXT, "%s", *dep_error() ? dep_error() : strerror(-err));
	else if (!v->context_check.compared)
		problem(v, CONTEXT, "no stack was compared: the recording has no call whose caller "
			"is known, or the stacks do not fit the memory allowed");
	/* Not all mismatches were reported. */
	if (v->context_check.mismatches > v->problems[CONTEXT])
		v->problems[CONTEXT] = v->context_check.mismatches;
}

static void print_defects(struct verify *v)
{
	const struct dep_verdict *verdict = dep_store_verdict(v->store);
	size_t i;

	if (v->json)
		return;
	for (i = 0; i < verdict->ndefects && i < MAX_SHOWN; i++) {
		out_printf(&v->out, "%s: ", dep_defect_name(verdict->defect[i].kind));
		out_text(&v->out, verdict->defect[i].text);
		out_text(&v->out, "\n");
	}
	if (verdict->ndefects + verdict->more > MAX_SHOWN)
		out_printf(&v->out, "absent: and %llu more defects\n",
			   (unsigned long long)(verdict->ndefects + verdict->more - MAX_SHOWN));
}

/* Print which data is not in the store on request or by design. */
static void say_policy(struct verify *v)
{
	const struct dep_verdict *verdict = dep_store_verdict(v->store);
	const struct dep_loss *l = dep_store_loss(v->store);
	char size[16];

	if (l->dropped_bytes && dep_store_meta(v->store)->session_flags & ADEPT_S_DROP)
		out_printf(&v->out, "dropped on request (--on-full=drop): %s in %llu pieces\n",
			   human_size(l->dropped_bytes, size),
			   (unsigned long long)l->dropped_chunks);
	if (l->discarded_bytes && dep_store_meta(v->store)->max_size)
		out_printf(&v->out, "not stored on request (--max-size): %s\n",
			   human_size(l->discarded_bytes, size));
	if (verdict->live)
		out_printf(&v->out, "still running when the recording ended: %u processes\n",
			   verdict->live);
	if (l->native_privileged)
		out_printf(&v->out, "native: privileged: %llu programs (set-uid or similar)\n",
			   (unsigned long long)l->native_privileged);
	if (l->native_images > l->native_privileged)
		out_printf(&v->out, "native: %llu other programs\n",
			   (unsigned long long)(l->native_images - l->native_privileged));
}

static uint64_t total(const struct verify *v)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < NKINDS; i++)
		n += v->problems[i];
	return n;
}

static const char *result(struct verify *v)
{
	if (total(v))
		return "NOT COMPLETE";
	switch (dep_store_verdict(v->store)->state) {
	case DEP_VERDICT_COMPLETE:
		return "good";
	case DEP_VERDICT_RECORDING:
		return "being recorded";
	case DEP_VERDICT_NO_PROOF:
		return "nothing is known to be missing (format 3 cannot prove it)";
	default:
		return "NOT COMPLETE";
	}
}

static int exit_status(struct verify *v)
{
	enum dep_verdict_state state = dep_store_verdict(v->store)->state;

	if (total(v) || state == DEP_VERDICT_INCOMPLETE)
		return EXIT_FAILURE;
	return state == DEP_VERDICT_RECORDING ? EXIT_RECORDING : 0;
}

static void summary(struct verify *v)
{
	int i;

	for (i = 0; i < NKINDS; i++)
		if (v->problems[i] > MAX_SHOWN)
			out_printf(&v->out, "%s: and %llu more problems\n", kinds[i],
				   (unsigned long long)v->problems[i] - MAX_SHOWN);
	say_policy(v);
	if (v->contexts)
		verify_contexts_text(&v->out, &v->context_check);
	out_printf(&v->out, "%zu segments, %llu instructions, %llu references", v->nsegs,
		   (unsigned long long)v->counts.instructions, (unsigned long long)v->counts.refs);
	if (v->counts.checks)
		out_printf(&v->out, ", %llu registers checked",
			   (unsigned long long)v->counts.checks);
	out_printf(&v->out, ": %s\n", result(v));
}

static void json_summary(struct verify *v)
{
	int i;

	json_close(&v->j, ']');
	json_object(&v->j, "problem_counts");
	for (i = 0; i < NKINDS; i++)
		json_u64(&v->j, kinds[i], v->problems[i]);
	json_close(&v->j, '}');
	json_u64(&v->j, "segments", v->nsegs);
	json_u64(&v->j, "instructions", v->counts.instructions);
	json_u64(&v->j, "references", v->counts.refs);
	json_u64(&v->j, "values", v->counts.values);
	json_u64(&v->j, "values_used", v->counts.values_used);
	json_u64(&v->j, "checks", v->counts.checks);
	json_u64(&v->j, "check_failures", v->counts.check_failures);
	if (v->contexts)
		verify_contexts_json(&v->j, &v->context_check);
	loss_json(&v->j, dep_store_loss(v->store));
	verdict_json(&v->j, v->store);
	json_bool(&v->j, "good", !total(v) &&
		  dep_store_verdict(v->store)->state == DEP_VERDICT_COMPLETE);
	json_close(&v->j, '}');
	json_line(&v->j);
}

/* Rebuild the catalog.  If the store is still written, its writer makes the catalog at the end. */
static int rebuild(const char *path)
{
	if (dep_store_in_use(path)) {
		warn("cannot rebuild the catalog of %s: the store is being recorded, and gets its "
		     "catalog at the end", path);
		return EXIT_FAILURE;
	}
	if (!dep_store_rebuild(path))
		return 0;
	warn("the catalog of %s could not be made: %s", path, dep_error());
	return EXIT_FAILURE;
}

int cmd_verify(int argc, char **argv)
{
	struct verify *v = calloc(1, sizeof(*v));
	struct pool_job job = { .seams = true, .done = checked };
	int status = EXIT_FAILURE, rebuilt = 0;

	if (!v) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	parse_args(&argp, argc, argv, 0, v);
	out_begin(&v->out);
	if (!v->json)
		out_layout(&v->out);
	json_begin(&v->j, &v->out);
	v->store = open_store(v->path);
	if (!v->store)
		goto out_free;
	if (v->rebuild)
		rebuilt = rebuild(v->path);
	v->nsegs = dep_store_segments(v->store, &v->segs);
	if (v->json) {
		json_object(&v->j, NULL);
		json_str(&v->j, "store", v->path);
		json_array(&v->j, "problems");
	}
	if (ended_unseen(v))
		problem(v, UNSEEN, "the command exited, but its recorded stream has no end: its "
			"last part ran unrecorded, which is a bug in depctl");
	print_defects(v);
	job.store = v->store;
	job.segs = v->segs;
	job.n = v->nsegs;
	job.jobs = v->jobs;
	job.arg = v;
	progress_begin("verifying", v->nsegs);
	if (pool_run(&job))
		problem(v, CORRUPT, "out of memory");
	check_contents(v);
	progress_end();
	if (v->contexts)
		check_contexts(v);
	if (v->json)
		json_summary(v);
	else if (!v->quiet)
		summary(v);
	status = out_end(&v->out) || rebuilt ? EXIT_FAILURE : exit_status(v);
	dep_store_close(v->store);

out_free:
	free(v);
	return status;
}

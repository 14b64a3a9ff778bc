// SPDX-License-Identifier: GPL-2.0-or-later
/* Open a store and make the profile that the options select. */
#include <dep/path_profile.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "profile.h"

/* ---- what is selected ---- */

static int no_thread(const struct profile_options *o)
{
	if (o->process)
		warn("%s: process %u has no thread %u; see `depctl ls'", o->path, o->process,
		     o->tid);
	else
		warn("%s: there is no thread %u; see `depctl ls'", o->path, o->tid);
	return EXIT_FAILURE;
}

/* A program that execve() started has threads of its own, with the ids of those before. */
static int select_thread(struct profile_view *v)
{
	const struct profile_options *o = v->o;
	const struct dep_thread *t;
	size_t i, n = dep_store_threads(v->store, &t);
	uint32_t first = 0;

	for (i = 0; i < n; i++) {
		if (t[i].tid != o->tid || (o->process && t[i].process != o->process))
			continue;
		if (v->fold.thread) {
			warn("%s: thread %u ran in processes %u and %u; choose one with --process",
			     o->path, o->tid, first, t[i].process);
			return EXIT_FAILURE;
		}
		v->fold.thread = t[i].serial;
		first = t[i].process;
	}
	return v->fold.thread ? 0 : no_thread(o);
}

int profile_select(struct profile_view *v, bool complete)
{
	const struct profile_options *o = v->o;
	uint64_t start = dep_store_meta(v->store)->start_ns;

	v->fold.jobs = o->jobs;
	v->fold.process = o->process;
	if (complete && o->process && !process_of(v->store, o->process)) {
		warn("%s: there is no process %u; see `depctl ls --json'", o->path, o->process);
		return EXIT_FAILURE;
	}
	if (o->from_ns || o->to_ns) {
		v->fold.from_ns = start + o->from_ns;
		v->fold.to_ns = o->to_ns ? start + o->to_ns : UINT64_MAX;
	}
	return o->tid ? select_thread(v) : 0;
}

/* ---- the profile ---- */

int profile_failed(const struct profile_view *v, int err)
{
	warn("%s: %s%s", v->o->path, err == -ERANGE && v->o->per_ns ? "--per: " : "",
	     err == -ENOMEM ? "out of memory" :
	     *dep_error() ? dep_error() : strerror(-err));
	return EXIT_FAILURE;
}

/* Count all time together, or each interval. */
static int count(struct profile_view *v)
{
	int err;

	if (v->o->per_ns) {
		err = dep_intervals_make(v->store, v->code, &v->fold, v->o->per_ns, &v->intervals);
		v->p = err ? NULL : dep_intervals_whole(v->intervals);
	} else {
		err = dep_profile_make_kept(v->store, v->code, &v->fold, &v->own);
		v->p = v->own;
	}
	return err;
}

bool profile_selects_all(const struct profile_view *v)
{
	const struct dep_fold_options *o = &v->fold;

	return !o->process && !o->thread && !o->from_ns && !o->to_ns && !o->select;
}

static int make(struct profile_view *v, unsigned int needs)
{
	struct dep_contexts_options contexts = { .fold = v->fold,
						 .times = needs & VIEW_TIMES,
						 .per_ns = v->o->per_ns,
						 .memory = v->o->memory };
	int err;

	err = dep_symbols_open(&v->symbols, v->store);
	contexts.symbols = v->symbols;
	if (!err)
		err = dep_code_make(v->store, &v->code);
	if (!err && !(needs & VIEW_NO_COUNTS))
		err = count(v);
	if (profile_selects_all(v))
		contexts.counts = v->p;
	if (!err && needs & VIEW_CONTEXTS)
		err = dep_contexts_make_kept(v->store, v->code, &contexts, &v->c);
	if (!err && (v->p || v->c))
		err = functions_make(v->store, v->symbols, v->p, v->c, &v->f);
	return err ? profile_failed(v, err) : 0;
}

int profile_open(struct profile_view *v, const struct profile_options *o, unsigned int needs)
{
	int status;

	*v = (struct profile_view){ .o = o, .store = open_store(o->path) };
	if (!v->store)
		return EXIT_FAILURE;
	status = profile_select(v, true);
	return status ? status : make(v, needs);
}

int profile_paths(struct profile_view *v, struct dep_path_profile **out)
{
	const struct dep_path_profile_options options = {
		.fold = v->fold, .symbols = v->symbols, .memory = v->o->memory,
		.counts = profile_selects_all(v) ? v->p : NULL,
		.iterations = v->o->iterations,
	};
	int err = dep_path_profile_make(v->store, v->code, &options, out);

	if (err)
		return profile_failed(v, err);
	v->paths_not_counted = (*out)->not_counted;
	return 0;
}

void profile_close(struct profile_view *v)
{
	functions_free(v->f);
	dep_symbols_close(v->symbols);
	dep_contexts_free(v->c);
	dep_profile_free(v->own);
	dep_intervals_free(v->intervals);
	dep_code_free(v->code);
	dep_store_close(v->store);
}

void profile_reasons(const struct profile_view *v, struct reasons *r)
{
	reasons_of_profile(r, v->store, v->p, v->c);
	reasons_add(r, v->paths_not_counted,
		    "path was not counted for lack of memory (see --memory)",
		    "paths were not counted for lack of memory (see --memory)");
}

void profile_add_reasons(const struct profile_view *v, struct reasons *r)
{
	struct reasons why;

	profile_reasons(v, &why);
	reasons_add_all(r, v->o->path, &why);
}

static bool is_whole(const struct dep_fold_loss *loss)
{
	return !loss->segments && !loss->gaps;
}

int profile_status(const struct profile_view *v)
{
	struct missing m;

	missing_find(&m, v->store);
	if (v->paths_not_counted || (v->p && !is_whole(&v->p->loss)) ||
	    (v->c && (v->c->not_counted || !is_whole(&v->c->loss))))
		return EXIT_FAILURE;
	return m.defects || m.loss.torn_segments || m.loss.corrupt ? EXIT_FAILURE : 0;
}

bool profile_matches(const struct profile_view *v, uint32_t i)
{
	const struct function *f;

	if (!v->o->function)
		return true;
	return i < functions_all(v->f, &f) && function_matches(&f[i], v->o->function);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report --json. */
#include <string.h>

#include "tools/depctl/depctl.h"
#include "query.h"
#include "report_parts.h"

static size_t limit(const struct report *r, size_t n)
{
	return r->v.o->top && r->v.o->top < n ? (size_t)r->v.o->top : n;
}

static void put_functions(struct report *r, struct json *j)
{
	const struct function *f;
	size_t i, n = limit(r, r->nfunctions);

	functions_all(r->v.f, &f);
	json_array(j, "hot_functions");
	for (i = 0; i < n; i++) {
		const struct function *fn = &f[r->function[i]];

		json_object(j, NULL);
		json_site(j, "at", &r->v, functions_start(r->v.f, r->function[i]));
		json_u64(j, "instructions", fn->insns);
		json_u64(j, "inclusive_instructions", fn->inclusive);
		json_u64(j, "calls", fn->calls);
		json_u64(j, "references", fn->refs);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int put_loops(struct report *r, struct json *j)
{
	size_t i, n = limit(r, r->loops.n);
	int err = 0;

	json_array(j, "loops");
	for (i = 0; i < n && !err; i++) {
		json_object(j, NULL);
		json_site(j, "at", &r->v, r->loops.loop[i].header);
		json_u64(j, "entered", r->loops.loop[i].entered);
		json_u64(j, "iterations", r->loops.loop[i].iterations);
		json_u64(j, "instructions", r->loops.loop[i].insns);
		err = report_loop_json(r, j, &r->loops.loop[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	return err;
}

static void put_processes(struct report *r, struct json *j)
{
	size_t i, n = limit(r, r->nprocesses);

	json_array(j, "process_counts");
	for (i = 0; i < n; i++) {
		json_object(j, NULL);
		json_u64(j, "process", r->process[i].process->serial);
		json_u64(j, "pid", r->process[i].process->pid);
		json_str(j, "exe", r->process[i].process->exe);
		json_u64(j, "thread_count", r->process[i].threads);
		json_u64(j, "instructions", r->process[i].insns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_threads(struct report *r, struct json *j)
{
	size_t i, n = limit(r, r->nthreads);
	const struct dep_thread *t;

	json_array(j, "thread_counts");
	for (i = 0; i < n; i++) {
		t = thread_of(r->v.store, r->thread[i].thread);
		json_object(j, NULL);
		json_u64(j, "thread", r->thread[i].thread);
		json_u64(j, "tid", t ? t->tid : 0);
		json_u64(j, "process", t ? t->process : 0);
		json_str(j, "thread_name", t ? t->name : NULL);
		json_u64(j, "instructions", r->thread[i].insns);
		json_u64(j, "references", r->thread[i].refs);
		json_u64(j, "records", r->thread[i].records);
		json_u64(j, "calls", r->thread[i].calls);
		json_u64(j, "returns", r->thread[i].returns);
		json_u64(j, "syscalls", r->thread[i].syscalls);
		json_u64(j, "signals", r->thread[i].signals);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int report_json(struct report *r)
{
	const struct dep_meta *m = dep_store_meta(r->v.store);
	struct json j;
	size_t i;
	int k, err;

	json_begin(&j, &r->out);
	json_object(&j, NULL);
	json_str(&j, "store", r->v.o->path);
	reasons_json(&j, &r->why);
	json_array(&j, "argv");
	for (k = 0; k < m->argc; k++)
		json_str(&j, NULL, m->argv[k]);
	json_close(&j, ']');
	json_exit(&j, dep_store_exit_status(r->v.store));
	json_u64(&j, "instructions", r->v.p->insns);
	json_u64(&j, "references", r->v.p->refs);
	json_u64(&j, "function_count", r->nfunctions);
	put_functions(r, &j);
	err = put_loops(r, &j);
	json_u64(&j, "unsearched_functions", r->loops.unsearched);
	if (!err)
		err = report_paths_json(r, &j);
	report_contexts_json(r, &j);
	json_object(&j, "guessed_callers");
	json_u64(&j, "thread_count", r->guesses.threads);
	json_u64(&j, "instructions", r->guesses.insns);
	json_close(&j, '}');
	put_processes(r, &j);
	put_threads(r, &j);
	json_big(&j, "start_ns", r->end_ns ? r->start_ns : 0);
	json_big(&j, "end_ns", r->end_ns);
	json_array(&j, "instructions_by_time");
	for (i = 0; i < r->ncolumns; i++)
		json_u64(&j, NULL, r->column[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	json_line(&j);
	return err;
}

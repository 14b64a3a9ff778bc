// SPDX-License-Identifier: GPL-2.0-or-later
/* The page's data, as one JSON object.  model.js reads it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/depctl.h"
#include "model.h"

#define FORMAT	1	/* raised when model.js of another version could not read the data */

static void write_tree(const struct page_tree *t, const struct page_functions *f, struct json *j)
{
	uint32_t i;

	json_object(j, "nodes");
	COLUMN(j, "parent", i, t->n, t->node[i].parent);
	COLUMN(j, "function", i, t->n, t->node[i].kind == PAGE_PROCESS ?
	       (int64_t)(int32_t)t->node[i].process : page_number(f, t->node[i].function));
	COLUMN(j, "kind", i, t->n, t->node[i].kind);
	COLUMN(j, "calls", i, t->n, t->node[i].calls);
	COLUMN(j, "self", i, t->n, t->node[i].self);
	COLUMN(j, "joined", i, t->n, t->node[i].joined);
	json_array(j, "guesses");
	for (i = 0; i < t->n; i++)
		if (t->node[i].guess)
			json_u64(j, NULL, i);
	json_close(j, ']');
	json_close(j, '}');
}

static void write_times(const struct page_input *in, const struct page_times *s, struct json *j)
{
	const struct dep_thread *thread;
	const struct dep_process *p;
	size_t i;

	dep_store_threads(in->store, &thread);
	json_array(j, "threads");
	for (i = 0; i < s->nthreads; i++) {
		const struct dep_thread *t = s->thread[i] == NO_FUNCTION ? NULL :
					     &thread[s->thread[i]];

		json_object(j, NULL);
		if (t) {
			p = process_of(in->store, t->process);
			json_u64(j, "tid", t->tid);
			json_u64(j, "pid", p ? p->pid : 0);
			json_str(j, "name", t->name);
		} else {
			json_u64(j, "others", s->other_threads);
		}
		json_u64(j, "insns", s->thread_insns[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_object(j, "time");
	json_u64(j, "bucket_ns", s->bucket_ns);
	json_u64(j, "buckets", s->nbuckets);
	json_close(j, '}');
	json_object(j, "rows");
	COLUMN(j, "thread", i, s->nrows, s->row[i].thread);
	COLUMN(j, "bucket", i, s->nrows, s->row[i].bucket);
	COLUMN(j, "node", i, s->nrows, s->row[i].node);
	COLUMN(j, "insns", i, s->nrows, s->row[i].insns);
	json_close(j, '}');
}

/* Number of @name in @names, a list of @n names; @n if it is new. */
static size_t find_name(const char **names, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i] == name || !strcmp(names[i], name))
			break;
	return i;
}

#define MODULES	500u	/* modules after these have no name */

static int write_functions(const struct page_input *in, const struct page_functions *s,
			   struct json *j)
{
	const char *module[MODULES];
	uint32_t *number = calloc(s->n + 1, sizeof(*number)), i;
	const struct function *f;
	size_t nmodules = 0;

	if (!number)
		return -ENOMEM;
	functions_all(in->functions, &f);
	for (i = 0; i < s->n; i++) {
		number[i] = find_name(module, nmodules, f[s->chosen[i]].module);
		if (number[i] == nmodules && nmodules < MODULES)
			module[nmodules++] = f[s->chosen[i]].module;
	}
	json_array(j, "modules");
	for (i = 0; i < nmodules; i++)
		json_str(j, NULL, module[i]);
	json_close(j, ']');
	json_object(j, "functions");
	json_array(j, "name");
	for (i = 0; i < s->n; i++)
		json_str(j, NULL, f[s->chosen[i]].name);
	json_close(j, ']');
	COLUMN(j, "module", i, s->n, number[i]);
	COLUMN(j, "self", i, s->n, f[s->chosen[i]].insns);
	COLUMN(j, "inclusive", i, s->n, f[s->chosen[i]].inclusive);
	COLUMN(j, "calls", i, s->n, f[s->chosen[i]].calls);
	COLUMN(j, "refs", i, s->n, f[s->chosen[i]].refs);
	json_array(j, "stubs");
	for (i = 0; i < s->n; i++)
		if (f[s->chosen[i]].stub)
			json_u64(j, NULL, i);
	json_close(j, ']');
	json_close(j, '}');
	json_object(j, "left_out");
	json_u64(j, "functions", s->left_out);
	json_u64(j, "insns", s->left_insns);
	json_u64(j, "pairs", s->pairs_left_out);
	json_close(j, '}');
	json_object(j, "pairs");
	COLUMN(j, "caller", i, s->npairs, page_number(s, s->pair[i].caller));
	COLUMN(j, "callee", i, s->npairs, page_number(s, s->pair[i].callee));
	COLUMN(j, "calls", i, s->npairs, s->pair[i].calls);
	COLUMN(j, "insns", i, s->npairs, s->pair[i].insns);
	json_close(j, '}');
	free(number);
	return 0;
}

static void write_head(const struct page_input *in, const struct page_tree *t, struct json *j)
{
	const struct dep_meta *meta = dep_store_meta(in->store);
	char *command = meta->argc ? quote_command(meta->argc, meta->argv) : NULL;
	const struct dep_process *p;
	size_t n = dep_store_processes(in->store, &p), i;

	json_u64(j, "format", FORMAT);
	json_str(j, "version", ADEPT_VERSION);
	json_str(j, "command", command);
	json_u64(j, "recorded_ms", meta->start_realtime_ns / 1000000);
	json_u64(j, "insns", in->profile->insns);
	json_u64(j, "refs", in->profile->refs);
	json_u64(j, "least", t->least);
	json_array(j, "missing");
	for (i = 0; i < in->nmissing; i++)
		json_str(j, NULL, in->missing[i]);
	json_close(j, ']');
	json_array(j, "processes");
	for (i = 0; i < n; i++) {
		json_object(j, NULL);
		json_u64(j, "pid", p[i].pid);
		json_str(j, "exe", p[i].exe);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(command);
}

/** struct parts - all that the page shows */
struct parts {
	struct page_tree tree;
	struct page_times times;
	struct page_functions functions;
	struct page_code code;
};

static int write_parts(const struct page_input *in, const struct parts *p, struct out *o)
{
	struct json j;
	int ret;

	json_begin(&j, o);
	j.in_script = true;
	json_object(&j, NULL);
	write_head(in, &p->tree, &j);
	write_tree(&p->tree, &p->functions, &j);
	write_times(in, &p->times, &j);
	ret = write_functions(in, &p->functions, &j);
	if (!ret)
		ret = page_code_write(in, &p->code, &p->functions, &j);
	if (!ret)
		ret = page_paths_write(in, &p->code, &p->functions, &j);
	json_close(&j, '}');
	json_line(&j);
	return ret;
}

int page_data_write(const struct page_input *in, struct out *o)
{
	struct parts p = { };
	int ret = page_tree_make(in, &p.tree);

	if (!ret)
		ret = page_times_make(in, &p.tree, &p.times);
	if (!ret)
		ret = page_functions_make(in, &p.tree, &p.functions);
	if (!ret)
		ret = page_code_make(in, &p.code);
	if (!ret)
		ret = write_parts(in, &p, o);
	page_code_free(&p.code);
	page_functions_free(&p.functions);
	page_times_free(&p.times);
	page_tree_free(&p.tree);
	return ret;
}

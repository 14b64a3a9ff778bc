// SPDX-License-Identifier: LGPL-2.1-or-later
/* dep_contexts_check(): the walk over a store, and an encoder that follows it. */
#include "libdep/context/table.h"
#include "libdep/format/file/error.h"
#include "check.h"

static int fill(struct check *c)
{
	struct dep_context_check *out = c->out;
	struct dep_cc_table t;
	int err;

	check_calls_count(c);
	err = dep_cc_table_make(&t, &c->encoder.graph, &c->encoder.history, &c->encoder.counts);
	if (err)
		return dep_fail(err, "contexts");
	out->unknown_returns = c->walk->unknown_returns;
	out->nodes = t.nodes;
	out->gone = check_code_gone(c);
	out->edges = t.edges;
	out->max_id = c->max_id > t.max_id ? c->max_id : t.max_id;
	out->encodings = t.encodings;
	out->pushes = t.counts.pushes;
	out->fresh = t.counts.fresh;
	out->recursive = t.counts.recursive;
	out->saves = t.counts.saves;
	out->loops = t.counts.loops;
	out->depth = t.counts.depth;
	out->compressed = t.counts.compressed;
	out->indirect_sites = t.indirect_sites;
	out->wide_sites = t.wide_sites;
	out->pcce_back = t.pcce.back;
	out->pcce_pushes = t.pcce.pushes;
	out->pcce_max_id = (u64)t.pcce.max_id;
	out->pcce_max_id_high = (u64)(t.pcce.max_id >> 64);
	return 0;
}

static int run(struct check *c)
{
	const struct dep_contexts_options options = {
		.fold.jobs = c->options->jobs, .memory = c->options->memory,
	};
	struct dep_walk *w = c->walk;
	int err = dep_contexts_run(w, &options, &c->out->loss);

	c->out->loss.segments += w->unread;
	if (!err)
		check_late(c, c->encoder.history.n);
	if (!err && c->err)
		err = dep_fail(c->err, "contexts");
	if (!err)
		err = fill(c);
	/* What remains is freed, not decoded. */
	c->err = c->err ? c->err : err ? err : -ECANCELED;
	check_late(c, UINT32_MAX);
	dep_contexts_end(w);
	check_origin_put(c, c->origin);
	c->origin = NULL;
	return err;
}

int dep_contexts_check(struct dep_store *store, const struct dep_fragments *code,
		       const struct dep_context_check_options *options,
		       struct dep_context_check *out)
{
	static const struct dep_context_check_options defaults;
	struct check *c = calloc(1, sizeof(*c));
	struct dep_walk *w = calloc(1, sizeof(*w));
	int err;

	*out = (struct dep_context_check){ 0 };
	if (!c || !w || dep_cc_encoder_init(&c->encoder)) {
		free(c);
		free(w);
		return dep_fail(-ENOMEM, "contexts");
	}
	c->options = options ? options : &defaults;
	c->next = c->options->every ? 1 : UINT64_MAX;
	c->out = out;
	c->walk = w;
	c->chain.max = SIZE_MAX / 64;
	w->store = store;
	w->code = code;
	w->hooks = &check_hooks;
	w->hooks_arg = c;
	/* Without checks only the functions of frames are needed. */
	w->flat = !c->options->every;
	err = check_code_make(c);
	err = err ? dep_fail(err, "contexts") : run(c);
	dep_cc_encoder_free(&c->encoder);
	dep_cc_chain_free(&c->chain);
	check_code_free(c);
	free(c->pins);
	free(c);
	free(w);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hot data streams of a store.
 *
 * The first pass recovers all references, thread by thread, so there is one grammar at a time.  It
 * ends where the thread ends, where a part of the thread is missing, and when its memory is used
 * up.  Then its hot streams go into a set, and the grammar is freed.
 *
 * The second pass recovers the segments in which the streams occurred first, for the instructions.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "streams.h"

#define SYMBOLS		512u	/* that are added at a time */

/* Least number of references that is the share @threshold of @all. */
static u64 least_heat(double threshold, u64 all)
{
	double least = threshold * (double)all;
	u64 heat = (u64)least;

	if ((double)heat < least)
		heat++;
	return heat ? heat : 1;
}

/* ---- a grammar ends ---- */

static int add_hot(struct streams_search *s, const struct hot_use *use, const u64 *position)
{
	u32 i, n = sequitur_rules(s->grammar);
	int err = 0;

	for (i = 0; i < n && !err; i++)
		if (use[i].hot)
			err = hot_streams_add(s->found, s->grammar, i, s->process, use[i].cold_uses,
					      s->grammar_first + position[i]);
	return err ? dep_fail(err, "streams found") : 0;
}

static int end_grammar(struct streams_search *s)
{
	struct sequitur *g = s->grammar;
	struct hot_use *use = NULL;
	struct hot_limits limits;
	struct sequitur_size size;
	u64 *position = NULL;
	int err;

	if (!g)
		return 0;
	err = sequitur_close(g);
	if (!err) {
		use = calloc(sequitur_rules(g), sizeof(*use));
		position = calloc(sequitur_rules(g), sizeof(*position));
	}
	if (use && position) {
		sequitur_size(g, &size);
		s->s.rules += size.rules;
		s->s.symbols += size.body;
		limits = (struct hot_limits){ least_heat(s->options->threshold, size.symbols),
					      s->options->min_length, s->options->max_length };
		hot_find(g, &limits, use);
		hot_positions(g, use, position);
		err = add_hot(s, use, position);
	} else {
		err = dep_fail(-ENOMEM, "hot streams");
	}
	free(use);
	free(position);
	sequitur_free(g);
	s->grammar = NULL;
	return err;
}

/* ---- references are read ---- */

static int begin_grammar(struct streams_search *s)
{
	s->grammar = sequitur_new(s->grammar_memory);
	if (!s->grammar)
		return dep_fail(-errno, "grammar of %zu bytes", s->grammar_memory);
	s->grammar_first = s->s.refs;
	s->s.grammars++;
	return 0;
}

static int add_symbols(struct streams_search *s, const u64 *symbol, size_t n)
{
	size_t added;
	int err = 0;

	while (n && !err) {
		if (!s->grammar) {
			err = begin_grammar(s);
			continue;
		}
		added = sequitur_append_all(s->grammar, symbol, n);
		s->s.refs += added;
		symbol += added;
		n -= added;
		if (n && s->s.refs == s->grammar_first)
			return dep_fail(-ENOSPC, "grammar of %zu bytes", s->grammar_memory);
		if (n)
			err = end_grammar(s);
	}
	return err;
}

static int add_refs(struct streams_search *s, const struct dep_item *items, size_t n)
{
	u64 symbol[SYMBOLS];
	size_t have = 0, i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		if (items[i].kind != DEP_ITEM_REF)
			continue;
		err = stream_symbol(s->use_pcs, &items[i].ref, &symbol[have]);
		if (!err && ++have == SYMBOLS) {
			err = add_symbols(s, symbol, have);
			have = 0;
		}
	}
	return err ? err : add_symbols(s, symbol, have);
}

/* Go on to segment @at. */
static int begin_segment(struct streams_search *s, size_t at)
{
	bool cut = s->broken;
	int err = 0;

	while (s->last < at) {
		s->last++;
		s->in.first[s->last] = s->s.refs;
		cut |= s->in.cut[s->last];
	}
	s->broken = false;
	if (cut)
		err = end_grammar(s);
	if (s->in.seg[at].thread != s->thread) {
		s->thread = s->in.seg[at].thread;
		s->process = dep_model_thread(&s->store->model, s->thread)->process;
	}
	return err;
}

static int read_batch(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		      size_t n)
{
	struct streams_search *s = arg;
	size_t at = (size_t)(seg - s->in.seg);

	if (at != s->last || !s->thread)
		s->err = begin_segment(s, at);
	if (!s->err)
		s->err = add_refs(s, items, n);
	return s->err;
}

static void segment_failed(void *arg, const struct dep_segment *seg, const char *why)
{
	struct streams_search *s = arg;

	s->broken = true;
	s->s.loss.segments++;
	if (s->options->fold.failed)
		s->options->fold.failed(s->options->fold.arg, seg, why);
}

static int read_all(struct streams_search *s)
{
	const struct dep_sink sink = { .want = DEP_WANT_REFS, .batch = read_batch, .arg = s };
	const struct dep_recover_options options = {
		.jobs = s->options->fold.jobs, .failed = segment_failed, .arg = s,
	};
	int err = dep_recover(s->store, s->in.seg, s->in.n, &sink, &options);

	/* Segments that cannot be decoded have been counted. */
	if (s->err)
		return s->err;
	if (err && err != -EBADMSG)
		return err;
	err = end_grammar(s);
	while (s->last + 1 < s->in.n)
		s->in.first[++s->last] = s->s.refs;
	s->in.first[s->in.n] = s->s.refs;
	return err;
}

/* ---- the interface ---- */

static int check_options(struct dep_streams_options *o)
{
	if (!o->memory)
		o->memory = DEP_STREAMS_MEMORY;
	if (!o->min_length)
		o->min_length = 2;
	if (!o->max_length)
		o->max_length = 100;
	if (o->threshold == 0)
		o->threshold = 0.01;
	if (o->memory < DEP_STREAMS_MEMORY_MIN || o->min_length > o->max_length ||
	    !(o->threshold > 0 && o->threshold <= 1))
		return dep_fail(-EINVAL, "options of streams");
	return 0;
}

static int search(struct streams_search *s, struct dep_streams **out)
{
	int err = streams_select(&s->in, s->store, &s->options->fold, &s->s.loss);

	if (!err && !s->found)
		err = dep_fail(-ENOMEM, "streams found");
	if (!err && s->in.n)
		err = read_all(s);
	return err ? err : streams_result(s, out);
}

int dep_streams_make(struct dep_store *store, const struct dep_streams_options *options,
		     struct dep_streams **out)
{
	struct dep_streams_options o = { 0 };
	struct streams_search s = { .store = store, .options = &o };
	int err;

	*out = NULL;
	if (options)
		o = *options;
	err = check_options(&o);
	if (err)
		return err;
	s.grammar_memory = o.memory / 4 * 3;
	s.found = hot_streams_new(o.memory / 4);
	if (o.pc)
		s.use_pcs = &s.pcs;
	err = search(&s, out);
	sequitur_free(s.grammar);
	hot_streams_free(s.found);
	stream_pcs_free(&s.pcs);
	streams_input_free(&s.in);
	return err;
}

void dep_streams_free(struct dep_streams *s)
{
	struct streams_made *m = (struct streams_made *)s;

	if (!m)
		return;
	free(m->stream);
	free(m->ref);
	free(m);
}

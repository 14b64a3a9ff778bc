// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "run.h"

int dep_batch_flush(struct dep_batch *o)
{
	size_t n = o->n;

	o->n = 0;
	o->joined_used = 0;
	if (n && o->sink->batch)
		o->stopped = o->sink->batch(o->sink->arg, o->seg, o->item, n);
	return o->stopped;
}

int dep_batch_grow(struct dep_batch *o, size_t n)
{
	struct dep_call_values *passed;
	struct dep_item *p;
	int err;

	err = dep_batch_flush(o);
	if (err || n <= o->room)
		return err;
	if (n < DEP_BATCH)
		n = DEP_BATCH;
	p = realloc(o->item, n * sizeof(*p));
	if (!p)
		return dep_fail(-ENOMEM, "buffer for recovered items");
	o->item = p;
	if (o->want_function) {
		passed = realloc(o->passed, n * sizeof(*passed));
		if (!passed)
			return dep_fail(-ENOMEM, "buffer for recovered items");
		o->passed = passed;
	}
	o->room = n;
	return 0;
}

#define JOINED_ROOM	(64u << 10)
#define JOINED_MAX	(sizeof(struct dep_page_accesses) + DEP_JOINED_WORDS * \
			 sizeof(struct dep_page_word))

struct dep_page_accesses *dep_batch_page(struct dep_batch *o)
{
	if (o->joined_used + JOINED_MAX > JOINED_ROOM && dep_batch_flush(o))
		return NULL;
	if (!o->joined)
		o->joined = malloc(JOINED_ROOM);
	if (!o->joined)
		o->stopped = dep_fail(-ENOMEM, "buffer for recovered items");
	return o->joined ? (struct dep_page_accesses *)(o->joined + o->joined_used) : NULL;
}

void dep_interp_init(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink,
		     const struct dep_tracer *tracer)
{
	memset(r, 0, sizeof(*r));
	r->tracer = tracer;
	dep_interp_again(r, c, sink);
}

void dep_interp_again(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink)
{
	r->columns = c;
	r->out.sink = sink;
	r->out.want_block = !!(sink->want & DEP_WANT_BLOCKS);
	r->out.want_ref = !!(sink->want & DEP_WANT_REFS);
	r->out.want_event = !!(sink->want & DEP_WANT_EVENTS);
	r->out.want_timestamp = !!(sink->want & DEP_WANT_TIMESTAMPS);
	r->out.want_call = !!(sink->want & DEP_WANT_CALLS);
	r->out.want_jump = !!(sink->want & DEP_WANT_JUMPS);
	r->out.want_function = !!(sink->want & DEP_WANT_FUNCTIONS);
	/*
	 * If the earlier sink did not want functions, @passed was not allocated.  With no room,
	 * dep_batch_grow() allocates both arrays again.
	 */
	if (r->out.want_function && !r->out.passed)
		r->out.room = 0;
}

void dep_interp_free(struct dep_interp *r)
{
	free(r->out.item);
	free(r->out.passed);
	free(r->out.joined);
	r->out.item = NULL;
	r->out.passed = NULL;
	r->out.joined = NULL;
	r->out.room = 0;
}

void dep_counts_add(struct dep_counts *sum, const struct dep_counts *c)
{
	sum->instructions += c->instructions;
	sum->blocks += c->blocks;
	sum->refs += c->refs;
	sum->reads += c->reads;
	sum->writes += c->writes;
	sum->records += c->records;
	sum->events += c->events;
	sum->values += c->values;
	sum->values_used += c->values_used;
	sum->checks += c->checks;
	sum->check_failures += c->check_failures;
}

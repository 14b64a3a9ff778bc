// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Call stacks of races: the last pass over the recording has noted positions, and the calling
 * contexts (include/dep/contexts.h) have the stacks there. A second look is taken only at the
 * threads with a position.
 */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "race_stacks.h"

/* maximum number of frames in the stack of a lock; deeper frames are cut off */
#define LOCK_FRAMES	64u

/* Call @each for all places of a request. */
static int each_place(struct sync_stack *w, void *arg,
		      int (*each)(void *arg, const struct sync_stack *w, struct sync_place *p,
				  size_t max))
{
	int err = w->found ? each(arg, w, &w->place, SIZE_MAX) : 0;
	u32 i;

	if (!err && w->creator)
		err = each(arg, w, &w->birth, SIZE_MAX);
	if (!err && w->origin)
		err = each(arg, w, &w->origin->place, SIZE_MAX);
	for (i = 0; i < w->nheld && !err; i++)
		err = each(arg, w, &w->held[i].place, LOCK_FRAMES);
	return err;
}

struct places {
	const struct sync_events *sync;
	struct dep_position *at;
	size_t n, room;
	const struct dep_call_stacks *found;
};

static int add(void *arg, const struct sync_stack *w, struct sync_place *p, size_t max)
{
	struct places *all = arg;
	size_t room = all->room ? 2 * all->room : 64;
	struct dep_position *more;

	(void)w;
	(void)max;
	if (all->n == all->room) {
		more = realloc(all->at, room * sizeof(*more));
		if (!more)
			return dep_fail(-ENOMEM, "races");
		all->at = more;
		all->room = room;
	}
	all->at[all->n++] = p->at;
	return 0;
}

/* A tail call counts if the caller of the library says that it enters another function. */
static bool is_shown(const struct sync_events *f, u32 process, const struct dep_call_frame *frame)
{
	const struct dep_races_options *o = f->options;

	return frame->kind != DEP_CONTEXT_TAIL ||
	       (o->leaves && o->leaves(o->arg, process, frame->site, frame->pc));
}

static int take(void *arg, const struct sync_stack *w, struct sync_place *p, size_t max)
{
	struct places *all = arg;
	const struct dep_call_stack *s = all->found->stack + all->n++;
	size_t n = s->n, i;

	p->frame = malloc((n + 1) * sizeof(*p->frame));
	if (!p->frame)
		return dep_fail(-ENOMEM, "races");
	for (i = 0; i < n && p->nframes < max; i++)
		if (is_shown(all->sync, w->image, s->frame + i))
			p->frame[p->nframes++] = s->frame[i].site;
	p->incomplete = !s->found || s->incomplete;
	return 0;
}

int races_find_stacks(const struct sync_events *f, struct sync_stack *want, size_t n)
{
	const struct dep_contexts_at_options options = {
		.jobs = f->options->jobs, .symbols = f->options->symbols,
		.leaves = f->options->leaves, .arg = f->options->arg,
	};
	struct places all = { .sync = f };
	struct dep_fragments *code = NULL;
	struct dep_call_stacks *found = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = each_place(want + i, &all, add);
	if (!err)
		err = dep_code_make(f->store, &code);
	if (!err)
		err = dep_contexts_at(f->store, code, all.at, all.n, &options, &found);
	all.found = found;
	all.n = 0;
	for (i = 0; i < n && !err; i++)
		err = each_place(want + i, &all, take);
	dep_call_stacks_free(found);
	dep_code_free(code);
	free(all.at);
	return err;
}

void races_free_stack(struct sync_stack *w)
{
	u32 i;

	free(w->place.frame);
	free(w->birth.frame);
	if (w->origin)
		free(w->origin->place.frame);
	free(w->origin);
	for (i = 0; i < w->nheld; i++)
		free(w->held[i].place.frame);
	free(w->held);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "times.h"

int dep_fragment_times_make(struct dep_fragment_times *t, struct dep_store *store)
{
	const struct dep_map_event *e = store->model.map_events.row;
	size_t i, n = store->model.map_events.n;

	*t = (struct dep_fragment_times){
		.store = store, .nevents = n, .last = { .may_move = DEP_TABLE_MOVES },
	};
	t->event = calloc(n + 1, sizeof(*t->event));
	if (!t->event)
		return dep_fail(-ENOMEM, "mapped files");
	/* Orders are the numbers from 1 to n: model.c counts them. */
	for (i = 0; i < n; i++)
		if (e[i].order && e[i].order <= n)
			t->event[e[i].order - 1] = &e[i];
	return dep_images_make(&t->images, store);
}

void dep_fragment_times_free(struct dep_fragment_times *t)
{
	free(t->event);
	free(t->last.row);
	dep_images_free(&t->images);
}

static int advance(struct dep_fragment_times *t, u32 maps)
{
	const struct dep_map_event *e;
	struct dep_last_map *last;

	for (; t->next < maps && t->next < t->nevents; t->next++) {
		e = t->event[t->next];
		if (!e)
			continue;
		last = dep_table_of(&t->last, sizeof(*last), e->process);
		if (!last)
			return dep_fail(-ENOMEM, "mapped files");
		if (e->time_ns > last->time_ns)
			last->time_ns = e->time_ns;
	}
	return 0;
}

int dep_fragment_place(struct dep_fragment_times *t, const struct dep_fragment *f,
		       struct dep_code_fragment *out)
{
	const struct dep_process *p = dep_model_process(&t->store->model, f->process);
	const struct dep_last_map *last;
	int err = advance(t, f->maps);

	if (err)
		return err;
	last = dep_table_find(&t->last, sizeof(*last), f->process);
	out->time_ns = p ? p->start_ns : 0;
	if (last && last->time_ns > out->time_ns)
		out->time_ns = last->time_ns;
	out->image = dep_images_find(&t->images, f->process, out->pc, out->time_ns);
	return 0;
}

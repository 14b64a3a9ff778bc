// SPDX-License-Identifier: LGPL-2.1-or-later
/* The segments in which streams are searched. */
#include <errno.h>
#include <stdlib.h>

#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"
#include "streams.h"

static bool is_selected(const struct dep_fold_options *o, const struct dep_thread *t,
			const struct dep_segment *seg)
{
	return t && (!o->thread || o->thread == t->serial) &&
	       (!o->process || o->process == t->process) && seg->start_ns >= o->from_ns &&
	       (!o->to_ns || seg->start_ns < o->to_ns);
}

int streams_select(struct streams_input *in, struct dep_store *store,
		   const struct dep_fold_options *o, struct dep_fold_loss *loss)
{
	const struct dep_thread *t;
	const struct dep_segment *all;
	size_t n = dep_store_segments(store, &all), i, k = 0;

	in->seg = calloc(n + 1, sizeof(*in->seg));
	in->cut = calloc(n + 1, sizeof(*in->cut));
	in->first = calloc(n + 1, sizeof(*in->first));
	if (!in->seg || !in->cut || !in->first)
		return dep_fail(-ENOMEM, "list of %zu segments", n);
	for (i = 0; i < n; i++) {
		t = dep_model_thread(&store->model, all[i].thread);
		loss->segments += !t;
		if (!is_selected(o, t, &all[i]))
			continue;
		in->seg[k] = all[i];
		in->cut[k] = !k || in->seg[k - 1].thread != all[i].thread ||
			     in->seg[k - 1].seq + 1 != all[i].seq;
		loss->gaps += k && in->seg[k - 1].thread == all[i].thread && in->cut[k] &&
			      all[i - 1].thread == all[i].thread &&
			      all[i - 1].seq + 1 != all[i].seq;
		k++;
	}
	in->n = k;
	return 0;
}

void streams_input_free(struct streams_input *in)
{
	free(in->seg);
	free(in->cut);
	free(in->first);
}

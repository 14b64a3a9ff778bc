// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl dump --log: print the engine's log, which DEP_LOG enables. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "fragments.h"

/* Lines with the same time keep their order in the store's array, which is that of writing. */
static int by_time(const void *pa, const void *pb)
{
	const struct dep_log_line *a = *(const struct dep_log_line *const *)pa;
	const struct dep_log_line *b = *(const struct dep_log_line *const *)pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void put_json(struct out *o, const struct dep_log_line *l)
{
	struct json j;

	json_begin(&j, o);
	json_object(&j, NULL);
	json_big(&j, "time_ns", l->time_ns);
	json_u64(&j, "process", l->process);
	json_u64(&j, "tid", l->tid);
	json_str(&j, "area", l->area);
	json_str(&j, "text", l->text);
	json_close(&j, '}');
	json_line(&j);
}

int engine_log_dump(struct dep_store *store, struct out *out, bool json)
{
	const struct dep_log_line *lines, **line;
	size_t i, n = dep_store_log(store, &lines);

	line = calloc(n + 1, sizeof(*line));
	if (!line) {
		warn("out of memory");
		return -1;
	}
	for (i = 0; i < n; i++)
		line[i] = &lines[i];
	qsort(line, n, sizeof(*line), by_time);
	for (i = 0; i < n && !out->error; i++) {
		if (json) {
			put_json(out, line[i]);
			continue;
		}
		out_printf(out, "%" PRIu64 " %u %u %s ", line[i]->time_ns, line[i]->process,
			   line[i]->tid, line[i]->area);
		out_plain(out, line[i]->text);
		out_text(out, "\n");
	}
	free(line);
	return 0;
}

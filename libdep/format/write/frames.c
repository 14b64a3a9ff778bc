// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "libdep/format/file/error.h"

static int put(const struct dep_frame_to *to, const struct dep_new_frame *f)
{
	return to->put(to->arg, f);
}

int dep_frame_process(const struct dep_frame_to *to, const struct dep_process *p)
{
	struct dep_wire_process r = {
		.serial = p->serial, .pid = p->pid, .parent = p->parent, .cause = p->cause,
		.start_ns = p->start_ns, .end_ns = p->end_ns,
	};
	const char *exe = p->exe || !p->cmdline ? p->exe : "";
	size_t n = exe ? strlen(exe) + 1 : 0;
	char *texts = malloc(n + p->cmdline_size + 1);
	int err;

	if (!texts)
		return dep_fail(-ENOMEM, "process");
	if (exe)
		memcpy(texts, exe, n);
	if (p->cmdline)
		memcpy(texts + n, p->cmdline, p->cmdline_size);
	err = put(to, &(struct dep_new_frame){
		.type = DEP_F_PROCESS, .process = p->serial, .data = &r, .size = sizeof(r),
		.more = texts, .more_size = n + (p->cmdline ? p->cmdline_size : 0),
	});
	free(texts);
	return err;
}

int dep_frame_process_end(const struct dep_frame_to *to, const struct dep_process *p)
{
	struct dep_wire_process_end r = {
		.serial = p->serial, .end_ns = p->end_ns, .built = p->built,
		.translate_ns = p->translate_ns,
	};

	return put(to, &(struct dep_new_frame){
		.type = DEP_F_PROCESS_END, .process = p->serial, .data = &r, .size = sizeof(r),
	});
}

static struct dep_wire_thread wire_thread(const struct dep_thread *t)
{
	return (struct dep_wire_thread){
		.serial = t->serial, .tid = t->tid, .process = t->process,
		.parent = t->parent, .start_ns = t->start_ns, .end_ns = t->end_ns,
		.flushes = t->flushes, .null_bytes = t->null_bytes, .end = t->end,
	};
}

int dep_frame_thread(const struct dep_frame_to *to, const struct dep_thread *t)
{
	struct dep_wire_thread r = wire_thread(t);

	return put(to, &(struct dep_new_frame){
		.type = DEP_F_THREAD, .process = t->process, .data = &r, .size = sizeof(r),
	});
}

int dep_frame_thread_end(const struct dep_frame_to *to, const struct dep_thread *t,
			 const struct dep_wire_thread *sums)
{
	struct dep_wire_thread r = wire_thread(t);

	if (sums) {
		r.segments = sums->segments;
		r.raw_bytes = sums->raw_bytes;
		r.chain = sums->chain;
	}
	r.fixed = sizeof(r);
	return put(to, &(struct dep_new_frame){
		.type = DEP_F_THREAD_END, .process = t->process, .data = &r, .size = sizeof(r),
		.more = t->name, .more_size = t->name ? strlen(t->name) + 1 : 0,
	});
}

int dep_frame_last(const struct dep_frame_to *to, const struct dep_last *last)
{
	struct dep_wire_last r = {
		.max_bytes = last->max_bytes, .max_ns = last->max_ns, .from_ns = last->from_ns,
		.from_timestamp = last->from_timestamp, .chunks = last->chunks,
		.bytes = last->bytes, .processes = last->processes, .threads = last->threads,
		.fixed = sizeof(r), .rows = (u32)last->nthreads,
		.kept_ns = last->kept.at_ns, .kept_realtime_ns = last->kept.realtime_ns,
		.value = last->kept.value, .reason = last->kept.reason, .tid = last->kept.tid,
	};
	struct dep_wire_last_thread *row = calloc(last->nthreads + 1, sizeof(*row));
	size_t i;
	int err;

	if (!row)
		return dep_fail(-ENOMEM, "threads");
	memcpy(r.what, last->kept.what, sizeof(r.what));
	for (i = 0; i < last->nthreads; i++)
		row[i] = (struct dep_wire_last_thread){
			.serial = last->thread[i].thread, .first = last->thread[i].first,
			.chunks = last->thread[i].chunks, .bytes = last->thread[i].bytes,
			.tid_address = last->thread[i].tid_address,
		};
	err = put(to, &(struct dep_new_frame){
		.type = DEP_F_LAST, .data = &r, .size = sizeof(r),
		.more = row, .more_size = last->nthreads * sizeof(*row),
	});
	free(row);
	return err;
}

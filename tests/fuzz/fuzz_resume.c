// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: a store in one blob (blob.h) that a writer resumes.  depd does this with stores
 * to which their user can write.  Here all checksums are compared, and the mutator corrects them.
 * A store that was resumed and closed must open, and must have its last frame.
 */
#include <stdlib.h>
#include <string.h>

#include "dep/verdict.h"
#include "libdep/abi/stream.h"
#include "libdep/abi/session_file.h"
#include "libdep/format/write/resume.h"
#include "blob.h"

static int look(void *arg, const void *data, size_t size)
{
	const struct adept_desc *h;
	size_t at;

	(void)arg;
	/* Complete and valid stores only. */
	for (at = 0; at < size; at += h->size) {
		h = (const void *)((const char *)data + at);
		if (size - at < sizeof(*h) || h->size < sizeof(*h) || h->size > size - at)
			abort();
	}
	return 0;
}

/* Data that depd adds: a process with a thread that stores a chunk with an event. */
static void add(struct dep_writer *w, const struct dep_resume *r)
{
	const uint32_t body[3] = { ADEPT_EV_FSBASE };
	const struct adept_chunk chunk = {
		.fill = sizeof(body), .tail_at = sizeof(body), .seq = 1,
	};
	struct dep_process p = { .serial = 1, .pid = 1, .start_ns = 1 };
	struct dep_thread t = { .serial = 1, .tid = 1, .start_ns = 1 };

	if (r->nprocesses)
		p.serial = r->process[r->nprocesses - 1].serial + 1;
	if (r->nthreads)
		t.serial = r->thread[r->nthreads - 1].serial + 1;
	t.process = p.serial;
	dep_writer_process(w, &p);
	dep_writer_thread(w, &t);
	dep_writer_segment(w, t.serial, &chunk, body);
	dep_writer_mark(w);
	dep_writer_thread_end(w, &t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dep_ending ending = { .cause = DEP_CLOSE_STOPPED };
	struct dep_resume r;
	struct dep_writer *w;
	struct dep_store *s;

	blob_put(data, size);
	if (dep_writer_resume(&w, blob_dir(), 0, look, NULL, &r))
		return 0;
	add(w, &r);
	dep_resume_free(&r);
	if (dep_writer_close(w, &ending) < 0)
		return 0;
	if (dep_store_open(&s, blob_dir()))
		abort();
	if (dep_store_verdict(s)->state == DEP_VERDICT_RECORDING ||
	    dep_store_verdict(s)->cause != DEP_CLOSE_STOPPED)
		abort();
	dep_store_close(s);
	return 0;
}

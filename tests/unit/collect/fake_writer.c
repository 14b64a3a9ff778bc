// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The checking dep_writer.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdep/abi/stream.h"
#include "libdep/format/write/store_dir.h"
#include "libdep/format/write/pack.h"
#include "libdep/format/write/resume.h"
#include "fake_engine.h"
#include "fake_writer.h"

const char *dep_error(void)
{
	return "the fake writer says no";
}

int dep_fail(int err, const char *fmt, ...)
{
	(void)fmt;
	return err;
}

static void wrong(struct dep_writer *w, const char *why)
{
	if (w->hostile)
		return;
	if (!w->errors++)
		w->error = why;
}

int dep_writer_dir(const struct dep_writer *w, struct dep_store_dir *b)
{
	(void)w;
	(void)b;
	return -ENOSYS;
}

int dep_writer_process(struct dep_writer *w, const struct dep_process *p)
{
	if (p->serial >= FAKE_MAX_THREADS)
		return -EINVAL;
	w->processes++;
	return 0;
}

int dep_writer_process_end(struct dep_writer *w, const struct dep_process *p)
{
	(void)p;
	w->processes_ended++;
	return 0;
}

int dep_writer_thread(struct dep_writer *w, const struct dep_thread *t)
{
	if (t->serial >= FAKE_MAX_THREADS)
		return -EINVAL;
	if (w->begun[t->serial])
		wrong(w, "a thread begins twice");
	w->begun[t->serial] = 1;
	w->threads++;
	return 0;
}

int dep_writer_thread_end(struct dep_writer *w, const struct dep_thread *t)
{
	if (t->serial >= FAKE_MAX_THREADS)
		return -EINVAL;
	if (!w->begun[t->serial] || w->ended[t->serial])
		wrong(w, "a thread ends twice or never began");
	w->ended[t->serial] = 1;
	w->threads_ended++;
	w->null_bytes += t->null_bytes;
	w->flushes += t->flushes;
	return 0;
}

int dep_writer_descriptors(struct dep_writer *w, uint32_t process, const void *data, size_t size)
{
	const u8 *p = data, *end = p + size;
	struct adept_desc_frag d;

	(void)process;
	while (p < end) {
		memcpy(&d, p, sizeof(struct adept_desc));
		if (d.h.size < sizeof(struct adept_desc) || d.h.size > (size_t)(end - p) ||
		    d.h.type == ADEPT_DESC_PAD) {
			/* Even invalid data must arrive with correct framing. */
			w->hostile = false;
			wrong(w, "descriptors are cut");
			return -EBADMSG;
		}
		if (d.h.type != ADEPT_DESC_FRAGMENT || d.h.size < sizeof(d)) {
			wrong(w, "a descriptor that nobody wrote");
			return -EBADMSG;
		}
		memcpy(&d, p, sizeof(d));
		if (d.first_exit < sizeof(w->known_id))
			w->known_id[d.first_exit] = 1;
		w->descriptors++;
		p += d.h.size;
	}
	return 0;
}

struct dep_packed {
	u32 thread, fill;
	u8 body[];
};

static int put_segment(struct dep_writer *w, u32 thread, u32 fill, const void *body)
{
	const u8 *p = body, *end = p + fill;
	u64 value;
	u32 id, i;

	if (w->fail_with && w->segments >= w->fail_after)
		return -w->fail_with;
	if (w->delay_us)
		usleep(w->delay_us);
	for (i = 0; w->hold && !__atomic_load_n(w->hold, __ATOMIC_RELAXED) && i < 20000; i++)
		usleep(1000);
	w->segments++;
	w->bytes += fill;
	if (thread >= FAKE_MAX_THREADS || w->hostile)
		return 0;
	if (!w->begun[thread] || w->ended[thread])
		wrong(w, "a segment of a thread that is not there");
	for (; p + FAKE_RECORD <= end; p += FAKE_RECORD) {
		memcpy(&id, p, 4);
		memcpy(&value, p + 4, 8);
		if (id >= sizeof(w->known_id) || !w->known_id[id])
			wrong(w, "an id that was not described before");
		if (value < w->next[thread] || (w->strict && value != w->next[thread]))
			wrong(w, "a record is lost, doubled or displaced");
		if (value != w->next[thread])
			w->gaps++;
		w->next[thread] = value + 1;
		w->records++;
	}
	if (p != end)
		wrong(w, "a cut record");
	return 0;
}

/* Called by several threads; uses no shared data. */
int dep_writer_pack(const struct dep_writer *w, struct dep_compressor *p, uint32_t known,
		    uint32_t thread, const struct adept_chunk *chunk, const void *body,
		    struct dep_packed **out)
{
	struct dep_packed *pk = malloc(sizeof(*pk) + chunk->fill);

	(void)w;
	(void)p;
	(void)known;
	*out = pk;
	if (!pk)
		return -ENOMEM;
	pk->thread = thread;
	pk->fill = chunk->fill;
	memcpy(pk->body, body, chunk->fill);
	return 0;
}

void dep_packed_free(struct dep_packed *pk)
{
	free(pk);
}

int dep_writer_put(struct dep_writer *w, struct dep_packed *pk)
{
	int ret = put_segment(w, pk->thread, pk->fill, pk->body);

	free(pk);
	return ret;
}

struct dep_compressor *dep_compressor_new(void)
{
	return malloc(1);
}

void dep_compressor_free(struct dep_compressor *p)
{
	free(p);
}

uint32_t dep_writer_known(const struct dep_writer *w)
{
	(void)w;
	return 0;
}

uint32_t dep_writer_scan_known(const struct dep_writer *w, uint32_t known, const void *body,
			       uint32_t size)
{
	(void)known;
	return dep_writer_scan((struct dep_writer *)w, body, size);
}

int dep_writer_admit(struct dep_writer *w, const void *data, size_t size, size_t *good)
{
	(void)w;
	(void)data;
	*good = size;
	return 0;
}

int dep_writer_log(struct dep_writer *w, uint32_t process, const void *data, size_t size)
{
	return dep_writer_descriptors(w, process, data, size);
}

uint32_t dep_writer_scan(struct dep_writer *w, const void *body, uint32_t size)
{
	const u8 *p = body;
	u32 at, id;

	(void)w;
	for (at = 0; at + FAKE_RECORD <= size; at += FAKE_RECORD) {
		memcpy(&id, p + at, 4);
		if (!id)
			break;
	}
	return at;
}

uint64_t dep_writer_bytes(const struct dep_writer *w)
{
	return w->bytes;
}

int dep_writer_message(struct dep_writer *w, const char *text)
{
	(void)text;
	w->notes++;
	return 0;
}

int dep_writer_mark(struct dep_writer *w)
{
	(void)w;
	return 0;
}

int dep_writer_last(struct dep_writer *w, const struct dep_last *last)
{
	(void)w;
	(void)last;
	return 0;
}

uint64_t dep_writer_unmarked(const struct dep_writer *w)
{
	(void)w;
	return 0;
}

int dep_writer_close(struct dep_writer *w, const struct dep_ending *ending)
{
	(void)ending;
	w->closed++;
	return 0;
}

/* There is no store for a snapshot. */
int dep_writer_create(struct dep_writer **w, const char *dir, const struct dep_meta *meta,
		      int compress_level)
{
	(void)w;
	(void)dir;
	(void)meta;
	(void)compress_level;
	return -ENOSYS;
}

void dep_writer_discard(struct dep_writer *w)
{
	(void)w;
}

int dep_writer_segment(struct dep_writer *w, uint32_t thread, const struct adept_chunk *chunk,
		       const void *body)
{
	(void)w;
	(void)thread;
	(void)chunk;
	(void)body;
	return -ENOSYS;
}

int dep_store_remove_open(int fd, const char *dir)
{
	(void)fd;
	(void)dir;
	return -ENOSYS;
}

/* There is no store to resume. */
int dep_writer_resume(struct dep_writer **w, const char *dir, int compress_level,
		      int (*descriptors)(void *arg, const void *data, size_t size), void *arg,
		      struct dep_resume *r)
{
	(void)w;
	(void)dir;
	(void)compress_level;
	(void)descriptors;
	(void)arg;
	(void)r;
	return -ENOSYS;
}

void dep_resume_free(struct dep_resume *r)
{
	(void)r;
}

/* ---- the index of fragments, for windows ---- */

void dep_writer_forget(struct dep_writer *w, struct dep_forgotten *f)
{
	(void)w;
	free(f);
}

bool dep_writer_frag(const struct dep_writer *w, uint32_t first_exit, uint32_t *frag)
{
	(void)w;
	(void)first_exit;
	*frag = 0;
	return false;
}

void dep_writer_named(const struct dep_writer *w, const void *body, uint32_t size, uint32_t from,
		      uint32_t n, uint8_t *bits)
{
	(void)w;
	(void)body;
	(void)size;
	(void)from;
	(void)n;
	(void)bits;
}

uint64_t dep_writer_index_bytes(const struct dep_writer *w)
{
	(void)w;
	return 0;
}

void dep_writer_reclaim(struct dep_writer *w)
{
	(void)w;
}

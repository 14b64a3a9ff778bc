// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opening a store.  Everything comes from the log, the manifest and the segments' headers, or the
 * index that was made from them; the catalog is not used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dep/recover.h"
#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "segment_index.h"
#include "store.h"

static int by_thread_seq(const void *pa, const void *pb)
{
	const struct dep_segment *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int dep_store_add_file(struct dep_store *s, bool absent)
{
	char name[32];
	int *fds, fd;

	if (s->nfds == DEP_SEG_FILES)
		return 0;
	snprintf(name, sizeof(name), DEP_SEG_NAME, s->nfds);
	fd = dep_open_read(s->dirfd, name);
	if (fd < 0 && fd != -ENOENT)
		return dep_open_failed(fd, name);
	if (fd < 0 && !absent)
		return 0;
	fds = realloc(s->fds, (s->nfds + 1) * sizeof(*fds));
	if (!fds) {
		if (fd >= 0)
			close(fd);
		return dep_fail(-ENOMEM, "cannot enlarge the list of segment files");
	}
	if (fd < 0)
		fd = -1;
	s->fds = fds;
	s->fds[s->nfds++] = fd;
	return 1;
}

static int open_segments(struct dep_store *s)
{
	u32 n, count, end;
	int err;

	err = dep_seg_files(s->dirfd, 0, &count, &end);
	/* Open all files first, because the last file is checked more thoroughly. */
	while (err >= 0 && s->nfds < end)
		err = dep_store_add_file(s, true);
	if (err >= 0)
		err = dep_seg_index_read(s);
	if (err)
		return err < 0 ? err : 0;
	/* Skip files before first_file: a killed recorder may have left files it was to remove. */
	for (n = s->model.first_file; n < s->nfds && err >= 0; n++)
		if (s->fds[n] >= 0)
			err = dep_seg_scan(s->fds[n], &s->fmt, n,
					   n + 1 == s->nfds && !s->manifest.closed, &s->segs);
	return err < 0 ? err : 0;
}

void dep_loss_add(struct dep_loss *to, const struct dep_loss *from)
{
	to->dropped_chunks += from->dropped_chunks;
	to->dropped_bytes += from->dropped_bytes;
	to->discarded_bytes += from->discarded_bytes;
	to->lost_threads += from->lost_threads;
	to->lost_processes += from->lost_processes;
	to->native_images += from->native_images;
	to->native_privileged += from->native_privileged;
	to->absent_chunks += from->absent_chunks;
	to->absent_bytes += from->absent_bytes;
	to->unfinished_threads += from->unfinished_threads;
	to->untaken_threads += from->untaken_threads;
	to->lost_descriptors += from->lost_descriptors;
	to->unwanted_children += from->unwanted_children;
	to->corrupt += from->corrupt;
	to->torn_segments += from->torn_segments;
	to->unclean += from->unclean;
}

/* If the log has an END frame, take the ending of the recording from END, not the manifest. */
static void read_ending(struct dep_store *s)
{
	const struct dep_wire_end *end = &s->model.end;
	struct dep_ending *e = &s->manifest.ending;

	if (!s->model.ended)
		return;
	*e = (struct dep_ending){
		.cause = end->cause < DEP_CLOSE_CAUSES ? end->cause : DEP_CLOSE_UNKNOWN,
		.exit_status = (int)end->exit_status, .error = (int)end->error, .live = end->live,
		.loss = {
			.dropped_chunks = end->dropped_chunks, .dropped_bytes = end->dropped_bytes,
			.discarded_bytes = end->discarded_bytes,
			.lost_threads = end->lost_threads, .lost_processes = end->lost_processes,
			.native_images = end->native_images,
			.native_privileged = end->native_privileged,
			.unfinished_threads = end->unfinished_threads,
			.absent_chunks = end->absent_chunks, .absent_bytes = end->absent_bytes,
			.untaken_threads = end->untaken_threads, .corrupt = end->corrupt,
			.lost_descriptors = end->lost_descriptors,
			.unwanted_children = end->unwanted_children,
		},
	};
}

static void sum_loss(struct dep_store *s)
{
	read_ending(s);
	s->loss = s->manifest.ending.loss;
	s->loss.torn_segments = s->segs.torn;
	s->loss.unclean = (!s->manifest.closed && !s->model.ended) ||
			  s->manifest.ending.cause == DEP_CLOSE_LOST;
}

void dep_store_complete(struct dep_store *s)
{
	if (s->segs.n && !s->segs.mapped)
		qsort(s->segs.seg, s->segs.n, sizeof(*s->segs.seg), by_thread_seq);
	sum_loss(s);
}

/* Log and manifest must belong to the same store. */
static int check_identity(const struct dep_store *s)
{
	if (s->fmt.version == s->manifest.fmt.version &&
	    !memcmp(s->fmt.id, s->manifest.fmt.id, DEP_ID_SIZE))
		return 0;
	return dep_fail(-EBADMSG, "%s and %s are not of the same store", DEP_LOG_NAME,
			DEP_MANIFEST_NAME);
}

static int read_log(struct dep_store *s)
{
	int err;

	s->log_fd = dep_open_read(s->dirfd, DEP_LOG_NAME);
	if (s->log_fd < 0)
		return dep_open_failed(s->log_fd, DEP_LOG_NAME);
	err = dep_read_fd(s->log_fd, DEP_LOG_NAME, UINT64_MAX, &s->log, &s->log_size);
	if (!err)
		err = dep_model_build(&s->model, s->log, s->log_size, &s->fmt);
	return err ? err : check_identity(s);
}

struct dep_store *dep_store_new(const char *dir)
{
	struct dep_store *s = calloc(1, sizeof(*s));

	if (!s) {
		dep_fail(-ENOMEM, "store");
		return NULL;
	}
	s->log_fd = -1;
	s->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd >= 0)
		return s;
	dep_fail(-errno, "cannot open %s", dir);
	free(s);
	return NULL;
}

int dep_store_open(struct dep_store **out, const char *dir)
{
	struct dep_store *s;
	int err;

	*out = NULL;
	errno = ENOMEM;
	s = dep_store_new(dir);
	if (!s)
		return -errno;
	err = dep_manifest_read(s->dirfd, &s->manifest);
	if (!err)
		err = read_log(s);
	if (!err)
		err = open_segments(s);
	if (err) {
		dep_store_close(s);
		return err;
	}
	dep_store_complete(s);
	*out = s;
	return 0;
}

void dep_store_close(struct dep_store *s)
{
	size_t i;
	u32 n;

	if (!s)
		return;
	for (i = 0; i < s->model.fragments.n; i++)
		if (s->prog_free)
			s->prog_free(dep_store_fragment(s, i)->prog);
	if (s->jit)
		s->jit_free(s->jit);
	for (n = 0; n < s->nfds; n++)
		if (s->fds[n] >= 0)
			close(s->fds[n]);
	if (s->log_fd >= 0)
		close(s->log_fd);
	dep_verdict_free(s);
	free(s->fds);
	dep_seg_index_free(s);
	dep_model_free(&s->model);
	dep_manifest_free(&s->manifest);
	dep_store_tail_free(s);
	free(s->log);
	close(s->dirfd);
	free(s);
}

u64 dep_store_input(const struct dep_store *s, u64 most)
{
	u64 sum = dep_file_data(s->log_fd, most);
	u32 n;

	for (n = 0; n < s->nfds && sum < most; n++)
		if (s->fds[n] >= 0)
			sum += dep_file_data(s->fds[n], most - sum);
	return sum;
}

unsigned int dep_store_jobs(struct dep_store *s, const struct dep_segment *segs, size_t n,
			    unsigned int jobs)
{
	u64 largest = 1, budget;
	size_t i;

	for (i = 0; i < n; i++)
		if (dep_seg_memory(&segs[i]) > largest)
			largest = dep_seg_memory(&segs[i]);
	if (jobs <= dep_budget_segments(0) / largest)
		return jobs;
	budget = dep_budget_segments(dep_store_input(s, jobs * largest));
	if (jobs > budget / largest)
		jobs = (unsigned int)(budget / largest);
	return jobs ? jobs : 1;
}

/* Check that the memory budget allows to unpack the segment. */
static int check_memory(const struct dep_store *s, const struct dep_segment *seg)
{
	const u64 need = dep_seg_memory(seg);
	u64 input;

	if (need <= dep_budget_segments(0))
		return 0;
	input = dep_store_input(s, need);
	if (need <= dep_budget_segments(input))
		return 0;
	return dep_fail(-EFBIG, "segment %llu of thread %u claims to unpack to %llu MiB, more than "
			"a store of %llu KiB may use", (unsigned long long)seg->seq, seg->thread,
			(unsigned long long)need >> 20, (unsigned long long)input >> 10);
}

int dep_store_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_columns *c)
{
	int err;

	if (seg->file >= s->nfds || s->fds[seg->file] < 0)
		return dep_fail(-EBADMSG, "segment file number %u is missing", seg->file);
	err = check_memory(s, seg);
	return err ? err : dep_seg_read(s->fds[seg->file], &s->fmt, seg, c);
}

int dep_store_control(struct dep_store *s, const struct dep_segment *seg, struct dep_columns *c)
{
	int err;

	if (seg->file >= s->nfds || s->fds[seg->file] < 0)
		return dep_fail(-EBADMSG, "segment file number %u is missing", seg->file);
	err = check_memory(s, seg);
	return err ? err : dep_seg_read_control(s->fds[seg->file], &s->fmt, seg, c);
}

int dep_store_header(struct dep_store *s, const struct dep_segment *seg,
		     struct dep_seg_header *h)
{
	const u32 size = dep_seg_header_bytes(&s->fmt);
	struct dep_seg_header raw;

	if (seg->file >= s->nfds || s->fds[seg->file] < 0 ||
	    dep_read_at(s->fds[seg->file], &raw, size, seg->offset) != (ssize_t)size)
		return -EBADMSG;
	return dep_seg_header_read(&s->fmt, &raw, h);
}

int dep_segment_check(struct dep_store *s, const struct dep_segment *seg)
{
	struct dep_columns c = { 0 };
	int err = dep_store_columns(s, seg, &c);

	if (!err && s->fmt.version != DEP_FORMAT_OLD &&
	    (dep_seg_content(&s->fmt, &c.contents) != c.h.content ||
	     dep_seg_chain(&s->fmt, &c.h) != c.h.chain))
		err = dep_fail(-EBADMSG, "thread %u: the contents of segment %llu do not match "
			       "their checksum", seg->thread, (unsigned long long)seg->seq);
	dep_columns_free(&c);
	return err;
}

size_t dep_store_processes(struct dep_store *s, const struct dep_process **out)
{
	*out = s->model.processes.row;
	return s->model.processes.n;
}

size_t dep_store_threads(struct dep_store *s, const struct dep_thread **out)
{
	*out = s->model.threads.row;
	return s->model.threads.n;
}

size_t dep_store_modules(struct dep_store *s, const struct dep_module **out)
{
	*out = s->model.modules.row;
	return s->model.modules.n;
}

size_t dep_store_attaches(struct dep_store *s, const struct dep_attach **out)
{
	*out = s->model.attaches.row;
	return s->model.attaches.n;
}

size_t dep_store_open_files(struct dep_store *s, const struct dep_open_file **out)
{
	*out = s->model.open_files.row;
	return s->model.open_files.n;
}

size_t dep_store_segments(struct dep_store *s, const struct dep_segment **out)
{
	*out = s->segs.seg;
	return s->segs.n;
}

size_t dep_store_messages(struct dep_store *s, const char *const **out)
{
	*out = s->model.notes.row;
	return s->model.notes.n;
}

size_t dep_store_log(struct dep_store *s, const struct dep_log_line **out)
{
	*out = s->model.log_lines.row;
	return s->model.log_lines.n;
}

const struct dep_loss *dep_store_loss(struct dep_store *s)
{
	return &s->loss;
}

const struct dep_meta *dep_store_meta(struct dep_store *s)
{
	return &s->manifest.meta;
}

bool dep_store_last(struct dep_store *s, struct dep_last *out)
{
	*out = s->model.last;
	out->thread = s->model.last_threads.row;
	out->nthreads = s->model.last_threads.n;
	return s->model.is_last;
}

u64 dep_store_first(const struct dep_store *s, u32 thread)
{
	const struct dep_last_thread *t =
		dep_table_find(&s->model.last_threads, sizeof(*t), thread);

	return t ? t->first : 0;
}

int dep_store_exit_status(struct dep_store *s)
{
	return s->manifest.ending.exit_status;
}

void dep_store_fragments(struct dep_store *s, uint64_t *count, uint64_t *code_bytes,
			 uint64_t *desc_bytes)
{
	*count = s->model.fragments.n;
	*code_bytes = s->model.code_bytes;
	*desc_bytes = s->model.desc_bytes;
}

/* Write the final manifest if it is missing although the log has END: its writer was killed. */
static int rebuild_manifest(struct dep_store *s)
{
	struct dep_access access = dep_access_read(s->log_fd);

	if (s->manifest.closed || !s->model.ended || s->fmt.version == DEP_FORMAT_OLD)
		return 0;
	dep_manifest_end(s->manifest.tree, &s->manifest.ending, s->model.end_at,
			 s->model.end_check);
	return dep_manifest_write(s->dirfd, &access, s->manifest.tree, true);
}

int dep_store_finish(const char *dir, bool keep_others)
{
	struct dep_store *s;
	int err, e;

	err = dep_store_open(&s, dir);
	if (err)
		return err;
	err = rebuild_manifest(s);
	e = dep_catalog_write(s, keep_others);
	if (!err)
		err = e;
	e = dep_seg_index_write(s);
	dep_store_close(s);
	return err ? err : e;
}

/* Counters and contexts that are kept for profiles are made again when they are needed. */
static int remove_kept(const char *dir)
{
	static const char *const names[] = { DEP_COUNTS_NAME, DEP_CONTEXTS_NAME };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	size_t i;

	if (fd < 0)
		return dep_fail(-errno, "cannot open %s", dir);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (unlinkat(fd, names[i], 0) && errno != ENOENT)
			err = dep_fail(-errno, "cannot remove %s", names[i]);
	close(fd);
	return err;
}

int dep_store_rebuild(const char *dir)
{
	int err = dep_store_finish(dir, true);

	return err ? err : remove_kept(dir);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The writer of a store.  Its files are a readable store at any time: the log and the segment files
 * grow only by whole frames and segments, a failed write is undone, and a fragment's descriptor is
 * in the log before the first segment that needs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/format/file/error.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/codec/exit_index.h"
#include "libdep/format/read/lock.h"
#include "libdep/format/read/manifest.h"
#include "store_dir.h"
#include "frames.h"
#include "pack.h"
#include "writer.h"

/*
 * Default level of zstd.  Compression takes less time than coding the differences (delta.h).  On
 * gzip, perl, python3 and cc1, level -1 is 5 % faster, but makes stores 15 % larger.
 */
#define DEFAULT_LEVEL	1

static int copy_meta(struct dep_writer *w, const struct dep_meta *meta)
{
	char **argv;
	int i;

	w->meta = *meta;
	w->meta.cwd = NULL;
	w->meta.argc = 0;
	argv = calloc((size_t)meta->argc + 1, sizeof(*argv));
	w->meta.argv = argv;
	if (!argv)
		return -ENOMEM;
	for (i = 0; i < meta->argc; i++, w->meta.argc++) {
		argv[i] = strdup(meta->argv[i]);
		if (!argv[i])
			return -ENOMEM;
	}
	w->meta.cwd = strdup(meta->cwd ? meta->cwd : "");
	return w->meta.cwd ? 0 : -ENOMEM;
}

void dep_writer_free(struct dep_writer *w)
{
	int i;

	if (!w)
		return;
	for (i = 0; i < w->meta.argc; i++)
		free(w->meta.argv[i]);
	free((void *)w->meta.argv);
	free((void *)w->meta.cwd);
	if (w->log.file.fd >= 0)
		close(w->log.file.fd);
	if (w->seg.fd >= 0)
		close(w->seg.fd);
	if (w->dirfd >= 0)
		close(w->dirfd);
	while (w->nrolled)
		close(w->rolled[--w->nrolled]);
	free(w->rolled);
	free(w->file_size);
	free(w->chains.row);
	dep_manifest_drop(w->manifest);
	dep_compressor_free(w->press);
	dep_writer_drop_forgotten(w);
	dep_index_free(&w->index);
	free(w->desc);
	free(w->dir);
	free(w);
}

int dep_writer_leave_file(struct dep_writer *w)
{
	int *rolled = realloc(w->rolled, (w->nrolled + 1) * sizeof(*rolled));
	u64 *size;

	if (rolled)
		w->rolled = rolled;
	size = realloc(w->file_size, (w->seg_number + 1ul) * sizeof(*size));
	if (size)
		w->file_size = size;
	if (!rolled || !size)
		return dep_fail(-ENOMEM, "cannot enlarge the list of segment files");
	w->file_size[w->seg_number] = w->seg.size;
	w->closed_bytes += w->seg.size;
	w->rolled[w->nrolled++] = w->seg.fd;
	return 0;
}

/* Sync a new file's header before its name: a file whose name is on the disk has a header. */
static int sync_new(struct dep_writer *w, int fd, const char *name)
{
	int err;

	/* The names of the first files are synced before the first MARK (mark.c). */
	if (w->meta.temporary || w->unnamed)
		return 0;
	err = dep_sync(fd, name);
	if (!err)
		err = dep_sync_dir(w->dirfd);
	return dep_writer_unsure(w, err);
}

int dep_writer_segment_file(struct dep_writer *w, u32 number)
{
	struct dep_file f;
	char name[32];
	int err;

	snprintf(name, sizeof(name), DEP_SEG_NAME, number);
	err = dep_file_create(&f, w->dirfd, name, DEP_SEG_MAGIC, number, &w->fmt, &w->access);
	if (err)
		return err;
	if (w->seg.fd >= 0)
		err = dep_writer_leave_file(w);
	if (err) {
		close(f.fd);
		unlinkat(w->dirfd, name, 0);
		return err;
	}
	w->seg = f;
	w->seg_number = number;
	w->flushed = 0;
	return sync_new(w, w->seg.fd, name);
}

struct dep_writer *dep_writer_new(const char *dir, const struct dep_meta *meta, int level)
{
	struct dep_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		dep_fail(-ENOMEM, "writer");
		return NULL;
	}
	w->log.file.fd = -1;
	w->seg.fd = -1;
	w->dirfd = -1;
	w->roll = DEP_SEG_ROLL;
	w->flush = DEP_SEG_FLUSH;
	w->access = (struct dep_access){ .shared = meta->shared, .group = meta->group };
	w->level = level ? level : DEFAULT_LEVEL;
	w->dir = strdup(dir);
	if (!w->dir || dep_index_init(&w->index) || copy_meta(w, meta)) {
		dep_fail(-ENOMEM, "writer");
		dep_writer_free(w);
		return NULL;
	}
	return w;
}

/* Create the directory of the store, which must not exist yet, and open it. */
static int make_directory(struct dep_writer *w)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int err;

	if (mkdir(w->dir, 0700))
		return dep_fail(-errno, "cannot make %s", w->dir);
	w->dirfd = open(w->dir, flags);
	/* The umask can have removed the owner's permissions. */
	if (w->dirfd < 0 && errno == EACCES &&
	    !fchmodat(AT_FDCWD, w->dir, 0700, AT_SYMLINK_NOFOLLOW))
		w->dirfd = open(w->dir, flags);
	if (w->dirfd >= 0)
		err = dep_access_dir(w->dirfd, &w->access);
	else
		err = dep_fail(-errno, "cannot open %s", w->dir);
	if (err)
		rmdir(w->dir);
	return err;
}

static int make_log(struct dep_writer *w)
{
	struct dep_file_header h;
	int err = dep_file_create(&w->log.file, w->dirfd, DEP_LOG_NAME, DEP_LOG_MAGIC, 0, &w->fmt,
				  &w->access);

	if (err)
		return err;
	dep_file_header(&h, &w->fmt, DEP_LOG_MAGIC, 0);
	w->log.seed = w->fmt.seed;
	w->log.prev = h.check;
	err = dep_lock_writer(w->log.file.fd, w->dir);
	if (err)
		return err;
	dep_writer_reserve(w);
	return 0;
}

int dep_writer_create(struct dep_writer **out, const char *dir, const struct dep_meta *meta,
		      int compress_level)
{
	struct dep_writer *w;
	int err;

	*out = NULL;
	if (meta->shared && meta->temporary)
		return dep_fail(-EINVAL, "a temporary store cannot be shared");
	/* For fchown() this number means: do not change the group. */
	if (meta->shared && meta->group == UINT32_MAX)
		return dep_fail(-EINVAL, "there is no group %u", meta->group);
	w = dep_writer_new(dir, meta, compress_level);
	if (!w)
		return -ENOMEM;
	err = dep_format_new(&w->fmt);
	if (!err)
		err = make_directory(w);
	if (err)
		goto out_free;
	/* The recorded program waits for this call, so leave syncing to the first MARK. */
	w->unnamed = !meta->temporary;
	err = make_log(w);
	if (!err)
		err = dep_writer_segment_file(w, 0);
	if (err)
		goto out_unlink;
	w->manifest = dep_manifest_new(&w->fmt, meta);
	err = w->manifest ? 0 : dep_fail(-ENOMEM, "manifest");
	if (!err)
		err = dep_manifest_write(w->dirfd, &w->access, w->manifest, false);
	if (err)
		goto out_unlink;
	*out = w;
	return 0;

out_unlink:
	unlinkat(w->dirfd, DEP_MANIFEST_NAME, 0);
	if (w->seg.fd >= 0)
		unlinkat(w->dirfd, "segments.000", 0);
	if (w->log.file.fd >= 0)
		unlinkat(w->dirfd, DEP_LOG_NAME, 0);
	rmdir(dir);
out_free:
	dep_writer_free(w);
	return err;
}

/* ---- frames ---- */

void dep_writer_reserve(struct dep_writer *w)
{
	/* END has a row for each thread and for each file. */
	u64 tables = w->nthreads * (u64)sizeof(struct dep_wire_thread_sum) +
		     (w->seg_number + 1) * (u64)sizeof(u64);

	if (!w->meta.temporary)
		dep_file_reserve(&w->log.file, DEP_LOG_RESERVE + tables);
}

int dep_writer_frame(struct dep_writer *w, const struct dep_new_frame *f)
{
	int err;

	dep_writer_reserve(w);
	err = dep_log_append(&w->log, f);
	if (err && !w->error)
		w->error = -err;
	return err;
}

static int put_frame(void *w, const struct dep_new_frame *f)
{
	return dep_writer_frame(w, f);
}

int dep_writer_process(struct dep_writer *w, const struct dep_process *p)
{
	w->nprocesses++;
	return dep_frame_process(&(struct dep_frame_to){ put_frame, w }, p);
}

int dep_writer_process_end(struct dep_writer *w, const struct dep_process *p)
{
	return dep_frame_process_end(&(struct dep_frame_to){ put_frame, w }, p);
}

int dep_writer_thread(struct dep_writer *w, const struct dep_thread *t)
{
	w->nthreads++;
	return dep_frame_thread(&(struct dep_frame_to){ put_frame, w }, t);
}

int dep_writer_thread_end(struct dep_writer *w, const struct dep_thread *t)
{
	const struct dep_chain *c = dep_table_find(&w->chains, sizeof(*c), t->serial);
	struct dep_wire_thread sums = { 0 };

	if (c) {
		sums.segments = c->segments;
		sums.raw_bytes = c->raw_bytes;
		sums.chain = c->chain;
	}
	return dep_frame_thread_end(&(struct dep_frame_to){ put_frame, w }, t, &sums);
}

int dep_writer_message(struct dep_writer *w, const char *text)
{
	return dep_writer_frame(w, &(struct dep_new_frame){
		.type = DEP_F_MESSAGE, .data = text, .size = strlen(text) + 1,
	});
}

int dep_writer_last(struct dep_writer *w, const struct dep_last *last)
{
	return dep_frame_last(&(struct dep_frame_to){ put_frame, w }, last);
}

int dep_writer_dir(const struct dep_writer *w, struct dep_store_dir *b)
{
	*b = (struct dep_store_dir){ .fmt = w->fmt, .access = w->access };
	b->dirfd = fcntl(w->dirfd, F_DUPFD_CLOEXEC, 0);
	return b->dirfd < 0 ? dep_fail(-errno, "cannot open %s again", w->dir) : 0;
}

/* Begin a new segment file if @more bytes would make the current file larger than w->roll. */
int dep_writer_roll(struct dep_writer *w, u64 more)
{
	if (w->seg.size + more <= w->roll || w->seg.size <= sizeof(struct dep_file_header))
		return 0;
	return dep_writer_segment_file(w, w->seg_number + 1);
}

uint64_t dep_writer_bytes(const struct dep_writer *w)
{
	return w->closed_bytes + w->log.file.size + w->seg.size;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Produce the streams of a store in the formats of the DEP paper, compress them and write them to
 * files.
 *
 * The store is recovered once for each format if the streams are compressed, so that one stream is
 * compressed at a time: memory does not depend on the store.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats.h"

/* Name of each stream's file, and bytes of a unit. */
static const struct {
	const char *name;
	uint32_t unit;
} streams[DEP_PAPER_FORMATS] = {
	[DEP_PAPER_BB_PC] = { "bb_pc", 8 },
	[DEP_PAPER_BB_PC32] = { "bb_pc32", 4 },
	[DEP_PAPER_DEPC] = { "depc", 2 },
	[DEP_PAPER_DEPC32] = { "depc32", 2 },
	[DEP_PAPER_CF_BITS] = { "cf_bits", 1 },
	[DEP_PAPER_CF_TARGETS] = { "cf_targets", 8 },
	[DEP_PAPER_MEM_ADDR] = { "mem_addr", 8 },
	[DEP_PAPER_DEPM] = { "depm", 8 },
	[DEP_PAPER_REGIONS] = { "regions", 8 },
};

/**
 * struct pass - streams that are being produced
 * @dir: of f->output, or -1
 * @open: the streams of this thread have begun
 */
struct pass {
	struct formats *f;
	int dir;
	struct format_stream {
		bool open;
		uint32_t thread;
		struct format_thread *row;
		FILE *raw, *grammar;
		struct compressor c[CODECS];
	} stream[DEP_PAPER_FORMATS];
};

/* Open DIR/THREAD.NAME, which must not exist; *out is NULL without a directory. */
static int open_file(struct pass *p, enum dep_paper_format f, uint32_t thread, const char *suffix,
		     FILE **out)
{
	char name[64];
	int fd;

	*out = NULL;
	if (p->dir < 0)
		return 0;
	if (f == DEP_PAPER_REGIONS)
		snprintf(name, sizeof(name), "%s%s", streams[f].name, suffix);
	else
		snprintf(name, sizeof(name), "%u.%s%s", thread, streams[f].name, suffix);
	fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		warn("%s/%s: %s", p->f->output, name, strerror(errno));
		return -errno;
	}
	*out = fdopen(fd, "w");
	if (*out)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int close_file(FILE **f)
{
	int ret = *f && fclose(*f) ? -errno : 0;

	*f = NULL;
	return ret;
}

static struct format_thread *find_row(struct formats *f, uint32_t serial)
{
	size_t i;

	for (i = 0; i < f->nthreads; i++)
		if (f->thread[i].serial == serial)
			return &f->thread[i];
	return NULL;
}

static int begin_stream(struct pass *p, enum dep_paper_format format, uint32_t thread)
{
	struct format_stream *s = &p->stream[format];
	uint32_t i;
	int err;

	s->open = true;
	s->thread = thread;
	s->row = find_row(p->f, thread);
	err = open_file(p, format, thread, "", &s->raw);
	if (err || !p->f->compress)
		return err;
	err = open_file(p, format, thread, ".sequitur", &s->grammar);
	for (i = 0; i < CODECS && !err; i++)
		err = compressor_begin(&s->c[i], i, streams[format].unit,
				       i == CODEC_SEQUITUR ? s->grammar : NULL);
	return err;
}

/* End the stream of a thread; @err: it failed before. */
static int end_stream(struct pass *p, enum dep_paper_format format, int err)
{
	struct format_stream *s = &p->stream[format];
	struct format_size *size = &p->f->size[format];
	uint32_t i;
	int ret;

	if (!s->open)
		return err;
	s->open = false;
	for (i = 0; i < CODECS && p->f->compress; i++) {
		if (!err)
			err = compressor_end(&s->c[i]);
		size->packed[i] += s->c[i].bytes;
		size->grammars += s->c[i].grammars;
		compressor_free(&s->c[i]);
	}
	ret = close_file(&s->raw);
	err = err ? err : ret;
	ret = close_file(&s->grammar);
	return err ? err : ret;
}

static int put(void *arg, uint32_t thread, enum dep_paper_format format, const void *data,
	       size_t size)
{
	struct pass *p = arg;
	struct format_stream *s = &p->stream[format];
	uint32_t i;
	int err = 0;

	if (s->open && s->thread != thread && format != DEP_PAPER_REGIONS)
		err = end_stream(p, format, 0);
	if (!err && !s->open)
		err = begin_stream(p, format, thread);
	if (err)
		return err;
	p->f->size[format].bytes += size;
	if (s->row)
		s->row->bytes[format] += size;
	if (s->raw && fwrite(data, size, 1, s->raw) != 1)
		return -errno;
	for (i = 0; i < CODECS && p->f->compress && !err; i++)
		err = compressor_put(&s->c[i], data, size);
	return err;
}

/* @want: the streams of this pass */
static int run_pass(struct pass *p, unsigned int want)
{
	const struct dep_format_sink sink = { .want = want, .put = put, .arg = p };
	const struct dep_segment *segs;
	size_t n = dep_store_segments(p->f->store, &segs);
	int err = dep_formats_write(p->f->store, segs, n, &sink);
	uint32_t i;

	for (i = 0; i < DEP_PAPER_FORMATS; i++)
		err = end_stream(p, i, err);
	return err;
}

/* One row for each thread that has segments. */
static int add_threads(struct formats *f)
{
	const struct dep_segment *seg;
	size_t i, n = dep_store_segments(f->store, &seg);
	const struct dep_thread *t;

	f->thread = calloc(dep_store_threads(f->store, &t) + 1, sizeof(*f->thread));
	if (!f->thread)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if ((!i || seg[i].thread != seg[i - 1].thread) && thread_of(f->store,
									    seg[i].thread))
			f->thread[f->nthreads++].serial = seg[i].thread;
	return 0;
}

static int open_output(struct pass *p)
{
	const char *dir = p->f->output;

	p->dir = -1;
	if (!dir)
		return 0;
	if (mkdir(dir, 0777) && errno != EEXIST) {
		warn("%s: %s", dir, strerror(errno));
		return 1;
	}
	p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		warn("%s: %s", dir, strerror(errno));
	return p->dir < 0;
}

int formats_collect(struct formats *f)
{
	struct pass *p = calloc(1, sizeof(*p));
	uint32_t i;
	int err = p ? add_threads(f) : -ENOMEM;

	if (err || (p->f = f, open_output(p))) {
		if (err)
			warn("out of memory");
		free(p);
		return 1;
	}
	if (f->compress)
		progress_begin("compressing", DEP_PAPER_FORMATS);
	for (i = 0; i < DEP_PAPER_FORMATS && f->compress && !err; i++) {
		err = run_pass(p, 1u << i);
		progress(i + 1);
	}
	if (f->compress)
		progress_end();
	else
		err = run_pass(p, (1u << DEP_PAPER_FORMATS) - 1);
	if (err)
		warn("cannot produce the trace in other formats: %s",
		     *dep_error() ? dep_error() : strerror(-err));
	if (p->dir >= 0)
		close(p->dir);
	free(p);
	return err != 0;
}

void formats_sizes(const struct formats *f, struct dep_formats *sizes)
{
	const struct format_size *size = f->size;

	*sizes = (struct dep_formats){
		.bb_pc = size[DEP_PAPER_BB_PC].bytes, .depc = size[DEP_PAPER_DEPC].bytes,
		.cf_bit = size[DEP_PAPER_CF_BITS].bytes + size[DEP_PAPER_CF_TARGETS].bytes,
		.mem_addr = size[DEP_PAPER_MEM_ADDR].bytes, .depm = size[DEP_PAPER_DEPM].bytes,
	};
}

void formats_free(struct formats *f)
{
	free(f->thread);
	f->thread = NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <xxhash.h>
#include <zstd.h>

#include <cmocka.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/write/writer.h"
#include "forge.h"
#include "tests/unit/lib/store_util.h"

void forge_begin(struct forge *f)
{
	struct dep_manifest m;
	struct dep_file_header h;
	struct dep_writer *w;
	int dirfd;

	memset(f, 0, sizeof(*f));
	scratch_name(f->dir, sizeof(f->dir));
	assert_int_equal(dep_writer_create(&w, f->dir, &meta, 0), 0);
	dep_writer_discard(w);
	dirfd = open(f->dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(dep_manifest_read(dirfd, &m), 0);
	f->fmt = m.fmt;
	dep_manifest_free(&m);
	assert_int_equal(dep_file_open(&f->log.file, dirfd, DEP_LOG_NAME), 0);
	assert_int_equal(dep_file_open(&f->seg, dirfd, "segments.000"), 0);
	close(dirfd);
	dep_file_header(&h, &f->fmt, DEP_LOG_MAGIC, 0);
	f->log.seed = f->fmt.seed;
	f->log.prev = h.check;
}

void forge_end(struct forge *f)
{
	close(f->log.file.fd);
	close(f->seg.fd);
}

void forge_remove(struct forge *f)
{
	scratch_remove(f->dir);
}

void forge_frame(struct forge *f, u32 type, u32 process, const void *payload, size_t size)
{
	assert_int_equal(dep_log_append(&f->log, &(struct dep_new_frame){
		.type = type, .process = process, .data = payload, .size = size,
	}), 0);
}

size_t forge_map(void *to, u64 page, u64 inode, u64 time_ns, const char *path)
{
	struct adept_desc_map map = {
		.h = { .type = ADEPT_DESC_MAP }, .start = page << 12, .end = (page + 1) << 12,
		.inode = inode, .prot = PROT_READ | PROT_EXEC, .time_ns = time_ns,
	};

	map.h.size = (u32)dep_align8(sizeof(map) + strlen(path) + 1);
	memset(to, 0, map.h.size);
	memcpy(to, &map, sizeof(map));
	strcpy((char *)to + sizeof(map), path);
	return map.h.size;
}

void forge_process(struct forge *f, u32 serial, u32 parent, u32 cause, u64 start_ns)
{
	const struct dep_wire_process w = {
		.serial = serial, .pid = serial, .parent = parent, .cause = cause,
		.start_ns = start_ns,
	};

	forge_frame(f, DEP_F_PROCESS, serial, &w, sizeof(w));
}

/* @size zeros, compressed in pieces. */
static void *squeeze(u32 size, size_t *stored)
{
	static const char zeros[1 << 20];
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	ZSTD_outBuffer out = { .size = 1 << 20 };
	ZSTD_inBuffer in;
	u32 left = size, part;

	out.dst = malloc(out.size);
	assert_non_null(out.dst);
	/* A single frame has its size in its header. */
	ZSTD_CCtx_setPledgedSrcSize(ctx, size);
	for (; left; left -= part) {
		part = left < sizeof(zeros) ? left : sizeof(zeros);
		in = (ZSTD_inBuffer){ zeros, part, 0 };
		assert_int_equal(ZSTD_compressStream2(ctx, &out, &in, left == part ?
						      ZSTD_e_end : ZSTD_e_continue), 0);
	}
	ZSTD_freeCCtx(ctx);
	*stored = out.pos;
	return out.dst;
}

void forge_bomb(struct forge *f, u32 thread, u64 index, u32 size)
{
	size_t stored;
	void *data = squeeze(size, &stored);
	struct dep_seg_header h = {
		.magic = DEP_SEG_HEAD_MAGIC, .version = (u16)f->fmt.version, .size = sizeof(h),
		.thread = thread, .seq = index, .index = index, .raw_bytes = size,
		.control_raw = size, .control_stored = (u32)stored, .control_codec = DEP_C_ZSTD,
	};
	const struct iovec iov[2] = { { &h, sizeof(h) }, { data, stored } };

	h.control_check = XXH3_64bits_withSeed(data, stored, f->fmt.seed);
	h.value_check = XXH3_64bits_withSeed(NULL, 0, f->fmt.seed);
	h.chain = dep_seg_chain(&f->fmt, &h);
	h.check = XXH3_64bits_withSeed(&h, offsetof(struct dep_seg_header, check), f->fmt.seed);
	assert_int_equal(dep_file_append(&f->seg, iov, 2), 0);
	free(data);
}

u64 forge_input(const struct forge *f)
{
	int dirfd = open(f->dir, O_RDONLY | O_DIRECTORY), fd;
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	u64 sum = 0;

	while ((e = readdir(d))) {
		fd = openat(dirfd, e->d_name, O_RDONLY);
		if (e->d_name[0] != '.')
			sum += dep_file_data(fd, UINT64_MAX);
		close(fd);
	}
	closedir(d);
	return sum;
}

/* ---- the child ---- */

#if defined(__SANITIZE_ADDRESS__)
#define MEASURED 0	/* the sanitizer needs far more memory itself */
#else
#define MEASURED 1
#endif

/* Pages of address space, or resident pages. */
static u64 pages_of(bool resident)
{
	unsigned long space = 0, in = 0;
	FILE *s = fopen("/proc/self/statm", "r");

	assert_non_null(s);
	assert_int_equal(fscanf(s, "%lu %lu", &space, &in), 2);
	fclose(s);
	return resident ? in : space;
}

static void limit(int which, u64 most)
{
	const struct rlimit r = { most, most };

	assert_int_equal(setrlimit(which, &r), 0);
}

struct forge_ran forge_run(const struct forge *f, int (*read)(const char *dir), bool threads)
{
	const u64 budget = DEP_BUDGET_BASE + DEP_BUDGET_FACTOR * forge_input(f);
	struct forge_ran *ran = mmap(NULL, sizeof(*ran), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0), copy;
	struct rusage u;
	u64 resident;
	int status;
	pid_t pid;

	assert_ptr_not_equal(ran, MAP_FAILED);
	fflush(NULL);
	/* Otherwise the child would use free memory that it inherited. */
	malloc_trim(0);
	resident = pages_of(true) * 4096;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (MEASURED && !threads)
			limit(RLIMIT_AS, pages_of(false) * 4096 + budget);
		limit(RLIMIT_CPU, FORGE_SECONDS);
		limit(RLIMIT_CORE, 0);
		ran->ret = read(f->dir);
		snprintf(ran->why, sizeof(ran->why), "%s", dep_error());
		_exit(0);
	}
	assert_int_equal(wait4(pid, &status, 0, &u), pid);
	copy = *ran;
	munmap(ran, sizeof(*ran));
	copy.memory = (u64)u.ru_maxrss * 1024;
	copy.memory -= copy.memory < resident ? copy.memory : resident;
	print_message("  %d %s; %llu of %llu MiB, %ld.%02ld s\n", copy.ret, copy.why,
		      (unsigned long long)copy.memory >> 20, (unsigned long long)budget >> 20,
		      u.ru_utime.tv_sec + u.ru_stime.tv_sec, u.ru_utime.tv_usec / 10000);
	if (WIFSIGNALED(status))
		fail_msg("the reader was killed by signal %d", WTERMSIG(status));
	assert_int_equal(status, 0);
	if (MEASURED)
		assert_true(copy.memory <= budget);
	return copy;
}

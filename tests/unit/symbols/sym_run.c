// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libdep/abi/stream.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/scratch.h"
#include "sym_run.h"

/* Default time at which the mappings of a store begin. */
#define BEGIN 1000u

const char *sym_program(const char *name)
{
	static char path[2][PATH_MAX + 64];
	static unsigned int turn;
	char *p = path[turn++ & 1], *slash;
	ssize_t n = readlink("/proc/self/exe", p, PATH_MAX);

	assert_true(n > 0);
	p[n] = 0;
	slash = strrchr(p, '/');
	snprintf(slash + 1, 64, "%s", name);
	return p;
}

static void take_line(struct sym_run *r, const char *line)
{
	unsigned long addr, start, end, offset;
	char name[32], path[512] = "";

	if (sscanf(line, "pc %31s %lx", name, &addr) == 2 ||
	    sscanf(line, "data %31s %lx", name, &addr) == 2) {
		assert_true(r->nat < 64);
		strcpy(r->at[r->nat].name, name);
		r->at[r->nat++].addr = addr;
	} else if (sscanf(line, "map %lx %lx %lx %511[^\n]", &start, &end, &offset, path) >= 3) {
		assert_true(r->nmaps < 64);
		r->map[r->nmaps] = (struct sym_map){ start, end, offset, "" };
		strcpy(r->map[r->nmaps++].path, path);
	}
}

bool sym_run(struct sym_run *r, const char *program, const char *a, const char *b)
{
	int out[2], status;
	char line[1024];
	pid_t pid;
	FILE *f;

	memset(r, 0, sizeof(*r));
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, a, b, NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		take_line(r, line);
	fclose(f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !status && r->nat;
}

u64 sym_at(const struct sym_run *r, const char *name)
{
	u32 i;

	for (i = 0; i < r->nat; i++)
		if (!strcmp(r->at[i].name, name))
			return r->at[i].addr;
	fail_msg("the program has no %s", name);
	return 0;
}

void sym_store_begin(struct sym_store *t)
{
	static const struct dep_meta meta = {
		.cwd = "/", .chunk_size = 65536, .nchunks = 4, .start_ns = BEGIN,
	};

	memset(t, 0, sizeof(*t));
	scratch_name(t->dir, sizeof(t->dir));
	assert_int_equal(dep_writer_create(&t->w, t->dir, &meta, 0), 0);
}

void sym_store_process(struct sym_store *t, u32 serial)
{
	struct dep_process p = { .serial = serial, .pid = 100 + serial, .start_ns = 1 };

	assert_int_equal(dep_writer_process(t->w, &p), 0);
}

void sym_store_map(struct sym_store *t, u32 process, const struct sym_map *m, u64 time)
{
	struct {
		struct adept_desc_map m;
		char path[512];
	} d = { .m = { .h = { sizeof(d), ADEPT_DESC_MAP }, .start = m->start, .end = m->end,
		       .offset = m->offset, .prot = PROT_READ | PROT_EXEC,
		       .time_ns = time ? time : BEGIN } };
	struct stat st;

	strcpy(d.path, m->path);
	if (m->path[0] == '/' && !stat(m->path, &st)) {
		d.m.dev = (u64)major(st.st_dev) << 32 | minor(st.st_dev);
		d.m.inode = st.st_ino;
	}
	assert_int_equal(dep_writer_descriptors(t->w, process, &d, sizeof(d)), 0);
}

void sym_store_unmap(struct sym_store *t, u32 process, const struct sym_map *m, u64 time)
{
	struct adept_desc_unmap d = { .h = { sizeof(d), ADEPT_DESC_UNMAP }, .start = m->start,
				      .end = m->end, .time_ns = time };

	assert_int_equal(dep_writer_descriptors(t->w, process, &d, sizeof(d)), 0);
}

void sym_store_read(struct sym_store *t)
{
	assert_int_equal(close_writer(t->w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&t->store, t->dir), 0);
	assert_int_equal(dep_symbols_open(&t->s, t->store), 0);
}

void sym_store_end(struct sym_store *t)
{
	dep_symbols_close(t->s);
	dep_store_close(t->store);
	scratch_remove(t->dir);
}

void sym_store_of(struct sym_store *t, const struct sym_run *r)
{
	u32 i;

	sym_store_begin(t);
	sym_store_process(t, 1);
	for (i = 0; i < r->nmaps; i++)
		sym_store_map(t, 1, &r->map[i], 0);
	sym_store_read(t);
}

struct sym_bytes sym_load(const char *path)
{
	struct sym_bytes b;
	struct stat st;
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	b.data = malloc((size_t)st.st_size);
	b.size = fread(b.data, 1, (size_t)st.st_size, f);
	fclose(f);
	return b;
}

void sym_save(const char *path, const struct sym_bytes *b)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->size, f), b->size);
	fclose(f);
	chmod(path, 0700);
}

void sym_copy(const char *name, const char *to)
{
	struct sym_bytes b = sym_load(sym_program(name));

	sym_save(to, &b);
	free(b.data);
}

void sym_begin(struct sym_run *r, struct sym_store *t, char path[128], const char *program)
{
	scratch_name(path, 128);
	sym_copy(program, path);
	assert_true(sym_run(r, path, NULL, NULL));
	sym_store_begin(t);
	sym_store_process(t, 1);
	sym_store_map(t, 1, &r->map[0], 0);
}

u32 sym_line(const char *source, const char *mark)
{
	char path[512], want[64], line[256];
	u32 n = 0, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/programs/%s", source);
	snprintf(want, sizeof(want), "MARK %s ", mark);
	f = fopen(path, "r");
	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f)) {
		n++;
		/* Comments end after a mark; those of C end with a star. */
		if (strstr(line, want))
			found = n;
	}
	fclose(f);
	assert_true(found);
	return found;
}

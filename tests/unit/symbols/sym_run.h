/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the programs of tests/programs/sym_*, makes stores of the mappings that they print, and
 * finds marked lines in their sources.
 */
#ifndef TESTS_UNIT_SYMBOLS_SYM_RUN_H
#define TESTS_UNIT_SYMBOLS_SYM_RUN_H

#include "dep/symbols.h"
#include "libdep/abi/types.h"

struct sym_map {
	u64 start, end, offset;
	char path[512];
};

struct sym_run {
	struct { char name[32]; u64 addr; } at[64];
	u32 nat;
	struct sym_map map[64];
	u32 nmaps;
};

/** sym_program() - path of a program in build/tests; static memory, two at a time */
const char *sym_program(const char *name);

/**
 * sym_run() - run @program with up to two arguments and parse its output; false if it cannot be run
 */
bool sym_run(struct sym_run *r, const char *program, const char *a, const char *b);

/** sym_at() - the address that was printed for @name; the test fails if there is none */
u64 sym_at(const struct sym_run *r, const char *name);

/** struct sym_store - a store of successive processes, being written or read */
struct sym_store {
	char dir[128];
	struct dep_writer *w;
	struct dep_store *store;
	struct dep_symbols *s;
};

void sym_store_begin(struct sym_store *t);
void sym_store_process(struct sym_store *t, u32 serial);
void sym_store_map(struct sym_store *t, u32 process, const struct sym_map *m, u64 time);
void sym_store_unmap(struct sym_store *t, u32 process, const struct sym_map *m, u64 time);
/** sym_store_read() - close the writer and open the store for names */
void sym_store_read(struct sym_store *t);
void sym_store_end(struct sym_store *t);

/** sym_store_of() - the three calls for one program, process 1 */
void sym_store_of(struct sym_store *t, const struct sym_run *r);

/** struct sym_bytes - a file in memory; data is malloc()ed */
struct sym_bytes {
	u8 *data;
	size_t size;
};

struct sym_bytes sym_load(const char *path);
void sym_save(const char *path, const struct sym_bytes *b);
/** sym_copy() - program @name to the file @to */
void sym_copy(const char *name, const char *to);

/** sym_begin() - copy a program to @path, run it, begin a store of it with its own map */
void sym_begin(struct sym_run *r, struct sym_store *t, char path[128], const char *program);

/** sym_line() - the line of @source (in tests/programs) that has "MARK @mark" */
u32 sym_line(const char *source, const char *mark);

#endif

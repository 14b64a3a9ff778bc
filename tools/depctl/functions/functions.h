/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executed functions of a store, with their names and counts. */
#ifndef DEPCTL_FUNCTIONS_H
#define DEPCTL_FUNCTIONS_H

#include <dep/contexts.h>
#include <dep/profile.h>
#include <dep/symbols.h>

#define NO_FUNCTION	UINT32_MAX

/**
 * struct function - one function, in all processes that executed it
 *
 * Functions of a file are identified by the file (path, build-id) and their address in it, code
 * without a file by process and address.  The parts of a function (NAME.cold) count for it.
 */
struct function {
	const char *name;	/* never NULL: "libc.so.6+16d800" if it has no name */
	const char *symbol;	/* the linker's name; NULL: not known */
	const char *module;	/* last part of @path, or "[vdso]", "[anonymous]" */
	const char *path, *build_id;	/* "" if there is none */
	uint64_t start, end;	/* addresses as linked; without a file, of the process */
	const char *file;	/* source file and line of the first line known; NULL: not known */
	uint32_t line;
	bool stub;		/* an entry of a PLT, named after the function that it jumps to */
	bool named;		/* @name is from symbols */
	uint64_t insns, refs;	/* executed in it */
	uint64_t calls;		/* times it was entered by a call, tail call, signal or thread */
	uint64_t inclusive;	/* instructions of it and all it called; 0 without contexts */
};

/** struct function_count - what was executed of a function, as in struct function */
struct function_count {
	uint64_t insns, refs, calls;
};

struct functions;

/**
 * functions_make() - name all functions that @p or @c has
 * @c: NULL: functions have no inclusive counts, and calls are those of @p's edges
 *
 * All strings belong to @symbols, which must stay open.  Return: 0 or a negative errno.
 */
int functions_make(struct dep_store *store, struct dep_symbols *symbols,
		   const struct dep_profile *p, const struct dep_contexts *c,
		   struct functions **out);
void functions_free(struct functions *f);

/** functions_all() - all functions, sorted by path, build-id and address; returns their number */
size_t functions_all(const struct functions *f, const struct function **out);

/**
 * functions_count() - count by function what an interval has of the profile that @f is made of
 * @out: has an element for each function; the counts are added
 */
void functions_count(const struct functions *f, const struct dep_profile *interval,
		     struct function_count *out);

/** function_matches() - true if the name of @f, or the linker's, is @pattern or matches it */
bool function_matches(const struct function *f, const char *pattern);

/** functions_at() - index of the function at @pc of @process and @image, or NO_FUNCTION */
uint32_t functions_at(const struct functions *f, uint32_t process, uint32_t image, uint64_t pc);

/** functions_of() - index of the function of context @i, or NO_FUNCTION */
uint32_t functions_of(const struct functions *f, uint32_t i);

/**
 * functions_target() - index of the function that stub @i jumps to
 *
 * Return: @i if function @i is no stub, or if its target is not known.
 */
uint32_t functions_target(const struct functions *f, uint32_t i);

/**
 * struct site - an address of code, the same in all processes that map its file
 * @unit: number of the file, or of the code without a file of one process
 * @addr: address as linked; without a file, of the process
 */
struct site {
	uint64_t addr;
	uint32_t unit;
};

/** functions_site() - the site of @pc of @process and @image */
struct site functions_site(const struct functions *f, uint32_t process, uint32_t image,
			   uint64_t pc);

/** functions_in() - index of the function at @site, or NO_FUNCTION */
uint32_t functions_in(const struct functions *f, struct site site);

/** functions_start() - the site of the first instruction of function @i */
struct site functions_start(const struct functions *f, uint32_t i);

/** functions_place() - name @site; inlined functions count as the real one, the line does not */
void functions_place(const struct functions *f, struct site site, struct dep_place *out);

/** functions_code() - all functions of @unit's file; none if there is no usable file */
const struct dep_file_code *functions_code(const struct functions *f, uint32_t unit);

/** functions_units() - number of units */
uint32_t functions_units(const struct functions *f);

/** struct mapping - a process that had a unit mapped, for dep_symbols_*() */
struct mapping {
	uint32_t process;
	uint64_t bias;		/* address in the process minus address as linked */
	uint64_t time_ns;	/* a time at which it was mapped */
};

struct mapping functions_mapping(const struct functions *f, uint32_t unit);

#endif

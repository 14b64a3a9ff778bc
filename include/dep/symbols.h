/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of addresses: functions, source lines and inlining for code addresses, variables and their
 * members for data addresses.
 *
 * Names are read from the files that the recorded processes had mapped, in their present state:
 * from DWARF in the file or in a separate debug file, otherwise from ELF symbols.  Without usable
 * symbols an address has only the file's path and an offset.  This is the case if the file is
 * missing, unreadable or malformed, or differs from the recorded one (another build-id or, without
 * a build-id, a modification after it was mapped).  The content of a file never causes an error.
 * Nothing is fetched from the network.
 *
 * C++ names are demangled by the calling program's __cxa_demangle(), or by that of libstdc++.so.6
 * if it can be loaded; otherwise they stay mangled.  Names contain no control characters.
 *
 * One thread at a time may use a struct dep_symbols.  It owns the strings, which are valid until
 * dep_symbols_close().  Addresses are those of the recorded process.
 */
#ifndef DEP_SYMBOLS_H
#define DEP_SYMBOLS_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct dep_symbols;

/**
 * dep_symbols_open() - prepare to name addresses of @store's processes
 * @store: must stay open until dep_symbols_close()
 *
 * Reads no file yet; each is read when an address in it is first looked up.
 *
 * Return: 0, or -ENOMEM.
 */
int dep_symbols_open(struct dep_symbols **out, struct dep_store *store);
void dep_symbols_close(struct dep_symbols *s);

/** struct dep_place - one function at a code address */
struct dep_place {
	const char *function;	/* demangled; NULL: not known */
	const char *symbol;	/* the linker's name if it differs from @function, else NULL */
	const char *file;	/* absolute if the compiler recorded that; NULL: not known */
	uint32_t line, column;	/* 0: not known */
	bool inlined;		/* into the function of the next place */
	bool ambiguous;		/* another file was mapped there at another time */
	/* The mapped file's path, or "[vdso]", "[anonymous]", "[unknown]" (no mapping). */
	const char *module;
	uint64_t offset;	/* in that file; with [anonymous] and [unknown] the address */
	uint64_t linked;	/* address as linked, for addr2line -e; 0: file not readable */
	const char *build_id;	/* hexadecimal, as recorded; "": none */
};

#define DEP_PLACES	32	/* deeper inlining is rare */

/**
 * dep_symbols_frames() - all functions at @pc: innermost inlined first, the real one last
 * @process: serial
 * @pc: of an instruction; pass the return address - 1 to get the line of a call
 * @time_ns: CLOCK_MONOTONIC, when the instruction ran.  It selects among files that were mapped
 *	at this address one after another; 0 selects the last one.
 * @out: room for @max places
 *
 * Return: the number of places, at least 1.  If it exceeds @max, @out has the first @max.
 */
size_t dep_symbols_frames(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out, size_t max);

/**
 * dep_symbols_function() - the real (not inlined) function at @pc, by its ELF symbol
 * @out: as the last place of dep_symbols_frames(), without file and line.  @function can differ
 *	from that if the function has several names or the compiler split it.
 *
 * Reads no DWARF unless the file has no symbol table.  Use it for many addresses of which few are
 * printed.
 */
void dep_symbols_function(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out);

/** dep_symbols_module() - the mapped file at @pc, without the function; reads no symbols */
void dep_symbols_module(struct dep_symbols *s, uint32_t process, uint64_t pc,
			uint64_t time_ns, struct dep_place *out);

/** struct dep_object - a variable, or the part of one, at a data address */
struct dep_object {
	char name[256];		/* "queue.head[3].next"; cut off with "..." */
	char type[128];		/* of what @name names; "": not known */
	uint64_t offset;	/* of the address within what @name names */
	bool atomic;		/* @name is, or is part of, an _Atomic or std::atomic */
	bool ambiguous;		/* another file was mapped there at another time */
	uint64_t start, size;	/* of the whole variable; size 0: not known */
	const char *file;	/* of the declaration; NULL: not known */
	uint32_t line;
	const char *module, *build_id;	/* as in struct dep_place */
	uint64_t linked;	/* the address as linked */
};

/**
 * dep_symbols_object() - the global or static variable at data address @addr
 * @size: bytes accessed.  The smallest part that contains all of them is named; in an array, the
 *	first element accessed.  0: the smallest part at @addr.
 * @time_ns: as in dep_symbols_frames()
 *
 * The store knows only files with executable mappings, so a file of which only data was mapped is
 * not found.  Stacks, heaps and thread-local variables are not found either.
 *
 * Return: 1, or 0 if nothing is known.
 */
int dep_symbols_object(struct dep_symbols *s, uint32_t process, uint64_t addr, uint32_t size,
		       uint64_t time_ns, struct dep_object *out);

/**
 * dep_symbols_find() - addresses of the ELF function symbol @name in all files that
 *	@process had mapped at any time
 * @name: the linker's name, without a version
 *
 * Indirect functions (STT_GNU_IFUNC) are left out: the file does not contain their target.
 *
 * Return: the number of addresses; @pcs has the first @max.
 */
size_t dep_symbols_find(struct dep_symbols *s, uint32_t process, const char *name,
			uint64_t *pcs, size_t max);

/**
 * dep_symbols_messages() - one message for each file that could not be used
 *
 * Looking addresses up adds messages.  The array is valid until the next call with @s.
 *
 * Return: the number of messages.
 */
size_t dep_symbols_messages(struct dep_symbols *s, const char *const **out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names for addresses: functions, source lines and inlining at code addresses, variables
 * and their fields at data addresses.
 *
 * They come from the files that the recorded processes had mapped, as these are when
 * asked: DWARF in the file itself or in a separate debug file, else the ELF symbols.
 * A file that is gone, or is another one than was recorded (its build-id differs; without
 * a build-id: it was modified after the recording), gives no names but its path and
 * offsets.  So does whatever cannot be read: nothing here fails because of what is in a
 * file.  Nothing is fetched from the network.
 *
 * C++ names are demangled by the __cxa_demangle() that the program has, or by that of
 * libstdc++.so.6 if it can be loaded; else they stay as they are.  Names never contain
 * control characters.
 *
 * A struct dep_symbols is used by one thread at a time.  Strings belong to it and stay
 * until dep_symbols_close().  Addresses are those of the recorded process.
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
 * dep_symbols_open() - make ready to name addresses of @store's processes
 * @store: must stay open until dep_symbols_close()
 *
 * Reads no file yet; each is read when an address in it is asked for first.
 *
 * Return: 0, or -ENOMEM.
 */
int dep_symbols_open(struct dep_symbols **out, struct dep_store *store);
void dep_symbols_close(struct dep_symbols *s);

/** struct dep_place - one function at a code address */
struct dep_place {
	const char *function;	/* demangled; NULL: not known */
	const char *symbol;	/* the same as the linker has it, if that differs; or NULL */
	const char *file;	/* absolute where the compiler said; NULL: not known */
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
 * @time_ns: CLOCK_MONOTONIC, when it ran, which tells libraries apart that were mapped at
 *	the same address one after the other; 0 = not known: the last one
 * @out: room for @max places
 *
 * Return: how many there are, at least 1.  If that is more than @max, @out has the first.
 */
size_t dep_symbols_frames(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out, size_t max);

/**
 * dep_symbols_function() - the real function at @pc, as the linker knows it
 * @out: as the last place of dep_symbols_frames(), without file and line; if a function has
 *	several names, or the compiler cut it in pieces, @function can be another one
 *
 * Needs ELF symbols only, and reads no DWARF unless the file has no symbol table: for who
 * asks of many addresses what few of them are printed for.
 */
void dep_symbols_function(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out);

/** dep_symbols_module() - the same without the function: reads no symbols at all */
void dep_symbols_module(struct dep_symbols *s, uint32_t process, uint64_t pc,
			uint64_t time_ns, struct dep_place *out);

/** struct dep_object - a variable, or the part of one, at a data address */
struct dep_object {
	char name[256];		/* "queue.head[3].next"; cut off with "..." */
	char type[128];		/* of what @name names; "": not known */
	uint64_t offset;	/* of the address in what @name names */
	bool atomic;		/* that is, or is in, an _Atomic or std::atomic */
	bool ambiguous;		/* another file was mapped there at another time */
	uint64_t start, size;	/* of the whole variable; size 0: not known */
	const char *file;	/* where it is declared; NULL: not known */
	uint32_t line;
	const char *module, *build_id;	/* as in struct dep_place */
	uint64_t linked;	/* the address as linked */
};

/**
 * dep_symbols_object() - the global or static variable at data address @addr
 * @size: bytes accessed; the smallest part that has them all is named, but in arrays the
 *	first element.  0: the smallest part at @addr.
 * @time_ns: as above
 *
 * Only files whose code was executed are known to the store, so a library of which only
 * data was used is not found.  Stacks, heaps and thread-local variables are not either.
 *
 * Return: 1, or 0 if nothing is known.
 */
int dep_symbols_object(struct dep_symbols *s, uint32_t process, uint64_t addr, uint32_t size,
		       uint64_t time_ns, struct dep_object *out);

/**
 * dep_symbols_find() - addresses of the ELF function symbol @name in all files that
 *	@process had mapped at any time
 * @name: as the linker has it, without a version
 *
 * Indirect functions (STT_GNU_IFUNC) are left out: where they lead is not in the file.
 *
 * Return: how many there are; @pcs has the first @max.
 */
size_t dep_symbols_find(struct dep_symbols *s, uint32_t process, const char *name,
			uint64_t *pcs, size_t max);

/**
 * dep_symbols_messages() - sentences for people on files that could not be used, each once
 *
 * Their number grows as files are looked at; the array is valid until the next call here.
 */
size_t dep_symbols_messages(struct dep_symbols *s, const char *const **out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of addresses: functions, source lines and inlining for code addresses, variables and their
 * members for data addresses.
 *
 * Names come from the files that the recorded processes had mapped, as these files are now: from
 * DWARF in the file or in a separate debug file, otherwise from ELF symbols.  A file is not used if
 * it is missing, unreadable or malformed, or if it has changed since the recording (its build-id
 * differs, or it has none and was modified after it was mapped).  Addresses in such a file get only
 * the file's path and an offset.  The content of a file never causes an error.  Nothing is fetched
 * from the network.
 *
 * C++ names are demangled by __cxa_demangle() of the calling program or of libstdc++.so.6; if
 * neither is available, they stay mangled.  Names contain no control characters.
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
 * Does not read mapped files; each is read when an address in it is first looked up.
 *
 * Return: 0, or -ENOMEM.
 */
int dep_symbols_open(struct dep_symbols **out, struct dep_store *store);
void dep_symbols_close(struct dep_symbols *s);

/** struct dep_place - one function (inlined or real) at a code address */
struct dep_place {
	const char *function;	/* demangled name; NULL: not known */
	const char *symbol;	/* the linker's name if it differs from @function, else NULL */
	const char *file;	/* source file; absolute path if DWARF has it; NULL: not known */
	uint32_t line, column;	/* source position; 0: not known */
	uint32_t start_line;	/* line at which the function is declared; 0: not known */
	/* which of several blocks of @line, as in the line table; 0: the first, or not known */
	uint32_t discriminator;
	bool inlined;		/* this function is inlined into the function of the next place */
	bool ambiguous;		/* another file was mapped at this address at another time */
	/* The mapped file's path, or "[vdso]", "[anonymous]", "[unknown]" (no mapping). */
	const char *module;
	uint64_t offset;	/* offset in the mapped file; [anonymous], [unknown]: the address */
	uint64_t linked;	/* address as linked, for addr2line -e; 0: file not readable */
	const char *build_id;	/* recorded build-id, hexadecimal; "": none */
};

#define DEP_PLACES	32	/* suggested @max of dep_symbols_frames(): is rarely exceeded */

/**
 * dep_symbols_frames() - all functions at @pc: the innermost inlined function first, the real
 *	function last
 * @process: serial
 * @pc: address of an instruction; to get the line of a call, pass its return address - 1
 * @time_ns: CLOCK_MONOTONIC time at which the instruction ran.  If several files were mapped at
 *	this address one after another, it selects one of them; 0 selects the last one.
 * @out: room for @max places
 *
 * Return: the number of places, at least 1.  If it exceeds @max, @out has the first @max.
 */
size_t dep_symbols_frames(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out, size_t max);

/**
 * dep_symbols_function() - the real (not inlined) function at @pc, by its ELF symbol
 * @out: as the last place of dep_symbols_frames(), without file and line.  The function's name can
 *	be another one if the function has several names or if the compiler split it.
 *
 * Faster than dep_symbols_frames(): it reads no DWARF unless the file has no symbol table.
 */
void dep_symbols_function(struct dep_symbols *s, uint32_t process, uint64_t pc,
			  uint64_t time_ns, struct dep_place *out);

/** dep_symbols_module() - the mapped file at @pc, without the function; reads no symbols */
void dep_symbols_module(struct dep_symbols *s, uint32_t process, uint64_t pc,
			uint64_t time_ns, struct dep_place *out);

/** struct dep_object - a variable, or a member or element of a variable, at a data address */
struct dep_object {
	char name[256];		/* such as "queue.head[3].next"; a longer name ends with "..." */
	char type[128];		/* type of the member or element @name; "": not known */
	uint64_t offset;	/* offset of the address within the member or element @name */
	bool atomic;		/* @name is, or is part of, an _Atomic or std::atomic */
	bool ambiguous;		/* another file was mapped at this address at another time */
	uint64_t start, size;	/* address and size of the whole variable; size 0: not known */
	const char *file;	/* source file of the declaration; NULL: not known */
	uint32_t line;
	const char *module, *build_id;	/* as in struct dep_place */
	uint64_t linked;	/* the address as linked, for addr2line -e */
};

/**
 * dep_symbols_object() - the global or static variable at data address @addr
 * @size: number of accessed bytes.  @out names the smallest member that contains all of them, or
 *	in an array the first accessed element.  0: the smallest member at @addr.
 * @time_ns: as in dep_symbols_frames()
 *
 * Except after an attach, a store lists only files of which code was executed, so variables of
 * others are not found.  Nor are stacks, heaps and thread-local variables.
 *
 * Return: 1, or 0 if nothing is known.
 */
int dep_symbols_object(struct dep_symbols *s, uint32_t process, uint64_t addr, uint32_t size,
		       uint64_t time_ns, struct dep_object *out);

/**
 * dep_symbols_find() - find the addresses of the ELF function symbol @name in all files that
 *	@process had mapped at any time
 * @name: the linker's name, without a version
 *
 * Indirect functions (STT_GNU_IFUNC) are left out: the file does not contain the address of the
 * implementation that ran.
 *
 * Return: the number of addresses; @pcs has the first @max.
 */
size_t dep_symbols_find(struct dep_symbols *s, uint32_t process, const char *name,
			uint64_t *pcs, size_t max);

/**
 * struct dep_stack - a thread's registers, and a copy of its stack
 * @regs: as in struct adept_ev_context
 * @bytes: memory from @regs[4], the stack pointer, on
 */
struct dep_stack {
	uint64_t pc;
	const uint64_t *regs;
	const void *bytes;
	size_t size;
};

/** struct dep_stack_frame - a function that had not returned */
struct dep_stack_frame {
	uint64_t pc;		/* the instruction to be executed; in callers, after the call */
	bool exact;		/* found by unwind tables, as all frames above; else a guess */
	/* a signal came at @pc, or it is the first frame: there is no call before @pc */
	bool interrupted;
	uint64_t sp;		/* stack pointer at @pc; 0: not known */
	uint64_t call;		/* the call before @pc; 0: not known, or there is none */
	uint64_t function;	/* first instruction of the function with @pc; 0: not known */
};

#define DEP_STACK_FRAMES	128	/* suggested @max of dep_symbols_unwind() */

/**
 * dep_symbols_unwind() - find the functions that a thread was in, the innermost first
 * @time_ns: as in dep_symbols_frames()
 *
 * By the unwind tables (.eh_frame) of the mapped files; else by frame pointers; else by values on
 * the stack that are addresses behind a call.  The last two can be wrong.
 *
 * Return: the number of frames, at least 1 and at most @max, which must not be 0.
 */
size_t dep_symbols_unwind(struct dep_symbols *s, uint32_t process, uint64_t time_ns,
			  const struct dep_stack *stack, struct dep_stack_frame *out, size_t max);

/* ---- functions, lines and bytes of a whole file ---- */

/* How the extent of a function is known. */
enum dep_function_kind {
	DEP_FUNCTION_SYMBOL,	/* by an ELF symbol */
	DEP_FUNCTION_UNWIND,	/* only by unwind tables (.eh_frame): it has no name */
	DEP_FUNCTION_STUB,	/* an entry of a PLT; named after the function that it jumps to */
	DEP_FUNCTION_KINDS
};

/** struct dep_file_function - a function of a mapped file, or a part of one */
struct dep_file_function {
	uint64_t start, end;	/* addresses as linked; @end is behind the last byte */
	uint32_t whole;		/* index of the function that this is a part of, or its own index */
	uint8_t kind;		/* enum dep_function_kind */
	uint8_t pad[3];
	const char *name;	/* demangled; NULL: not known */
	const char *symbol;	/* the linker's name; NULL: not known */
};

/** struct dep_file_line - a row of the line table: code from @start to @end belongs to @line */
struct dep_file_line {
	uint64_t start, end;	/* addresses as linked */
	const char *file;
	uint32_t line, column;
};

/** struct dep_file_code - the functions of a mapped file, sorted by address, without overlap */
struct dep_file_code {
	const char *path, *build_id;	/* as in struct dep_place */
	uint64_t bias;		/* address in the process minus address as linked */
	uint64_t text;		/* address as linked of the first page with code; 0: none */
	const struct dep_file_function *function;
	size_t nfunctions;
};

/**
 * dep_symbols_file_code() - list the functions of the file at @pc
 * @time_ns: as in dep_symbols_frames()
 *
 * Symbols that have the same address are one function; a symbol without a size extends to the next
 * one, or to the end of its range of .eh_frame.  A function that has another one within it is
 * listed in several parts.  Parts NAME.cold and NAME.part.N, which compilers split off, belong to
 * NAME.  Executable code that neither a symbol nor .eh_frame describes is not listed.
 *
 * Return: 0; -ENOENT: no file is mapped at @pc, or it cannot be used; -ENOMEM.
 */
int dep_symbols_file_code(struct dep_symbols *s, uint32_t process, uint64_t pc, uint64_t time_ns,
			  struct dep_file_code *out);

/**
 * dep_symbols_file_lines() - the line table of the file at @pc, sorted by address
 *
 * Return: the number of rows; 0: the file has no line table, or cannot be used.
 */
size_t dep_symbols_file_lines(struct dep_symbols *s, uint32_t process, uint64_t pc,
			      uint64_t time_ns, const struct dep_file_line **out);

/**
 * dep_symbols_file_bytes() - read code of the file at @pc
 * @linked: address as linked
 *
 * Return: the number of bytes copied to @out, at most @size; 0: the file does not have them.
 */
size_t dep_symbols_file_bytes(struct dep_symbols *s, uint32_t process, uint64_t pc,
			      uint64_t time_ns, uint64_t linked, void *out, size_t size);

/**
 * dep_symbols_messages() - get one message for each file that could not be used
 *
 * Lookups of addresses add messages.  The array is valid until the next call with @s.
 *
 * Return: the number of messages.
 */
size_t dep_symbols_messages(struct dep_symbols *s, const char *const **out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

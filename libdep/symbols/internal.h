/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Structures and functions shared by the files of libdep/symbols.
 *
 * address_space.c finds which file a process had mapped at an address and time. mapped_file.c
 * describes one such file by its linked addresses (those in its ELF headers); each part of the file
 * is read when it is first needed.
 */
#ifndef ADEPT_SYMBOLS_INTERNAL_H
#define ADEPT_SYMBOLS_INTERNAL_H

#include <elfutils/libdw.h>

#include "dep/symbols.h"
#include "libdep/symbols/base/elf_file.h"
#include "libdep/symbols/base/grow.h"
#include "libdep/symbols/base/ranges.h"
#include "libdep/symbols/base/string_pool.h"
#include "libdep/symbols/dwarf/scopes.h"

#define DEP_NO_INDEX DEP_SPAN_NONE
#define DEP_INSTANCES 4096u	/* maximum number of mapped files per process; ignore more */

/* ---- mapped files ---- */

struct dep_load {		/* a segment of an ELF file: program header of type PT_LOAD */
	u64 vaddr, memsz, offset, filesz;
	bool exec;
};

/** struct dep_elf_symbol - a symbol, decoded from the ELF file */
struct dep_elf_symbol {
	u64 value, size;
	const char *name;	/* unchecked bytes of the file; may include a version */
	bool is_func, is_object, is_local, is_weak;
};

#define DEP_ELF_TABLES	8u	/* maximum number of symbol tables in a file and its debug file */

/** struct dep_elf_table - a symbol table; @names: index of the section with its strings */
struct dep_elf_table {
	Elf *elf;
	Elf_Data *data;
	u32 names;
};

/** struct dep_shown - entry in the cache of dep_symbol_name(): the demangled name of a symbol */
struct dep_shown {
	u32 symbol;		/* DEP_NO_INDEX: free entry */
	const char *name, *mangled;
};

/**
 * struct dep_elf_symbols - all ELF symbols of a file (elf_symbols.c)
 *
 * Finding the function at an address needs the positions of all functions, but few of their names.
 * So only positions are in memory; names are read from the file when they are needed.
 */
struct dep_elf_symbols {
	struct dep_elf_table table[DEP_ELF_TABLES];
	u32 ntables;
	/* for each symbol: index in its table * DEP_ELF_TABLES + number of the table */
	u32 *sym;
	u32 n, room;
	struct dep_spans code, data;	/* ranges with indexes in @sym as values */
	/* ranges of functions without a size in the ELF file, each up to the next symbol */
	struct dep_spans loose;
	struct dep_shown *shown;	/* hash table by symbol: cache of dep_symbol_name() */
	u32 nshown, shown_room;
	/* indexes in @sym of the functions, sorted by name and value; see dep_image_by_name() */
	u32 *by_name;
	u32 nby_name;
	bool whole;		/* a full symbol table (.symtab) was found, not only .dynsym */
};

/** struct dep_func - a function, or an inlined call of a function, in DWARF */
struct dep_func {
	Dwarf_Die die;
	u32 parent;		/* of an inlined call: index of the caller; else DEP_NO_INDEX */
	bool inlined, named;
	u32 call_file, call_line, call_column, call_discriminator;
	u32 start_line;
	const char *name, *symbol;	/* name to show, mangled name; valid if @named */
};

/** struct dep_unit - a compilation unit in DWARF */
struct dep_unit {
	Dwarf_Die skeleton;	/* unit in the main DWARF, with the code ranges and lines */
	Dwarf_Die die;		/* unit in the split DWARF (.dwo) if there is one, else @skeleton */
	bool built;		/* dep_unit_build() was called */
	struct dep_func *func;
	u32 nfuncs, room;
	struct dep_spans code;	/* code ranges with indexes in @func as values */
	struct dep_scopes scopes;
	/* last source path that was looked up: as libdw returned it, and as absolute path */
	const char *raw_file, *file;
};

struct dep_var {
	Dwarf_Die die;
	u64 addr, size;
	const char *name;	/* includes the enclosing namespaces, classes and functions */
};

/** struct dep_vars - all variables of a file that have a fixed address (dwarf_variables.c) */
struct dep_vars {
	struct dep_var *var;
	u32 n, room;
	struct dep_spans data;	/* ranges of variables, with indexes in @var as values */
	struct dep_scopes scopes;
	const void **atomic;	/* addresses of the DIEs of std::atomic types, sorted */
	size_t natomic, atomic_room;
};

/** struct dep_image - a mapped file, identified by path and build-id */
struct dep_image {
	struct dep_symbols *s;
	const char *path, *build_id;	/* interned: equal strings have equal pointers */
	u64 mapped_ns;		/* CLOCK_REALTIME when it was first mapped; 0: unknown */
	struct dep_elf main, debug;	/* @main.elf is NULL if the file cannot be used */
	struct dep_load *load;
	u32 nloads;
	Dwarf *dw;
	struct dep_unit *unit;
	u32 nunits;
	struct dep_spans units;	/* code ranges with indexes in @unit as values */
	struct dep_elf_symbols syms;
	struct dep_vars vars;
	struct dep_file_function *function;	/* see dep_image_code() */
	size_t nfunctions;
	struct dep_file_line *line;	/* see dep_image_lines() */
	size_t nlines;
	/* an attempt to read this part of the file was made, successful or not */
	bool have_debug, have_dw, have_units, have_syms, have_vars;
	bool have_functions, have_lines;
};

/** dep_image_new() - allocate the image of module @m without opening its file; NULL: no memory */
struct dep_image *dep_image_new(struct dep_symbols *s, const struct dep_module *m);
/** dep_image_open() - open the file; on failure, add a message for the user */
void dep_image_open(struct dep_image *im);
void dep_image_free(struct dep_image *im);
/**
 * dep_image_linked() - find the linked address of the byte at @offset in the file; false: none
 * @m: the mapping that has it
 */
bool dep_image_linked(const struct dep_image *im, const struct dep_module *m, u64 offset,
		      u64 *vaddr);
/** dep_image_debug() - if the file has no DWARF, open its separate debug file if there is one */
void dep_image_debug(struct dep_image *im);
/** dep_image_dwarf() - get the DWARF of the file or of its debug file, or NULL */
Dwarf *dep_image_dwarf(struct dep_image *im);
/** dep_image_is_code(), dep_image_is_data() - is [lo, hi) in an executable, in any segment? */
bool dep_image_is_code(const struct dep_image *im, u64 lo, u64 hi);
bool dep_image_is_data(const struct dep_image *im, u64 lo, u64 hi);

/** dep_image_symbols() - read the ELF symbols of the file; without any, the result is empty */
struct dep_elf_symbols *dep_image_symbols(struct dep_image *im);
/** dep_image_by_name() - as dep_image_symbols(), and also set by_name */
struct dep_elf_symbols *dep_image_by_name(struct dep_image *im);
/** dep_image_function() - index of the symbol of the code at @vaddr, or DEP_NO_INDEX */
u32 dep_image_function(struct dep_image *im, u64 vaddr);
/** dep_elf_symbol() - read symbol @i from the ELF file */
struct dep_elf_symbol dep_elf_symbol(const struct dep_elf_symbols *t, u32 i);
/**
 * dep_symbol_rank() - of several symbols at an address, the one with the highest rank is shown:
 *	preferably global, without leading underscores, and not weak
 */
u8 dep_symbol_rank(const struct dep_elf_symbol *s);
/** dep_symbol_order() - compare two names without their versions, as strcmp() does */
int dep_symbol_order(const char *a, const char *b);
/**
 * dep_symbol_name() - get the demangled name of symbol @i, without its version
 * @mangled: receives the name before demangling, or NULL if it was not a mangled name
 *
 * Return: NULL for DEP_NO_INDEX.
 */
const char *dep_symbol_name(struct dep_image *im, u32 i, const char **mangled);

/** dep_symbol_text() - as dep_symbol_name(), for a name @raw from the file */
const char *dep_symbol_text(struct dep_image *im, const char *raw, const char **mangled);

/** dep_image_unit() - find the compilation unit of @vaddr and read its functions; NULL: none */
struct dep_unit *dep_image_unit(struct dep_image *im, u64 vaddr);
/** dep_image_units() - read the list of compilation units */
void dep_image_units(struct dep_image *im);
/** dep_die_spans() - add the code ranges of @die to @to, with @value. Return: number of ranges */
int dep_die_spans(struct dep_image *im, Dwarf_Die *die, struct dep_spans *to, u32 value);
/** dep_unit_build() - read the functions of a compilation unit (dwarf_functions.c) */
void dep_unit_build(struct dep_image *im, struct dep_unit *u);
/** dep_func_name() - set f->name and f->symbol, unless they are set already */
void dep_func_name(struct dep_image *im, struct dep_unit *u, struct dep_func *f);

/**
 * dep_image_frames() - find the function at @vaddr and the calls inlined into it, innermost first
 * @out: receives up to @max places; only their functions, files and lines are set
 *
 * Return: number of places, at least 1; can be more than @max.
 */
size_t dep_image_frames(struct dep_image *im, u64 vaddr, struct dep_place *out, size_t max);
/**
 * dep_image_real_function() - find the function at @vaddr, without inlined calls
 * @out: only function and symbol are set; DWARF is read only if the file has no full symbol table
 */
void dep_image_real_function(struct dep_image *im, u64 vaddr, struct dep_place *out);

/** dep_image_vars() - read the variables that have a fixed address */
struct dep_vars *dep_image_vars(struct dep_image *im);
/** dep_image_object() - find the variable at @vaddr; sets the fields of @out known from the file */
bool dep_image_object(struct dep_image *im, u64 vaddr, u32 size, struct dep_object *out);

/** dep_image_load() - the segment whose part in the file has @vaddr, or NULL */
const struct dep_load *dep_image_load(const struct dep_image *im, u64 vaddr);
/** dep_image_text() - address of the first page of the first executable segment; 0: none */
u64 dep_image_text(const struct dep_image *im);
/** dep_image_bytes() - read up to @size bytes at @vaddr from the file; return how many it has */
size_t dep_image_bytes(const struct dep_image *im, u64 vaddr, void *out, size_t size);
/** dep_image_code() - set im->function (file_code.c); 0 or -ENOMEM */
int dep_image_code(struct dep_image *im);
/** dep_image_lines() - set im->line (file_lines.c) */
void dep_image_lines(struct dep_image *im);

/* ---- processes ---- */

/** struct dep_row - an executable mapping of a process: one struct dep_module of the store */
struct dep_row {
	const struct dep_module *m;
	u64 reach;		/* highest end address of the process's rows up to this one */
	struct dep_image *image;	/* NULL: the mapping has no file, or @looked is false */
	bool looked;		/* dep_row_image() has set @image */
};

/* All segments of a file that a process mapped at one load address. */
struct dep_instance {
	u32 process;
	struct dep_image *image;
	u64 bias;		/* address in the process minus linked address */
	u64 lo, hi;		/* address range of all segments in the process */
	u64 from_ns, to_ns;	/* CLOCK_MONOTONIC; @to_ns 0: mapped until the process ended */
};

struct dep_symbols {
	struct dep_store *store;
	struct dep_strings strings;
	struct dep_image **image;
	size_t nimages, images_room;
	struct dep_row *row;	/* sorted by process and start address */
	size_t nrows;
	u64 rows_version;	/* dep_store.modules_version when @row was made */
	struct dep_instance *inst;	/* mapped files of process @inst_process */
	size_t ninst, inst_room;
	u32 inst_process;
	bool have_inst;
	const char **note;
	size_t nnotes, notes_room;
};

/** dep_rows_build() - read and sort the store's modules */
int dep_rows_build(struct dep_symbols *s);
/**
 * dep_row_at() - find the mapping at code address @pc at time @time_ns (0: the latest one), or NULL
 * @ambiguous: receives true if other files were mapped there, too, and @time_ns does not decide
 */
struct dep_row *dep_row_at(struct dep_symbols *s, u32 process, u64 pc, u64 time_ns,
			   bool *ambiguous);
/** dep_row_image() - open the file of @row; NULL: there is none, or it cannot be used */
struct dep_image *dep_row_image(struct dep_symbols *s, struct dep_row *row);
/** dep_instances() - all mapped files of a process; valid until a call for another process */
size_t dep_instances(struct dep_symbols *s, u32 process, struct dep_instance **out);

/**
 * dep_instance_of() - the one of file @im that has address @addr, or NULL
 *
 * Call dep_instances() for the process before.
 */
struct dep_instance *dep_instance_of(struct dep_symbols *s, const struct dep_image *im, u64 addr);

/** dep_symbols_message() - add a message for the user, unless the same text was added before */
void dep_symbols_message(struct dep_symbols *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

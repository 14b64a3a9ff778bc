/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Shared by the files of libdep/symbols.
 *
 * address_space.c: what a process had mapped, where and when. mapped_file.c: one file and what was
 * read from it, by linked addresses; each part is read when it is first needed.
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
#define DEP_INSTANCES 4096u	/* limit for a process; only a forged store has more */

/* ---- a file ---- */

struct dep_load {		/* PT_LOAD */
	u64 vaddr, memsz, offset, filesz;
	bool exec;
};

/** struct dep_elf_symbol - a symbol as in the file */
struct dep_elf_symbol {
	u64 value, size;
	const char *name;	/* may have a version and contain any characters */
	bool is_func, is_object, is_local, is_weak;
};

#define DEP_ELF_TABLES	8u	/* limit of symbol tables of a file and its debug file */

/** struct dep_elf_table - a symbol table; @names: the section with its strings */
struct dep_elf_table {
	Elf *elf;
	Elf_Data *data;
	u32 names;
};

/** struct dep_shown - cached name of a symbol; see dep_symbol_name() */
struct dep_shown {
	u32 symbol;		/* DEP_NO_INDEX: free entry */
	const char *name, *mangled;
};

/**
 * struct dep_elf_symbols - symbols of a file: elf_symbols.c
 *
 * All functions of a library are needed to find the one at an address, but few names are shown. So
 * names stay in the file, and only positions are kept here.
 */
struct dep_elf_symbols {
	struct dep_elf_table table[DEP_ELF_TABLES];
	u32 ntables;
	/* index in its table * DEP_ELF_TABLES + number of the table */
	u32 *sym;
	u32 n, room;
	struct dep_spans code, data;	/* values: indexes in @sym */
	struct dep_spans loose;		/* code of symbols without a size, up to the next symbol */
	struct dep_shown *shown;	/* hash table */
	u32 nshown, shown_room;
	/* functions sorted by name and value; dep_image_by_name() */
	u32 *by_name;
	u32 nby_name;
	bool whole;		/* the full symbol table was found, not only .dynsym */
};

/** struct dep_func - a function, or an inlined call of one */
struct dep_func {
	Dwarf_Die die;
	u32 parent;		/* the function that it was inlined into, or DEP_NO_INDEX */
	bool inlined, named;
	u32 call_file, call_line, call_column;
	const char *name, *symbol;	/* set if @named */
};

/** struct dep_unit - a compilation unit */
struct dep_unit {
	Dwarf_Die skeleton;	/* has the ranges and lines */
	Dwarf_Die die;		/* the split unit if there is one, else the same */
	bool built;
	struct dep_func *func;
	u32 nfuncs, room;
	struct dep_spans code;	/* values: indexes of @func */
	struct dep_scopes scopes;
	const char *raw_file, *file;	/* last path asked for: libdw's and the absolute one */
};

struct dep_var {
	Dwarf_Die die;
	u64 addr, size;
	const char *name;	/* with its namespaces or functions */
};

/** struct dep_vars - variables.c */
struct dep_vars {
	struct dep_var *var;
	u32 n, room;
	struct dep_spans data;	/* values: indexes of @var */
	struct dep_scopes scopes;
	const void **atomic;	/* DIEs of std::atomic types, sorted */
	size_t natomic, atomic_room;
};

/** struct dep_image - a mapped file, by path and build-id */
struct dep_image {
	struct dep_symbols *s;
	const char *path, *build_id;	/* in the string pool */
	u64 mapped_ns;		/* CLOCK_REALTIME of the first mapping; 0: not known */
	struct dep_elf main, debug;	/* @main.elf is NULL if the file cannot be used */
	struct dep_load *load;
	u32 nloads;
	Dwarf *dw;
	struct dep_unit *unit;
	u32 nunits;
	struct dep_spans units;	/* values: indexes of @unit */
	struct dep_elf_symbols syms;
	struct dep_vars vars;
	bool have_debug, have_dw, have_units, have_syms, have_vars;	/* tried before */
};

/** dep_image_new() - reads nothing; NULL: no memory */
struct dep_image *dep_image_new(struct dep_symbols *s, const struct dep_module *m);
/** dep_image_open() - open the file; a failure becomes a message */
void dep_image_open(struct dep_image *im);
void dep_image_free(struct dep_image *im);
/** dep_image_linked() - linked address of the byte at @offset in the file */
bool dep_image_linked(const struct dep_image *im, u64 offset, u64 *vaddr);
/** dep_image_debug() - open the separate debug file, if needed and found */
void dep_image_debug(struct dep_image *im);
/** dep_image_dwarf() - DWARF of the file or of its debug file, or NULL */
Dwarf *dep_image_dwarf(struct dep_image *im);
/** dep_image_is_code(), dep_image_is_data() - is [lo, hi) in a segment of that kind? */
bool dep_image_is_code(const struct dep_image *im, u64 lo, u64 hi);
bool dep_image_is_data(const struct dep_image *im, u64 lo, u64 hi);

/** dep_image_symbols() - read the ELF symbols, possibly none */
struct dep_elf_symbols *dep_image_symbols(struct dep_image *im);
/** dep_image_by_name() - dep_image_symbols(), with functions sorted by name */
struct dep_elf_symbols *dep_image_by_name(struct dep_image *im);
/** dep_image_function() - the symbol of the code at @vaddr, or DEP_NO_INDEX */
u32 dep_image_function(struct dep_image *im, u64 vaddr);
/** dep_elf_symbol() - symbol @i as in the file */
struct dep_elf_symbol dep_elf_symbol(const struct dep_elf_symbols *t, u32 i);
/** dep_symbol_order() - compare two names without their versions, as strcmp() does */
int dep_symbol_order(const char *a, const char *b);
/**
 * dep_symbol_name() - name of symbol @i without version, demangled
 * @mangled: receives the original if the name was demangled, else NULL
 *
 * Return: NULL for DEP_NO_INDEX.
 */
const char *dep_symbol_name(struct dep_image *im, u32 i, const char **mangled);

/** dep_image_unit() - the unit at @vaddr with its functions read, or NULL */
struct dep_unit *dep_image_unit(struct dep_image *im, u64 vaddr);
/** dep_image_units() - read the list of units */
void dep_image_units(struct dep_image *im);
/** dep_die_spans() - add the code ranges of @die to @to as @value. Return: their number */
int dep_die_spans(struct dep_image *im, Dwarf_Die *die, struct dep_spans *to, u32 value);
/** dep_unit_build() - read the functions of a unit (functions.c) */
void dep_unit_build(struct dep_image *im, struct dep_unit *u);
/** dep_func_name() - set f->name and f->symbol */
void dep_func_name(struct dep_image *im, struct dep_unit *u, struct dep_func *f);

/**
 * dep_image_frames() - all fields of the places at @vaddr but module and offset; at least one place
 */
size_t dep_image_frames(struct dep_image *im, u64 vaddr, struct dep_place *out, size_t max);
/** dep_image_real_function() - set out->function and symbol, from DWARF only as a last resort */
void dep_image_real_function(struct dep_image *im, u64 vaddr, struct dep_place *out);

/** dep_image_vars() - read the variables with a fixed address */
struct dep_vars *dep_image_vars(struct dep_image *im);
/** dep_image_object() - set the fields of @out that depend on the linked address */
bool dep_image_object(struct dep_image *im, u64 vaddr, u32 size, struct dep_object *out);

/* ---- processes ---- */

/** struct dep_row - one of the store's modules */
struct dep_row {
	const struct dep_module *m;
	u64 reach;		/* highest end of the process's rows up to this one */
	struct dep_image *image;	/* NULL: no file, or not @looked */
	bool looked;
};

/* A file that a process mapped at one address, from all its rows. */
struct dep_instance {
	u32 process;
	struct dep_image *image;
	u64 bias;		/* address minus linked address */
	u64 lo, hi;		/* extent of its segments */
	u64 from_ns, to_ns;	/* @to_ns 0: until the end */
};

struct dep_symbols {
	struct dep_store *store;
	struct dep_strings strings;
	struct dep_image **image;
	size_t nimages, images_room;
	struct dep_row *row;	/* sorted by process and start */
	size_t nrows;
	u64 rows_version;	/* version of the store's modules */
	struct dep_instance *inst;	/* of process @inst_process */
	size_t ninst, inst_room;
	u32 inst_process;
	bool have_inst;
	const char **note;
	size_t nnotes, notes_room;
};

/** dep_rows_build() - read and sort the store's modules */
int dep_rows_build(struct dep_symbols *s);
/**
 * dep_row_at() - the row of code address @pc at @time_ns (0: the last one), or NULL
 * @ambiguous: another file was mapped there at another time
 */
struct dep_row *dep_row_at(struct dep_symbols *s, u32 process, u64 pc, u64 time_ns,
			   bool *ambiguous);
/** dep_row_image() - the file of @row if it can be used, or NULL */
struct dep_image *dep_row_image(struct dep_symbols *s, struct dep_row *row);
/** dep_instances() - all files of a process; valid until the next call for another process */
size_t dep_instances(struct dep_symbols *s, u32 process, struct dep_instance **out);

/** dep_symbols_message() - add a message for the user, each text once */
void dep_symbols_message(struct dep_symbols *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of libdep/symbols share.
 *
 * address_space.c: what a process had mapped where and when.  mapped_file.c: one file and what was
 * read of it, all by addresses as linked; each part is read when it is needed first.
 */
#ifndef ADEPT_SYMBOLS_INTERNAL_H
#define ADEPT_SYMBOLS_INTERNAL_H

#include <elfutils/libdw.h>

#include "dep/symbols.h"
#include "elf_file.h"
#include "libdep/symbols/dwarf/scopes.h"
#include "ranges.h"
#include "string_pool.h"

#define DEP_NO_INDEX DEP_SPAN_NONE
#define DEP_INSTANCES 4096u	/* of one process; more is a forged store */

/* ---- a file ---- */

struct dep_load {		/* PT_LOAD */
	u64 vaddr, memsz, offset, filesz;
	bool exec;
};

/** struct dep_elf_symbol - what the file says of one */
struct dep_elf_symbol {
	u64 value, size;
	const char *name;	/* may have a version and any characters */
	bool is_func, is_object, is_local, is_weak;
};

#define DEP_ELF_TABLES	8u	/* with symbols, of a file and its debug file; more are not read */

/** struct dep_elf_table - a section of symbols; @names: the section with their names */
struct dep_elf_table {
	Elf *elf;
	Elf_Data *data;
	u32 names;
};

/** struct dep_shown - how one is shown that was asked for; see dep_symbol_name() */
struct dep_shown {
	u32 symbol;		/* DEP_NO_INDEX: this one is free */
	const char *name, *mangled;
};

/**
 * struct dep_elf_symbols - elf_symbols.c
 *
 * All of a library's are there to tell whose some code is.  So they stay in the file, and here is
 * only where: most are never shown.
 */
struct dep_elf_symbols {
	struct dep_elf_table table[DEP_ELF_TABLES];
	u32 ntables;
	u32 *sym;			/* number in its table * DEP_ELF_TABLES + the table's */
	u32 n, room;
	struct dep_spans code, data;	/* values: indexes */
	struct dep_spans loose;		/* code of symbols without size, up to the next one */
	struct dep_shown *shown;	/* by hash */
	u32 nshown, shown_room;
	u32 *by_name;			/* functions by name and value; dep_image_by_name() */
	u32 nby_name;
	bool whole;		/* not only what can be linked with is there */
};

/** struct dep_func - a function, or where one was inlined */
struct dep_func {
	Dwarf_Die die;
	u32 parent;		/* what it was inlined into, or DEP_NO_INDEX */
	bool inlined, named;
	u32 call_file, call_line, call_column;
	const char *name, *symbol;	/* once named */
};

/** struct dep_unit - a compilation unit */
struct dep_unit {
	Dwarf_Die skeleton;	/* has ranges and lines */
	Dwarf_Die die;		/* the same, but with split DWARF */
	bool built;
	struct dep_func *func;
	u32 nfuncs, room;
	struct dep_spans code;	/* values: indexes of functions */
	struct dep_scopes scopes;
	const char *raw_file, *file;	/* the path asked for last: libdw's, and whole */
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
	struct dep_spans data;	/* values: indexes */
	struct dep_scopes scopes;
	const void **atomic;	/* DIEs of std::atomic's instances, sorted */
	size_t natomic, atomic_room;
};

/** struct dep_image - a file that was mapped, by path and build-id */
struct dep_image {
	struct dep_symbols *s;
	const char *path, *build_id;	/* of the strings */
	u64 mapped_ns;		/* when first, CLOCK_REALTIME; 0 = not known */
	struct dep_elf main, debug;	/* main.elf: it can be used */
	struct dep_load *load;
	u32 nloads;
	Dwarf *dw;
	struct dep_unit *unit;
	u32 nunits;
	struct dep_spans units;	/* values: indexes */
	struct dep_elf_symbols syms;
	struct dep_vars vars;
	bool have_debug, have_dw, have_units, have_syms, have_vars;	/* tried already */
};

/** dep_image_new() - NULL without memory; reads nothing */
struct dep_image *dep_image_new(struct dep_symbols *s, const struct dep_module *m);
/** dep_image_open() - look at the file itself; what is wrong with it becomes a note */
void dep_image_open(struct dep_image *im);
void dep_image_free(struct dep_image *im);
/** dep_image_linked() - address as linked of what is at @offset in the file */
bool dep_image_linked(const struct dep_image *im, u64 offset, u64 *vaddr);
/** dep_image_debug() - open the debug file, if it needs one and has it */
void dep_image_debug(struct dep_image *im);
/** dep_image_dwarf() - its DWARF or that of its debug file, or NULL */
Dwarf *dep_image_dwarf(struct dep_image *im);
/** dep_image_is_code(), dep_image_is_data() - does [lo, hi) lie in a segment of that kind? */
bool dep_image_is_code(const struct dep_image *im, u64 lo, u64 hi);
bool dep_image_is_data(const struct dep_image *im, u64 lo, u64 hi);

/** dep_image_symbols() - its ELF symbols, perhaps none */
struct dep_elf_symbols *dep_image_symbols(struct dep_image *im);
/** dep_image_by_name() - the same with their functions sorted by name */
struct dep_elf_symbols *dep_image_by_name(struct dep_image *im);
/** dep_image_function() - the symbol of the code at @vaddr or DEP_NO_INDEX */
u32 dep_image_function(struct dep_image *im, u64 vaddr);
/** dep_elf_symbol() - number @i of them, as the file has it */
struct dep_elf_symbol dep_elf_symbol(const struct dep_elf_symbols *t, u32 i);
/** dep_symbol_order() - strcmp() of names without their versions */
int dep_symbol_order(const char *a, const char *b);
/**
 * dep_symbol_name() - symbol @i without version and demangled; then *@mangled is what it was, else
 *	NULL.  NULL for DEP_NO_INDEX.
 */
const char *dep_symbol_name(struct dep_image *im, u32 i, const char **mangled);

/** dep_image_unit() - the unit at @vaddr, its functions read, or NULL */
struct dep_unit *dep_image_unit(struct dep_image *im, u64 vaddr);
/** dep_image_units() - read their list */
void dep_image_units(struct dep_image *im);
/** dep_die_spans() - put @die's code into @to as @value; how many pieces it has */
int dep_die_spans(struct dep_image *im, Dwarf_Die *die, struct dep_spans *to, u32 value);
/** dep_unit_build() - its functions (functions.c) */
void dep_unit_build(struct dep_image *im, struct dep_unit *u);
/** dep_func_name() - fill in f->name and f->symbol */
void dep_func_name(struct dep_image *im, struct dep_unit *u, struct dep_func *f);

/** dep_image_frames() - everything about @vaddr but module and offset; at least one */
size_t dep_image_frames(struct dep_image *im, u64 vaddr, struct dep_place *out, size_t max);
/** dep_image_real_function() - out->function and symbol, from DWARF only if nothing else can be */
void dep_image_real_function(struct dep_image *im, u64 vaddr, struct dep_place *out);

/** dep_image_vars() - variables with a fixed address */
struct dep_vars *dep_image_vars(struct dep_image *im);
/** dep_image_object() - all of @out that follows from the address as linked */
bool dep_image_object(struct dep_image *im, u64 vaddr, u32 size, struct dep_object *out);

/* ---- processes ---- */

/** struct dep_row - a row of the store's modules */
struct dep_row {
	const struct dep_module *m;
	u64 reach;		/* highest end of this process's rows up to this one */
	struct dep_image *image;	/* NULL: not a file, or not looked for yet */
	bool looked;
};

/* One file at one place in one process, over all its rows. */
struct dep_instance {
	u32 process;
	struct dep_image *image;
	u64 bias;		/* added to an address as linked */
	u64 lo, hi;		/* that its segments span */
	u64 from_ns, to_ns;	/* to 0 = to the end */
};

struct dep_symbols {
	struct dep_store *store;
	struct dep_strings strings;
	struct dep_image **image;
	size_t nimages, images_room;
	struct dep_row *row;	/* sorted by process and start */
	size_t nrows;
	u64 rows_version;	/* of the store's modules that they are of */
	struct dep_instance *inst;	/* of the process asked last */
	size_t ninst, inst_room;
	u32 inst_process;
	bool have_inst;
	const char **note;
	size_t nnotes, notes_room;
};

/** dep_rows_build() - the rows, sorted */
int dep_rows_build(struct dep_symbols *s);
/**
 * dep_row_at() - the row of code address @pc at @time_ns (0: the last), or NULL
 * @ambiguous: another file was there at another time
 */
struct dep_row *dep_row_at(struct dep_symbols *s, u32 process, u64 pc, u64 time_ns,
			   bool *ambiguous);
/** dep_row_image() - its file if that can be used, or NULL */
struct dep_image *dep_row_image(struct dep_symbols *s, struct dep_row *row);
/** dep_instances() - all files of a process; valid until another process's are asked for */
size_t dep_instances(struct dep_symbols *s, u32 process, struct dep_instance **out);

/** dep_symbols_message() - tell people; the same text only once */
void dep_symbols_message(struct dep_symbols *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** dep_grow() - room for one more in an array of @size-byte elements; or NULL, and it stays */
void *dep_grow(void *p, size_t n, size_t *room, size_t size);

#endif

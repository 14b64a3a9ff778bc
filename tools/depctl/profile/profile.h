/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What depctl report and the queries of profiles share. */
#ifndef DEPCTL_PROFILE_PROFILE_H
#define DEPCTL_PROFILE_PROFILE_H

#include <argp.h>

#include <dep/path_profile.h>

#include "tools/depctl/common/guesses.h"
#include "tools/depctl/common/missing.h"
#include "tools/depctl/functions/functions.h"

/* ---- options.c ---- */

enum profile_form { PROFILE_TEXT, PROFILE_JSON, PROFILE_CSV };

/** struct profile_options - options of the queries and of depctl report */
struct profile_options {
	const char *path;
	enum profile_form form;
	uint32_t process;		/* serial; 0: all */
	uint32_t tid;			/* 0: all threads */
	uint64_t from_ns, to_ns;	/* after the start of the recording; 0: no limit */
	uint64_t per_ns;		/* length of an interval; 0: all time together */
	uint64_t top;			/* most rows; 0: all */
	unsigned int jobs;
	const char *function;		/* pattern of fnmatch(3); NULL: all */
	bool all;			/* coverage: also functions that never ran */
	bool files;			/* coverage: rows for source files */
	bool inclusive;			/* methods: with callees */
	const char *tables;		/* that --table can have; set before options are parsed */
	const char *table;		/* print this table instead of rows; NULL: rows */
	/* stores behind @path, with --table=coverage; @many: they are allowed, set as @tables is */
	const char **more;
	size_t nmore;
	bool many;
	const char *against;		/* paths: the store to compare with */
	uint32_t iterations;		/* paths: of a sequence; 0: not given */
	double min;			/* contexts, paths: least share, from 0 to 1 */
	bool has_min;			/* it was given */
	uint64_t memory;		/* bytes for contexts, and for paths; 0: the defaults */
	const char *annotate;		/* edges: pattern of the functions to print */
	bool live;			/* follow a recording that is running */
	uint64_t every_ns;		/* with @live: print rows so often; 0: only at the end */
	const char *socket;		/* with @live: of depd; NULL: the default */
};

/** profile_argp - options of all queries and of depctl report, into a struct profile_options */
extern const struct argp profile_argp;

/**
 * profile_parse() - argp parser for options of single queries, and for the store
 *
 * Return: ARGP_ERR_UNKNOWN for any other @key.
 */
error_t profile_parse(int key, char *arg, struct argp_state *state);

enum {
	OPT_ALL = 700, OPT_FILES, OPT_MIN, OPT_ANNOTATE, OPT_INCLUSIVE, OPT_FUNCTION, OPT_CSV,
	OPT_PER, OPT_LIVE, OPT_EVERY, OPT_DEPD, OPT_TABLE,
	OPT_AGAINST, OPT_ITERATIONS, OPT_MEMORY,
};

/** PROFILE_MEMORY() - the option --memory; @what: what it limits, a literal */
#define PROFILE_MEMORY(what) \
	{ "memory", OPT_MEMORY, "SIZE", 0, \
	  "Use at most SIZE for " what " (default: at most 1G)", 3 }

/* ---- view.c ---- */

#define VIEW_CONTEXTS	1u		/* make struct profile_view.c */
#define VIEW_TIMES	4u		/* with VIEW_CONTEXTS: also rows of times */
#define VIEW_NO_COUNTS	2u		/* do not make struct profile_view.p */
#define VIEW_NO_LIVE	8u		/* a running recording cannot be followed */

/** struct profile_view - a store, and the profile of the part that the options select */
struct profile_view {
	const struct profile_options *o;
	struct dep_store *store;
	struct dep_fragments *code;
	struct dep_symbols *symbols;
	const struct dep_profile *p;	/* with --per, of all intervals together */
	struct dep_profile *own;	/* the same, or NULL: it belongs to @intervals */
	struct dep_intervals *intervals;	/* with --per */
	struct dep_contexts *c;
	struct functions *f;
	struct dep_fold_options fold;	/* what was selected */
	uint64_t paths_not_counted;	/* as in struct dep_path_profile */
};

/** profile_open() - open the store and make the profile; 0, or EXIT_FAILURE after a message */
int profile_open(struct profile_view *v, const struct profile_options *o, unsigned int needs);
void profile_close(struct profile_view *v);

/**
 * profile_select() - set @v->fold to what the options select
 * @complete: no process or thread is added to the store any more
 *
 * Return: 0, or EXIT_FAILURE after a message.
 */
int profile_select(struct profile_view *v, bool complete);

/** profile_selects_all() - true if all segments are selected: counts of the whole store fit */
bool profile_selects_all(const struct profile_view *v);

/** profile_paths() - count the paths of what is selected; 0, or EXIT_FAILURE after a message */
int profile_paths(struct profile_view *v, struct dep_path_profile **out);

/** profile_failed() - print a message for @err, a negative errno; EXIT_FAILURE */
int profile_failed(const struct profile_view *v, int err);

/** profile_add_reasons() - add what @v, another store than that of the rows, lacks to @r */
void profile_add_reasons(const struct profile_view *v, struct reasons *r);

/** profile_reasons() - why the profile is incomplete */
void profile_reasons(const struct profile_view *v, struct reasons *r);

/** profile_status() - exit status: EXIT_FAILURE if data is missing, damaged or not counted */
int profile_status(const struct profile_view *v);

/** profile_matches() - does function @i match --function?  @i may be NO_FUNCTION */
bool profile_matches(const struct profile_view *v, uint32_t i);

/* ---- merged.c: rows of all processes that map the same file, added up ---- */

/** struct insn_row - an instruction */
struct insn_row {
	struct site at;
	uint64_t count;
	uint64_t pc;		/* in the process that translated @fragment */
	uint32_t fragment;
	uint8_t size, refs, branch;
};

/** struct edge_row - a branch and its target, as in struct dep_edge_count */
struct edge_row {
	struct site from, to;
	uint64_t count;
	uint8_t kind, taken;
};

/** struct merged - sorted by unit and address; edges by from, to, kind */
struct merged {
	struct insn_row *insn;
	struct edge_row *edge;
	size_t ninsns, nedges;
};

/**
 * merged_make() - add up the rows of @p, which is @v->p or one of its intervals
 *
 * Return: 0 or -ENOMEM; merged_free() is needed in both cases.
 */
int merged_make(struct merged *m, const struct profile_view *v, const struct dep_profile *p);
void merged_free(struct merged *m);

/** merged_at() - index of the first instruction at @site or behind it */
size_t merged_at(const struct merged *m, struct site site);

int site_compare(struct site a, struct site b);

/* ---- blocks.c ---- */

/** struct block - instructions of @merged from @first on that are executed one after another */
struct block {
	size_t first, n;	/* indexes in merged.insn */
	uint64_t count;		/* times that the first one was executed */
};

struct blocks {
	struct block *block;
	size_t n;
};

/**
 * blocks_make() - divide the executed code into basic blocks
 *
 * A block begins at each target of an edge and behind each branch, in whatever fragments the code
 * was recorded.  Return: 0 or -ENOMEM.
 */
int blocks_make(struct blocks *b, const struct merged *m);
void blocks_free(struct blocks *b);

/** blocks_at() - index of the block that begins at @site; b->n: none */
size_t blocks_at(const struct blocks *b, const struct merged *m, struct site site);

/* ---- loops.c ---- */

/** struct loop - a natural loop of the executed graph of a function */
struct loop {
	struct site header;
	uint32_t function;
	uint64_t entered;	/* times that control came to the header from outside of the loop */
	uint64_t iterations;	/* times that the header was executed */
	uint64_t insns;		/* executed in the loop, without callees */
};

struct loops {
	struct loop *loop;	/* sorted by insns, most first */
	size_t n, room;
	size_t unsearched;	/* functions whose graph is too large to be searched wholly */
};

/** loops_find() - find the loops of all functions; 0 or -ENOMEM */
int loops_find(struct loops *l, const struct merged *m, const struct blocks *b,
	       const struct functions *f);
/** profile_loops() - the same for all that @v has */
int profile_loops(const struct profile_view *v, struct loops *l);
void loops_free(struct loops *l);

/* ---- hot_paths.c ---- */

/**
 * struct hot_path - a path, in all processes that executed it
 * @row: index in dep_path_profile.row, of the first of these processes
 * @insns: executed in it, each time together
 * @loop: the head of a loop, if the path begins there and goes back to it; or else unit is
 *	NO_FUNCTION
 */
struct hot_path {
	size_t row;
	uint64_t count, insns;
	struct site function, loop;
	uint32_t processes;
};

/**
 * struct hot_paths - whole paths and loops of one block
 * @path: sorted by insns, most first
 * @partial, @partial_insns: rows of partial paths, and what they executed
 * @truncated: functions with too many paths, as in struct dep_path_function
 */
struct hot_paths {
	const struct dep_path_profile *p;
	struct hot_path *path;
	size_t n;
	uint64_t partial, partial_insns, truncated;
	/* The following is private. */
	size_t *round, nround;	/* paths with @loop, sorted by it; the most executed first */
};

/** hot_paths_find() - sort the paths of @p, which must stay; 0 or -ENOMEM */
int hot_paths_find(struct hot_paths *h, const struct dep_path_profile *p,
		   const struct functions *f);
void hot_paths_free(struct hot_paths *h);

/** hot_paths_of_loop() - index of the most executed path round the loop at @head; h->n: none */
size_t hot_paths_of_loop(const struct hot_paths *h, struct site head);

/* ---- path_text.c ---- */

/**
 * path_text() - where the blocks of row @row begin, in hexadecimal; "#1" stands for rewritten code
 * @most: blocks of a path at most; "..." stands for more
 * @relative: as distances from the function
 *
 * The blocks of paths in front of the row's stand in front of them, with ">" between the paths.
 *
 * Return: text that the caller frees; NULL: out of memory.
 */
char *path_text(const struct dep_path_profile *p, size_t row, size_t most, bool relative);
/** path_numbers() - the numbers of these paths, such as "3>5>5"; NULL: out of memory */
char *path_numbers(const struct dep_path_profile *p, size_t row);

/* ---- names.c: texts for people ---- */

#define NAME_TEXT	512u

/**
 * name_site() - name an address: "function+1c", with the file unless it is the program's
 * @out: has NAME_TEXT bytes
 */
void name_site(const struct profile_view *v, struct site site, char *out);

/** name_code() - as name_site(), without the file */
void name_code(const struct profile_view *v, struct site site, char *out);

/** edge_kind_name() - name of enum dep_branch, DEP_EDGE_* */
const char *edge_kind_name(uint8_t kind);

/** human_count() - a number such as "80.4 M" into @buf, which has 16 bytes */
const char *human_count(uint64_t n, char *buf);

#endif

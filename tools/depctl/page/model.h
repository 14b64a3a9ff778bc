/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What page_write() makes of a profile before it writes it.
 *
 * A page is small whatever was recorded: contexts are joined by function, then those below a share
 * of all instructions are joined with their siblings.  Each instruction is still counted in exactly
 * one node, so that sums are exact.
 */
#ifndef DEPCTL_PAGE_MODEL_H
#define DEPCTL_PAGE_MODEL_H

#include "tools/depctl/common/output.h"
#include "page.h"

/* Bounds of what a page has. */
#define PAGE_SHARE	4000u	/* nodes have at least this part of all instructions */
#define PAGE_NODES	20000u
#define PAGE_DEPTH	400u
#define PAGE_FUNCTIONS	6000u	/* besides those of nodes */
#define PAGE_PAIRS	30000u
#define PAGE_THREADS	64u
#define PAGE_BUCKETS	256u	/* time intervals */
#define PAGE_ROWS	150000u	/* of (thread, interval, node) */
#define PAGE_CODE	250u	/* functions with assembly */
#define PAGE_INSNS	50000u	/* instructions of these */
#define PAGE_SOURCE	(3u << 20)	/* bytes of source text */

/* Values of page_node.kind beyond enum dep_context_kind. */
#define PAGE_SMALLER	16u	/* several small contexts */
#define PAGE_PROCESS	17u

/**
 * struct page_node - contexts of the same chain of functions
 * @function: index in functions_all(), or NO_FUNCTION
 * @process: with PAGE_PROCESS: index in dep_store_processes()
 * @self: instructions of the node without its children; with PAGE_SMALLER: of all it stands for
 * @joined: PAGE_SMALLER: number of chains that it stands for
 * @guess: all its contexts are callers at an attach that are guesses
 */
struct page_node {
	uint32_t parent, function, process, depth, joined;
	uint8_t kind;
	bool guess;
	uint64_t calls, self, inclusive;
};

/**
 * struct page_tree - the nodes that the page shows; parents come before children
 * @of: index in @node for each context
 * @least: least number of instructions of a node that is not joined with others
 */
struct page_tree {
	struct page_node *node;
	uint32_t *of;
	uint32_t n;
	uint64_t least;
};

int page_tree_make(const struct page_input *in, struct page_tree *t);
void page_tree_free(struct page_tree *t);

/** struct page_row - instructions of a node in a time interval of a thread */
struct page_row {
	uint32_t thread, bucket, node;
	uint64_t insns;
};

/**
 * struct page_times - rows, sorted by thread, bucket and node
 * @thread: index in dep_store_threads() of each thread of the page; the last one is
 *	NO_FUNCTION if it stands for several
 */
struct page_times {
	struct page_row *row;
	size_t nrows;
	uint32_t thread[PAGE_THREADS];
	uint64_t thread_insns[PAGE_THREADS];
	uint32_t nthreads, other_threads;
	uint64_t start_ns, bucket_ns;
	uint32_t nbuckets;
};

int page_times_make(const struct page_input *in, const struct page_tree *t, struct page_times *s);
void page_times_free(struct page_times *s);

/** struct page_pair - calls of one function by another */
struct page_pair {
	uint32_t caller, callee;	/* indexes in functions_all(), or NO_FUNCTION */
	uint64_t calls;
	uint64_t insns;		/* of the callee and all it called, counted once in recursion */
};

/**
 * struct page_functions - the functions of the page
 * @number: index in @chosen for each of functions_all(); NO_FUNCTION: left out
 * @chosen: indexes in functions_all()
 */
struct page_functions {
	uint32_t *number, *chosen;
	uint32_t n;
	uint32_t left_out;
	uint64_t left_insns;
	struct page_pair *pair;
	size_t npairs, pairs_left_out;
};

int page_functions_make(const struct page_input *in, const struct page_tree *t,
			struct page_functions *s);
void page_functions_free(struct page_functions *s);
/** page_pairs_make() - set the pairs of @s, most instructions first */
int page_pairs_make(const struct page_input *in, struct page_functions *s);

/** struct page_insn - an instruction of the page's assembly */
struct page_insn {
	uint64_t address, count;
	uint32_t function, row;	/* index in functions_all(); in dep_profile.insn */
};

/** struct page_code - instructions, sorted by function and address; functions without a row have
 * too few instructions to be shown
 */
struct page_code {
	struct page_insn *insn;
	size_t n;
};

int page_code_make(const struct page_input *in, struct page_code *c);
void page_code_free(struct page_code *c);

/** page_code_write() - write members "files", "text" and "code" */
int page_code_write(const struct page_input *in, const struct page_code *c,
		    const struct page_functions *f, struct json *j);

/** page_address() - address of @row as linked; of code without a file, of the process */
uint64_t page_address(const struct page_input *in, const struct dep_insn_count *row);

/** page_number() - number on the page of @function, an index in functions_all(); -1: none */
static inline int64_t page_number(const struct page_functions *f, uint32_t function)
{
	return function == NO_FUNCTION || f->number[function] == NO_FUNCTION ?
	       -1 : (int64_t)f->number[function];
}

/* Write a member: an array of one number for each index from 0 to @n - 1. */
#define COLUMN(j, key, i, n, value) do { \
	json_array(j, key); \
	for (i = 0; i < (n); i++) \
		json_i64(j, NULL, (int64_t)(value)); \
	json_close(j, ']'); \
} while (0)

/** page_paths_write() - write member "paths"; null if the page has none */
int page_paths_write(const struct page_input *in, const struct page_code *c,
		     const struct page_functions *f, struct json *j);

/** page_data_write() - write the page's data as JSON that can stand in a script element */
int page_data_write(const struct page_input *in, struct out *o);

#endif

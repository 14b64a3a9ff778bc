/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State of the recovery of one segment, and the interpreter. */
#ifndef ADEPT_RECOVER_INTERP_RUN_H
#define ADEPT_RECOVER_INTERP_RUN_H

#include "dep/recover.h"
#include "libdep/format/codec/delta.h"
#include "libdep/recover/program/program.h"
#include "libdep/recover/filter/filter.h"

#define DEP_BATCH	4096	/* items in a batch, unless one operation needs more */

struct dep_jit;

/* Indices in dep_jit_state.count, the counts that machine code adds up. */
enum {
	DEP_JIT_REFS, DEP_JIT_READS, DEP_JIT_WRITES, DEP_JIT_BLOCKS, DEP_JIT_INSNS,
	DEP_JIT_WORDS, DEP_JIT_RECORDS, DEP_JIT_COUNTS = 8,
};

/** struct dep_jit_state - arguments and results of a run of machine code, see dep_jit_run() */
struct dep_jit_state {
	const u64 *value_end;
	const u32 *control, *control_end;
	struct dep_filter *filter;
	const u32 *table;
	const u8 *code;
	u32 count[DEP_JIT_COUNTS];
	u32 unknown;		/* mask of registers that are not in dep_interp.known */
	u32 ran;		/* number of records, including an unfinished one */
};

/**
 * struct dep_batch - items to be passed to the sink
 *
 * Call dep_batch_room() before adding items.  An item of a kind that the sink does not want is
 * written, too, but @n does not count it, so the next item overwrites it.
 */
struct dep_batch {
	struct dep_item *item;
	struct dep_call_values *passed;	/* payloads of function items, by index of the item */
	uint8_t *joined;		/* buffer of struct dep_page_accesses */
	size_t n, room, joined_used;
	int stopped;		/* non-zero result of the sink's batch(), or an error */
	const struct dep_sink *sink;
	const struct dep_segment *seg;
	/* 1 if the sink wants items of this kind, else 0 */
	u32 want_block, want_ref, want_event, want_timestamp, want_call, want_function,
	    want_jump;
};

int dep_batch_flush(struct dep_batch *o);
int dep_batch_grow(struct dep_batch *o, size_t n);
/**
 * dep_batch_page() - get a buffer for the accesses to one page, with DEP_JOINED_WORDS words
 *
 * The next call returns the same buffer, unless the caller adds its size to o->joined_used.
 *
 * Return: NULL on error; o->stopped has the reason.
 */
struct dep_page_accesses *dep_batch_page(struct dep_batch *o);

/** dep_batch_room() - make room for @n more items; 0, the sink's non-zero result, or -ENOMEM */
static inline int dep_batch_room(struct dep_batch *o, size_t n)
{
	return o->n + n <= o->room ? 0 : dep_batch_grow(o, n);
}

struct dep_interp;

/**
 * struct dep_tracer - follows the instructions, besides the items (paper_formats.c)
 *
 * begin() and end() enclose each executed piece of a fragment: instructions @from to @to - 1.
 * Between them, op() is called before each operation @op; r->slot has the registers.  moved() is
 * called when an event sets the registers and continues at @pc; @pc is 0 if it is unknown.
 * interrupted() is called for a string instruction that was interrupted; @post is its final
 * pointer.  All but begin() may be NULL.
 */
struct dep_tracer {
	void (*begin)(void *arg, const struct dep_program *p, const struct dep_details *d,
		      u32 from, u32 to);
	void (*op)(void *arg, const struct dep_interp *r, const struct dep_program *p, u32 op);
	void (*end)(void *arg);
	void (*moved)(void *arg, u64 pc);
	void (*interrupted)(void *arg, const struct dep_interp *r, const struct dep_insn *in,
			    u64 post);
	void *arg;
};

#define DEP_RECENT	2048u

/** struct dep_recent - cache entry of an exit; @id 0: empty */
struct dep_recent {
	u32 id;
	const struct dep_exit_info *exit;
};

struct dep_interp {
	struct dep_store *store;
	struct dep_columns *columns;
	struct dep_batch out;
	struct dep_counts counts;
	const struct dep_tracer *tracer;
	struct dep_filter *filter;	/* NULL: all references are emitted */
	bool more;		/* a segment follows, so accesses can stay deferred until then */
	size_t reserve;		/* number of items for which room was made last */
	int failed;		/* error that occurred in a function that cannot return it */
	bool filtered;			/* run filtered programs where possible, else whole ones */
	struct dep_jit *jit;		/* NULL: no machine code; else @filtered is set, too */
	struct dep_jit_state state;	/* arguments and results of machine code */
	u64 slot[DEP_SLOTS];
	const u64 *value;	/* next value in the value column */
	const u64 *vec[2];	/* last stored index vector and mask vector */
	u64 kreg;		/* value of the opmask register that the program stored last */
	u16 known;		/* mask of the registers whose slots are valid */
	/* last exit; NULL: dep_settle_exit() has set pc, last_pc and after_syscall from it */
	const struct dep_exit_info *exit;
	u64 pc;			/* pc of the next instruction, 0: unknown */
	u64 last_pc;		/* pc of the last instruction, 0: unknown */
	int after_syscall;	/* the last instruction was a system call */
	struct dep_recent recent[DEP_RECENT];	/* cache of exits, by the low bits of the id */
	u64 last[DEP_DELTA_SLOTS];	/* last values of each exit, to decode differences */
};

/** dep_interp_again() - reuse @r for other columns of the same store and another sink */
void dep_interp_again(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink);

/**
 * dep_interp_ops() - interpret operations @from to @to - 1
 * @last_insn: instructions from this index on are not executed; the last block ends before it
 *
 * The caller has made room for p->max_items items.  This function counts only the references of
 * dynamic operations; the caller counts all others.
 *
 * Return: 0, what the sink returned, or -EBADMSG.
 */
int dep_interp_ops(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn);

/** dep_interp_filtered() - run the filtered program from operation @from to the exit @x */
int dep_interp_filtered(struct dep_interp *r, const struct dep_program *p,
			const struct dep_exit_info *x, u32 from);

/**
 * dep_interp_string() - emit the references of a string instruction
 * @code: enum dep_code of the instruction, for r->filter
 * @post: value of its pointer register afterwards
 * @rep: it has a repeat prefix; otherwise exactly one iteration is expected
 */
int dep_interp_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 post,
		      int rep);

/** dep_interp_reserve() - make room for all items of @p; 0 or the error of dep_batch_room() */
static inline int dep_interp_reserve(struct dep_interp *r, const struct dep_program *p)
{
	r->reserve = p->max_items + 1;
	return dep_batch_room(&r->out, r->reserve);
}

/** dep_interp_room() - make room for @n items of an operation; 0 or dep_batch_room()'s error */
static inline int dep_interp_room(struct dep_interp *r, size_t n)
{
	r->reserve = r->reserve < n ? n : r->reserve;
	return dep_batch_room(&r->out, n);
}

/** dep_interp_put_stopped() - emit the timestamp that r->filter withholds; can set r->failed */
void dep_interp_put_stopped(struct dep_interp *r);
/** dep_interp_put_off() - emit all deferred references of r->filter; 0 or r->failed */
int dep_interp_put_off(struct dep_interp *r);

/** dep_recover_traced() - recover a segment with the buffers, sink and tracer of @r */
int dep_recover_traced(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
		       struct dep_counts *counts);

/** dep_recover_columns() - as dep_recover_traced(), if r->columns already has the segment's data */
int dep_recover_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
			struct dep_counts *counts);

void dep_interp_init(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink,
		     const struct dep_tracer *tracer);
void dep_interp_free(struct dep_interp *r);

void dep_counts_add(struct dep_counts *sum, const struct dep_counts *c);

#endif

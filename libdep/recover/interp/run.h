/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* State of recovering one segment, and the interpreter. */
#ifndef ADEPT_RECOVER_INTERP_RUN_H
#define ADEPT_RECOVER_INTERP_RUN_H

#include "dep/recover.h"
#include "libdep/format/codec/delta.h"
#include "libdep/recover/program/program.h"
#include "libdep/recover/filter/filter.h"

#define DEP_BATCH	4096	/* items, where one operation does not need more */

struct dep_jit;

/* In number and order as the code adds them up. */
enum {
	DEP_JIT_REFS, DEP_JIT_READS, DEP_JIT_WRITES, DEP_JIT_BLOCKS, DEP_JIT_INSNS,
	DEP_JIT_WORDS, DEP_JIT_RECORDS, DEP_JIT_COUNTS = 8,
};

/** struct dep_jit_state - of a dep_interp; @ran: records, the one that was left among them */
struct dep_jit_state {
	const u64 *value_end;
	const u32 *control, *control_end;
	struct dep_filter *filter;
	const u32 *table;
	const u8 *code;
	u32 count[DEP_JIT_COUNTS];
	u32 unknown;		/* registers: dep_interp.known without these */
	u32 ran;
};

/**
 * struct dep_batch - items on their way to the sink
 *
 * dep_batch_room() before they are made; those that are not wanted are made too, and
 * overwritten.
 */
struct dep_batch {
	struct dep_item *item;
	struct dep_call_values *passed;	/* of the function that item of the same number is */
	uint8_t *joined;		/* what joined items are, one after the other */
	size_t n, room, joined_used;
	int stopped;		/* what the sink said when it would have no more */
	const struct dep_sink *sink;
	const struct dep_segment *seg;
	/* 0 or 1 */
	u32 want_block, want_ref, want_event, want_timestamp, want_call, want_function,
	    want_jump;
};

int dep_batch_flush(struct dep_batch *o);
int dep_batch_grow(struct dep_batch *o, size_t n);
/** dep_batch_page() - room for DEP_JOINED_WORDS, until more is asked for; NULL: see @o->stopped */
struct dep_page_accesses *dep_batch_page(struct dep_batch *o);

/** dep_batch_room() - make sure that @n more items fit; what the sink returned, or 0 */
static inline int dep_batch_room(struct dep_batch *o, size_t n)
{
	return o->n + n <= o->room ? 0 : dep_batch_grow(o, n);
}

/**
 * struct dep_tracer - for what needs instructions and not items (paper_formats.c)
 *
 * Called for each piece of a fragment that was executed: instructions from..to-1.
 */
struct dep_tracer {
	void (*piece)(void *arg, const struct dep_program *p, const struct dep_details *d,
		      u32 from, u32 to);
	void *arg;
};

#define DEP_RECENT	2048u

/** struct dep_recent - an exit that was looked up lately; 0 is none's id */
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
	struct dep_filter *filter;	/* NULL: all references are shown */
	bool more;		/* what it puts off may be told by the next segment */
	size_t reserve;		/* items that what is under way may make; dep_interp_reserve() */
	int failed;		/* what the sink returned where that could not be told */
	bool filtered;			/* whole records by filtered programs */
	struct dep_jit *jit;	/* NULL: no machine code; else it is filtered */
	struct dep_jit_state state;	/* of the machine code */
	u64 slot[DEP_SLOTS];
	const u64 *value;	/* next one */
	const u64 *vec[2];
	u64 kreg;
	u16 known;
	const struct dep_exit_info *exit;	/* taken last; NULL: what follows is true already */
	u64 pc;			/* where execution is, 0 = unknown */
	u64 last_pc;		/* last instruction done, 0 = unknown */
	int after_syscall;
	struct dep_recent recent[DEP_RECENT];	/* by the lower bits of the id */
	u64 last[DEP_DELTA_SLOTS];	/* values, where the columns have differences */
};

/**
 * dep_interp_again() - dep_interp_init() of one that was used with the same store, and no tracer
 */
void dep_interp_again(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink);

/**
 * dep_interp_ops() - interpret operations @from..@to-1
 * @last_insn: where blocks end at the latest
 *
 * Counts the references of dynamic operations only; the caller knows the others,
 * and has made room for p->max_items.
 *
 * Return: 0, what the sink returned, or -EBADMSG.
 */
int dep_interp_ops(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn);

/**
 * dep_interp_filtered() - the same of a record that ends at @x, by its filtered program from @from
 */
int dep_interp_filtered(struct dep_interp *r, const struct dep_program *p,
			const struct dep_exit_info *x, u32 from);

/**
 * dep_interp_string() - the references of a string instruction that moved its pointer to @post
 * @code: enum dep_code, for r->filter
 */
int dep_interp_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 post,
		      int rep);

/**
 * dep_interp_reserve() - make room for all that a piece of @p makes; what the sink returned, or 0
 */
static inline int dep_interp_reserve(struct dep_interp *r, const struct dep_program *p)
{
	r->reserve = p->max_items + 1;
	return dep_batch_room(&r->out, r->reserve);
}

/** dep_interp_room() - make room for @n items of an operation; what the sink returned, or 0 */
static inline int dep_interp_room(struct dep_interp *r, size_t n)
{
	r->reserve = r->reserve < n ? n : r->reserve;
	return dep_batch_room(&r->out, n);
}

/** dep_interp_put_stopped() - put the timestamp that r->filter holds back; or r->failed is set */
void dep_interp_put_stopped(struct dep_interp *r);
/** dep_interp_put_off() - put the references that r->filter has put off; 0 or r->failed */
int dep_interp_put_off(struct dep_interp *r);

/** dep_recover_traced() - dep_recover_segment() with buffers that are used again */
int dep_recover_traced(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
		       struct dep_counts *counts);

/** dep_recover_columns() - the same with columns that are there already */
int dep_recover_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
			struct dep_counts *counts);

void dep_interp_init(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink,
		     const struct dep_tracer *tracer);
void dep_interp_free(struct dep_interp *r);

void dep_counts_add(struct dep_counts *sum, const struct dep_counts *c);

#endif

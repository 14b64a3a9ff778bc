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

/* Index of each count, as machine code adds them up. */
enum {
	DEP_JIT_REFS, DEP_JIT_READS, DEP_JIT_WRITES, DEP_JIT_BLOCKS, DEP_JIT_INSNS,
	DEP_JIT_WORDS, DEP_JIT_RECORDS, DEP_JIT_COUNTS = 8,
};

/** struct dep_jit_state - state of machine code; @ran: records, also an unfinished one */
struct dep_jit_state {
	const u64 *value_end;
	const u32 *control, *control_end;
	struct dep_filter *filter;
	const u32 *table;
	const u8 *code;
	u32 count[DEP_JIT_COUNTS];
	u32 unknown;		/* registers that are not in dep_interp.known */
	u32 ran;
};

/**
 * struct dep_batch - items to be passed to the sink
 *
 * Call dep_batch_room() before adding items.  Unwanted items are written, too, and then
 * overwritten.
 */
struct dep_batch {
	struct dep_item *item;
	struct dep_call_values *passed;	/* of the function item with the same index */
	uint8_t *joined;		/* buffer of dep_page_accesses */
	size_t n, room, joined_used;
	int stopped;		/* non-zero result of the sink's batch(), or an error */
	const struct dep_sink *sink;
	const struct dep_segment *seg;
	/* each 0 or 1 */
	u32 want_block, want_ref, want_event, want_timestamp, want_call, want_function,
	    want_jump;
};

int dep_batch_flush(struct dep_batch *o);
int dep_batch_grow(struct dep_batch *o, size_t n);
/** dep_batch_page() - room for DEP_JOINED_WORDS, until the next call; NULL: see @o->stopped */
struct dep_page_accesses *dep_batch_page(struct dep_batch *o);

/** dep_batch_room() - make sure that @n more items fit; 0, or what the sink returned, or -ENOMEM */
static inline int dep_batch_room(struct dep_batch *o, size_t n)
{
	return o->n + n <= o->room ? 0 : dep_batch_grow(o, n);
}

/**
 * struct dep_tracer - receives instructions instead of items (paper_formats.c)
 *
 * piece() is called for each executed piece of a fragment: instructions @from to @to - 1.
 */
struct dep_tracer {
	void (*piece)(void *arg, const struct dep_program *p, const struct dep_details *d,
		      u32 from, u32 to);
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
	bool more;		/* deferred accesses may be left to the next segment */
	size_t reserve;		/* items that the current piece can make; dep_interp_reserve() */
	int failed;		/* error of the sink where it cannot be returned at once */
	bool filtered;			/* run whole records by their filtered programs */
	struct dep_jit *jit;		/* NULL: no machine code; else @filtered is set, too */
	struct dep_jit_state state;	/* of the machine code */
	u64 slot[DEP_SLOTS];
	const u64 *value;	/* next one */
	const u64 *vec[2];
	u64 kreg;
	u16 known;
	const struct dep_exit_info *exit;	/* last exit; NULL: the next fields are valid */
	u64 pc;			/* pc of the next instruction, 0: unknown */
	u64 last_pc;		/* pc of the last instruction, 0: unknown */
	int after_syscall;
	struct dep_recent recent[DEP_RECENT];	/* by the low bits of the id */
	u64 last[DEP_DELTA_SLOTS];	/* last values, if the columns have differences */
};

/** dep_interp_again() - reuse @r for other columns of the same store, with the same tracer */
void dep_interp_again(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink);

/**
 * dep_interp_ops() - interpret operations @from to @to - 1
 * @last_insn: the block that is open at the end has no instructions from this one on
 *
 * Counts the references of dynamic operations only.  The caller counts the others, and has made
 * room for p->max_items.
 *
 * Return: 0, what the sink returned, or -EBADMSG.
 */
int dep_interp_ops(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn);

/** dep_interp_filtered() - run the filtered program of a record that ends at @x, from @from on */
int dep_interp_filtered(struct dep_interp *r, const struct dep_program *p,
			const struct dep_exit_info *x, u32 from);

/**
 * dep_interp_string() - emit the references of a string instruction
 * @code: enum dep_code, for r->filter
 * @post: its pointer register afterwards
 */
int dep_interp_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 post,
		      int rep);

/** dep_interp_reserve() - make room for the items of a piece of @p; 0 or what the sink returned */
static inline int dep_interp_reserve(struct dep_interp *r, const struct dep_program *p)
{
	r->reserve = p->max_items + 1;
	return dep_batch_room(&r->out, r->reserve);
}

/** dep_interp_room() - make room for @n items of one operation; 0 or what the sink returned */
static inline int dep_interp_room(struct dep_interp *r, size_t n)
{
	r->reserve = r->reserve < n ? n : r->reserve;
	return dep_batch_room(&r->out, n);
}

/** dep_interp_put_stopped() - emit the timestamp that r->filter withholds; can set r->failed */
void dep_interp_put_stopped(struct dep_interp *r);
/** dep_interp_put_off() - flush the deferred references of r->filter; 0 or r->failed */
int dep_interp_put_off(struct dep_interp *r);

/** dep_recover_traced() - dep_recover_segment() with the reusable buffers of @r */
int dep_recover_traced(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
		       struct dep_counts *counts);

/** dep_recover_columns() - the same if r->columns is filled already */
int dep_recover_columns(struct dep_store *s, const struct dep_segment *seg, struct dep_interp *r,
			struct dep_counts *counts);

void dep_interp_init(struct dep_interp *r, struct dep_columns *c, const struct dep_sink *sink,
		     const struct dep_tracer *tracer);
void dep_interp_free(struct dep_interp *r);

void dep_counts_add(struct dep_counts *sum, const struct dep_counts *c);

#endif

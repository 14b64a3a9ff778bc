/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovery: turns a stored segment into executed blocks, memory references, calls and events.
 */
#ifndef DEP_RECOVER_H
#define DEP_RECOVER_H

#include "events.h"
#include "functions.h"
#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum dep_ref_type { DEP_READ = 1, DEP_WRITE = 2, DEP_MODIFY = 3 };

/** struct dep_ref - one memory reference */
struct dep_ref {
	uint64_t pc, addr;
	uint32_t size;
	uint16_t type;		/* enum dep_ref_type */
	uint16_t origin;	/* only for libdep's race detector: 1 + enum dep_code; else 0 */
};

/** struct dep_event - one event; events.h has the structure of each payload */
struct dep_event {
	uint32_t id;		/* enum adept_event */
	uint32_t size;
	const void *payload;
	uint64_t pc;		/* application pc at the event, 0 = unknown */
};

/**
 * struct dep_lock_timestamp - timestamp of a locked instruction (see events.h)
 * @after: false: timestamp before the instruction; true: timestamp after it.  The instruction's
 *	references come between these two items.  If a signal or fault interrupts the instruction
 *	after the first item, that item is repeated when the instruction is restarted.
 * @wrote: only with @after: the instruction may have changed memory.  False for a lock cmpxchg
 *	that found another value, and for a fence that leaves the top of the stack unchanged
 *	(lock or $0, (%rsp)).
 * @result_unused: only with @after: the program does not use the old memory value, neither from a
 *	register nor from a flag
 */
struct dep_lock_timestamp {
	uint64_t pc, timestamp;
	bool after;
	bool wrote;
	bool result_unused;
};

/**
 * struct dep_call - an executed call, return or unconditional jump
 * @sp: stack pointer after the instruction; for a jump, 0 if recovery does not know it
 */
struct dep_call {
	uint64_t pc, sp;
	uint32_t is_return, is_jump;
};

/** struct dep_call_values - arguments or result of a hooked function */
struct dep_call_values {
	/* entry: address of the return address on the stack; return: that address + 8 */
	uint64_t sp;
	uint64_t value[DEP_FUNCTION_ARGS];	/* entry: arguments; return: [0] is the result */
	uint64_t again;		/* used by libdep's race detector; otherwise 0 */
};

/**
 * struct dep_function_call - entry of a hooked function, or execution of a return site
 *
 * A return site is an instruction to which calls of hooked functions return.  The item appears
 * each time the site is executed, even if control reaches it in another way.  To find the entry
 * that belongs to a return, take the last entry with sp equal to the return's sp - 8.  Earlier
 * entries with the same sp were tail calls, which return here as well.  Entries whose sp is below
 * that of a later return ended without returning, by longjmp for example.  A function that jumps
 * to its own beginning is entered again.  A result of type int is in the lower half of the value.
 */
struct dep_function_call {
	uint64_t pc;		/* address of the function, or of the return site */
	uint16_t function;	/* enum dep_function; DEP_F_NONE for a return */
	uint8_t is_return;
	uint8_t known;		/* bit i: passed->value[i] is known */
	const struct dep_call_values *passed;
};

struct dep_page_accesses;

enum dep_item_kind {
	DEP_ITEM_BLOCK,
	DEP_ITEM_REF,
	DEP_ITEM_EVENT,
	DEP_ITEM_TIMESTAMP,
	DEP_ITEM_CALL,
	DEP_ITEM_FUNCTION,
	DEP_ITEM_PAGE,		/* only for libdep's race detector (dep_analyzer.scope) */
};

/**
 * struct dep_block - an executed basic block
 *
 * A basic block begins at each branch target that was reached, after each branch, call, return and
 * system call, and at the beginning of each fragment.  ninsns counts the instructions up to the
 * block's end within its fragment, or up to the event that interrupted the block.
 */
struct dep_block {
	uint64_t pc;
	uint32_t ninsns;
};

/** struct dep_item - an element of a thread's stream, in program order */
struct dep_item {
	enum dep_item_kind kind;
	union {
		struct dep_block block;
		struct dep_ref ref;
		struct dep_event event;
		struct dep_lock_timestamp timestamp;
		struct dep_call call;
		struct dep_function_call function;
		const struct dep_page_accesses *joined;
	};
};

#define DEP_WANT_BLOCKS	0x1
#define DEP_WANT_REFS	0x2
#define DEP_WANT_EVENTS	0x4
#define DEP_WANT_TIMESTAMPS	0x8
#define DEP_WANT_CALLS	0x10
#define DEP_WANT_FUNCTIONS	0x20
#define DEP_WANT_JUMPS		0x40

/** struct dep_counts - totals of one or several segments */
struct dep_counts {
	uint64_t instructions, blocks, refs, reads, writes;
	uint64_t records, events;
	/* Recorded 64-bit words, and those that recovery used: equal if recovery is correct. */
	uint64_t values, values_used;
	/*
	 * Self-check mode: number of stored registers that were compared with the computed ones,
	 * and number of those that differed.
	 */
	uint64_t checks, check_failures;
};

/**
 * struct dep_sink - receives the items of segments in batches
 *
 * With dep_recover_segment(), batch() is called by the recovering thread.  If batch() returns
 * non-zero, recovery stops and returns the same value.
 */
struct dep_sink {
	unsigned int want;	/* DEP_WANT_* */
	int (*batch)(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		     size_t n);
	void *arg;
	/*
	 * format() and bytes() replace batch(), for dep_recover() only; set both or neither.
	 * Workers call format(), several at the same time, to convert @n items to text of at most
	 * @item_bytes bytes per item; it returns the number of bytes.  bytes() receives the text
	 * in the order of the items.
	 */
	size_t (*format)(void *arg, const struct dep_segment *seg, const struct dep_item *items,
			 size_t n, char *to);
	int (*bytes)(void *arg, const struct dep_segment *seg, const char *data, size_t size);
	size_t item_bytes;
};

/**
 * dep_recover_segment() - recover one segment from its own initial context
 *
 * Several threads may recover segments of one store at once.
 *
 * Return: 0, or a negative errno; -EBADMSG if the segment cannot be decoded: dep_error() names the
 * thread, segment and offset.
 */
int dep_recover_segment(struct dep_store *s, const struct dep_segment *seg,
			const struct dep_sink *sink, struct dep_counts *counts);

/**
 * dep_recover_check_boundary() - recover a segment and compare its boundary state with @next
 * @next: the segment that follows in the same thread; NULL = nothing to compare
 *
 * Return: as dep_recover_segment(); -EUCLEAN if the state at the end of @seg differs from the state
 * at the beginning of @next.
 */
int dep_recover_check_boundary(struct dep_store *s, const struct dep_segment *seg,
			       const struct dep_segment *next, struct dep_counts *counts);

/**
 * dep_store_jobs() - limit the number of workers by the memory that the @n segments need
 *
 * Return: @jobs, or a smaller number (at least 1) if @jobs workers would need far more memory than
 * is plausible for a store of this size.  If one segment alone needs too much memory, its recovery
 * fails.
 */
unsigned int dep_store_jobs(struct dep_store *s, const struct dep_segment *segs, size_t n,
			    unsigned int jobs);

/** struct dep_recover_options - owned by the caller; all zero selects the defaults */
struct dep_recover_options {
	unsigned int jobs;		/* recovery workers, 0 = one per processor */
	struct dep_counts *counts;	/* dep_recover() adds its totals here; may be NULL */
	/* Called for each segment that fails; recovery of others continues.  NULL: not called. */
	void (*failed)(void *arg, const struct dep_segment *seg, const char *why);
	void *arg;			/* passed to failed() */
};

/**
 * dep_recover() - recover @n segments by several workers
 * @sink: NULL: no items are delivered
 * @options: NULL: the defaults
 *
 * Batches reach @sink from one thread, in the order of @segs, for any number of workers.  If
 * batch() returns non-zero, recovery stops and returns this value.  Pointers in items are valid
 * only during batch().  failed() is called by the same thread.
 */
int dep_recover(struct dep_store *s, const struct dep_segment *segs, size_t n,
		const struct dep_sink *sink, const struct dep_recover_options *options);

/**
 * struct dep_formats - size in bytes that the trace would have in each format of the DEP paper
 * (depctl-info(1) describes the formats)
 */
struct dep_formats {
	uint64_t bb_pc;		/* BB_pc: one address per block */
	uint64_t depc;		/* DEPc: 2-byte tags; high parts of a pc only if they changed */
	uint64_t cf_bit;	/* CF_bit: a bit per conditional, an address per indirect branch */
	uint64_t mem_addr;	/* Mem_addr: one address per memory reference */
	/* DEPm: value of each register used in an address, if written since it was last stored */
	uint64_t depm;
};

/**
 * dep_formats() - compute the size of a store's whole trace in each format
 *
 * A segment that cannot be decoded is left out of @f; the error of the first one is returned.
 */
int dep_formats(struct dep_store *s, struct dep_formats *f);

/** enum dep_paper_format - streams of the DEP paper; dep_recover(3) has the layouts */
enum dep_paper_format {
	DEP_PAPER_BB_PC,	/* 8 bytes per block */
	DEP_PAPER_BB_PC32,	/* 4 bytes per block: number of the region, low 16 bits */
	DEP_PAPER_DEPC,	/* 2-byte tags of a 64-bit address */
	DEP_PAPER_DEPC32,	/* the paper's tags, of the addresses of DEP_PAPER_BB_PC32 */
	DEP_PAPER_CF_BITS,	/* CF_bit: a bit per conditional branch */
	DEP_PAPER_CF_TARGETS,	/* CF_bit: 8 bytes per indirect branch */
	DEP_PAPER_MEM_ADDR,	/* 8 bytes per reference */
	DEP_PAPER_DEPM,	/* 8 bytes per register value */
	DEP_PAPER_REGIONS,	/* 8 bytes per region, of the whole store */
	DEP_PAPER_FORMATS
};

/**
 * struct dep_format_sink - receives the streams
 * @want: bit 1 << enum dep_paper_format: streams to be written
 * @put: called with a part of the stream of @thread, at most 64 KiB and no parts of units.  All
 *	data of a thread come before those of the next one.  Another value than 0 ends
 *	dep_formats_write(), which returns it.  NULL: nothing is called
 * @failed: called for each segment that cannot be recovered; may be NULL.  The streams continue
 *	with the next segment, as after a gap
 */
struct dep_format_sink {
	unsigned int want;
	int (*put)(void *arg, uint32_t thread, enum dep_paper_format format, const void *data,
		   size_t size);
	void (*failed)(void *arg, const struct dep_segment *seg, const char *why);
	void *arg;
};

/**
 * dep_formats_write() - write the trace of @n segments in formats of the DEP paper
 * @segs: in the order of dep_store_segments()
 *
 * Return: 0, also if segments failed; what put() returned; -ENOMEM; or -EOVERFLOW: there are more
 * than 65535 regions of 64 KiB with code, so that addresses have no 4-byte form.
 */
int dep_formats_write(struct dep_store *s, const struct dep_segment *segs, size_t n,
		      const struct dep_format_sink *sink);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

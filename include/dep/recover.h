/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recovery: from a stored segment to executed blocks, memory references and events.
 */
#ifndef DEP_RECOVER_H
#define DEP_RECOVER_H

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
	uint16_t origin;		/* 1 + enum dep_code, where that was asked for; else 0 */
};

/** struct dep_event - one event, with its payload (abi/stream.h, after the id) */
struct dep_event {
	uint32_t id;		/* enum adept_event */
	uint32_t size;
	const void *payload;
	uint64_t pc;		/* application pc where it happened, 0 = unknown */
};

/**
 * struct dep_lock_timestamp - a moment, see abi/stream.h; of a locked instruction
 *
 * One is taken before it and one after it, its references between them; a signal or a
 * fault can come after the first, which is then taken again.  lock cmpxchg may have found
 * another value than it expected: it was a read then.  So is one that is a fence, and leaves
 * what is on top of the stack as it was (lock or $0, (%rsp)).
 */
struct dep_lock_timestamp {
	uint64_t pc, timestamp;
	bool after;		/* the second one */
	bool wrote;		/* of the second: it may have changed what was there */
	/* Of the second: it tells nothing of what was there, by a register or a flag. */
	bool result_unused;
};

/**
 * struct dep_call - a call, a return or an unconditional jump, done
 * @sp: the stack pointer after it; of a jump 0 where it is not known
 */
struct dep_call {
	uint64_t pc, sp;
	uint32_t is_return, is_jump;
};

/** struct dep_call_values - what a function got or returned */
struct dep_call_values {
	uint64_t sp;		/* where the return address is; of a return: 8 above that */
	uint64_t value[DEP_FUNCTION_ARGS];	/* the arguments; of a return: its result */
	uint64_t again;		/* dep_filter_function(); without a filter: 0 */
};

/**
 * struct dep_function_call - a watched function was entered, or one may have returned
 *
 * Returns are seen where calls of watched functions return to, whoever comes there: a return
 * belongs to the last entry that has its sp - 8, if there is one, and to those with the same sp
 * that jumped on to it.  Entries below a later sp have been left otherwise, by
 * longjmp, say.  A function that jumps to its beginning is entered again.  Results that are an
 * int are in the lower half.
 */
struct dep_function_call {
	uint64_t pc;		/* the function, or the instruction after the call */
	uint16_t function;	/* enum dep_function; of a return: DEP_F_NONE */
	uint8_t is_return;
	uint8_t known;		/* a bit for each value that is known */
	const struct dep_call_values *passed;
};

#define DEP_ACCESS_PAGE_SIZE		4096u
#define DEP_JOINED_WORDS	(DEP_ACCESS_PAGE_SIZE / 64)

/** struct dep_page_word - a bit for each byte that was only read, or that was written */
struct dep_page_word {
	uint64_t read, wrote;
};

/**
 * struct dep_page_accesses - many accesses to a page, of which each byte is told once
 * @pc: of one of them; @addr: the page's
 * @words: a bit for each 64 bytes of the page that have any, @nwords of them, by address
 * @whose: as in dep_ref
 */
struct dep_page_accesses {
	uint64_t pc, addr, words;
	uint16_t origin, nwords;
	struct dep_page_word word[];
};

enum dep_item_kind {
	DEP_ITEM_BLOCK,
	DEP_ITEM_REF,
	DEP_ITEM_EVENT,
	DEP_ITEM_TIMESTAMP,
	DEP_ITEM_CALL,
	DEP_ITEM_FUNCTION,
	DEP_ITEM_PAGE,	/* only where the search for races leaves out what is repeated */
};

/**
 * struct dep_item - an element of a thread's stream, in program order
 *
 * A basic block begins at every address that control reaches other than by falling
 * through from a non-branch, and after every branch, call, return and syscall.
 * Where the recorder cut straight-line code into fragments, each begins one too.
 * ninsns counts up to the block's end in the code of its fragment; a block that an
 * event interrupts has only the instructions done.
 */
struct dep_item {
	enum dep_item_kind kind;
	union {
		struct { uint64_t pc; uint32_t ninsns; } block;
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

/** struct dep_counts - what one segment (or several) amounted to */
struct dep_counts {
	uint64_t instructions, blocks, refs, reads, writes;
	uint64_t records, events;
	uint64_t values, values_used;	/* 64-bit words stored and consumed; law 6: equal */
	uint64_t checks, check_failures;	/* self-check mode, law 3 */
};

/**
 * struct dep_sink - receives one segment's items in batches
 *
 * batch() is called from the worker that recovers the segment; returning non-zero
 * stops that segment with this value.
 */
struct dep_sink {
	unsigned int want;	/* DEP_WANT_* */
	int (*batch)(void *arg, const struct dep_segment *seg, const struct dep_item *items,
		     size_t n);
	void *arg;
	/*
	 * dep_recover() only, both or neither: with several workers, these turn items
	 * into format()'s bytes, item_bytes per item at most, and what is delivered, to
	 * bytes() instead of batch(), are those.  format() is called by several threads
	 * at once and returns how many there are.
	 */
	size_t (*format)(void *arg, const struct dep_segment *seg, const struct dep_item *items,
			 size_t n, char *to);
	int (*bytes)(void *arg, const struct dep_segment *seg, const char *data, size_t size);
	size_t item_bytes;
};

/**
 * dep_recover_segment() - recover one segment from its own initial context
 *
 * Any number of threads may recover segments of one store at once.  -EBADMSG with
 * dep_error() naming thread, segment and offset if it does not decode.
 */
int dep_recover_segment(struct dep_store *s, const struct dep_segment *seg,
			const struct dep_sink *sink, struct dep_counts *counts);

/**
 * dep_recover_check_boundary() - recover one segment, and compare its end with the next one's
 * beginning
 * @next: the segment that follows in the same thread; NULL = nothing to compare
 *
 * Return: as dep_recover_segment(), and -EUCLEAN if the two contradict each other.
 */
int dep_recover_check_boundary(struct dep_store *s, const struct dep_segment *seg,
			       const struct dep_segment *next, struct dep_counts *counts);

/**
 * dep_store_jobs() - how many of @jobs threads may recover some of the @n segments at a time
 *
 * Fewer than @jobs if their memory would be far more than a store of its size should take.  At
 * least one: a segment that takes too much by itself is refused when it is recovered.
 */
unsigned int dep_store_jobs(struct dep_store *s, const struct dep_segment *segs, size_t n,
			    unsigned int jobs);

/**
 * dep_recover() - recover @n segments with @jobs workers (0 = one per processor)
 *
 * Batches reach @sink from one thread only, in the order of @segs, whatever @jobs is.
 * A segment that fails is reported through @failed (may be NULL) and the rest goes on.
 * If @sink's batch() returns non-zero, everything stops with this value.  Payloads of
 * events, and what functions were passed, are valid during batch() only.
 */
int dep_recover(struct dep_store *s, const struct dep_segment *segs, size_t n, unsigned int jobs,
		const struct dep_sink *sink, struct dep_counts *counts,
		void (*failed)(void *arg, const struct dep_segment *seg, const char *why),
		void *arg);

/** struct dep_formats - sizes in bytes that the formats of the DEP paper would have */
struct dep_formats {
	uint64_t bb_pc;		/* one address per block */
	uint64_t depc;		/* H/L tags, 2 bytes each, 64-bit pcs: three high parts */
	uint64_t cf_bit;	/* a bit per conditional, an address per indirect branch */
	uint64_t mem_addr;	/* an address per reference */
	uint64_t depm;		/* registers under the UPDATED/RECORDED rule */
};

/**
 * dep_formats() - compute them from a whole store's recovered trace
 *
 * If a segment does not decode, *@f is of what does, and the first error is returned.
 */
int dep_formats(struct dep_store *s, struct dep_formats *f);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

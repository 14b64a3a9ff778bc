/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Folds: one pass over the control flow of a recording.
 *
 * The control column of a stored segment has the exit that ended each record, and the events, in
 * program order.  A fold receives them and adds up what it needs.  The column with the recorded
 * values is not read, so a fold costs far less than recovery (recover.h), and sees no addresses of
 * data.
 *
 * struct dep_fragments says what an exit means: which branches of its fragment the thread passed.
 * Each fragment is decoded once for all folds.  Results must depend on addresses of code only,
 * never on numbers of fragments or exits: the same code can be in several fragments.
 */
#ifndef DEP_FOLD_H
#define DEP_FOLD_H

#include "recover.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- what exits mean ---- */

/* Kind of a step's last instruction. */
enum dep_branch {
	DEP_BRANCH_NONE,	/* no branch: the fragment ends here, execution continues behind */
	DEP_BRANCH_COND,	/* conditional jump, loop, jrcxz */
	DEP_BRANCH_JUMP,
	DEP_BRANCH_JUMP_INDIRECT,
	DEP_BRANCH_CALL,
	DEP_BRANCH_CALL_INDIRECT,
	DEP_BRANCH_RETURN,
	DEP_BRANCH_SYSCALL,
	DEP_BRANCHES
};

/**
 * struct dep_branch_step - a branch of a fragment, with the instructions in front of it
 * @pc: address of the branch; DEP_BRANCH_NONE: of the last instruction
 * @next: address behind the branch; for a call, its return address
 * @target: where the branch jumps to; 0: indirect.  Equal to @next for NONE and SYSCALL
 * @insns, @refs: instructions and memory operands of the fragment up to this step, it included.  A
 *	string instruction counts once, whatever its number of iterations
 */
struct dep_branch_step {
	uint64_t pc, next, target;
	uint16_t insns, refs;
	uint8_t branch;		/* enum dep_branch */
	uint8_t pad[3];
};

/**
 * struct dep_code_exit - an exit: it passes the first @nsteps steps of its fragment
 *
 * The branches of all steps but the last were passed inside the fragment: conditional ones were not
 * taken, jumps were.
 */
struct dep_code_exit {
	uint32_t fragment;	/* index in dep_fragments.fragment */
	uint16_t nsteps;	/* 0: the exit is before the first instruction */
	uint16_t insns, refs;
	uint8_t branch;		/* enum dep_branch of the last step; NONE without steps */
	uint8_t taken;		/* with DEP_BRANCH_COND: 1 if the branch was taken */
	uint64_t target;	/* address of the next instruction; 0: indirect */
};

/** struct dep_code_fragment - a fragment, as dep_fragment_code() of the same index */
struct dep_code_fragment {
	uint64_t pc;		/* of its first instruction */
	/* serial of the process that translated it; forked children use it, too */
	uint32_t process;
	uint32_t image;		/* 1 + index in dep_store_modules() of the file with @pc; 0: none */
	uint32_t first_step, nsteps;	/* in dep_fragments.step */
	uint32_t first_exit, nexits;	/* in dep_fragments.exit */
	/* a time at which its code was mapped there, for dep_symbols_frames() */
	uint64_t time_ns;
};

/**
 * struct dep_fragments - the exits of all fragments of a store
 *
 * @exit[0] and @fragment[] rows are in the order of the log; exit number 0 is never used.
 */
struct dep_fragments {
	const struct dep_code_fragment *fragment;
	const struct dep_code_exit *exit;
	const struct dep_branch_step *step;
	uint32_t nfragments, nexits, nsteps;
};

/**
 * dep_code_make() - decode all fragments of @store
 * @store: must stay open until dep_code_free()
 *
 * A fragment that cannot be decoded has no exits; segments that use one are damaged.
 *
 * Return: 0, -ENOMEM or -EBADMSG.
 */
int dep_code_make(struct dep_store *store, struct dep_fragments **out);
void dep_code_free(struct dep_fragments *code);

/** dep_code_number() - number of the exit with @id, an index in code->exit; 0: unknown */
uint32_t dep_code_number(const struct dep_fragments *code, uint32_t id);

/* ---- folds ---- */

/**
 * struct dep_fold_segment - a segment begins
 * @regs: general registers at the segment's first instruction, as in struct adept_ev_context
 * @fragment, @insn: if the segment begins inside a record: 1 + index of the fragment, and number of
 *	instructions that were executed before; otherwise 0
 * @next: the thread's next segment in the store; NULL: there is none
 * @follows: false at a thread's first segment, and behind missing segments
 */
struct dep_fold_segment {
	const struct dep_thread *thread;
	const struct dep_segment *segment;
	const struct dep_segment *next;
	const uint64_t *regs;
	uint32_t fragment, insn;
	bool follows;
};

/**
 * struct dep_fold_piece - instructions [@from, @to) of a fragment that no exit ended
 * @nsteps: number of steps of the fragment that lie in front of instruction @to
 * @pc: address of instruction @to, where the thread left the fragment; 0: unknown
 *
 * The thread was interrupted by a signal or fault, or it ended, or the rest is missing.
 */
struct dep_fold_piece {
	uint32_t fragment;	/* index in dep_fragments.fragment */
	uint32_t from, to;
	uint32_t nsteps;
	uint64_t pc;
};

#define DEP_FOLD_BATCH	4096u	/* exits that a fold receives at once, at most */
#define DEP_FOLD_SEQUENCE	8u	/* exits of a sequence */
#define DEP_FOLD_SEQUENCES	131072u	/* numbers of sequences are below this */

/**
 * struct dep_fold - callbacks of a fold
 *
 * Callbacks return 0; any other value ends the pass, which returns it.
 */
struct dep_fold {
	const char *name;
	/*
	 * true: segments arrive in order, thread by thread, in one part: all segments of a thread
	 * before those of threads that it created.  false: runs of successive segments of a thread
	 * arrive in any order, in several parts.
	 */
	bool ordered;
	/* A new part, which one worker uses; NULL: no memory.  With @ordered: called once. */
	void *(*part)(void *self, const struct dep_fragments *code);
	int (*segment)(void *part, const struct dep_fold_segment *seg);
	/*
	 * @exit: numbers of exits of successive records, each index below code->nexits
	 * @n: 1 to DEP_FOLD_BATCH
	 * @next_pc: where the thread goes on after the last one; 0: unknown
	 */
	int (*exits)(void *part, const uint32_t *exit, size_t n, uint64_t next_pc);
	/*
	 * Called instead of exits(), unless it is NULL, for folds that keep what a sequence of
	 * exits does.  @sequence has n / DEP_FOLD_SEQUENCE elements.  Element i is the number of
	 * the DEP_FOLD_SEQUENCE exits from @exit + i * DEP_FOLD_SEQUENCE on; the same number is
	 * that of the same exits, up to forget().  0: these exits have no number, or it was not
	 * looked up.  A part receives the numbers 1, 2 ... in this order when each is new.
	 */
	int (*sequences)(void *part, const uint32_t *exit, size_t n, uint64_t next_pc,
			 const uint32_t *sequence);
	/* Needed with sequences(): from now on, numbers are given to other sequences, from 1 on. */
	int (*forget)(void *part);
	/*
	 * For a fold that needs to know where few exits lead, and nothing else, which is quicker.
	 * It runs alone, and of the other callbacks only part(), end() and join() are called.
	 * marked() returns which exits they are, by number: not 0 if it is one; valid until join().
	 * leads(): exit number @exit led to @next_pc; 0: unknown.  If it leads there often, not
	 * each time is reported.
	 */
	const uint8_t *(*marked)(void *part);
	int (*leads)(void *part, uint32_t exit, uint64_t next_pc);
	/* NULL: not called. */
	int (*piece)(void *part, const struct dep_fold_piece *piece);
	int (*event)(void *part, const struct dep_event *event);
	/* Segments are missing, or the rest of a segment cannot be read. */
	int (*gap)(void *part, const struct dep_thread *thread);
	/* After the last segment of a thread.  With @ordered only. */
	int (*end)(void *part, const struct dep_thread *thread);
	/* Add a part to the result, and free it; also called after errors. */
	int (*join)(void *self, void *part);
};

/** struct dep_fold_options - owned by the caller; all zero selects the defaults */
struct dep_fold_options {
	unsigned int jobs;	/* workers, 0 = one per processor; one if a fold is ordered */
	uint32_t process, thread;	/* only of this process or thread, by serial; 0: all */
	uint64_t from_ns, to_ns;	/* only segments that begin in this time; 0, 0: all */
	/* Return true for segments that are wanted, of those that the members above select. */
	bool (*select)(void *arg, const struct dep_segment *seg);
	/* Called for each segment that cannot be read.  NULL: not called. */
	void (*failed)(void *arg, const struct dep_segment *seg, const char *why);
	void (*progress)(void *arg, size_t done, size_t all);
	void *arg;
};

#define DEP_INTERVALS_MAX	65536u	/* of time, from the first interval to the last one */

/** struct dep_fold_loss - what a pass could not read */
struct dep_fold_loss {
	uint64_t segments;	/* number that cannot be read or decoded */
	uint64_t gaps;		/* places where segments are missing */
};

/**
 * dep_fold_run() - run @n folds in one pass over @store
 * @selves: argument of each fold
 * @options: NULL: the defaults
 * @loss: may be NULL
 *
 * A segment that is damaged is folded up to the damage.
 *
 * Return: 0, what a callback returned, or a negative errno with dep_error().
 */
int dep_fold_run(struct dep_store *store, const struct dep_fragments *code,
		 const struct dep_fold *const *folds, void *const *selves, size_t n,
		 const struct dep_fold_options *options, struct dep_fold_loss *loss);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

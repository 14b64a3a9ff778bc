/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries, and what the one for races consists of. */
#ifndef DEPCTL_RACES_RACES_H
#define DEPCTL_RACES_RACES_H

#include <argp.h>

#include <dep/races.h>
#include <dep/symbols.h>

#include "tools/depctl/common/output.h"
#include "suppressions.h"

#define RACE_RANKS	5

int query_races(int argc, char **argv);

/* ---- live_session.c ---- */

struct races_report;
/**
 * races_live() - the races of session @id of depd, while it is recorded
 * @socket: of depd, NULL: where it usually is
 * @found: as of races_report()
 *
 * Return: 0 or EXIT_FAILURE.
 */
int races_live(struct races_report *r, uint32_t id, const char *socket, size_t *found);

/* ---- atomic_source.c ---- */

/** struct race_source - the file that was read last; zeroed, none was */
struct race_source {
	char *path;
	char *text;	/* NULL: it cannot be read, or is newer than what was made of it */
};

/** race_source_atomic() - is at that line and column an operation that is atomic by its name? */
bool race_source_atomic(struct race_source *s, const struct dep_place *p);
void race_source_free(struct race_source *s);

/* ---- live_query.c ---- */

/** struct races_recorder - who records: @fd is a socket, a byte comes when that is over */
struct races_recorder {
	int fd;
	bool over;
	bool goes_on;		/* if it is killed another one does, and searches as well */
};

/** races_recorder_wait() - struct dep_live_options.wait; @arg is the struct races_recorder */
int races_recorder_wait(void *arg, unsigned int ms);
/**
 * races_tail() - the races of the store @path while depd records it
 * @session: descriptor of the session file
 * @over: of the socket, as above; without that byte nothing is reported
 *
 * Return: 0 or EXIT_FAILURE.
 */
int races_tail(struct races_report *r, const char *path, int session, int over, size_t *found);

/* ---- rank.c: which of them matter ---- */

enum race_confidence {
	RACE_CERTAIN,
	RACE_UNLESS_ATOMIC,	/* a race unless the word is an atomic one.. */
	RACE_UNLESS_OVERREAD,	/* ..unless it is past the end that a string function looks for */
	RACE_UNLESS_SPECULATIVE,	/* ..unless a compiler moved the load above its condition */
	RACE_IN_LIBRARY,	/* both within the C library or the loader */
};

/** race_confidence() - how sure it is that somebody wants to know of @r */
enum race_confidence race_confidence(struct dep_symbols *symbols, const struct dep_race *r);
const char *race_confidence_name(enum race_confidence rank);
/** race_code() - dep_races_options.code */
enum dep_code race_code(void *arg, uint32_t process, uint64_t pc);
/** race_leaves() - dep_races_options.leaves */
bool race_leaves(struct dep_symbols *symbols, uint32_t process, uint64_t from, uint64_t to);
/** race_is_atomic() - dep_races_options.is_atomic; @arg is the struct dep_symbols */
bool race_is_atomic(void *arg, uint32_t process, uint64_t pc, uint64_t address, uint64_t size);
/** race_says_atomic() - dep_races_options.says_atomic, by @s */
bool race_says_atomic(struct dep_symbols *symbols, struct race_source *s, uint32_t process,
		      uint64_t pc);
/** race_in_system() - is that file the C library or the loader? */
bool race_in_system(const char *module);

/* ---- view.c: all that is said of a race, and by what it is known again ---- */

#define RACE_FINGERPRINT	33	/* hexadecimal, and a NUL */

/** struct race_lock - names of a lock, and of where it was taken */
struct race_lock {
	bool named;			/* @object is known */
	struct dep_object object;
	struct race_stack stack;
};

/** struct race_held - names of the locks that an access was made with, and one more; see below */
struct race_held {
	struct race_lock *lock;
	size_t room;
};

/** struct race_step - names of what a step of a witness ends at, and of its critical sections */
struct race_step {
	struct race_stack end;
	struct race_lock section[DEP_STEP_SECTIONS];
};

/** struct race_view - a race with names; zeroed: none yet */
struct race_view {
	const struct dep_race *race;
	enum race_confidence rank;
	bool named;			/* @object is known */
	struct dep_object object;
	struct race_stack stack[2];	/* of the accesses.. */
	struct race_stack block;	/* ..of the allocation of what was accessed, if known.. */
	struct race_stack birth[2];	/* ..and of where their threads were created, if known */
	struct race_held held[2];
	struct race_step *step;		/* of how it can happen, if it is predicted */
	size_t steps_room;
	struct dep_store *store;
	uint32_t main_tid[2];		/* of the thread that each access's process began with */
	char fingerprint[RACE_FINGERPRINT];
};

/**
 * race_view_make() - look at @r, with the memory of the last one
 *
 * The fingerprint is the same in every run of a program, wherever its code is mapped; several
 * races can have the same.  Return: 0 or -ENOMEM.
 */
int race_view_make(struct race_view *v, struct dep_store *store, struct dep_symbols *symbols,
		   const struct dep_race *r);
void race_view_free(struct race_view *v);
/** race_thread_name() - name of the thread with serial @thread; NULL: not known */
const char *race_thread_name(const struct race_view *v, uint32_t thread);
/** race_program() - file name of the executable of process @process; NULL: not known */
const char *race_program(const struct race_view *v, uint32_t process);

/* ---- places.c ---- */

/** race_add_places() - add the places of address @pc to a stack; 0 or -ENOMEM */
int race_add_places(struct race_stack *s, struct dep_symbols *symbols, uint32_t process,
		    uint64_t pc);
/** race_find_main() - set main and own of a stack with all its places */
void race_find_main(struct race_stack *s);
/**
 * race_is_internal() - is place @i of @s the C library's own business?
 *
 * These are the functions that a function of the library called itself, and those that called the
 * first function of a thread or of the program.  A library function that the program called is not.
 */
bool race_is_internal(const struct race_stack *s, size_t i);
/** race_access_name() - for example "atomic write" */
const char *race_access_name(const struct dep_race_access *a);
/** race_name_whole() - name a pthreads object instead of its first member */
void race_name_whole(struct dep_object *o);
void race_text_place(struct out *o, const struct dep_place *p);
void race_json_stack(struct json *j, const struct race_stack *s);

/* ---- locks_held.c ---- */

/** race_held_name() - the locks of one side, after them what may have been one; 0 or -ENOMEM */
int race_held_name(struct race_view *v, struct dep_symbols *symbols, int side);
void race_held_free(struct race_held *h);
void race_text_held(struct out *o, const struct race_view *v, int side);
void race_json_held(struct json *j, const struct race_view *v, int side);
/** race_name_lock() - the lock at @address, and the @n calls that took it; 0 or -ENOMEM */
int race_name_lock(struct race_lock *l, struct dep_symbols *symbols, uint32_t process,
		   uint64_t address, const uint64_t *call, size_t n);
void race_text_lock(struct out *o, const struct race_lock *l, uint64_t address);
/** race_say_lock() - lock @i, in a few words */
void race_say_lock(char *text, size_t size, const struct race_view *v, int side, size_t i);
/** race_say_held() - all of them, in a few words, as much of it as fits */
void race_say_held(char *text, size_t size, const struct race_view *v, int side);

/* ---- witness.c: how a predicted race can happen; nothing of others ---- */

int race_witness_name(struct race_view *v, struct dep_symbols *symbols);
void race_witness_free(struct race_view *v);
void race_text_witness(struct out *o, const struct race_view *v);
void race_json_witness(struct json *j, const struct race_view *v);
/** race_say_witness() - in a sentence, as much of it as fits */
void race_say_witness(char *text, size_t size, const struct race_view *v);

/* ---- merge_reports.c ---- */

/**
 * races_merge() - make one of those that are between the same two lines of the program
 *
 * Whichever came first; and a function of the C library is where it was called.  The first one
 * counts them all, and the others have a count of 0.  Return: 0 or -ENOMEM.
 */
int races_merge(struct dep_store *store, struct dep_symbols *symbols, struct dep_races *races);

/* ---- baseline.c: those that are no news ---- */

/** struct races_baseline - a set of fingerprints; zeroed: none */
struct races_baseline {
	char (*print)[RACE_FINGERPRINT];	/* a hash table, half of it "" at least */
	size_t n, room;
};

/** races_baseline_add() - 0 or -ENOMEM */
int races_baseline_add(struct races_baseline *k, const char *fingerprint);
/** races_baseline_read() - those of a saved `--json'; says what is wrong with it and returns -1 */
int races_baseline_read(struct races_baseline *k, const char *file);
bool races_baseline_has(const struct races_baseline *k, const char *fingerprint);
void races_baseline_free(struct races_baseline *k);

/* ---- options.c ---- */

enum races_form { RACES_TEXT, RACES_JSON, RACES_SARIF, RACES_FOR_TSAN, RACES_FOR_VALGRIND };

/** struct races_options - what depctl query races and depctl record --races have in common */
struct races_options {
	bool all, predict, all_frames, verbose;
	enum races_form form;
	int exit_code;
	unsigned int jobs;
	const char *report;		/* file to write to */
	const char *new_since;		/* a store.. */
	const char *baseline;		/* ..or a file whose races are no news */
	const char **suppressions;
	size_t nsuppressions;
	const char *first;		/* option that was given; NULL: none was */
};

extern const struct argp races_argp;	/* its input is a struct races_options */

/* ---- share.c ---- */

/** share_report() - let those read the report @fd who may read @store; 0, or it is said why not */
int share_report(int fd, const char *store);

/* ---- report.c ---- */

/**
 * races_report_begin() - read what the options name
 *
 * Return: NULL if that fails; the reason has been printed.
 */
struct races_report *races_report_begin(const struct races_options *o);
/**
 * races_report_tail() - let races_report() read a store that is being written
 * @live: report each suspected race at once
 */
void races_report_tail(struct races_report *r, const struct dep_live_options *tail, bool live);
/** races_report_fd() - where it is written to if not to the caller's, or -1 */
int races_report_fd(const struct races_report *r);
/**
 * races_report() - find the races of @store and print them
 * @fd: where to, unless the options name a file
 * @found: receives how many there are that are surely races, and news
 *
 * Return: 0, EXIT_FAILURE, or -EOPNOTSUPP: such a store cannot be followed.
 */
int races_report(struct races_report *r, struct dep_store *store, const char *path, int fd,
		 size_t *found);
void races_report_end(struct races_report *r);

/* ---- what it prints ---- */

/** struct races_summary - what a report says in addition to the races */
struct races_summary {
	size_t count[RACE_RANKS];	/* neither suppressed nor known */
	size_t suppressed, known;	/* of those that would have been shown */
	uint64_t references, gaps, disorder, unsettled, too_many_threads, unpredicted;
	uint64_t empty;			/* threads of which there is nothing */
	struct dep_loss loss;
	uint64_t defects;		/* of the store, other than what @loss counts.. */
	char defect[256];		/* ..and the first of them */
	bool recording;			/* the store was being recorded */
	bool complete;
	bool tsc_synchronized;		/* the kernel took what orders threads for one */
};

#define RACES_CLOCKS \
	"the order is that of time stamp counters that the kernel is not known to trust"

/** races_summary_init() - of @store and what was found in it, without the counts of races */
void races_summary_init(struct races_summary *s, struct dep_store *store,
			const struct dep_races *found);

/* print.c */
/**
 * race_print_text() - print a race for people
 * @all_frames: also frames that are internal to the C library
 */
void race_print_text(struct out *o, const struct race_view *v, bool all_frames);
void races_end_text(struct out *o, const struct races_summary *s, const struct races_options *how,
		    const struct suppressions *suppressions);
void races_begin_json(struct json *j);
void race_print_json(struct json *j, const struct race_view *v);
void races_end_json(struct json *j, const struct races_summary *s,
		    const struct suppressions *suppressions);

/** race_print_suspect() - one line on what has no stacks yet, and may turn out to be none */
void race_print_suspect(struct out *o, const struct race_view *v);

/* sarif.c */
void races_begin_sarif(struct json *j);
void race_print_sarif(struct json *j, const struct race_view *v);
void races_end_sarif(struct json *j, const struct races_summary *s);

/* completeness.c: one sentence for each reason why there may be more races */
#define RACES_REASONS	18
struct races_reasons {
	char text[RACES_REASONS][320];
	size_t n;
};
void races_reasons(struct races_reasons *r, const struct races_summary *s);

/* suppression_entries.c: suppressions for them.  An entry that was printed is not printed again. */
void race_print_entry(struct out *o, const struct race_view *v, enum races_form form,
		      struct races_baseline *printed);

#endif

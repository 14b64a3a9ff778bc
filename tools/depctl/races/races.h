/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces of the files of depctl query races. */
#ifndef DEPCTL_RACES_RACES_H
#define DEPCTL_RACES_RACES_H

#include <argp.h>

#include <dep/races.h>
#include <dep/symbols.h>

#include "tools/depctl/common/missing.h"
#include "tools/depctl/common/output.h"
#include "tools/depctl/common/source_file.h"
#include "suppressions.h"

#define RACE_RANKS	5	/* number of enum race_confidence values */

int query_races(int argc, char **argv);

/* ---- live_session.c ---- */

struct races_report;
/**
 * races_live() - report the races of depd's session @id while depd records it
 * @socket: socket of depd; NULL: the default
 * @found: as for races_report()
 *
 * Return: 0 or EXIT_FAILURE.
 */
int races_live(struct races_report *r, uint32_t id, const char *socket, size_t *found);

/* ---- atomic_source.c ---- */

/** race_source_atomic() - true if a call like atomic_load() is at the line and column of @p */
bool race_source_atomic(struct source_file *s, const struct dep_place *p);

/* ---- live_query.c ---- */

/** struct races_recorder - connection to the recorder: depctl record --races, or depd */
struct races_recorder {
	int fd;			/* socket; the recorder sends a byte when everything is recorded */
	bool over;		/* the byte was received, or the recorder was killed */
	bool goes_on;		/* if the recorder is killed, a new one starts another search */
};

/** races_recorder_wait() - callback dep_live_options.wait; @arg is a struct races_recorder */
int races_recorder_wait(void *arg, unsigned int ms);
/**
 * races_tail() - report the races of the store @path while depd records it
 * @session: descriptor of the session file
 * @over: value for races_recorder.fd; if the recorder closes it without a byte, nothing is reported
 *
 * Return: 0 or EXIT_FAILURE.
 */
int races_tail(struct races_report *r, const char *path, int session, int over, size_t *found);

/* ---- rank.c: how certain a race is, and the origin of code ---- */

enum race_confidence {
	RACE_CERTAIN,
	RACE_UNLESS_ATOMIC,	/* a race unless the word is an atomic variable */
	RACE_UNLESS_OVERREAD,	/* a race unless a string function read past the string's end */
	/* a race unless the compiler moved the load above its condition */
	RACE_UNLESS_SPECULATIVE,
	RACE_IN_LIBRARY,	/* C library or loader code made both accesses */
};

/** race_confidence() - how certain it is that @r is a race of the program */
enum race_confidence race_confidence(struct dep_symbols *symbols, const struct dep_race *r);
const char *race_confidence_name(enum race_confidence rank);
/** race_code() - implements callback dep_races_options.code; @arg is a struct dep_symbols */
enum dep_code race_code(void *arg, uint32_t process, uint64_t pc);
/** race_leaves() - implements callback dep_races_options.leaves */
bool race_leaves(struct dep_symbols *symbols, uint32_t process, uint64_t from, uint64_t to);
/** race_is_atomic() - implements dep_races_options.is_atomic; @arg is a struct dep_symbols */
bool race_is_atomic(void *arg, uint32_t process, uint64_t pc, uint64_t address, uint64_t size);
/** race_says_atomic() - implements dep_races_options.says_atomic; reads source files into @s */
bool race_says_atomic(struct dep_symbols *symbols, struct source_file *s, uint32_t process,
		      uint64_t pc);
/** race_in_system() - true if @module is the C library or the loader */
bool race_in_system(const char *module);

/* ---- view.c: a race with the names of its functions and variables, and a fingerprint ---- */

#define RACE_FINGERPRINT	33	/* 32 hexadecimal digits and a NUL */

/** struct race_lock - name of a lock, and the stack of the call that acquired it */
struct race_lock {
	bool named;			/* @object is valid: the variable is known */
	struct dep_object object;
	struct race_stack stack;
};

/** struct race_held - the locks held at an access; the last may be a lock of the program itself */
struct race_held {
	struct race_lock *lock;
	size_t room;
};

/** struct race_step - names for a struct dep_step: where it ends, and its critical sections */
struct race_step {
	struct race_stack end;
	struct race_lock section[DEP_STEP_SECTIONS];
};

/** struct race_view - a race with names; initialise with all zero */
struct race_view {
	const struct dep_race *race;
	enum race_confidence rank;
	bool named;			/* @object is valid: the variable is known */
	struct dep_object object;
	struct race_stack stack[2];	/* stacks of the accesses */
	struct race_stack block;	/* stack of the accessed block's allocation, if known */
	struct race_stack birth[2];	/* stacks of the creation of the threads, if known */
	struct race_held held[2];
	struct race_step *step;		/* steps of the witness of a predicted race */
	size_t steps_room;
	struct dep_store *store;
	uint32_t main_tid[2];		/* tid of the first thread of each access's process */
	char fingerprint[RACE_FINGERPRINT];
};

/**
 * race_view_make() - fill @v with the names and the fingerprint of @r; reuses memory of @v
 *
 * The fingerprint of a race is the same in every run of a program, at whatever address its code is
 * mapped.  Several races can have the same fingerprint.  Return: 0 or -ENOMEM.
 */
int race_view_make(struct race_view *v, struct dep_store *store, struct dep_symbols *symbols,
		   const struct dep_race *r);
void race_view_free(struct race_view *v);
/** race_thread_name() - get the name of the thread with serial @thread; NULL: not known */
const char *race_thread_name(const struct race_view *v, uint32_t thread);
/** race_program() - get the file name of the executable of @process (serial); NULL: not known */
const char *race_program(const struct race_view *v, uint32_t process);

/* ---- places.c ---- */

/** race_add_places() - append the functions at @pc, with inlined ones, to a stack; 0 or -ENOMEM */
int race_add_places(struct race_stack *s, struct dep_symbols *symbols, uint32_t process,
		    uint64_t pc);
/** race_find_main() - set members @main and @own of a stack after all places were added */
void race_find_main(struct race_stack *s);
/**
 * race_is_internal() - true if place @i of @s is internal to the C library
 *
 * Internal are library functions that were called by a library function, or that called the first
 * function of a thread or of the program.  A library function that the program called is not
 * internal.
 */
bool race_is_internal(const struct race_stack *s, size_t i);
/** race_access_name() - name an access, as "atomic write"; fingerprints depend on these names */
const char *race_access_name(const struct dep_race_access *a);
/** race_name_whole() - cut @o->name to the name of the pthread object, without its member */
void race_name_whole(struct dep_object *o);
void race_text_place(struct out *o, const struct dep_place *p);
void race_json_stack(struct json *j, const struct race_stack *s);

/* ---- locks_held.c ---- */

/**
 * race_held_name() - find the names of the locks held at access @side (0 or 1)
 *
 * The word at dep_race_access.own_address, which may be a lock that the program implements itself,
 * is named as the last one.  Return: 0 or -ENOMEM.
 */
int race_held_name(struct race_view *v, struct dep_symbols *symbols, int side);
void race_held_free(struct race_held *h);
void race_text_held(struct out *o, const struct race_view *v, int side);
void race_json_held(struct json *j, const struct race_view *v, int side);
/** race_name_lock() - name the lock at @address and the stack that acquired it; 0 or -ENOMEM */
int race_name_lock(struct race_lock *l, struct dep_symbols *symbols, uint32_t process,
		   uint64_t address, const uint64_t *call, size_t n);
void race_text_lock(struct out *o, const struct race_lock *l, uint64_t address);
/** race_say_lock() - write a short description of held lock @i into @text */
void race_say_lock(char *text, size_t size, const struct race_view *v, int side, size_t i);
/** race_say_held() - write a short description of all held locks, truncated to @size */
void race_say_held(char *text, size_t size, const struct race_view *v, int side);

/* ---- witness.c: how a predicted race can happen; no output for other races ---- */

int race_witness_name(struct race_view *v, struct dep_symbols *symbols);
void race_witness_free(struct race_view *v);
void race_text_witness(struct out *o, const struct race_view *v);
void race_json_witness(struct json *j, const struct race_view *v);
/** race_say_witness() - write a description of the witness, truncated to @size */
void race_say_witness(char *text, size_t size, const struct race_view *v);

/* ---- merge_reports.c ---- */

/**
 * races_merge() - merge races between the same two source lines of the program
 *
 * The order of the two accesses does not matter.  An access in the C library belongs to the line
 * that called the library.  The first race of a pair of lines gets the sum of the counts, all other
 * races of the pair get a count of 0.
 * Return: 0 or -ENOMEM.
 */
int races_merge(struct dep_store *store, struct dep_symbols *symbols, struct dep_races *races);

/* ---- baseline.c: races that are known from earlier reports ---- */

/** struct races_baseline - a set of fingerprints; all zero: empty */
struct races_baseline {
	char (*print)[RACE_FINGERPRINT];	/* hash table, at least half free; "": free */
	size_t n, room;
};

/** races_baseline_add() - add a fingerprint; 0 or -ENOMEM */
int races_baseline_add(struct races_baseline *k, const char *fingerprint);
/** races_baseline_read() - add the races of saved `--json' output; 0, or -1 after a message */
int races_baseline_read(struct races_baseline *k, const char *file);
bool races_baseline_has(const struct races_baseline *k, const char *fingerprint);
void races_baseline_free(struct races_baseline *k);

/* ---- options.c ---- */

enum races_form { RACES_TEXT, RACES_JSON, RACES_SARIF, RACES_FOR_TSAN, RACES_FOR_VALGRIND };

/** struct races_options - options of both depctl query races and depctl record --races */
struct races_options {
	bool all, predict, all_frames, verbose;
	enum races_form form;
	int exit_code;
	unsigned int jobs;
	const char *report;		/* file to write the report to */
	const char *new_since;		/* leave out the races of this store */
	const char *baseline;		/* leave out the races of this saved `--json' output */
	const char **suppressions;
	size_t nsuppressions;
	/* name of the first option on the command line that set one of these members; NULL: none */
	const char *first;
};

extern const struct argp races_argp;	/* parses into a struct races_options */

/* ---- share.c ---- */

/** share_report() - give report file @fd the access rights of @store; 0, or -errno and a message */
int share_report(int fd, const char *store);

/* ---- report.c ---- */

/**
 * races_report_begin() - create a report: read suppressions and baselines, open --report's file
 *
 * Return: NULL after an error message.
 */
struct races_report *races_report_begin(const struct races_options *o);
/**
 * races_report_tail() - make races_report() read a store that is being written
 * @tail: options of the live analysis; NULL: the store is complete
 * @live: print each suspected race as soon as it is found
 */
void races_report_tail(struct races_report *r, const struct dep_live_options *tail, bool live);
/** races_report_fd() - descriptor of the file of --report, or -1 */
int races_report_fd(const struct races_report *r);
/**
 * races_report() - find the races of @store and print them
 * @fd: descriptor to print to, unless the options name a file
 * @found: receives the number of races that are certain, not suppressed and in no baseline
 *
 * Return: 0, EXIT_FAILURE, or -EOPNOTSUPP: this store cannot be analysed while it is written.
 */
int races_report(struct races_report *r, struct dep_store *store, const char *path, int fd,
		 size_t *found);
void races_report_end(struct races_report *r);

/* ---- output ---- */

/** struct races_summary - the counts at the end of a report */
struct races_summary {
	size_t count[RACE_RANKS];	/* races neither suppressed nor in a baseline */
	size_t suppressed, known;	/* races left out: suppressed, or in a baseline */
	uint64_t references, disorder, unsettled, too_many_threads, unpredicted;
	uint64_t attached;		/* number of processes that were attached to */
	struct missing missing;
	bool complete;			/* races_reasons() gives no reason for missing races */
	bool tsc_synchronized;		/* the kernel trusted the time stamp counters */
};

#define RACES_CLOCKS \
	"the order is that of the processors' time stamp counters, which may not be synchronised"

/** races_summary_init() - set all fields except the counts of races */
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

/** race_print_suspect() - print a line about a suspected race, which has no stacks yet */
void race_print_suspect(struct out *o, const struct race_view *v);

/* sarif.c */
void races_begin_sarif(struct json *j);
void race_print_sarif(struct json *j, const struct race_view *v);
void races_end_sarif(struct json *j, const struct races_summary *s);

/** races_reasons() - the reasons why races may be missing in a report; completeness.c */
void races_reasons(struct reasons *r, const struct races_summary *s);

/* suppression_entries.c: print a suppression for a race, unless the same one was printed before */
void race_print_entry(struct out *o, const struct race_view *v, enum races_form form,
		      struct races_baseline *printed);

#endif

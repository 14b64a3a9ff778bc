/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that depctl's subcommands share. */
#ifndef DEPCTL_H
#define DEPCTL_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <stdio.h>

#include <dep/recover.h>
#include <dep/store.h>

#ifndef ADEPT_VERSION	/* normally set by the Makefile */
#define ADEPT_VERSION "0"
#endif

/*
 * Exit status of depctl: 0, EXIT_FAILURE (1) after an error or if recorded data is missing, or
 * EXIT_USAGE (wrong arguments).  record/record.h has further values for depctl record.
 */
#define EXIT_USAGE 2

/** struct command - one subcommand; run() returns the exit status */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

/* ---- subcommand.c ---- */

/**
 * run_command() - run the command of @commands whose name is argv[1]
 * @of: name of the parent command, such as "depctl", for messages
 *
 * An unknown name is a usage error; the message suggests a similar name.
 *
 * Return: the command's exit status; EXIT_USAGE; or -1 if argv[1] is an option or missing.
 */
int run_command(const struct command *commands, size_t n, const char *of, int argc, char **argv);

/** print_commands() - print the name and summary of each command */
void print_commands(FILE *f, const struct command *commands, size_t n);

/* ---- the commands ---- */

int cmd_record(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_detach(int argc, char **argv);
int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_where(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_module(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_policy(int argc, char **argv);

/** module_error() - message for a negative errno of the kernel module: the cause, and what to do */
const char *module_error(int err);

/* ---- util.c ---- */

/** warn() - print "depctl: " and a message to stderr */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** base_name() - the part of @path after its last slash; without a slash, all of it */
const char *base_name(const char *path);

/** parse_args() - argp_parse() with depctl's exit status and without reordering @argv */
void parse_args(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/** parse_number() - parse a decimal number from @min to @max; else argp_error(), naming @what */
uint64_t parse_number(struct argp_state *state, const char *what, const char *s, uint64_t min,
		      uint64_t max);

enum { OPT_JSON = 256 };

/**
 * parse_store() - argp parser for subcommands that read one store: --json, --jobs, STORE
 *
 * Return: ARGP_ERR_UNKNOWN for any other @key.
 */
error_t parse_store(int key, char *arg, struct argp_state *state, const char **path, bool *json,
		    unsigned int *jobs);

/** parse_pid() - argp parser for subcommands that take the id of one process */
error_t parse_pid(int key, char *arg, struct argp_state *state, pid_t *pid);

/** parse_size() - parse a size in bytes, with an optional unit K, M, G or T; false: invalid */
bool parse_size(const char *s, uint64_t *out);
/**
 * parse_time() - parse a time such as 20ms, with the unit us, ms, s, m or h
 * @end: receives what follows the unit; NULL: nothing may follow
 *
 * Return: false: invalid, 0, or more than a million seconds.
 */
bool parse_time(const char *s, const char **end, uint64_t *ns);

/** human_size() - write a size like "12.3 MiB" into @buf, which has 16 bytes */
const char *human_size(uint64_t n, char *buf);

/** open_store() - open a store; if that fails, print a message and return NULL */
struct dep_store *open_store(const char *dir);

/** process_of() - find a process by its serial; NULL: there is none.  For one thread at a time */
const struct dep_process *process_of(struct dep_store *s, uint32_t serial);

/** thread_of() - find a thread by its serial; NULL: there is none.  For one thread at a time */
const struct dep_thread *thread_of(struct dep_store *s, uint32_t serial);

/** is_lossy() - true if any part of the execution was not recorded, for whatever reason */
bool is_lossy(struct dep_store *s);

/* ---- keep_text.c ---- */

#define KEEP_TEXT	160u	/* bytes of a text of keep_text() */

/** keep_text() - why a store was kept, as a clause; may have control characters of the store */
void keep_text(const struct dep_kept *k, char *text);

/* ---- syscall_name.c ---- */

/** syscall_name() - name of a system call; NULL: unknown to the headers at build time */
const char *syscall_name(uint64_t nr);

/* ---- read_file.c ---- */

/** read_input() - read a file of at most @max bytes, append a NUL; NULL: failed, with a message */
char *read_input(const char *path, size_t max, size_t *size);

/* ---- progress.c: show progress in one line of a terminal ---- */

void progress_begin(const char *what, uint64_t total);
void progress(uint64_t done);
void progress_end(void);

/* ---- recover_pool.c ---- */

/** struct pool_job - segments to recover in parallel, when only their counts are needed */
struct pool_job {
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t n;
	unsigned int jobs;	/* 0 = one per processor */
	bool seams;		/* also check that each segment's end state fits the next segment */
	/**
	 * @done: called for each segment, one call at a time, in any order; @ret is the result of
	 * dep_recover_check_boundary() and @why its error message
	 */
	void (*done)(void *arg, size_t i, int ret, const struct dep_counts *counts,
		     const char *why);
	void *arg;
};

int pool_run(const struct pool_job *job);

static inline void add_counts(struct dep_counts *to, const struct dep_counts *n)
{
	to->instructions += n->instructions;
	to->blocks += n->blocks;
	to->refs += n->refs;
	to->reads += n->reads;
	to->writes += n->writes;
	to->records += n->records;
	to->events += n->events;
	to->values += n->values;
	to->values_used += n->values_used;
	to->checks += n->checks;
	to->check_failures += n->check_failures;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What depctl's subcommands share. */
#ifndef DEPCTL_H
#define DEPCTL_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <dep/recover.h>
#include <dep/store.h>

#ifndef ADEPT_VERSION	/* the Makefile's */
#define ADEPT_VERSION "0"
#endif

/*
 * Exit status: 0 done, EXIT_FAILURE (1) something failed or is lost, EXIT_USAGE; depctl record has
 * more, see record/record.h.
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
 * run_command() - run the one of @commands that argv[1] names
 * @of: what it is a command of, such as "depctl"
 *
 * A name that is not among them is a usage error; the message suggests one that is near.
 *
 * Return: its exit status; EXIT_USAGE; or -1: argv[1] is an option, or missing.
 */
int run_command(const struct command *commands, size_t n, const char *of, int argc, char **argv);

/** print_commands() - list names and summaries */
void print_commands(FILE *f, const struct command *commands, size_t n);

/* ---- the commands ---- */

int cmd_record(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_where(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_module(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_policy(int argc, char **argv);

/** module_error() - what a negative errno of the kernel module means, and what to do */
const char *module_error(int err);

/* ---- util.c ---- */

/** warn() - "depctl: " and a message, on stderr */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** base_name() - what is after the last slash of @path, or all of it */
const char *base_name(const char *path);

/** parse_args() - argp_parse() with depctl's exit status and without reordering @argv */
void parse_args(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/** parse_number() - a decimal number in min..max; argp_error() naming @what if it is not */
uint64_t parse_number(struct argp_state *state, const char *what, const char *s, uint64_t min,
		      uint64_t max);

enum { OPT_JSON = 256 };

/**
 * parse_store() - for every key of a subcommand that reads one store: --json, --jobs, STORE
 *
 * Return: ARGP_ERR_UNKNOWN if @key is none of them.
 */
error_t parse_store(int key, char *arg, struct argp_state *state, const char **path, bool *json,
		    unsigned int *jobs);

/** parse_size() - bytes, with K, M, G or T for powers of 1024 after; false if it is not one */
bool parse_size(const char *s, uint64_t *out);

/** human_size() - "12.3 MiB"; a buffer of 16 bytes */
const char *human_size(uint64_t n, char *buf);

/** open_store() - open, or say why not and return NULL */
struct dep_store *open_store(const char *dir);

/** process_of() - the row of a process's serial, or NULL */
const struct dep_process *process_of(struct dep_store *s, uint32_t serial);

/** thread_of() - the row of a thread's serial, or NULL */
const struct dep_thread *thread_of(struct dep_store *s, uint32_t serial);

/** is_lossy() - was anything that ran not recorded, on request or not? */
bool is_lossy(struct dep_store *s);

/* ---- syscall_name.c ---- */

/** syscall_name() - name of a system call; NULL: the headers that depctl was built with lack it */
const char *syscall_name(uint64_t nr);

/* ---- read_file.c ---- */

/** read_input() - a file of at most @max bytes, with a 0 after; or NULL, and it is said why */
char *read_input(const char *path, size_t max, size_t *size);

/* ---- progress.c: one line on a terminal, nothing elsewhere ---- */

void progress_begin(const char *what, uint64_t total);
void progress(uint64_t done);
void progress_end(void);

/* ---- recover_pool.c ---- */

/** struct pool_job - recover many segments, each for its counts */
struct pool_job {
	struct dep_store *store;
	const struct dep_segment *segs;
	size_t n;
	unsigned int jobs;	/* 0 = one per processor */
	bool seams;		/* also compare each with the segment after it */
	/**
	 * @done: called for each segment, one call at a time, in no order; @ret is
	 * what dep_recover_check_boundary() returned and @why its message
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of profiles: what they have in common. */
#ifndef DEPCTL_PROFILE_QUERY_H
#define DEPCTL_PROFILE_QUERY_H

#include <limits.h>

#include <dep/path_profile.h>
#include <dep/streams.h>

#include "tools/depctl/common/table.h"
#include "profile.h"
#include "queries.h"

/* ---- rows.c: one row after another, as text, JSON or CSV ---- */

enum row_kind {
	ROW_COUNT,
	ROW_SHARE,	/* text: per cent; otherwise from 0 to 1 */
	ROW_RATIO,
	ROW_TEXT,
	ROW_SITE,	/* text: a name; JSON: an object; CSV: several columns */
};

/** struct row_column - a column; the site or the text of the last one may be shortened */
struct row_column {
	const char *key, *heading;
	enum row_kind kind;
};

/** struct row_columns - the columns of a query */
struct row_columns {
	const struct row_column *column;
	size_t n;
};

#define ROW_COLUMNS(array)	((struct row_columns){ array, sizeof(array) / sizeof(*(array)) })

/**
 * struct rows - rows that are written
 * @interval_ns: with --per: begin of the current interval, after the start of the recording; a
 *	column of its own in front of the others
 */
struct rows {
	const struct profile_view *v;
	enum profile_form form;
	uint64_t interval_ns;
	const struct row_column *column;
	size_t ncolumns, at;
	struct table table;
	struct table_column table_column[TABLE_COLUMNS];
	struct out *out;
	struct json j;
};

int rows_begin(struct rows *r, const struct profile_view *v, struct out *out,
	       const struct row_column *column, size_t ncolumns);
int rows_end(struct rows *r);
/* The cells of a row, from the left; the last one ends the row. */
void row_count(struct rows *r, uint64_t n);
void row_share(struct rows *r, uint64_t part, uint64_t whole);
void row_ratio(struct rows *r, uint64_t a, uint64_t b);
void row_text(struct rows *r, const char *text);	/* NULL: no value */
void row_site(struct rows *r, struct site site);
/** row_function() - as row_site(), but the text is the function's name, indented */
void row_function(struct rows *r, uint32_t function, struct site site, unsigned int indent);

/** json_site() - write an address as an object; null if it is none */
void json_site(struct json *j, const char *key, const struct profile_view *v, struct site site);

/* ---- query.c ---- */

struct query {
	struct profile_options o;
	struct profile_view v;
	/* what the rows are of: the whole of v.p, or with --per one interval after the other */
	const struct dep_profile *p;
	void *whole;			/* what begin() made of v.p */
	bool running;			/* the recording goes on: these are the rows so far */
	char path[PATH_MAX];		/* with --live: of the session's store */
	int lacks;			/* exit status of the stores other than v's */
	struct reasons more;		/* why these are incomplete */
	struct out out;
	struct rows rows;
};

/** struct query_kind - a query */
struct query_kind {
	const char *doc;
	const struct argp_option *options;	/* besides those of all queries; NULL: none */
	/* print the rows of q->p; 0, -ENOMEM, or EXIT_FAILURE after a message */
	int (*run)(struct query *q);
	unsigned int needs;			/* VIEW_*; */
	/* tables that --table can have, with spaces between; NULL: no such option */
	const char *tables;
	bool many;				/* with a table, several stores can be given */
	/* of the rows; NULL, or without columns: run() writes something else */
	struct row_columns (*columns)(const struct query *q);
	/* make and free q->whole; NULL: nothing.  begin() returns 0 or -ENOMEM */
	int (*begin)(struct query *q);
	void (*end)(struct query *q);
};

/** QUERY_PER - the option --per, for queries with columns */
#define QUERY_PER \
	{ "per", OPT_PER, "TIME", 0, "Print the rows of each interval of TIME, such as 10ms; " \
	  "segments count where they begin", 2 }

/** query_run() - parse the arguments, open the store, print the rows and what is missing */
int query_run(const struct query_kind *kind, int argc, char **argv);

/* ---- query_print.c ---- */

/** query_print() - print the rows of q->v and what is missing; returns the exit status */
int query_print(struct query *q, const struct query_kind *kind);
/** query_rows() - number of rows to print of @n that there are */
size_t query_rows(const struct query *q, size_t n);

/* ---- live.c ---- */

#define QUERY_COMPLETE	(-1)	/* see query_live() */

/**
 * query_live() - follow the recording that the options name, and print its rows
 *
 * Return: the exit status; QUERY_COMPLETE: the store is complete, and nothing was printed of it.
 */
int query_live(struct query *q, const struct query_kind *kind);

/* ---- streams_table.c ---- */

/** streams_table() - print the statistics of a store that the paper on HPS has; exit status */
int streams_table(const struct profile_options *o, const struct dep_streams_options *streams,
		  struct out *out);

/* ---- figures.c ---- */

/** struct figure - a count; of a ROW_RATIO it is divided by @of; @text: of a ROW_TEXT */
struct figure {
	uint64_t value, of;
	const char *text;
};

#define FIGURE(n)		{ .value = n }
#define FIGURE_RATIO(n, all)	{ .value = n, .of = all }

/** figures_put() - print a table of @n figures: one row, but in text a line for each */
void figures_put(struct query *q, const struct row_column *columns, const struct figure *figure,
		 size_t n);
/** figures_columns() - the columns of these rows; @all: of the one row */
struct row_columns figures_columns(const struct query *q, struct row_columns all);

/* ---- query_paths_table.c ---- */

/** paths_table() - print the table of paths; 0 or a negative errno */
int paths_table(struct query *q, const struct dep_path_profile *p);
struct row_columns paths_table_columns(const struct query *q);

/* ---- query_paths_coverage.c ---- */

/** paths_coverage() - print which part of the paths was executed, in the other stores too */
int paths_coverage(struct query *q, const struct dep_path_profile *p);
struct row_columns paths_coverage_columns(void);

/* ---- query_paths_common.c ---- */

/** paths_common_table() - print how many paths the store of --against has, too; 0, or an error */
int paths_common_table(struct query *q, const struct dep_path_profile *p);
struct row_columns paths_common_columns(const struct query *q);

/* ---- query_encoding.c ---- */

/** encoding_run() - print what encoding the contexts needs; a function of a query_kind */
int encoding_run(struct query *q);
struct row_columns encoding_columns(const struct query *q);

/* ---- annotate.c, coverage_files.c ---- */

/** annotate() - print the functions that match @pattern with counts; 0, or EXIT_FAILURE */
int annotate(struct query *q, const char *pattern);

/** coverage_files() - print the rows of source files; these are the functions of a query_kind */
int coverage_files(struct query *q);
int coverage_files_begin(struct query *q);
void coverage_files_end(struct query *q);
struct row_columns coverage_columns_of_files(void);

#endif

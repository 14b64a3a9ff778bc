/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries, and what the one for races consists of. */
#ifndef DEPCTL_QUERY_H
#define DEPCTL_QUERY_H

#include <dep/races.h>
#include <dep/symbols.h>

#include "out.h"

#define RACE_RANKS	4

int query_races(int argc, char **argv);

/* ---- races_rank.c: which of them matter ---- */

enum race_rank {
	RANK_RACE,
	RANK_UNLESS_ATOMIC,	/* a race unless the word is an atomic one.. */
	RANK_UNLESS_BEHIND,	/* ..unless it is behind the end that a string function looks for */
	RANK_LIBRARY,		/* both inside of the C library or the loader, which know why */
};

/** race_rank() - how sure it is that somebody wants to know of @r */
enum race_rank race_rank(struct dep_symbols *symbols, const struct dep_race *r);
const char *race_rank_name(enum race_rank rank);
/** race_is_atomic() - dep_races_options.is_atomic; @arg is the struct dep_symbols */
/** race_code() - dep_races_options.code */
enum dep_code race_code(void *arg, uint32_t process, uint64_t pc);
bool race_is_atomic(void *arg, uint32_t process, uint64_t pc, uint64_t address, uint64_t size);

/* ---- races_print.c ---- */

void race_print_text(struct out *o, struct dep_symbols *symbols, const struct dep_race *r,
		     enum race_rank rank);
void race_print_json(struct json *j, struct dep_symbols *symbols, const struct dep_race *r,
		     enum race_rank rank);

#endif

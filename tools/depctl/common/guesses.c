// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "guesses.h"

/* Is a caller of each context, or the context itself, a guess?  The caller frees the result. */
static bool *find_guesses(const struct dep_contexts *c)
{
	bool *guess = calloc(c->ncontexts + 1, sizeof(*guess));
	uint32_t parent;
	size_t i;

	for (i = 1; guess && i < c->ncontexts; i++) {
		parent = c->context[i].parent;
		guess[i] = c->context[i].guess || (parent < i && guess[parent]);
	}
	return guess;
}

int guesses_count(struct guesses *g, const struct dep_contexts *c,
		  bool (*chosen)(const void *arg, const struct dep_context_share *s),
		  const void *arg)
{
	bool *guess = find_guesses(c);
	uint32_t thread = 0;
	size_t i;

	*g = (struct guesses){ 0 };
	if (!guess)
		return -ENOMEM;
	for (i = 0; i < c->nshares; i++) {
		if (c->share[i].context >= c->ncontexts || !guess[c->share[i].context])
			continue;
		if (!c->share[i].insns || (chosen && !chosen(arg, &c->share[i])))
			continue;
		g->insns += c->share[i].insns;
		/* Rows are sorted by thread. */
		g->threads += c->share[i].thread != thread;
		thread = c->share[i].thread;
	}
	free(guess);
	return 0;
}

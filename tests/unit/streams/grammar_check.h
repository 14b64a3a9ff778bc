/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of grammars share: cmocka, and a check of an open or closed grammar. */
#ifndef TESTS_UNIT_STREAMS_GRAMMAR_CHECK_H
#define TESTS_UNIT_STREAMS_GRAMMAR_CHECK_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/streams/digrams.h"

/**
 * check_open() - fail unless digrams are unique, rules useful and the table complete
 *
 * Gives nodes to all symbols: a grammar that is checked after each symbol is built by single
 * steps.
 */
void check_open(struct sequitur *g);
/** check_expand() - fail unless the closed grammar @g stands for the @n symbols of @in */
void check_expand(const struct sequitur *g, const u64 *in, u64 n);
/** print_grammar() - rules by number, terminals as characters: "S=1a1 1=bc" */
const char *print_grammar(const struct sequitur *g);
/** grammar_of() - the closed grammar of the characters of @text */
struct sequitur *grammar_of(const char *text);

#endif

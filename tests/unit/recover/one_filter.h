/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter and everything that it needs. */
#ifndef TESTS_UNIT_RECOVER_ONE_FILTER_H
#define TESTS_UNIT_RECOVER_ONE_FILTER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/recover/filter/filter.h"

static inline u8 code_by_pc(void *arg, u32 process, u64 pc)
{
	(void)arg;
	(void)process;
	return pc >> 60;
}

struct one {
	struct dep_word_set locked, spin_words, wanted;
	struct dep_atomic_counters counters;
	struct dep_process_filter scope;
	struct dep_filter s;
};

static inline void begin_one(struct one *o, bool wanted)
{
	dep_word_set_init(&o->locked);
	dep_word_set_init(&o->spin_words);
	dep_word_set_init(&o->wanted);
	memset(&o->counters, 0, sizeof(o->counters));
	o->scope = (struct dep_process_filter){
		.code = code_by_pc, .locked = &o->locked, .spin_words = &o->spin_words,
		.counters = &o->counters,
		.wanted = wanted ? &o->wanted : NULL, .singly = true,
	};
	assert_int_equal(dep_filter_init(&o->s, &o->scope, 1), 0);
}

static inline void end_one(struct one *o)
{
	dep_filter_free(&o->s);
	dep_word_set_free(&o->locked);
	dep_word_set_free(&o->spin_words);
	dep_word_set_free(&o->wanted);
}

/*
 * Process a reference as recovery does; deferred references are emitted at the end of an interval.
 */
static inline bool show(struct dep_filter *s, u8 code, struct dep_ref *r)
{
	enum dep_filtered what = dep_filter_first(s, code, r);

	if (r->type & DEP_REF_RELEASES)
		dep_filter_new_interval(s);
	return what != DEP_FILTER_DROP;
}

#endif

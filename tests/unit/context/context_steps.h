/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of one stack of a model, number 0, with letters as functions. */
#ifndef TESTS_UNIT_CONTEXT_STEPS_H
#define TESTS_UNIT_CONTEXT_STEPS_H

#include "context_model.h"

static inline u32 fn(struct model *m, u64 f)
{
	return model_function(m, f);
}

static inline void call(struct model *m, u64 site, char f)
{
	model_call(m, 0, site, fn(m, (u64)f), DEP_CC_CALL);
}

static inline void indirect(struct model *m, u64 site, char f)
{
	model_call(m, 0, site, fn(m, (u64)f), DEP_CC_INDIRECT);
}

static inline void tail(struct model *m, u64 site, char f)
{
	model_tail(m, 0, site, fn(m, (u64)f));
}

static inline void back(struct model *m, u32 n)
{
	while (n--)
		model_return(m, 0);
}

static inline void begin(struct model *m, char f)
{
	model_init(m);
	model_start(m, 0, -1, fn(m, (u64)f));
}

#endif

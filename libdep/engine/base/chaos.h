/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chaos modes: the engine does often what is rare, so that tests meet it.  Nothing that a program
 * or its recording shows may change.
 */
#ifndef ADEPT_ENGINE_BASE_CHAOS_H
#define ADEPT_ENGINE_BASE_CHAOS_H

#include "runtime.h"

/** chaos_is() - whether the mode ADEPT_S_CHAOS_* is on */
static inline int chaos_is(u32 mode)
{
	return unlikely((layout()->flags & mode) != 0);
}

/** chaos_strikes() - whether the mode is on and shall act now: once in @one_in calls, at random */
int chaos_strikes(u32 mode, u32 one_in);

#endif

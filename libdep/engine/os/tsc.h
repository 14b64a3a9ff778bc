/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that have forbidden themselves to read the time stamp counter, by PR_SET_TSC, before the
 * engine was there.
 *
 * The engine needs the counter.  So it permits it, and tells the program that it is forbidden.
 */
#ifndef ADEPT_ENGINE_OS_TSC_H
#define ADEPT_ENGINE_OS_TSC_H

#include "libdep/engine/base/runtime.h"

/** tsc_permit() - permit the calling thread to read it.  Return: 1 if it was forbidden */
u32 tsc_permit(void);

/** tsc_give_back() - before the thread runs natively: forbid it again if the program has done so */
void tsc_give_back(u32 forbidden);
/** tsc_take_again() - undo tsc_give_back() */
void tsc_take_again(u32 forbidden);

/**
 * tsc_prctl() - correct the result of the program's prctl(2), PR_GET_TSC or PR_SET_TSC
 * @ret: what the call has returned
 */
s64 tsc_prctl(struct tls *t, const u64 a[6], s64 ret);
/** tsc_forbids() - is this prctl(2) one that forbids it? */
int tsc_forbids(const u64 a[6]);

#endif

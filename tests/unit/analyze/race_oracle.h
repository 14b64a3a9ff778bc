/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reference race detector: it keeps every access, and a vector clock that ticks with each event.
 */
#ifndef TESTS_UNIT_ANALYZE_RACE_ORACLE_H
#define TESTS_UNIT_ANALYZE_RACE_ORACLE_H

#include "libdep/analyze/races/detector.h"

#define ORACLE_THREADS	24
#define ORACLE_SYNCS	6
#define ORACLE_BYTES	9000

struct oracle;

/** struct oracle_pair - a race of the last access: with which access, at which byte */
struct oracle_pair {
	u32 byte, thread, flags;
	u64 pc;
};

struct oracle *oracle_new(u64 base, bool shb);
void oracle_free(struct oracle *o);
u32 oracle_begin(struct oracle *o, u32 parent);
void oracle_join(struct oracle *o, u32 joiner, u32 joined);
void oracle_acquire(struct oracle *o, u32 thread, u32 sync);
void oracle_release(struct oracle *o, u32 thread, u32 sync, bool store);
/** oracle_access() - Return: the number of pairs, which oracle_pairs() gives */
size_t oracle_access(struct oracle *o, u32 thread, u64 pc, u64 address, u32 size, u32 flags);
const struct oracle_pair *oracle_pairs(const struct oracle *o);
/** oracle_edges() - number of edges that SHB added */
u64 oracle_edges(const struct oracle *o);
void oracle_forget(struct oracle *o, u64 address, u64 size);

#endif

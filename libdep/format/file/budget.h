/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much memory the reader of a store may use.
 *
 * A store may come from anyone: counts and sizes in it can be forged.  The reader uses at most
 * DEP_BUDGET_BASE bytes, and DEP_BUDGET_FACTOR bytes for each byte of input.  Holes of sparse files
 * do not count as input.  Most tables are bounded by the size of the data that they are made from.
 * Each of the following has a share of the budget:
 *
 *	a file that is read as a whole	dep_budget_file()
 *	mappings, which forks copy	dep_budget_mappings()
 *	segments while they are read	dep_budget_segments()
 *	a catalog that is changed	dep_budget_catalog()
 *	tables of a fold's workers	dep_budget_fold()
 */
#ifndef ADEPT_FORMAT_FILE_BUDGET_H
#define ADEPT_FORMAT_FILE_BUDGET_H

#include "libdep/abi/types.h"

#define DEP_BUDGET_BASE		(256ull << 20)
#define DEP_BUDGET_FACTOR	16u

/** dep_budget_file() - maximum size of a file that has @data bytes outside of holes */
static inline u64 dep_budget_file(u64 data)
{
	return (32ull << 20) + 2 * data;
}

/** dep_budget_mappings() - bytes for the mappings that a log of @input bytes describes */
static inline u64 dep_budget_mappings(u64 input)
{
	return (96ull << 20) + 8 * input;
}

/**
 * dep_budget_segments() - bytes for all segments that are unpacked at the same time
 * @input: bytes of the store
 *
 * The largest chunk of a ring has 64 MiB.  Unpacking its segment takes 132 MiB, besides the stored
 * bytes, which can be very few.
 */
static inline u64 dep_budget_segments(u64 input)
{
	return (160ull << 20) + 8 * input;
}

/** dep_budget_catalog() - bytes for SQLite while it changes an existing catalog */
static inline u64 dep_budget_catalog(u64 input)
{
	return (64ull << 20) + 4 * input;
}

/**
 * dep_budget_fold() - bytes of the tables of all workers of a pass
 * @input: bytes of the store
 *
 * A worker has tables of 12 MiB, whatever the size of the store (fold/sequences.h).
 */
static inline u64 dep_budget_fold(u64 input)
{
	return (96ull << 20) + 8 * input;
}

/**
 * dep_budget_profile() - bytes of the rows of a profile, in addition to the budget of the reader
 * @input: bytes of the store
 *
 * A short child process that executes the code of its parent has about 60 times as many bytes of
 * rows as its segments have.
 */
static inline u64 dep_budget_profile(u64 input)
{
	return (128ull << 20) + 64 * input;
}

/** dep_file_data() - number of bytes of the file outside of holes; stops counting beyond @most */
u64 dep_file_data(int fd, u64 most);

#endif

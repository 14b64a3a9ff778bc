/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much memory the reader of a store may use.
 *
 * A store may come from anybody: counts and sizes in it can lie.  The reader uses at most
 * DEP_BUDGET_BASE bytes, and DEP_BUDGET_FACTOR more for each byte of input.  A hole of a sparse
 * file is no input.  Most tables are bounded by the bytes that they are made of; what is not has
 * a share of the budget, and is refused beyond it:
 *
 *	a file that is read as a whole	dep_budget_file()
 *	mappings, which forks copy	dep_budget_mappings()
 *	segments while they are read	dep_budget_segments()
 *	a catalog that is changed	dep_budget_catalog()
 */
#ifndef ADEPT_FORMAT_FILE_BUDGET_H
#define ADEPT_FORMAT_FILE_BUDGET_H

#include "libdep/abi/types.h"

#define DEP_BUDGET_BASE		(256ull << 20)
#define DEP_BUDGET_FACTOR	16u

/** dep_budget_file() - how large a file may claim to be that has @data bytes outside of holes */
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
 * dep_budget_segments() - bytes for all segments that are unpacked at a time
 * @input: bytes of the store
 *
 * The largest chunk of a ring has 64 MiB, and takes 132 MiB if it compresses to nothing.
 */
static inline u64 dep_budget_segments(u64 input)
{
	return (160ull << 20) + 8 * input;
}

/** dep_budget_catalog() - bytes for SQLite while it changes a catalog that was there before */
static inline u64 dep_budget_catalog(u64 input)
{
	return (64ull << 20) + 4 * input;
}

/** dep_file_data() - how many bytes of the file are not in holes, up to @most or a bit more */
u64 dep_file_data(int fd, u64 most);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of path profiling, and arithmetic that saturates.
 *
 * The engine has no malloc(), so the caller says where memory comes from.  Each object is one block
 * that holds all its arrays.
 */
#ifndef ADEPT_PATHS_MEMORY_H
#define ADEPT_PATHS_MEMORY_H

#include <stdbool.h>

#include "libdep/abi/types.h"

__extension__ typedef unsigned __int128 u128;

/**
 * struct dep_path_memory - where memory comes from
 * @get: memory of any contents, aligned to 16 bytes; NULL if there is none
 * @put: takes it back; @bytes: what get() was asked for
 */
struct dep_path_memory {
	void *(*get)(void *self, size_t bytes);
	void (*put)(void *self, void *memory, size_t bytes);
	void *self;
};

/** struct dep_path_block - memory that get() has returned; @bytes: 0: none */
struct dep_path_block {
	void *memory;
	size_t bytes;
};

/** struct dep_path_array - an array of a block; @at: address of the pointer to it */
struct dep_path_array {
	void *at;
	u64 n;
	size_t size;
};

/* An initialiser of struct dep_path_array; @pointer: an lvalue. */
#define DEP_PATH_ARRAY(pointer, n)	{ &(pointer), (n), sizeof(*(pointer)) }

/**
 * dep_path_arrays() - allocate arrays in one block and fill them with zeros
 *
 * Return: 0 or -ENOMEM, which leaves the pointers as they were.
 */
int dep_path_arrays(const struct dep_path_memory *m, struct dep_path_block *b,
		    const struct dep_path_array *array, unsigned int n);
void dep_path_arrays_free(const struct dep_path_memory *m, struct dep_path_block *b);

static inline u64 dep_add_sat(u64 a, u64 b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline u128 dep_add128_sat(u128 a, u128 b)
{
	return a + b < a ? ~(u128)0 : a + b;
}

static inline u64 dep_mul_sat(u64 a, u64 b)
{
	u128 product = (u128)a * b;

	return product > UINT64_MAX ? UINT64_MAX : (u64)product;
}

#endif

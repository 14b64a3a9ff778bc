/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments of a store: the code that recorded processes executed, and its translation if that was
 * kept (depctl record --keep-translations).
 */
#ifndef DEP_FRAGMENT_H
#define DEP_FRAGMENT_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Kind of the translated code from dep_code_place.off on. */
enum dep_code_kind {
	/* copies of the instructions from @insn on; a TLS slot replaces r15 */
	DEP_CODE_COPY,
	/* code for instruction @insn: value stores, its replacement, or its branch */
	DEP_CODE_ADDED,
	DEP_CODE_ENTRY,		/* before the first instruction */
	DEP_CODE_EXIT,		/* end of a record, and jump to what follows; exit stub */
	DEP_CODE_DATA,		/* literals */
};

/** struct dep_code_place - a range of the translated code, up to the next place */
struct dep_code_place {
	uint16_t off;		/* in dep_fragment_code.translation */
	uint8_t insn;		/* with COPY and ADDED: index of the instruction */
	uint8_t kind;		/* enum dep_code_kind */
};

/** struct dep_code_run - instructions at consecutive addresses */
struct dep_code_run {
	uint64_t pc;
	uint32_t ninsns;
	uint16_t function, returns;	/* see dep(5) */
};

/**
 * struct dep_fragment_code - code of one fragment
 * @code: the bytes of all instructions of all runs, without gaps
 * @translation: as it was built, without later links: @hot_len bytes that were at @hot in the code
 *	cache, then @cold_len bytes that were at @cold.  NULL if it was not kept.
 * @places: sorted by offset; the first one is at 0
 *
 * The store owns what the pointers point to.
 */
struct dep_fragment_code {
	uint32_t process;	/* serial */
	uint32_t id;		/* of its first exit */
	uint16_t nexits, nstores, ninsns, nruns;
	uint16_t entry_mask;	/* registers that recovery knows at its entry */
	uint16_t code_len;
	const struct dep_code_run *runs;
	const uint8_t *code;
	uint64_t hot, cold;
	uint16_t hot_len, cold_len;
	uint32_t nplaces;
	const struct dep_code_place *places;
	const uint8_t *translation;
};

/** dep_fragment_code() - get fragment @n in the order of the log; @n < dep_store_fragments() */
void dep_fragment_code(struct dep_store *s, uint64_t n, struct dep_fragment_code *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

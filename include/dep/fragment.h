/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fragments of a store: pieces of code that recorded processes executed.  The translation of a
 * fragment, which ran instead, is available after depctl record --keep-translations.
 */
#ifndef DEP_FRAGMENT_H
#define DEP_FRAGMENT_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Kind of a range of translated code; the range begins at dep_code_place.off. */
enum dep_code_kind {
	/*
	 * Copies of application instructions from dep_code_place.insn on.  The engine reserves r15,
	 * so a TLS slot replaces this register.
	 */
	DEP_CODE_COPY,
	/* code generated for instruction dep_code_place.insn: value stores, replacement, branch */
	DEP_CODE_ADDED,
	DEP_CODE_ENTRY,		/* fragment entry code, before the first instruction */
	DEP_CODE_EXIT,		/* exit stub: ends the trace record, jumps to the next fragment */
	DEP_CODE_DATA,		/* literals: constants that the code reads */
};

/** struct dep_code_place - a range of translated code; it ends where the next range begins */
struct dep_code_place {
	uint16_t off;		/* offset of the range in dep_fragment_code.translation */
	uint8_t insn;		/* index of the instruction, for DEP_CODE_COPY and _ADDED */
	uint8_t kind;		/* enum dep_code_kind */
};

/** struct dep_code_run - instructions at consecutive addresses */
struct dep_code_run {
	uint64_t pc;
	uint32_t ninsns;
	/* @function: hooked function at @pc, or 0; @returns: 1 if hooked functions return to @pc */
	uint16_t function, returns;
};

/**
 * struct dep_fragment_code - code of one fragment
 * @code: the bytes of all instructions of all runs, without gaps
 * @translation: translated code before its exits were linked to other fragments: @hot_len bytes
 *	from address @hot of the code cache, then @cold_len bytes from address @cold.  NULL if
 *	translations were not recorded.
 * @places: ranges of @translation, sorted by offset; the first one begins at offset 0
 *
 * The store owns the memory behind all pointers.
 */
struct dep_fragment_code {
	uint32_t process;	/* serial of the process */
	uint32_t id;		/* id of the fragment's first exit */
	uint16_t nexits, nstores, ninsns, nruns;
	uint16_t entry_mask;	/* bit mask: general registers that recovery knows at the entry */
	uint16_t code_len;
	const struct dep_code_run *runs;
	const uint8_t *code;
	uint64_t hot, cold;
	uint16_t hot_len, cold_len;
	uint32_t nplaces;
	const struct dep_code_place *places;
	const uint8_t *translation;
};

/** dep_fragment_code() - get fragment @n, 0 to count - 1 of dep_store_fragments(), in log order */
void dep_fragment_code(struct dep_store *s, uint64_t n, struct dep_fragment_code *out);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif

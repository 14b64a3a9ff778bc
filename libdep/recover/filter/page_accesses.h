/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Merged accesses to one page: what the redundant-access filter passes to the race detector.
 */
#ifndef ADEPT_RECOVER_FILTER_PAGE_ACCESSES_H
#define ADEPT_RECOVER_FILTER_PAGE_ACCESSES_H

#include <stdint.h>

#define DEP_ACCESS_PAGE_SIZE	4096u
#define DEP_JOINED_WORDS	(DEP_ACCESS_PAGE_SIZE / 64)

/** struct dep_page_word - 64 bytes of memory: one bit per byte only read, and per byte written */
struct dep_page_word {
	uint64_t read, wrote;
};

/**
 * struct dep_page_accesses - deferred accesses to one page, merged; each byte is reported once
 * @pc:     of one of the accesses
 * @addr:   of the page
 * @words:  bit i: bytes 64 * i to 64 * i + 63 of the page have an entry in @word
 * @origin: as in dep_ref
 * @nwords: number of entries in @word, which are in ascending order of address
 */
struct dep_page_accesses {
	uint64_t pc, addr, words;
	uint16_t origin, nwords;
	struct dep_page_word word[];
};

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Merged accesses to one page, which the redundant-access filter passes to the race detector.
 */
#ifndef ADEPT_RECOVER_FILTER_PAGE_ACCESSES_H
#define ADEPT_RECOVER_FILTER_PAGE_ACCESSES_H

#include <stdint.h>

#define DEP_ACCESS_PAGE_SIZE	4096u
#define DEP_JOINED_WORDS	(DEP_ACCESS_PAGE_SIZE / 64)

/** struct dep_page_word - accesses to 64 bytes: a bit per byte read (not written), and written */
struct dep_page_word {
	uint64_t read, wrote;
};

/**
 * struct dep_page_accesses - deferred accesses to one page, merged; each byte is reported once
 * @pc:     pc of one of the accesses
 * @addr:   address of the page
 * @words:  bit i: bytes 64 * i to 64 * i + 63 of the page have an entry in @word
 * @origin: origin of the accesses, as in dep_ref.origin
 * @nwords: number of entries in @word, which are in ascending order of address
 */
struct dep_page_accesses {
	uint64_t pc, addr, words;
	uint16_t origin, nwords;
	struct dep_page_word word[];
};

#endif

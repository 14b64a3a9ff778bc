/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up profiles for the page: trees of any size, and names that no compiler would give. */
#ifndef TESTS_FAKE_PROFILE_H
#define TESTS_FAKE_PROFILE_H

#include "tools/depctl/page/page.h"

/** fake_begin() - forget all, and begin a recording with processes and threads, of one command */
void fake_begin(unsigned int nprocesses, unsigned int nthreads);
/** fake_function() - add a function without instructions; returns its index */
uint32_t fake_function(const char *name, const char *module);
/** fake_context() - add a context with its share of one thread; returns its index */
uint32_t fake_context(uint32_t parent, uint32_t function, uint32_t thread, uint64_t calls,
		      uint64_t insns);
/** fake_time() - add a row of time and the segment it belongs to */
void fake_time(uint64_t start_ns, uint64_t end_ns, uint32_t thread, uint32_t context,
	       uint64_t insns);
/** fake_insn() - add an instruction (a nop) of a function, at a line of a source file */
void fake_insn(uint32_t function, uint64_t pc, uint64_t count, const char *file, uint32_t line);
/** fake_input() - finish: sums of functions, order of times; valid until fake_begin() */
const struct page_input *fake_input(void);
/** fake_end() - free all */
void fake_end(void);

/* The profiles that tests and write_page use. */
/** fake_named() - make the profile @name; false: there is none */
bool fake_named(const char *name);

#endif

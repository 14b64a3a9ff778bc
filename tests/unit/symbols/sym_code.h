/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of whole files, and what binutils says about them. */
#ifndef TESTS_UNIT_SYMBOLS_SYM_CODE_H
#define TESTS_UNIT_SYMBOLS_SYM_CODE_H

#include <stdio.h>

#include "sym_run.h"

#define SYM_BIAS	0x7f0000000000ull	/* where a file that can be moved is mapped */

/** struct sym_file - a store in which one file is mapped, and its functions */
struct sym_file {
	struct sym_store t;
	u64 pc;			/* an address in it */
	struct dep_file_code code;
};

/** sym_file_begin() - as if the program headers of @path had been mapped; false: no such file */
bool sym_file_begin(struct sym_file *f, const char *path);
void sym_file_end(struct sym_file *f);
/** sym_file_check() - what must be true of any file's functions and lines */
void sym_file_check(struct sym_file *f);
/** sym_file_at() - the function that contains linked address @at, or NULL */
const struct dep_file_function *sym_file_at(const struct sym_file *f, u64 at);
/** sym_file_named() - the only function with this name of the linker */
const struct dep_file_function *sym_file_named(const struct sym_file *f, const char *symbol);
/** sym_pipe() - the output of a command of the shell */
FILE *sym_pipe(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** sym_pipe_end() - the command must have succeeded */
void sym_pipe_end(FILE *f);

#endif

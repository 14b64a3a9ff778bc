/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of a store in the formats of the DEP paper: formats.c computes, formats_print.c prints. */
#ifndef DEPCTL_STORE_FORMATS_H
#define DEPCTL_STORE_FORMATS_H

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "compress.h"

/**
 * struct format_size - one of enum dep_paper_format, all threads
 * @grammars: of Sequitur
 */
struct format_size {
	uint64_t bytes, packed[CODECS], grammars;
};

/** struct format_thread - bytes of a thread in each format */
struct format_thread {
	uint32_t serial;
	uint64_t bytes[DEP_PAPER_FORMATS];
};

/**
 * struct formats - all formats of a store
 * @output: directory that receives the streams, or NULL
 * @compress: compress them, too
 */
struct formats {
	struct dep_store *store;
	const char *output;
	bool compress;
	uint64_t instructions;
	struct format_size size[DEP_PAPER_FORMATS];
	struct format_thread *thread;
	size_t nthreads;
};

/** formats_collect() - compute and write; 0, or 1 after a message; formats_free() in both cases */
int formats_collect(struct formats *f);
/** formats_sizes() - sizes as dep_formats() computes them, after formats_collect() */
void formats_sizes(const struct formats *f, struct dep_formats *sizes);
void formats_free(struct formats *f);

/* ---- formats_print.c ---- */

int formats_table(const struct formats *f, struct out *o);
void formats_csv(const struct formats *f, struct out *o);
void formats_json(const struct formats *f, struct json *j);

#endif

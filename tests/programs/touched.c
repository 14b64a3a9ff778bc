// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * touched STORE: how many different bytes of code the store's programs executed, and how
 * many KiB of pages these lie on.
 *
 * A byte counts once, in however many blocks and threads it was executed. Images are
 * not distinguished, so the result is meaningful only for one image.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/recover/interp/run.h"
#include "libdep/x86/decode.h"

#define LINES	(1u << 20)	/* of 64 bytes of code */

static struct { uint64_t line, bytes; } seen[LINES];
static uint64_t pages[LINES], nbytes, npages;
static uint8_t done[1u << 24];	/* by a fragment's first exit: so many instructions are in */

static void page(uint64_t n)
{
	uint32_t i = (uint32_t)(n * 0x9e3779b97f4a7c15 >> 44);

	while (pages[i] && pages[i] != n)
		i = (i + 1) % LINES;
	npages += !pages[i];
	pages[i] = n;
}

static void byte(uint64_t pc)
{
	uint64_t line = pc >> 6, bit = 1ull << (pc & 63);
	uint32_t i = (uint32_t)(line * 0x9e3779b97f4a7c15 >> 44);

	while (seen[i].bytes && seen[i].line != line)
		i = (i + 1) % LINES;
	if (!seen[i].bytes)
		page(pc >> 12);
	seen[i].line = line;
	nbytes += !(seen[i].bytes & bit);
	seen[i].bytes |= bit;
}

static void piece(void *arg, const struct dep_program *p, const struct dep_details *d, u32 from,
		  u32 to)
{
	const u8 *code = dep_desc_code(p->d);
	struct x86_insn in;
	int at = 0, len, k;
	u32 n;

	(void)arg;
	if (p->d->first_exit < sizeof(done)) {
		if (done[p->d->first_exit] >= to)
			return;
		if (!from)
			done[p->d->first_exit] = (uint8_t)to;
	}
	for (n = 0; n < to; n++, at += len) {
		len = x86_decode(&in, code + at, (unsigned int)(p->d->code_len - at));
		for (k = 0; n >= from && k < len; k++)
			byte(d->insn[n].pc + (uint64_t)k);
	}
}

int main(int argc, char **argv)
{
	static const struct dep_sink nowhere;
	const struct dep_tracer tracer = { .begin = piece };
	const struct dep_segment *seg;
	struct dep_counts counts = { 0 };
	struct dep_columns c = { 0 };
	struct dep_store *s;
	struct dep_interp r;
	size_t i, n;
	int err = 0;

	if (argc != 2 || dep_store_open(&s, argv[1]))
		return 2;
	dep_interp_init(&r, &c, &nowhere, &tracer);
	n = dep_store_segments(s, &seg);
	for (i = 0; i < n && !err; i++)
		err = dep_recover_traced(s, &seg[i], &r, &counts);
	if (err) {
		fprintf(stderr, "%s\n", dep_error());
		return 1;
	}
	printf("%llu %llu\n", (unsigned long long)nbytes, (unsigned long long)npages * 4);
	return 0;
}

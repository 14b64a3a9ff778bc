// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * drcov's format, version 2: a table of files, and executed blocks as offsets in them.
 *
 * A file is in the table once, with its mapping in the first process that has it.  Code that is in
 * no file is left out.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/numbering.h"
#include "code_blocks.h"
#include "export.h"
#include "lines.h"

/* A row of the table of blocks, in the format's byte order. */
struct drcov_block {
	uint32_t offset;
	uint16_t size, module;
};

_Static_assert(sizeof(struct drcov_block) == 8, "a row has 8 bytes");

#define MODULES_MAX	UINT16_MAX

struct drcov {
	struct export *x;
	struct lines lines;
	struct numbering names, blocks;	/* keys: path and build-id; struct drcov_block */
	uint32_t *module;		/* by image: its number; NUMBERING_FULL: not in the table */
	uint32_t *image;		/* by number: the first image */
	bool failed;
};

static uint64_t base_of(struct drcov *d, uint32_t image)
{
	const struct dep_module *m = &d->lines.module[image - 1];
	const struct lines_file *f = lines_file(&d->lines, image);

	/* A program that is not relocated begins where its first byte is mapped. */
	return f->code && f->bias ? f->bias : m->start - m->offset;
}

static void number_modules(struct drcov *d)
{
	const struct dep_module *m = d->lines.module;
	char key[8192];
	size_t i;
	int size;

	for (i = 0; i < d->lines.nmodules; i++) {
		size = snprintf(key, sizeof(key), "%s%c%s", m[i].path, 0, m[i].build_id);
		d->module[i + 1] = NUMBERING_FULL;
		if (size < 0 || (size_t)size >= sizeof(key) || d->names.n == MODULES_MAX)
			continue;
		d->module[i + 1] = number_of(&d->names, key, (size_t)size);
		if (d->module[i + 1] == NUMBERING_FULL)
			d->failed = true;
		else if (!d->image[d->module[i + 1]])
			d->image[d->module[i + 1]] = (uint32_t)i + 1;
	}
}

/* Add @size bytes at @pc; a block that is too large for a row is cut between instructions. */
static void add_block(struct drcov *d, uint32_t image, uint64_t pc, uint64_t size)
{
	struct drcov_block row = { .size = (uint16_t)size, .module = (uint16_t)d->module[image] };
	uint64_t offset = pc - base_of(d, image);

	if (!size || offset > UINT32_MAX)
		return;
	row.offset = (uint32_t)offset;
	if (number_of(&d->blocks, &row, sizeof(row)) == NUMBERING_FULL)
		d->failed = true;
}

static void add_insns(struct drcov *d, const struct dep_insn_count *insn, size_t n)
{
	uint64_t pc = insn->pc;
	size_t i;

	if (!insn->image || insn->image > d->lines.nmodules ||
	    d->module[insn->image] == NUMBERING_FULL ||
	    !export_chosen(d->x, functions_at(d->x->l.functions, insn->process, insn->image, pc)))
		return;
	for (i = 0; i < n; i++) {
		if (insn[i].pc + insn[i].size - pc <= UINT16_MAX)
			continue;
		add_block(d, insn->image, pc, insn[i].pc - pc);
		pc = insn[i].pc;
	}
	add_block(d, insn->image, pc, insn[n - 1].pc + insn[n - 1].size - pc);
}

static void put_table(struct drcov *d)
{
	const struct dep_module *m;
	struct out *o = &d->x->out;
	uint64_t base;
	uint32_t i;

	out_printf(o, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\nModule Table: version 2, count %u\n"
		   "Columns: id, base, end, entry, path\n", d->names.n);
	for (i = 0; i < d->names.n; i++) {
		m = &d->lines.module[d->image[i] - 1];
		base = base_of(d, d->image[i]);
		out_printf(o, "%3u, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016x, ", i, base,
			   m->end, 0);
		out_plain(o, m->path);
		out_text(o, "\n");
	}
	out_printf(o, "BB Table: %u bbs\n", d->blocks.n);
	out_block(o, d->blocks.bytes, d->blocks.used);
}

int export_drcov(struct export *x)
{
	struct drcov d = { .x = x };
	struct code_blocks b = { 0 };
	size_t i;

	if (lines_begin(&d.lines, x->l.store, x->l.symbols) || code_blocks_make(&b, x->l.profile))
		d.failed = true;
	d.module = calloc(d.lines.nmodules + 1, sizeof(*d.module));
	d.image = calloc(d.lines.nmodules + 1, sizeof(*d.image));
	if (!d.module || !d.image)
		d.failed = true;
	if (!d.failed)
		number_modules(&d);
	for (i = 0; !d.failed && i < b.n; i++)
		add_insns(&d, &b.p->insn[b.block[i].first], b.block[i].n);
	if (d.failed)
		warn("out of memory");
	else
		put_table(&d);
	code_blocks_free(&b);
	lines_end(&d.lines);
	numbering_free(&d.names);
	numbering_free(&d.blocks);
	free(d.module);
	free(d.image);
	return d.failed;
}

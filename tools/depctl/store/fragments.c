// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl dump --fragments: the recorded instructions, and next to them the code that ran in the
 * code cache.
 *
 * The translation is printed in the order of its addresses.  Each recorded instruction is printed
 * next to its first translated instruction.  A recorded instruction without translation, such as a
 * direct jump within the fragment, is printed in a separate line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dep/fragment.h>
#include <dep/symbols.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/disassembler.h"
#include "fragments.h"

#define NO_INSN		UINT32_MAX

/** struct insn - a recorded or translated instruction, or a literal of the translation */
struct insn {
	uint64_t pc;
	const uint8_t *bytes;
	unsigned int len;
	char text[DISASSEMBLER_TEXT];
};

/** struct row - an instruction of the translation */
struct row {
	struct insn in;
	enum dep_code_kind kind;
	uint32_t insn;		/* index of the recorded instruction it comes from, or NO_INSN */
};

struct dump {
	struct dep_store *store;
	struct dep_symbols *symbols;
	struct out *out;
	bool json;
	struct disassembler disassembler;
	struct dep_fragment_code f;
	struct insn *source;	/* recorded instructions; f.ninsns elements */
	struct row *rows;
	size_t nrows, room;
	/* source position printed last; printed again only when it changes */
	const char *function, *file;
	uint32_t line;
};

static const char *const kind_names[] = {
	[DEP_CODE_COPY] = "copy", [DEP_CODE_ADDED] = "added", [DEP_CODE_ENTRY] = "entry",
	[DEP_CODE_EXIT] = "exit", [DEP_CODE_DATA] = "data",
};

static void read_insn(const struct dump *d, struct insn *in, uint64_t pc, const uint8_t *bytes,
		      size_t avail)
{
	*in = (struct insn){ .pc = pc, .bytes = bytes };
	in->len = disassemble(&d->disassembler, pc, bytes, avail, in->text);
}

static void literal(struct insn *in, uint64_t pc, const uint8_t *bytes, size_t avail)
{
	uint64_t value;

	*in = (struct insn){ .pc = pc, .bytes = bytes, .len = 1 };
	/* Literals are 8-byte aligned; unaligned bytes are padding. */
	if (pc % 8 || avail < sizeof(value)) {
		snprintf(in->text, sizeof(in->text), ".byte 0x%x", *bytes);
		return;
	}
	memcpy(&value, bytes, sizeof(value));
	in->len = sizeof(value);
	snprintf(in->text, sizeof(in->text), ".quad 0x%" PRIx64, value);
}

/* Disassemble the recorded instructions of the fragment. */
static void read_source(struct dump *d)
{
	const uint8_t *at = d->f.code, *end = at + d->f.code_len;
	uint32_t r, i, n = 0;
	uint64_t pc;

	for (r = 0; r < d->f.nruns; r++) {
		pc = d->f.runs[r].pc;
		for (i = 0; i < d->f.runs[r].ninsns && at < end; i++, n++) {
			read_insn(d, &d->source[n], pc, at, end - at);
			at += d->source[n].len;
			pc += d->source[n].len;
		}
	}
	d->f.ninsns = n;
}

static struct row *add_row(struct dump *d)
{
	struct row *rows;

	if (d->nrows == d->room) {
		d->room = d->room ? d->room * 2 : 256;
		rows = realloc(d->rows, d->room * sizeof(*rows));
		if (!rows)
			return NULL;
		d->rows = rows;
	}
	return &d->rows[d->nrows++];
}

/* Convert offset @off in the translation to its address in the code cache. */
static uint64_t cache_address(const struct dep_fragment_code *f, uint32_t off)
{
	return off < f->hot_len ? f->hot + off : f->cold + (off - f->hot_len);
}

static int read_place(struct dump *d, const struct dep_code_place *p, uint32_t end)
{
	uint32_t off = p->off, n = 0;
	const uint8_t *bytes;
	struct row *row;

	/* No instruction extends from the hot part into the cold part. */
	if (off < d->f.hot_len && end > d->f.hot_len)
		end = d->f.hot_len;
	for (; off < end; off += row->in.len, n++) {
		row = add_row(d);
		if (!row)
			return -1;
		bytes = d->f.translation + off;
		if (p->kind == DEP_CODE_DATA)
			literal(&row->in, cache_address(&d->f, off), bytes, end - off);
		else
			read_insn(d, &row->in, cache_address(&d->f, off), bytes, end - off);
		row->kind = p->kind;
		row->insn = p->kind == DEP_CODE_COPY ? p->insn + n :
			    p->kind == DEP_CODE_ADDED ? p->insn : NO_INSN;
	}
	return 0;
}

static int read_translation(struct dump *d)
{
	uint32_t i, end;

	d->nrows = 0;
	for (i = 0; i < d->f.nplaces; i++) {
		end = i + 1 < d->f.nplaces ? d->f.places[i + 1].off :
					     (uint32_t)d->f.hot_len + d->f.cold_len;
		if (read_place(d, &d->f.places[i], end))
			return -1;
	}
	return 0;
}

/* ---- text ---- */

static void put_name(struct dump *d, uint64_t pc)
{
	struct dep_place p;

	dep_symbols_frames(d->symbols, d->f.process, pc, 0, &p, 1);
	if (p.function == d->function && p.file == d->file && p.line == d->line)
		return;
	d->function = p.function;
	d->file = p.file;
	d->line = p.line;
	if (!p.function && !p.file)
		return;
	out_text(d->out, "    ");
	out_plain(d->out, p.function ? p.function : "?");
	if (p.file) {
		out_text(d->out, " at ");
		out_plain(d->out, p.file);
		if (p.line)
			out_printf(d->out, ":%u", p.line);
	}
	out_text(d->out, "\n");
}

static void put_line(struct dump *d, const struct insn *source, const struct row *row)
{
	if (source) {
		put_name(d, source->pc);
		out_printf(d->out, "%14" PRIx64 "  %-*s", source->pc, row ? 40 : 0, source->text);
	} else {
		out_printf(d->out, "%56s", "");
	}
	if (row)
		out_printf(d->out, " | %-5s %12" PRIx64 "  %s", kind_names[row->kind],
			   row->in.pc, row->in.text);
	out_text(d->out, "\n");
}

static void put_sources(struct dump *d, uint32_t *next, uint32_t end)
{
	for (; *next < end && *next < d->f.ninsns; (*next)++)
		put_line(d, &d->source[*next], NULL);
}

static void text_rows(struct dump *d)
{
	uint32_t next = 0, last = 0;
	size_t i;

	for (i = 0; i < d->nrows; i++)
		if (d->rows[i].insn != NO_INSN && d->rows[i].insn > last)
			last = d->rows[i].insn;
	for (i = 0; i < d->nrows; i++) {
		const struct row *row = &d->rows[i];

		if (row->insn != NO_INSN)
			put_sources(d, &next, row->insn);
		else if (row->kind == DEP_CODE_EXIT && next > last)
			put_sources(d, &next, d->f.ninsns);
		if (row->insn == next && next < d->f.ninsns)
			put_line(d, &d->source[next++], row);
		else
			put_line(d, NULL, row);
	}
	put_sources(d, &next, d->f.ninsns);
}

static void text_fragment(struct dump *d)
{
	int i;

	out_printf(d->out, "fragment %u, process %u: %u instructions, %u exits, %u values, known:",
		   d->f.id, d->f.process, d->f.ninsns, d->f.nexits, d->f.nstores);
	for (i = 0; i < 16; i++)
		if (d->f.entry_mask >> i & 1)
			out_printf(d->out, " %s", ZydisRegisterGetString(ZYDIS_REGISTER_RAX + i));
	out_text(d->out, "\n");
	d->function = d->file = NULL;
	d->line = 0;
	text_rows(d);
}

/* ---- JSON ---- */

static void json_code(struct json *j, const struct insn *in)
{
	char hex[2 * 15 + 1];
	unsigned int i;

	for (i = 0; i < in->len && i < 15; i++)
		snprintf(hex + 2 * i, 3, "%02x", in->bytes[i]);
	json_str(j, "machine_code", hex);
	json_str(j, "text", in->text);
}

static void json_source(struct dump *d, struct json *j)
{
	struct dep_place p;
	uint32_t i;

	json_array(j, "source");
	for (i = 0; i < d->f.ninsns; i++) {
		dep_symbols_frames(d->symbols, d->f.process, d->source[i].pc, 0, &p, 1);
		json_object(j, NULL);
		json_hex(j, "pc", d->source[i].pc);
		json_code(j, &d->source[i]);
		json_str(j, "function", p.function);
		json_str(j, "file", p.file);
		json_u64(j, "line", p.line);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_translated(struct dump *d, struct json *j)
{
	size_t i;

	json_array(j, "translated");
	for (i = 0; i < d->nrows; i++) {
		const struct row *row = &d->rows[i];

		json_object(j, NULL);
		json_hex(j, "address", row->in.pc);
		json_str(j, "kind", kind_names[row->kind]);
		if (row->insn < d->f.ninsns)
			json_hex(j, "pc", d->source[row->insn].pc);
		json_code(j, &row->in);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_fragment(struct dump *d)
{
	struct json j;
	int i;

	json_begin(&j, d->out);
	json_object(&j, NULL);
	json_u64(&j, "process", d->f.process);
	json_u64(&j, "fragment", d->f.id);
	json_u64(&j, "exits", d->f.nexits);
	json_u64(&j, "values", d->f.nstores);
	json_array(&j, "known_registers");
	for (i = 0; i < 16; i++)
		if (d->f.entry_mask >> i & 1)
			json_str(&j, NULL, ZydisRegisterGetString(ZYDIS_REGISTER_RAX + i));
	json_close(&j, ']');
	json_source(d, &j);
	if (d->f.translation)
		json_translated(d, &j);
	json_close(&j, '}');
	json_line(&j);
}

/* ---- all fragments ---- */

static int dump_all(struct dump *d)
{
	uint64_t i, n, code, desc;
	struct insn *source;

	dep_store_fragments(d->store, &n, &code, &desc);
	for (i = 0; i < n && !d->out->error; i++) {
		dep_fragment_code(d->store, i, &d->f);
		source = realloc(d->source, (d->f.ninsns + 1) * sizeof(*source));
		if (!source)
			return -1;
		d->source = source;
		read_source(d);
		if (read_translation(d))
			return -1;
		if (d->json)
			json_fragment(d);
		else
			text_fragment(d);
	}
	return 0;
}

int fragments_dump(struct dep_store *store, const char *path, struct out *out, bool json)
{
	struct dump d = { .store = store, .out = out, .json = json };
	int ret = -1;

	if (!disassembler_begin(&d.disassembler))
		return -1;
	if (dep_symbols_open(&d.symbols, store)) {
		warn("%s: out of memory", path);
		return -1;
	}
	ret = dump_all(&d);
	if (ret)
		warn("%s: out of memory", path);
	free(d.source);
	free(d.rows);
	dep_symbols_close(d.symbols);
	return ret;
}

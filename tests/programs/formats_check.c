// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decode CF_bit and DEPm by the program's code, and compare with what libdep recovers.
 *
 *	formats_check STORE DIR THREAD
 *
 * DIR has what `depctl info --formats --output' wrote of the store; THREAD is the thread's number.
 * Of the store, the decoders take the code only; where an event sets registers; and the number of
 * references of gathers, scatters, masked moves and `enter', which DEPm cannot tell.  The fs base
 * is not in DEPm: it is the difference of the first reference, and may change a few times.
 *
 * Prints what differs, and the numbers of what was compared.  Exit status 0: nothing differs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dep/events.h"
#include "dep/recover.h"
#include "libdep/format/codec/descriptor.h"
#include "libdep/format/read/store.h"
#include "libdep/x86/decode.h"

#define BASE_CHANGES	4

struct code {
	u64 pc;
	struct x86_insn in;
};

struct bytes {
	u8 *data;
	size_t size, at;
};

struct state {
	struct code *code;
	size_t slots, ncode;
	struct dep_item *item;
	size_t nitems, room;
	size_t ref;		/* index of the next reference in @item */
	struct bytes bits, targets, depm;
	u32 bit;
	u64 reg[16], fs;
	u16 updated;
	u32 fs_changes;
	u64 conds, indirect, refs, values, wrong;
};

static void differs(struct state *s, const char *fmt, ...)
{
	va_list ap;

	if (++s->wrong > 10)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* ---- input ---- */

static void read_stream(const char *dir, const char *thread, const char *name, struct bytes *b)
{
	char path[4096];
	long size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, thread, name);
	f = fopen(path, "r");
	/* A stream without bytes has no file. */
	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	b->data = malloc((size_t)size + 1);
	b->size = fread(b->data, 1, (size_t)size, f);
	fclose(f);
}

static u64 next_word(struct state *s, struct bytes *b, const char *what)
{
	u64 v = 0;

	if (b->size - b->at < 8) {
		differs(s, "%s ends too early", what);
		return 0;
	}
	memcpy(&v, b->data + b->at, 8);
	b->at += 8;
	return v;
}

static int next_bit(struct state *s)
{
	int bit;

	if (s->bits.at == s->bits.size) {
		differs(s, "the bits end too early");
		return 0;
	}
	bit = s->bits.data[s->bits.at] >> s->bit & 1;
	s->bit = (s->bit + 1) % 8;
	s->bits.at += !s->bit;
	return bit;
}

static struct code *find_code(struct state *s, u64 pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15ull >> 20) % s->slots;

	while (s->code[i].pc && s->code[i].pc != pc)
		i = (i + 1) % s->slots;
	return &s->code[i];
}

static void read_code(struct state *s, struct dep_store *store)
{
	const struct adept_desc_frag *d;
	const struct adept_run *run;
	struct dep_desc_at at;
	struct code *c;
	u32 i, k, left;
	u64 pc;

	for (i = 0; i < store->model.fragments.n; i++)
		s->slots += dep_store_fragment(store, i)->d->ninsns;
	s->slots = 2 * s->slots + 1;
	s->code = calloc(s->slots, sizeof(*s->code));
	for (i = 0; i < store->model.fragments.n; i++) {
		d = dep_store_fragment(store, i)->d;
		run = dep_desc_runs(d);
		at = (struct dep_desc_at){ 0 };
		for (k = 0, left = 0, pc = 0; k < d->ninsns; k++, left--) {
			if (!left) {
				pc = run->pc;
				left = run++->ninsns;
			}
			c = find_code(s, pc);
			c->pc = pc;
			if (dep_desc_insn(d, &at, &c->in))
				exit(2);
			pc += c->in.len;
		}
	}
}

static int take(void *arg, const struct dep_segment *seg, const struct dep_item *item, size_t n)
{
	struct state *s = arg;

	(void)seg;
	if (s->nitems + n > s->room) {
		s->room = 2 * (s->nitems + n);
		s->item = realloc(s->item, s->room * sizeof(*item));
	}
	memcpy(s->item + s->nitems, item, n * sizeof(*item));
	s->nitems += n;
	return 0;
}

/* ---- CF_bit ---- */

/* Where control goes after the instruction at @pc. */
static u64 follow(struct state *s, const struct x86_insn *in, u64 pc)
{
	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
		s->conds++;
		return next_bit(s) ? x86_branch_target(in, pc) : pc + in->len;
	case X86_JMP:
	case X86_CALL:
		return x86_branch_target(in, pc);
	case X86_JMP_IND:
	case X86_CALL_IND:
	case X86_RET:
		s->indirect++;
		return next_word(s, &s->targets, "the targets");
	}
	return pc + in->len;
}

static void check_branches(struct state *s)
{
	const struct dep_item *it;
	const struct code *c;
	u64 pc = 0;
	u32 k;

	for (it = s->item; it < s->item + s->nitems; it++) {
		if (it->kind == DEP_ITEM_EVENT && it->event.id == ADEPT_EV_CONTEXT)
			pc = 0;
		if (it->kind != DEP_ITEM_BLOCK)
			continue;
		if (pc && pc != it->block.pc)
			differs(s, "CF_bit leads to %llx, not to %llx", (unsigned long long)pc,
				(unsigned long long)it->block.pc);
		pc = it->block.pc;
		for (k = 0; k < it->block.ninsns; k++) {
			c = find_code(s, pc);
			pc = follow(s, &c->in, pc);
		}
	}
	if (s->bit)
		s->bits.at++;
	if (s->bits.at != s->bits.size || s->targets.at != s->targets.size)
		differs(s, "bits or targets remain");
}

/* ---- DEPm ---- */

static const struct dep_ref *next_ref(struct state *s)
{
	while (s->ref < s->nitems && s->item[s->ref].kind != DEP_ITEM_REF)
		s->ref++;
	return s->ref < s->nitems ? &s->item[s->ref].ref : NULL;
}

static u64 address_of(const struct state *s, const struct x86_insn *in, const struct x86_mem *m,
		      u64 pc)
{
	u64 a = (u64)m->disp, bit;

	if (m->base == X86_RIP)
		a += pc + in->len;
	else if (m->base < 16)
		a += s->reg[m->base];
	if (m->index < 16)
		a += s->reg[m->index] * m->scale;
	if (m->flags & X86_M_XLAT)
		a += s->reg[X86_RAX] & 0xff;
	if (m->flags & X86_M_BITOFF) {
		bit = s->reg[in->f_reg];
		bit = m->size == 2 ? (u64)(s64)(s16)bit : m->size == 4 ? (u64)(s64)(s32)bit : bit;
		a += (u64)((s64)bit >> (m->size == 2 ? 4 : m->size == 4 ? 5 : 6)) * m->size;
	}
	return m->flags & X86_M_ADDR32 ? (u32)a : a;
}

static void check_ref(struct state *s, const struct x86_mem *m, u64 pc, u64 addr)
{
	const struct dep_ref *r = next_ref(s);

	s->refs++;
	if (!r) {
		differs(s, "there is no reference at %llx", (unsigned long long)pc);
		return;
	}
	s->ref++;
	if (m->seg && r->addr != addr + s->fs && s->fs_changes < BASE_CHANGES) {
		s->fs = r->addr - addr;
		s->fs_changes++;
	}
	addr += m->seg ? s->fs : 0;
	if (r->pc != pc || r->addr != addr || r->size != m->size || r->type != m->rw)
		differs(s, "{%llx, %llx, %u, %u}, not {%llx, %llx, %u, %u}",
			(unsigned long long)pc, (unsigned long long)addr, m->size, m->rw,
			(unsigned long long)r->pc, (unsigned long long)r->addr, r->size, r->type);
}

static void check_string(struct state *s, const struct x86_insn *in, u64 pc)
{
	/* rdi, if the instruction uses it */
	u32 reg = in->mem[in->nmem - 1].base == X86_RDI || in->mem[0].base == X86_RDI ?
		  X86_RDI : X86_RSI, k, size = in->mem[0].size;
	bool rep = in->attr & (X86_A_REP | X86_A_REPNE), down;
	u64 n = 1, i, step, post;

	down = false;
	if (rep) {
		post = next_word(s, &s->depm, "DEPm");
		s->values++;
		down = (s64)(post - s->reg[reg]) < 0;
		n = (down ? s->reg[reg] - post : post - s->reg[reg]) / size;
	}
	step = down ? -(u64)size : size;
	for (i = 0; i < n; i++)
		for (k = 0; k < in->nmem; k++)
			check_ref(s, &in->mem[k], pc,
				  address_of(s, in, &in->mem[k], pc) + i * step);
}

static bool is_untold(const struct x86_insn *in)
{
	return in->mem[0].flags & X86_M_VSIB || x86_mask_elem(in) ||
	       (in->enc == X86_LEGACY && in->opcode == 0xc8 && !in->map);
}

static void check_insn(struct state *s, const struct x86_insn *in, u64 pc)
{
	const struct dep_ref *r;
	u16 store = in->nmem ? in->gpr_addr & s->updated : 0;
	u32 k;

	for (k = 0; k < 16; k++)
		if (store >> k & 1) {
			s->reg[k] = next_word(s, &s->depm, "DEPm");
			s->values++;
		}
	s->updated = (u16)((s->updated & ~store) | in->gpr_write);
	if (!in->nmem)
		return;
	if (in->kind == X86_STRING) {
		check_string(s, in, pc);
	} else if (is_untold(in)) {
		while ((r = next_ref(s)) && r->pc == pc)
			s->ref++;
	} else {
		for (k = 0; k < in->nmem; k++)
			check_ref(s, &in->mem[k], pc, address_of(s, in, &in->mem[k], pc));
	}
}

static void check_registers(struct state *s)
{
	const struct dep_item *it;
	const struct code *c;
	u64 pc;
	u32 k;

	s->updated = 0xffff;
	for (it = s->item; it < s->item + s->nitems; it++) {
		if (it->kind == DEP_ITEM_EVENT &&
		    (it->event.id == ADEPT_EV_CONTEXT || it->event.id == ADEPT_EV_SIGNAL))
			s->updated = 0xffff;
		if (it->kind != DEP_ITEM_BLOCK)
			continue;
		for (pc = it->block.pc, k = 0; k < it->block.ninsns; k++, pc += c->in.len) {
			c = find_code(s, pc);
			check_insn(s, &c->in, pc);
		}
	}
	if (s->depm.at != s->depm.size || next_ref(s))
		differs(s, "%zu bytes of DEPm and %zu items remain", s->depm.size - s->depm.at,
			s->nitems - s->ref);
}

int main(int argc, char **argv)
{
	struct state s = { 0 };
	const struct dep_sink sink = {
		.want = DEP_WANT_BLOCKS | DEP_WANT_REFS | DEP_WANT_EVENTS, .batch = take, .arg = &s,
	};
	const struct dep_segment *seg;
	struct dep_store *store;
	size_t i, n;

	if (argc != 4 || dep_store_open(&store, argv[1]))
		return 2;
	read_stream(argv[2], argv[3], "cf_bits", &s.bits);
	read_stream(argv[2], argv[3], "cf_targets", &s.targets);
	read_stream(argv[2], argv[3], "depm", &s.depm);
	read_code(&s, store);
	n = dep_store_segments(store, &seg);
	for (i = 0; i < n; i++)
		if (seg[i].thread == strtoul(argv[3], NULL, 10) &&
		    dep_recover_segment(store, &seg[i], &sink, NULL))
			return 2;
	check_branches(&s);
	check_registers(&s);
	printf("conds %llu indirect %llu refs %llu values %llu wrong %llu\n",
	       (unsigned long long)s.conds, (unsigned long long)s.indirect,
	       (unsigned long long)s.refs, (unsigned long long)s.values,
	       (unsigned long long)s.wrong);
	dep_store_close(store);
	return s.wrong != 0;
}

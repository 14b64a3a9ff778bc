// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "libdep/x86/derive.h"
#include "stream.h"

#define BODY_SIZE (8u << 20)

u64 stream_random(struct stream *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

/* ---- the ring ---- */

static void begin_chunk(struct stream *s, u64 seq)
{
	memset(&s->cur, 0, sizeof(s->cur));
	s->cur.seq = seq;
	s->cur.start_ns = 1000 + seq;
	s->cur.fs_base = s->fs;
	s->cur.gs_base = s->gs;
	memcpy(s->cur.regs, s->reg, sizeof(s->reg));
	s->fill = 0;
}

static void publish(struct stream *s)
{
	struct stream_chunk *c;

	s->chunk = realloc(s->chunk, (s->nchunks + 1) * sizeof(*s->chunk));
	c = &s->chunk[s->nchunks++];
	c->c = s->cur;
	c->body = malloc(s->cur.fill + 8);
	memcpy(c->body, s->body, s->cur.fill);
}

void stream_close(struct stream *s)
{
	s->cur.fill = s->fill;
	s->cur.tail_at = s->fill;
	publish(s);
	begin_chunk(s, s->cur.seq + 1);
}

/* The store meets the guard: do what the fault handler does. */
static void split(struct stream *s, const struct stream_frag *f, u32 insn, int has_extra,
		  u64 extra)
{
	struct adept_position pos = { .frag = f->id, .insn = insn, .nvals = s->pending_n };

	pos.has_extra = has_extra;
	pos.extra = extra;
	s->cur.tail_at = s->fill;
	s->cur.fill = s->fill;
	s->cur.tail = pos;
	if (s->pending_n || s->split_at % 2) {
		memset(s->body + s->fill, 0xee, 4);
		memcpy(s->body + s->fill + 4, s->pending, s->pending_bytes);
		s->cur.fill += 4 + s->pending_bytes;
	}
	publish(s);
	begin_chunk(s, s->cur.seq + 1);
	pos.nvals += has_extra;
	pos.has_extra = 0;
	pos.extra = 0;
	s->cur.head = pos;
}

/* Add one value to the current record; @insn: current instruction. */
static void put(struct stream *s, const struct stream_frag *f, u32 insn, const void *v, u32 size,
		int post)
{
	u64 extra = 0;

	if (s->stores++ == s->split_at) {
		if (post)
			memcpy(&extra, v, 8);
		split(s, f, insn, post, extra);
	}
	memcpy(s->pending + s->pending_bytes, v, size);
	s->pending_bytes += size;
	s->pending_n++;
}

static void append(struct stream *s, const void *p, u32 size)
{
	if (s->fill + size + ADEPT_MAX_RECORD > BODY_SIZE)
		abort();
	memcpy(s->body + s->fill, p, size);
	s->fill += size;
}

static void finish_record(struct stream *s, u32 id)
{
	append(s, &id, 4);
	append(s, s->pending, s->pending_bytes);
	s->pending_bytes = s->pending_n = 0;
}

/* ---- expected items ---- */

static struct dep_item *expect(struct stream *s, enum dep_item_kind kind)
{
	struct dep_item *it;

	if (!(s->nitems & (s->nitems - 1)))
		s->item = realloc(s->item, (s->nitems ? s->nitems * 2 : 1) * sizeof(*it));
	it = &s->item[s->nitems++];
	memset(it, 0, sizeof(*it));
	it->kind = kind;
	return it;
}

static void expect_ref(struct stream *s, u64 pc, u64 addr, u32 size, u32 type)
{
	struct dep_item *it = expect(s, DEP_ITEM_REF);

	it->ref.pc = pc;
	it->ref.addr = addr;
	it->ref.size = size;
	it->ref.type = type;
}

void stream_event(struct stream *s, u32 id, const void *payload)
{
	struct dep_item *it = expect(s, DEP_ITEM_EVENT);
	u8 *copy;

	it->event.id = id;
	it->event.size = adept_event_size(id);
	copy = malloc(it->event.size);
	memcpy(copy, payload, it->event.size);
	it->event.payload = copy;
	append(s, &id, 4);
	append(s, payload, it->event.size);
}

void stream_context(struct stream *s, u64 pc)
{
	struct adept_ev_context ev = { .pc = pc, .fs_base = s->fs };

	memcpy(ev.regs, s->reg, sizeof(ev.regs));
	stream_event(s, ADEPT_EV_CONTEXT, &ev);
	s->known = 0xffff;
}

void stream_init(struct stream *s, u64 seed)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	s->seed = seed * 0x9e3779b97f4a7c15ull + 1;
	s->next_id = ADEPT_FIRST_EXIT;
	s->split_at = -1;
	s->body = malloc(BODY_SIZE);
	for (i = 0; i < 16; i++)
		s->reg[i] = 0x7f0000000000 + (stream_random(s) & 0xfffffff8);
	s->fs = 0x7fff12340000;
	s->gs = 0x1000;
	s->known = 0xffff;
	begin_chunk(s, 0);
}

void stream_free(struct stream *s)
{
	size_t i;

	for (i = 0; i < s->nitems; i++)
		if (s->item[i].kind == DEP_ITEM_EVENT)
			free((void *)s->item[i].event.payload);
		else if (s->item[i].kind == DEP_ITEM_FUNCTION)
			free((void *)s->item[i].function.passed);
	for (i = 0; i < s->nchunks; i++)
		free(s->chunk[i].body);
	free(s->chunk);
	free(s->item);
	free(s->frag);
	free(s->desc);
	free(s->body);
}

static void expect_function(struct stream *s, const struct stream_frag *f, u32 function)
{
	struct dep_item *it = expect(s, DEP_ITEM_FUNCTION);
	struct dep_call_values *p = calloc(1, sizeof(*p));

	it->function.pc = f->pc[0];
	it->function.function = function;
	it->function.is_return = !function;
	it->function.known = function ? 3 : 1;
	it->function.passed = p;
	p->sp = s->reg[X86_RSP];
	p->value[0] = s->reg[function ? X86_RDI : X86_RAX];
	p->value[1] = function ? s->reg[X86_RSI] : 0;
}

/* ---- the machine ---- */

struct vectors {
	u8 index[64], mask[64];
	u64 k;
};

static u64 seg_base(const struct stream *s, const struct x86_mem *m)
{
	return m->seg == X86_SEG_FS ? s->fs : m->seg == X86_SEG_GS ? s->gs : 0;
}

/* Address of an ordinary operand, without its segment's base. */
static u64 address(const struct stream *s, const struct stream_frag *f, u32 i, u32 k)
{
	const struct x86_insn *in = &f->insn[i];
	const struct x86_mem *m = &in->mem[k];
	u64 a = m->disp;
	s64 bit;

	if (m->base == X86_RIP)
		a += f->pc[i] + in->len;
	else if (m->base < 16)
		a += s->reg[m->base];
	if (m->index < 16)
		a += s->reg[m->index] * m->scale;
	if (m->flags & X86_M_XLAT)
		a += s->reg[X86_RAX] % 256;
	if (m->flags & X86_M_BITOFF) {
		bit = m->size == 4 ? (s64)(s32)s->reg[in->f_reg] : (s64)s->reg[in->f_reg];
		bit = bit < 0 ? -((-bit + m->size * 8 - 1) / (m->size * 8)) : bit / (m->size * 8);
		a += bit * m->size;
	}
	return m->flags & X86_M_ADDR32 ? a & 0xffffffff : a;
}

static void emit(void *arg, u64 addr, unsigned int size, int rw)
{
	struct stream *s = arg;

	expect_ref(s, s->item[s->nitems - 1].ref.pc, addr, size, rw);
}

static void do_gather(struct stream *s, const struct stream_frag *f, u32 i, const struct vectors *v)
{
	const struct x86_insn *in = &f->insn[i];
	const struct x86_mem *m = &in->mem[0];
	u32 n = (16 << in->vl) / (m->size > in->vsib_elem ? m->size : in->vsib_elem), e;
	u64 x;

	for (e = 0; e < n; e++) {
		if (in->enc == X86_EVEX ? !(v->k >> e & 1) :
					  !(v->mask[e * m->size + m->size - 1] >> 7))
			continue;
		x = in->vsib_elem == 8 ? ((const u64 *)v->index)[e] :
					 (u64)((const s32 *)v->index)[e];
		expect_ref(s, f->pc[i], s->reg[m->base] + x * m->scale + m->disp + seg_base(s, m),
			   m->size, m->rw);
	}
}

static void do_masked(struct stream *s, const struct stream_frag *f, u32 i, const struct vectors *v)
{
	const struct x86_insn *in = &f->insn[i];
	const struct x86_mem *m = &in->mem[0];
	u32 elem = x86_mask_elem(in), n = m->size / elem, e, first;
	u64 k = v->k;

	for (e = 0; in->enc != X86_EVEX && e < n; e++) {
		k &= ~(1ull << e);
		k |= (u64)(v->mask[e * elem + elem - 1] >> 7) << e;
	}
	for (e = 0; e < n; e++) {
		for (first = e; e < n && k >> e & 1; e++)
			;
		if (e > first)
			expect_ref(s, f->pc[i], address(s, f, i, 0) + first * elem +
				   seg_base(s, m), (e - first) * elem, m->rw);
	}
}

/*
 * @max: at most so many iterations, for an interrupted instruction; returns the distance of the
 * pointers.
 */
static void do_string(struct stream *s, const struct stream_frag *f, u32 i, u32 max)
{
	const struct x86_insn *in = &f->insn[i];
	u32 n = 1, k, j;
	u64 step = in->mem[0].size;

	if (in->attr & (X86_A_REP | X86_A_REPNE))
		n = stream_random(s) % 5;
	if (n > max)
		n = max;
	if (stream_random(s) % 4 == 0)
		step = -step;
	for (j = 0; j < n; j++) {
		for (k = 0; k < in->nmem; k++)
			expect_ref(s, f->pc[i], s->reg[in->mem[k].base] + seg_base(s, &in->mem[k]),
				   in->mem[k].size, in->mem[k].rw);
		for (k = 0; k < in->nmem; k++)
			s->reg[in->mem[k].base] += step;
	}
}

static void do_insn(struct stream *s, const struct stream_frag *f, u32 i, const struct vectors *v)
{
	const struct x86_insn *in = &f->insn[i];
	struct x86_dop ops[X86_MAX_DOPS];
	unsigned int n = 0;
	u16 known;
	u32 k;

	if (in->kind == X86_STRING) {
		do_string(s, f, i, ~0u);
	} else if (x86_mask_elem(in)) {
		do_masked(s, f, i, v);
	} else if (in->nmem && in->mem[0].flags & X86_M_VSIB) {
		do_gather(s, f, i, v);
	} else {
		for (k = 0; k < in->nmem; k++)
			expect_ref(s, f->pc[i], address(s, f, i, k) + seg_base(s, &in->mem[k]),
				   in->mem[k].size, in->mem[k].rw);
		if (in->opcode == 0xc8 && in->enc == X86_LEGACY && !in->map)
			x86_enter_refs(in, s->reg[X86_RSP], s->reg[X86_RBP], emit, s);
	}
	known = x86_derive(in, f->pc[i], 0xffff, ops, &n);
	x86_derive_run(ops, n, s->reg);
	for (k = 0; k < 16; k++)
		if (!(known & X86_BIT(k)))
			s->reg[k] = 0x560000000000 + (stream_random(s) & 0xffffff8);
	s->insns++;
}

static void do_store(struct stream *s, const struct stream_frag *f, u32 n, u32 insn,
		     struct vectors *v, u32 i)
{
	const struct adept_store *st = &f->store[n];
	u64 value = s->reg[st->arg & 15];
	u8 *vec;
	u32 b;

	switch (st->kind) {
	case ADEPT_ST_EA:
		value = address(s, f, i, st->arg);
		break;
	case ADEPT_ST_FSBASE:
		value = stream_random(s) & 0x7ffffffff000;
		put(s, f, insn, &value, 8, 0);
		s->fs = value;
		return;
	case ADEPT_ST_KREG:
		value = v->k = stream_random(s);
		break;
	case ADEPT_ST_VEC:
		vec = (st->arg & 31) == f->insn[i].vvvv && f->insn[i].enc != X86_EVEX ?
			v->mask : v->index;
		for (b = 0; b < 64; b++)
			vec[b] = stream_random(s);
		put(s, f, insn, vec, 16 << (st->arg >> 5), 0);
		return;
	}
	put(s, f, insn, &value, 8, st->kind == ADEPT_ST_POST);
}

static int is_post(const struct adept_store *st)
{
	return st->kind == ADEPT_ST_POST || st->kind == ADEPT_ST_EXIT_REG;
}

/* @ninsns instructions with the stores up to @nstores that belong to them. */
static void execute(struct stream *s, u32 number, u32 ninsns, u32 nstores)
{
	const struct stream_frag *f = &s->frag[number];
	struct vectors v;
	u32 i, n = 0, k, len, block = 1;
	struct dep_item *it;

	memset(&v, 0, sizeof(v));
	for (i = 0; i < ninsns; i++) {
		for (; n < nstores && f->store[n].insn == i && !is_post(&f->store[n]); n++)
			do_store(s, f, n, i, &v, i);
		if (block) {
			for (k = i, len = 1; f->insn[k].kind <= X86_STRING && k + 1 < ninsns; k++)
				len++;
			it = expect(s, DEP_ITEM_BLOCK);
			it->block.pc = f->pc[i];
			it->block.ninsns = len;
		}
		block = f->insn[i].kind > X86_STRING;
		if (!i && f->returns)
			expect_function(s, f, DEP_F_NONE);
		if (!i && f->function)
			expect_function(s, f, f->function);
		do_insn(s, f, i, &v);
		for (; n < nstores && f->store[n].insn == i; n++)
			do_store(s, f, n, i + 1, &v, i);
	}
}

void stream_run(struct stream *s, u32 n, u32 x)
{
	const struct adept_exit *e = &s->frag[n].exit[x];

	execute(s, n, e->ninsns, e->nstores);
	/* The id's store may meet the guard as well. */
	if (!s->pending_n && s->stores++ == s->split_at)
		split(s, &s->frag[n], e->ninsns, 0, 0);
	finish_record(s, s->frag[n].id + x);
	s->known = e->mask;
}

void stream_partial(struct stream *s, u32 number, u32 ninsns)
{
	struct adept_ev_signal sig = { .signo = 11, .code = 1 };
	const struct stream_frag *f = &s->frag[number];
	struct adept_ev_partial ev = { .frag = f->id, .ninsns = ninsns };
	const struct x86_insn *in = &f->insn[ninsns];
	struct vectors v = { 0 };
	u32 n;

	for (n = 0; n < f->nstores && f->store[n].insn < ninsns; n++)
		;
	execute(s, number, ninsns, n);
	/*
	 * The stores of the next instruction may already be done; those of a string instruction
	 * are.
	 */
	if (in->kind == X86_STRING || stream_random(s) % 2)
		for (; n < f->nstores && f->store[n].insn == ninsns && !is_post(&f->store[n]); n++)
			do_store(s, f, n, ninsns, &v, ninsns);
	if (in->kind == X86_STRING && in->attr & (X86_A_REP | X86_A_REPNE)) {
		do_string(s, f, ninsns, 3);
		ev.has_extra = 1;
		ev.extra = s->reg[in->gpr_addr & X86_BIT(X86_RDI) ? X86_RDI : X86_RSI];
	}
	ev.val_bytes = s->pending_bytes;
	if (s->no_room) {
		split(s, f, ninsns, ev.has_extra, ev.extra);
		memset(&s->cur.head, 0, sizeof(s->cur.head));
	} else {
		stream_event(s, ADEPT_EV_PARTIAL, &ev);
		append(s, s->pending, s->pending_bytes);
	}
	s->pending_bytes = s->pending_n = 0;
	sig.pc = f->pc[ninsns];
	stream_event(s, ADEPT_EV_SIGNAL, &sig);
	stream_context(s, sig.pc);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * End of a build: emits the cold part, and creates the fragment with the data for linking it, for
 * killing it and for translating its state.
 */
#include "translate.h"
#include "libdep/engine/record/record.h"

void build_begin(struct build *b, struct arena *a)
{
	b->arena = a ? a : arena_for(b->pc);
	b->start = arena_hot(b->arena);
	if (!a)
		b->start = (u8 *)ALIGN_UP((u64)b->start, 16);
	b->cold = arena_cold(b->arena);
	b->hot_end = NULL;
	b->e = (struct emit){ .p = b->start, .end = b->start + FRAG_MAX };
	b->nstates = b->nlits = b->next_store = 0;
	b->land = b->land_lit = NULL;
	b->run_open = 0;
	b->held = X86_NONE;
	b->entry = 0;
	b->check = 0;
}

static void emit_literals(struct build *b)
{
	if (!b->nlits)
		return;
	emit_state(b, STATE_DATA, b->n, X86_NONE, X86_NONE, X86_NONE);
	while ((u64)b->e.p & 7)
		emit8(&b->e, 0xcc);
	for (u32 i = 0; i < b->nlits; i++) {
		if (!b->e.overflow)
			put_rel32(b->lits[i].field, b->e.p);
		emit64(&b->e, b->lits[i].value);
	}
}

static void emit_cold(struct build *b, const struct exit *exits)
{
	b->hot_end = b->e.p;
	b->run_open = 0;
	b->e.p = b->cold;
	b->e.end = b->cold + FRAG_MAX;
	if (b->land)
		landing_emit_mismatch(b);
	for (u32 i = 0; i < b->nexits; i++)
		exits_emit_thunk(b, i, &exits[i]);
	emit_literals(b);
}

/* Convert cache address @p to an offset for frag_code(); a NULL address gives 0. */
static u16 code_offset(const struct build *b, const u8 *p)
{
	if (!p)
		return 0;
	return (u16)(p >= b->cold ? COLD_OFFSET + (p - b->cold) : p - b->start);
}

static void link_exits(struct frag *f, const struct build *b)
{
	for (u32 i = 0; i < b->nexits; i++) {
		const struct build_exit *bx = &b->exits[i];
		struct exit *x = &frag_exits(f)[i];

		x->target = bx->target;
		x->frag = heap_ref(f);
		x->patch = code_offset(b, bx->patch);
		x->thunk = code_offset(b, bx->thunk);
		x->mask = bx->mask;
		x->ninsns = (u8)bx->ninsns;
		x->nstores = (u8)bx->nstores;
		x->reclen = bx->reclen;
		x->kind = bx->kind;
		x->call = bx->call;
	}
}

static struct frag *make_frag(struct build *b)
{
	u8 state_entry[MAX_STATES * STATE_PACKED];
	u32 states_len = state_pack(state_entry, b->state_entry, b->nstates);
	struct frag *f = heap_alloc(sizeof(*f) + b->nruns * sizeof(f->runs[0]) + b->n + states_len);

	f->pc = b->pc;
	f->start = b->start;
	f->cold = b->cold;
	f->hot_len = (u16)(b->hot_end - b->start);
	f->cold_len = (u16)(b->e.p - b->cold);
	f->entry = b->entry;
	f->first_exit = b->first_exit;
	f->mask = b->mask;
	f->relevant = b->relevant;
	f->nexits = (u8)b->nexits;
	f->nruns = (u8)b->nruns;
	f->ninsns = (u8)b->n;
	f->check = b->check;
	f->states_len = (u16)states_len;
	memcpy(f->runs, b->runs, b->nruns * sizeof(f->runs[0]));
	for (u32 i = 0; i < b->n; i++)
		frag_lens(f)[i] = b->ins[i].in.len;
	memcpy(frag_states(f), state_entry, states_len);
	return f;
}

/* Keep the offsets of the values in a record, unless all values have 8 bytes. */
static void keep_store_offsets(struct frag *f, const struct build *b)
{
	u16 *offs;
	u32 i;

	for (i = 0; i < b->nstores; i++)
		if (b->store_off[i] != 4 + 8 * i)
			break;
	if (i == b->nstores)
		return;
	offs = heap_alloc((b->nstores + 1) * sizeof(u16));
	memcpy(offs, b->store_off, b->nstores * sizeof(u16));
	offs[b->nstores] = record_length(b, b->nstores);
	f->store_off = heap_ref(offs);
}

static void keep_source(struct frag *f, const struct build *b)
{
	u8 *at = heap_alloc(b->n * 15 + 1);

	f->source = heap_ref(at);
	for (u32 i = 0; i < b->n; i++) {
		memcpy(at, b->ins[i].raw, b->ins[i].in.len);
		at += b->ins[i].in.len;
	}
}

struct frag *build_commit(struct build *b)
{
	size_t size = b->nexits * sizeof(struct exit);
	struct exit *exits = size ? heap_alloc(size) : NULL;
	struct frag *f;

	emit_cold(b, exits);
	if (b->e.overflow) {
		if (exits)
			heap_free(exits, size);
		return NULL;
	}
	f = make_frag(b);
	f->exits = exits ? heap_ref(exits) : 0;
	link_exits(f, b);
	keep_store_offsets(f, b);
	if (b->unwatchable)
		keep_source(f, b);
	arena_commit(b->arena, f);
	return f;
}

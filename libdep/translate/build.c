// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Building a fragment version: scan, plan what is recorded, emit.
 *
 *	call entry:	lea rsp, [rsp+8]	drops a native call's return address
 *	entry:		instructions, value stores
 *			last exit inline
 *	return landing	(after a native call)
 *	stubs of side exits, thunks to the dispatcher, literals
 */
#include "../record/record.h"

static struct build build;

/* The largest emission of one instruction with its stores stays below this. */
#define FRAG_MAX	(48u << 10)

void build_xl8(struct build *b, enum xl8_kind kind, unsigned int insn, u8 arg, u8 arg2, u8 arg3)
{
	struct xl8 *x;
	u32 nst = b->next_store;

	if (kind == XL8_RUN) {
		if (b->run_open)
			return;
		b->run_open = 1;
	} else {
		b->run_open = 0;
	}
	if (kind >= XL8_EXIT && kind <= XL8_EXIT_DONE)
		nst = b->exits[arg].nstores;
	/* Two entries at one address: the later one counts. */
	if (b->nxl8 && b->xl8[b->nxl8 - 1].off == (u16)(b->e.p - b->start))
		b->nxl8--;
	if (b->nxl8 == MAX_XL8) {
		b->e.overflow = 1;
		return;
	}
	x = &b->xl8[b->nxl8++];
	x->off = (u16)(b->e.p - b->start);
	x->kind = kind;
	x->insn = (u8)insn;
	x->nst = (u8)nst;
	x->arg = arg;
	x->arg2 = arg2;
	x->arg3 = arg3;
}

/* The disp32 just emitted shall address a literal with this value. */
void build_literal(struct build *b, u64 value)
{
	if (b->nlits == MAX_LITS || b->e.overflow) {
		b->e.overflow = 1;
		return;
	}
	b->lits[b->nlits].field = b->e.p - 4;
	b->lits[b->nlits++].value = value;
}

static void emit_literals(struct build *b)
{
	while ((u64)b->e.p & 7)
		emit8(&b->e, 0xcc);
	for (u32 i = 0; i < b->nlits; i++) {
		if (!b->e.overflow)
			put_rel32(b->lits[i].field, b->e.p);
		emit64(&b->e, b->lits[i].value);
	}
}

/* jmp or call whose rel32 can be linked */
static u8 *emit_linkable(struct build *b, u8 opcode)
{
	emit_align_field(&b->e, 1);
	emit8(&b->e, opcode);
	emit32(&b->e, 0);
	return b->e.p - 4;
}

static void push_return_address(struct build *b, u64 ret)
{
	if (ret == (u64)(s64)(s32)ret) {
		emit8(&b->e, 0x68);
		emit32(&b->e, (u32)ret);
		return;
	}
	/* One 8-byte store: two halves would stall the load of the return. */
	emit8(&b->e, 0xff);
	emit8(&b->e, 0x35);
	emit32(&b->e, 0);
	build_literal(b, ret);
}

static void emit_landing_link(struct build *b, u64 ret, int is_return)
{
	struct bexit *x = &b->exits[b->nexits];

	b->land = b->e.p;
	landing_emit(b, ret, is_return);
	*x = (struct bexit){ .kind = X_LINK, .target = ret, .mask = X86_BIT(X86_RSP) };
	x->patch = emit_linkable(b, 0xe9);
	b->nexits++;
}

static void emit_direct(struct build *b, u32 i)
{
	struct bexit *x = &b->exits[i];

	if (x->call == CALL_BY_STUB) {
		push_return_address(b, b->ins[x->insn].pc + b->ins[x->insn].in.len);
		record_emit_tag(b, i, XL8_CALL);
		if (session()->flags & ADEPT_S_STRICT)
			x->call = CALL_NONE;
	} else {
		record_emit_tag(b, i, XL8_EXIT);
	}
	build_xl8(b, XL8_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
	x->patch = emit_linkable(b, 0xe9);
}

static void emit_ret(struct build *b, u32 i, const struct x86_insn *in)
{
	static const u8 swap[] = { 0x48, 0x89, 0x14, 0x24 };	/* mov [rsp], rdx */
	struct bexit *x = &b->exits[i];
	u16 more = (u16)(in->imm_len ? in->imm : 0);

	build_xl8(b, XL8_RET, x->insn, (u8)i, (u8)more, (u8)(more >> 8));
	/* ret n leaves its slot where no landing would find it. */
	if (session()->flags & ADEPT_S_STRICT || more) {
		struct emit_operand above = {
			.base = X86_RSP, .index = X86_NONE, .disp = 8 + more,
		};

		emit_op_mem(&b->e, 0x8d, X86_RSP, &above);
		build_xl8(b, XL8_AT_RCX, x->insn, (u8)i, X86_NONE, X86_NONE);
		landing_emit_jump(b);
		return;
	}
	landing_emit_load_return(b);
	emit_bytes(&b->e, swap, 4);
	build_xl8(b, XL8_RET_SWAPPED, x->insn, (u8)i, 0, 0);
	emit_bytes(&b->e, b->ins[x->insn].raw, in->len);
}

static void emit_indirect(struct build *b, u32 i)
{
	struct bexit *x = &b->exits[i];
	const struct binsn *bi = &b->ins[x->insn];

	build_xl8(b, XL8_STORE, x->insn, X86_NONE, X86_NONE, X86_NONE);
	emit_store_gs(&b->e, X86_RCX, TLS_IND0);
	emit_store_gs(&b->e, X86_RDX, TLS_IND1);
	build_xl8(b, XL8_IND, x->insn, (u8)i, X86_NONE, X86_NONE);
	mangle_load_target(b, x->insn);
	if (bi->in.kind == X86_CALL_IND) {
		push_return_address(b, bi->pc + bi->in.len);
		record_emit_tag(b, i, XL8_IND_CALL);
	} else {
		record_emit_tag(b, i, XL8_IND);
	}
	if (bi->in.kind == X86_RET) {
		emit_ret(b, i, &bi->in);
		return;
	}
	build_xl8(b, XL8_AT_RCX, x->insn, (u8)i, X86_NONE, X86_NONE);
	if (bi->in.kind == X86_CALL_IND && !(session()->flags & ADEPT_S_STRICT))
		x->patch = emit_linkable(b, 0xe9);
	else
		landing_emit_jump(b);
}

static void emit_gate(struct build *b, enum gate g)
{
	emit_branch(&b->e, 0xe9, arena_gate(b->arena, g));
}

/* Exits of a fragment are an array; the thunk names one by its address / 8. */
static u32 exit_ref(const struct exit *x)
{
	return (u32)(((u64)x - boot.heap) >> 3);
}

static void emit_thunk(struct build *b, u32 i, const struct exit *x)
{
	struct bexit *bx = &b->exits[i];

	if (bx->kind == ADEPT_X_INDIRECT)
		return;
	bx->thunk = b->e.p;
	if (bx->kind == X_LINK && bx->call == CALL_NONE) {
		build_xl8(b, XL8_LAND_DONE, (u8)b->n, (u8)i, X86_NONE, X86_NONE);
	} else if (bx->call == CALL_NATIVE) {
		build_xl8(b, XL8_CALLED, bx->insn, (u8)i, X86_NONE, X86_NONE);
		emit_lea_rsp(&b->e, 8);
		build_xl8(b, XL8_EXIT_DONE, bx->ninsns, (u8)i, X86_NONE, X86_NONE);
	} else {
		build_xl8(b, XL8_EXIT_DONE, bx->ninsns, (u8)i, X86_NONE, X86_NONE);
	}
	emit_store_gs_imm(&b->e, TLS_EXIT, exit_ref(x));
	emit_gate(b, bx->kind == ADEPT_X_SYSCALL ? GATE_SYSCALL :
		  bx->kind == ADEPT_X_TRAP ? GATE_TRAP : GATE_EXIT);
	if (bx->patch && !b->e.overflow)
		put_rel32(bx->patch, bx->thunk);
}

/* What follows the last instruction. */
static void emit_final(struct build *b)
{
	for (u32 i = 0, n = b->nexits; i < n; i++) {
		struct bexit *x = &b->exits[i];

		if (x->jcc)
			continue;
		if (x->kind == ADEPT_X_INDIRECT) {
			emit_indirect(b, i);
		} else if (x->kind == ADEPT_X_DIRECT) {
			emit_direct(b, i);
		} else {
			record_emit_tag(b, i, XL8_EXIT);
			build_xl8(b, XL8_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
			x->patch = emit_linkable(b, 0xe9);
		}
	}
}

static void emit_stubs(struct build *b)
{
	for (u32 i = 0; i < b->nexits; i++) {
		struct bexit *x = &b->exits[i];

		if (!x->jcc)
			continue;
		if (!recording()) {
			x->patch = x->jcc;
			continue;
		}
		if (!b->e.overflow)
			put_rel32(x->jcc, b->e.p);
		record_emit_tag(b, i, XL8_EXIT);
		build_xl8(b, XL8_EXIT_DONE, x->ninsns, (u8)i, X86_NONE, X86_NONE);
		x->patch = emit_linkable(b, 0xe9);
	}
}

static void emit_branch_insn(struct build *b, unsigned int n, struct bexit *x)
{
	const struct binsn *bi = &b->ins[n];
	struct emit *e = &b->e;

	build_xl8(b, XL8_STORE, n, X86_NONE, X86_NONE, X86_NONE);
	if (bi->in.kind == X86_JCC) {
		emit_align_field(e, 2);
		emit8(e, 0x0f);
		emit8(e, 0x80 | (bi->in.opcode & 15));
		emit32(e, 0);
		x->jcc = e->p - 4;
		return;
	}
	/* loop family: only rel8; jump over a jump */
	if (bi->in.attr & X86_A_ADDR32)
		emit8(e, 0x67);
	emit8(e, bi->in.opcode);
	emit8(e, 2);
	build_xl8(b, XL8_STORE, n + 1, X86_NONE, X86_NONE, X86_NONE);
	emit8(e, 0xeb);
	emit8(e, 0);
	build_xl8(b, XL8_EXIT, n + 1, (u8)(x - b->exits), X86_NONE, X86_NONE);
	u8 *skip = e->p;

	emit_align_field(e, 1);
	emit8(e, 0xe9);
	emit32(e, 0);
	x->jcc = e->p - 4;
	if (!e->overflow)
		skip[-1] = (u8)(e->p - skip);
}

static void emit_body(struct build *b)
{
	u32 x = 0;

	for (unsigned int n = 0; n < b->n; n++) {
		const struct binsn *bi = &b->ins[n];

		record_emit_before(b, n);
		switch (bi->in.kind) {
		case X86_JCC:
		case X86_LOOP:
			while (b->exits[x].insn != n)
				x++;
			emit_branch_insn(b, n, &b->exits[x++]);
			b->run_open = 0;
			break;
		case X86_JMP:
			b->run_open = 0;
			break;
		case X86_CALL:
		case X86_CALL_IND:
		case X86_JMP_IND:
		case X86_RET:
		case X86_SYSCALL:
			break;
		default:
			if (mangle_needed(b, bi)) {
				mangle_insn(b, n);
			} else {
				build_xl8(b, XL8_RUN, n, X86_NONE, X86_NONE, X86_NONE);
				emit_bytes(&b->e, bi->raw, bi->in.len);
			}
		}
		record_emit_after(b, n);
	}
}

static void link_exits(struct frag *f, const struct build *b)
{
	for (u32 i = 0; i < b->nexits; i++) {
		const struct bexit *bx = &b->exits[i];
		struct exit *x = &f->exits[i];

		x->target = bx->target;
		x->frag = f;
		x->patch = bx->patch ? (u16)(bx->patch - b->start) : 0;
		x->thunk = bx->thunk ? (u16)(bx->thunk - b->start) : 0;
		x->mask = bx->mask;
		x->ninsns = bx->ninsns;
		x->nstores = bx->nstores;
		x->reclen = bx->reclen;
		x->kind = bx->kind;
		x->call = bx->call;
		x->index = (u16)i;
	}
}

/* Copy what stays of @b into a struct frag; its cache memory is complete. */
static struct frag *make_frag(struct build *b)
{
	struct frag *f = heap_alloc(sizeof(*f) + b->nruns * sizeof(f->runs[0]) + b->n);

	f->pc = b->pc;
	f->start = b->start;
	f->first_exit = b->first_exit;
	f->mask = b->mask;
	f->relevant = b->relevant;
	f->nexits = (u8)b->nexits;
	f->nruns = (u8)b->nruns;
	f->ninsns = (u8)b->n;
	memcpy(f->runs, b->runs, b->nruns * sizeof(f->runs[0]));
	for (u32 i = 0; i < b->n; i++)
		frag_lens(f)[i] = b->ins[i].in.len;
	return f;
}

static void keep_xl8(struct frag *f, const struct build *b)
{
	f->nxl8 = (u8)b->nxl8;
	f->xl8 = heap_alloc(b->nxl8 * sizeof(struct xl8));
	memcpy(f->xl8, b->xl8, b->nxl8 * sizeof(struct xl8));
	f->cache_len = (u32)(b->e.p - b->start);
}

/* Only vector stores make the offsets irregular. */
static void keep_store_offsets(struct frag *f, const struct build *b)
{
	u32 i;

	for (i = 0; i < b->nstores; i++)
		if (b->store_off[i] != 4 + 8 * i)
			break;
	if (i == b->nstores)
		return;
	f->store_off = heap_alloc((b->nstores + 1) * sizeof(u16));
	memcpy(f->store_off, b->store_off, b->nstores * sizeof(u16));
	f->store_off[b->nstores] = record_length(b, b->nstores);
}

static void keep_source(struct frag *f, const struct build *b)
{
	u8 *at;

	at = f->source = heap_alloc(b->n * 15 + 1);
	for (u32 i = 0; i < b->n; i++) {
		memcpy(at, b->ins[i].raw, b->ins[i].in.len);
		at += b->ins[i].in.len;
	}
}

static struct frag *commit(struct build *b)
{
	u32 nexits = b->nexits + 1;
	struct exit *exits = heap_alloc(nexits * sizeof(struct exit));
	struct frag *f;

	for (u32 i = 0; i < b->nexits; i++)
		emit_thunk(b, i, &exits[i]);
	build_xl8(b, XL8_DATA, b->n, X86_NONE, X86_NONE, X86_NONE);
	emit_literals(b);
	if (b->e.overflow) {
		heap_free(exits, nexits * sizeof(struct exit));
		return NULL;
	}
	f = make_frag(b);
	f->entry = EMIT_LEA_RSP_LEN;
	f->exits = exits;
	link_exits(f, b);
	keep_xl8(f, b);
	keep_store_offsets(f, b);
	if (b->unwatchable)
		keep_source(f, b);
	arena_commit(b->arena, f->cache_len, f);
	return f;
}

static void begin(struct build *b, u64 pc)
{
	b->arena = arena_for(pc);
	b->start = arena_room(b->arena, FRAG_MAX);
	b->e = (struct emit){ .p = b->start, .end = b->start + FRAG_MAX };
	b->nxl8 = b->nlits = b->next_store = 0;
	b->land = b->land_lit = NULL;
	b->run_open = 0;
}

/* The landing's literal: what its chain jump goes through. */
static u64 *landing_literal(const struct build *b)
{
	s32 rel;

	memcpy(&rel, b->land_lit, 4);
	return (u64 *)(b->land_lit + 4 + rel);
}

/* Emit what scan and plan left in @b; NULL if a table overflowed. */
static struct frag *emit_fragment(struct build *b)
{
	struct frag *f;

	begin(b, b->pc);
	build_xl8(b, XL8_ENTRY_CALL, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_lea_rsp(&b->e, 8);
	if (!b->n)
		build_xl8(b, XL8_ENTRY, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_body(b);
	emit_final(b);
	emit_stubs(b);
	f = commit(b);
	if (f && recording())
		record_describe(b);
	/* The stub is built in the same place: nothing of @b is needed any more. */
	for (u32 i = 0; f && i < f->nexits; i++)
		if (f->exits[i].kind == ADEPT_X_INDIRECT && f->exits[i].patch)
			exit_link(&f->exits[i], callsite_indirect(frag_insn_pc(f, f->ninsns)));
	return f;
}

struct frag *build_fragment(u64 pc, u16 mask)
{
	struct build *b = &build;
	u32 limit = MAX_INSNS;
	struct frag *f;

	for (;;) {
		b->pc = pc;
		b->mask = mask;
		b->limit = limit;
		build_scan(b);
		record_plan(b);
		b->relevant = record_relevant(b);
		b->mask &= b->relevant;
		b->first_exit = recording() ? record_take_exits(b->nexits) : 0;
		b->nrecorded = b->nexits;
		f = emit_fragment(b);
		if (f)
			break;
		if (limit == 1)
			fatal("cannot translate the instruction at %lx", pc);
		limit /= 2;
	}
	frag_insert(f);
	return f;
}

void build_landing(u64 pc, int is_return)
{
	struct build *b = &build;

	b->pc = pc;
	b->mask = X86_BIT(X86_RSP);
	b->unwatchable = 0;
	b->n = b->nexits = b->nstores = 0;
	b->nruns = 1;
	b->runs[0] = (struct adept_run){ .pc = pc };
	begin(b, pc);
	build_xl8(b, XL8_LAND_CALL, 0, X86_NONE, X86_NONE, X86_NONE);
	emit_lea_rsp(&b->e, 8);
	emit_landing_link(b, pc, is_return);
	if (!commit(b))
		fatal("cannot build a landing for %lx", pc);
	if (is_return)
		landing_set_return(pc, b->land, landing_literal(b));
	else
		landing_add_jump(pc, b->land, landing_literal(b));
}

struct frag *build_call_stub(u64 ret, u64 target, u16 mask)
{
	struct build *b = &build;
	struct frag *f;

	b->pc = ret;
	b->mask = mask;
	b->unwatchable = 0;
	b->n = b->nexits = b->nstores = 0;
	b->nruns = 1;
	b->runs[0] = (struct adept_run){ .pc = ret };
	begin(b, ret);
	if (target) {
		b->exits[b->nexits++] = (struct bexit){
			.kind = X_LINK, .call = CALL_NATIVE, .target = target, .mask = mask,
		};
		build_xl8(b, XL8_EXIT_DONE, 0, 0, X86_NONE, X86_NONE);
		b->exits[0].patch = emit_linkable(b, 0xe8);
	} else {
		build_xl8(b, XL8_AT_RCX, 0, 0, X86_NONE, X86_NONE);
		landing_emit_call(b);
	}
	emit_landing_link(b, ret, 1);
	f = commit(b);
	if (!f)
		fatal("cannot build a call stub for %lx", ret);
	f->entry = 0;
	landing_set_return(ret, b->land, landing_literal(b));
	return f;
}

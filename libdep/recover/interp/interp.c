// SPDX-License-Identifier: LGPL-2.1-or-later
/* The interpreter of recovery programs. */
#include "emit_ref.h"

/* Emit the reference of @op at @addr.  Return: true if it began an interval. */
static inline __attribute__((always_inline)) bool put_op(struct dep_interp *r,
							 enum dep_shown show,
							 const struct dep_op *op, u64 base,
							 u64 addr)
{
	return dep_put_ref(r, show, op->origin, (struct dep_ref){
		.pc = base + (u64)(s64)op->pc, .addr = addr, .size = op->size, .type = op->type,
	});
}

/* For bit string instructions: byte offset of the word, of @size bytes, that contains @bit. */
static u64 bit_offset(u64 bit, u32 size)
{
	s64 b = size == 2 ? (s16)bit : size == 4 ? (s32)bit : (s64)bit;

	return size ? (u64)(b >> (__builtin_ctz(size) + 3)) * size : 0;
}

static void put_block(struct dep_interp *r, const struct dep_op *op, u64 pc, u32 last_insn)
{
	struct dep_item *it = &r->out.item[r->out.n];
	u32 n = last_insn - op->size;

	it->kind = DEP_ITEM_BLOCK;
	it->block.pc = pc;
	it->block.ninsns = (u32)op->imm < n ? (u32)op->imm : n;
	r->out.n += r->out.want_block;
}

/*
 * Pass a timestamp to the filter.  Return: true if it must be emitted now.  Otherwise the first
 * timestamp of an instruction is withheld, or the second one is dropped together with the first.
 */
static bool filter_timestamp(struct dep_interp *r, const struct dep_op *op, u64 pc, u64 timestamp)
{
	struct dep_filter *s = r->filter;
	u64 held = s->held.pc;

	if (dep_filter_locks(s, op->size, op->origin))
		dep_put_deferred(r, false);
	dep_filter_timestamp(s, op->size);
	s->held.pc = 0;
	if (op->size & DEP_TK_AFTER)
		return !held;
	if (!dep_filter_holds(s, op->size, op->origin))
		return true;
	s->held.pc = pc;
	s->held.timestamp = timestamp;
	return false;
}

static void put_timestamp(struct dep_interp *r, const struct dep_op *op, u64 pc, u64 value)
{
	struct dep_batch *o = &r->out;
	struct dep_item *it;

	if (r->filter && !filter_timestamp(r, op, pc, value & ADEPT_TIMESTAMP_MASK))
		return;
	it = &o->item[o->n];
	it->kind = DEP_ITEM_TIMESTAMP;
	it->timestamp.pc = pc;
	it->timestamp.timestamp = value & ADEPT_TIMESTAMP_MASK;
	it->timestamp.after = op->size & DEP_TK_AFTER;
	it->timestamp.wrote = op->size & DEP_TK_AFTER && !(op->size & DEP_TK_FENCE) &&
			   (!(op->size & DEP_TK_CMPXCHG) || value & ADEPT_TIMESTAMP_DONE);
	it->timestamp.result_unused = op->size & DEP_TK_UNUSED;
	o->n += o->want_timestamp;
}

static void put_call(struct dep_batch *o, const struct dep_op *op, u64 pc, u64 sp)
{
	struct dep_item *it = &o->item[o->n];

	it->kind = DEP_ITEM_CALL;
	it->call.pc = pc;
	it->call.sp = sp;
	it->call.is_return = op->size == DEP_CL_RETURN;
	it->call.is_jump = op->size == DEP_CL_JUMP;
	o->n += op->size == DEP_CL_JUMP ? o->want_jump : o->want_call;
}

static void put_function(struct dep_interp *r, const struct dep_op *op, u64 pc, const u64 *slot)
{
	struct dep_call_values passed = { .sp = slot[X86_RSP] };
	struct dep_function_call f = {
		.pc = pc, .function = op->imm & 0xffff, .is_return = op->size,
		.known = (u32)op->imm >> 16, .passed = &passed,
	};
	struct dep_batch *o = &r->out;
	struct dep_item *it;
	u32 i;

	if (!o->want_function)
		return;
	for (i = 0; i < DEP_FUNCTION_ARGS; i++)
		if ((u32)op->imm >> (16 + i) & 1)
			passed.value[i] = slot[op->size ? X86_RAX : dep_function_regs[i]];
	if (r->filter && dep_filter_passes(r->filter, &f))
		dep_put_deferred(r, !op->size && !dep_function_is_heap(f.function));
	it = &o->item[o->n];
	it->kind = DEP_ITEM_FUNCTION;
	it->function = f;
	it->function.passed = &o->passed[o->n];
	if (r->filter)
		passed.again = dep_filter_function(r->filter, &f, op->origin);
	o->passed[o->n++] = passed;
}

/* Fields of the current operation @op. */
#define IMM	((u64)(s64)op->imm)
#define PC	(base + (u64)(s64)op->pc)

static inline __attribute__((always_inline)) int run_ops(struct dep_interp *r,
							 const struct dep_program *p,
							 u32 from, u32 to, u32 last_insn,
							 enum dep_shown show)
{
	const struct dep_op *op = p->op + from, *end = p->op + to;
	u64 base = dep_program_base(p, from), a;
	const u64 *v = r->value;
	u64 *slot = r->slot;
	int err;

	for (; op < end; op++) {
		switch ((enum dep_op_code)op->code) {
		case DEP_O_LOAD:
			slot[op->dst] = *v++;
			break;
		case DEP_O_SKIP:
			v += op->imm;
			break;
		case DEP_O_CHECK:
			r->counts.checks++;
			r->counts.check_failures += *v++ != slot[op->src];
			break;
		case DEP_O_VEC:
			r->vec[op->dst & 1] = v;
			v += op->imm;
			break;
		case DEP_O_KREG:
			r->kreg = *v++;
			break;
		case DEP_O_BLOCK:
			put_block(r, op, PC, last_insn);
			break;
		case DEP_O_REF0:
			put_op(r, show, op, base, base + IMM);
			break;
		case DEP_O_REF1:
			put_op(r, show, op, base, slot[op->src] + IMM);
			break;
		case DEP_O_REF2:
			put_op(r, show, op, base, dep_op_sum(op, slot));
			break;
		case DEP_O_REFX:
			a = dep_op_sum(op, slot);
			a = op->addr32 ? (u32)a : a;
			put_op(r, show, op, base, a + slot[op->dst]);
			break;
		case DEP_O_CONST:
			slot[op->dst] = IMM;
			break;
		case DEP_O_NEAR:
			slot[op->dst] = base + IMM;
			break;
		case DEP_O_WIDE:
			slot[op->dst] = p->wide[op->imm];
			break;
		case DEP_O_BASE:
			base = p->wide[op->imm];
			break;
		case DEP_O_ADD:
			slot[op->dst] = slot[op->src] + IMM;
			break;
		case DEP_O_LEA:
			slot[op->dst] = dep_op_sum(op, slot);
			break;
		case DEP_O_LOW8:
			slot[op->dst] = slot[op->src] & 0xff;
			break;
		case DEP_O_BITOFF:
			slot[op->dst] = bit_offset(slot[op->src], op->size);
			break;
		case DEP_O_DERIVE:
			x86_derive_run(&p->dop[op->imm], op->size, slot);
			break;
		case DEP_O_TIMESTAMP:
			put_timestamp(r, op, PC, *v++);
			break;
		case DEP_O_CALL:
			put_call(&r->out, op, PC, slot[op->src] + IMM);
			break;
		case DEP_O_FUNCTION:
			put_function(r, op, PC, slot);
			break;
		case DEP_O_STRING:
		case DEP_O_GATHER:
		case DEP_O_MASKED:
		case DEP_O_ENTER:
			r->value = v;
			err = dep_interp_dynamic(r, p, op, PC);
			if (err)
				return err;
			break;
		}
	}
	r->value = v;
	return 0;
}

int dep_interp_ops(struct dep_interp *r, const struct dep_program *p, u32 from, u32 to,
		   u32 last_insn)
{
	switch (dep_shown(r)) {
	case DEP_SHOW_FIRST:
		return run_ops(r, p, from, to, last_insn, DEP_SHOW_FIRST);
	case DEP_SHOW_WANTED:
		return run_ops(r, p, from, to, last_insn, DEP_SHOW_WANTED);
	case DEP_SHOW_ALL:
		break;
	}
	return run_ops(r, p, from, to, last_insn, DEP_SHOW_ALL);
}

/* Emit a simple reference of a filtered program.  Return: true if it began an interval. */
static inline bool put_filtered(struct dep_interp *r, const struct dep_program *p,
				const struct dep_filtered_op *op, u64 addr)
{
	const struct dep_op *whole;

	if (__builtin_expect(dep_filter_again(r->filter, op->dst, addr, op->size, op->write), 1))
		return false;
	whole = &p->op[op->of];
	return put_op(r, DEP_SHOW_FIRST, whole, dep_program_base(p, op->of), addr);
}

/* Emit a DEP_O_REFX reference of a filtered program.  Return: true if it began an interval. */
static bool put_unusual(struct dep_interp *r, const struct dep_program *p, u32 of)
{
	const struct dep_op *op = &p->op[of];
	u64 base = dep_program_base(p, of), a = dep_op_sum(op, r->slot);

	a = op->addr32 ? (u32)a : a;
	if (op->code == DEP_O_REFX)
		a += r->slot[op->dst];
	if (op->code == DEP_O_REF0)
		a += base;
	return put_op(r, DEP_SHOW_FIRST, op, base, a);
}

/* Run the whole program from the operation after @op to exit @x, where the record ends. */
static int go_on(struct dep_interp *r, const struct dep_program *p, const struct dep_exit_info *x,
		 const struct dep_filtered_op *op, const u64 *v)
{
	r->value = v;
	return dep_interp_ops(r, p, op->of + 1, x->op_end, x->ninsns);
}

int dep_interp_filtered(struct dep_interp *r, const struct dep_program *p,
			const struct dep_exit_info *x, u32 from)
{
	const struct dep_filtered_op *op = p->filtered + from, *end = p->filtered + x->filtered_end;
	const u64 *v = r->value, base = p->base;
	u64 *slot = r->slot;
	int err;

	for (; op < end; op++) {
		switch (op->code) {
		case DEP_O_LOAD:
			slot[op->dst] = *v++;
			break;
		case DEP_O_CONST:
			slot[op->dst] = IMM;
			break;
		case DEP_O_NEAR:
			slot[op->dst] = base + IMM;
			break;
		case DEP_O_ADD:
			slot[op->dst] = slot[op->src] + IMM;
			break;
		case DEP_O_LEA:
			slot[op->dst] = slot[op->src] + (slot[op->src2] << op->shift) + IMM;
			break;
		case DEP_O_DERIVE:
			x86_derive_run(&p->dop[op->imm], p->op[op->of].size, slot);
			break;
		case DEP_O_REF0:
			if (put_filtered(r, p, op, base + IMM))
				return go_on(r, p, x, op, v);
			break;
		case DEP_O_REF1:
			if (put_filtered(r, p, op, slot[op->src] + IMM))
				return go_on(r, p, x, op, v);
			break;
		case DEP_O_REF2:
			if (put_filtered(r, p, op,
					 slot[op->src] + (slot[op->src2] << op->shift) + IMM))
				return go_on(r, p, x, op, v);
			break;
		case DEP_O_REFX:
			if (put_unusual(r, p, op->of))
				return go_on(r, p, x, op, v);
			break;
		default:
			r->value = v;
			err = dep_interp_ops(r, p, op->of, op->of + 1, 0);
			if (err)
				return err;
			v = r->value;
		}
	}
	r->value = v;
	return 0;
}

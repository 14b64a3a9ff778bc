// SPDX-License-Identifier: LGPL-2.1-or-later
/* The interpreter of recovery programs. */
#include <errno.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "run.h"

/* A string instruction that moves further is corrupt. */
#define MAX_MOVE	(1ull << 40)

#define STRING_PART	4096u	/* maximum bytes of one reference, of long string accesses */

/* Which references are emitted: see filter.h. */
enum shown { SHOW_ALL, SHOW_FIRST, SHOW_WANTED };

static inline enum shown shown(const struct dep_interp *r)
{
	if (!r->filter)
		return SHOW_ALL;
	return r->filter->scope->wanted ? SHOW_WANTED : SHOW_FIRST;
}

static void show_ref(struct dep_interp *r, const struct dep_ref *ref)
{
	struct dep_item *it = &r->out.item[r->out.n];

	it->kind = DEP_ITEM_REF;
	it->ref = *ref;
	r->out.n += r->out.want_ref;
}

/* Emit the deferred accesses of one page; false if there are none, or r->failed is set. */
static bool put_page_accesses(struct dep_interp *r)
{
	struct dep_page_accesses *j;
	struct dep_item *it;

	r->failed = dep_batch_room(&r->out, r->reserve + 1);
	j = r->failed ? NULL : dep_batch_page(&r->out);
	if (!j) {
		r->failed = r->failed ? r->failed : r->out.stopped;
		return false;
	}
	if (!dep_filter_flush(r->filter, j))
		return false;
	r->out.joined_used += sizeof(*j) + j->nwords * sizeof(j->word[0]);
	it = &r->out.item[r->out.n];
	it->kind = DEP_ITEM_PAGE;
	it->joined = j;
	r->out.n += r->out.want_ref;
	return true;
}

static int put_off(struct dep_interp *r, bool last)
{
	struct dep_ref ref;

	while (!r->failed && r->filter->seen.later && put_page_accesses(r))
		;
	while (last && !r->failed && dep_filter_last(r->filter, &ref)) {
		r->failed = dep_batch_room(&r->out, r->reserve + 1);
		if (!r->failed)
			show_ref(r, &ref);
	}
	return r->failed;
}

int dep_interp_put_off(struct dep_interp *r)
{
	return put_off(r, true);
}

/* Emit the withheld timestamp, because a reference that needs it follows. */
void dep_interp_put_stopped(struct dep_interp *r)
{
	struct dep_filter *s = r->filter;
	struct dep_item *it;

	r->failed = r->failed ? r->failed : dep_batch_room(&r->out, r->reserve + 1);
	if (r->failed)
		return;
	it = &r->out.item[r->out.n];
	it->kind = DEP_ITEM_TIMESTAMP;
	it->timestamp = (struct dep_lock_timestamp){
		.pc = s->held.pc, .timestamp = s->held.timestamp };
	r->out.n += r->out.want_timestamp;
	s->held.pc = 0;
}

/* Emit a reference if it is the first.  Return: did it begin an interval? */
static bool put_first(struct dep_interp *r, u8 code, struct dep_ref *ref)
{
	enum dep_filtered what = dep_filter_first(r->filter, code, ref);

	if (what == DEP_FILTER_DROP ||
	    (what == DEP_FILTER_FLUSH_THEN_EMIT && dep_interp_put_off(r)))
		return false;
	if (r->filter->held.pc)
		dep_interp_put_stopped(r);
	show_ref(r, ref);
	if (!(ref->type & DEP_REF_RELEASES))
		return false;
	dep_filter_new_interval(r->filter);
	return true;
}

/* Return: did it begin an interval? */
static inline __attribute__((always_inline)) bool put_ref(struct dep_interp *r, enum shown show,
							  u8 code, u64 pc, u64 addr, u32 size,
							  u32 type)
{
	struct dep_ref ref = {
		.pc = pc, .addr = addr, .size = size, .type = (u16)type,
		.origin = show == SHOW_ALL ? 0 : code + 1,
	};

	if (show == SHOW_FIRST)
		return put_first(r, code, &ref);
	if (show == SHOW_WANTED && !dep_filter_wants(r->filter, code, addr, size, type))
		return false;
	show_ref(r, &ref);
	return false;
}

static inline __attribute__((always_inline)) bool put_op(struct dep_interp *r, enum shown show,
							 const struct dep_op *op, u64 base,
							 u64 addr)
{
	return put_ref(r, show, op->origin, base + (u64)(s64)op->pc, addr, op->size, op->type);
}

/* The base and index part of @op's address, without segment. */
static inline __attribute__((always_inline)) u64 sum_of(const struct dep_op *op, const u64 *slot)
{
	return slot[op->src] + (slot[op->src2] << op->shift) + (u64)(s64)op->imm;
}

static inline void count_ref(struct dep_interp *r, u32 type, u64 n)
{
	r->counts.refs += n;
	r->counts.reads += n * (type & 1);
	r->counts.writes += n * (type >> 1);
}

/* Emit a range in large parts: in the mode that emits first accesses this makes no difference. */
static int put_range(struct dep_interp *r, u8 code, u64 pc, u64 addr, u64 size, u32 type)
{
	u64 part;
	int err = 0;

	for (; size && !err; addr += part, size -= part) {
		part = size < STRING_PART ? size : STRING_PART;
		err = dep_interp_room(r, 1);
		if (!err)
			put_ref(r, SHOW_FIRST, code, pc, addr, (u32)part, type);
	}
	return err;
}

static int put_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 n,
		      bool down)
{
	u64 at[2], i, cut = s->addr32 ? UINT32_MAX : UINT64_MAX, all = n * s->size;
	u64 step = down ? -(u64)s->size : s->size;
	enum shown show = shown(r);
	int err = 0;
	u32 k;

	for (k = 0; k < s->nmem; k++)
		at[k] = r->slot[s->base[k]];
	if (show == SHOW_FIRST && all > 64 && !s->addr32) {
		for (k = 0; k < s->nmem && !err; k++)
			err = put_range(r, code, pc, at[k] + r->slot[s->seg[k]] -
					(down ? all - s->size : 0), all, s->type[k]);
		return err;
	}
	for (i = 0; i < n; i++) {
		err = dep_interp_room(r, 2);
		if (err)
			return err;
		for (k = 0; k < s->nmem; k++) {
			put_ref(r, show, code, pc, (at[k] & cut) + r->slot[s->seg[k]], s->size,
				s->type[k]);
			at[k] += step;
		}
	}
	return 0;
}

int dep_interp_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 post,
		      int rep)
{
	u64 delta, move, n, cut = s->addr32 ? UINT32_MAX : UINT64_MAX;
	u32 k;
	int err;

	delta = post - r->slot[s->ptr];
	if (s->addr32)
		delta = (u64)(s64)(s32)delta;
	move = (s64)delta < 0 ? -delta : delta;
	n = move / s->size;
	if (move % s->size || move > MAX_MOVE || (!rep && n != 1))
		return dep_fail(-EBADMSG, "string instruction at %llx moved by %lld",
				(unsigned long long)pc, (long long)delta);
	for (k = 0; k < s->nmem; k++)
		count_ref(r, s->type[k], n);
	err = r->out.want_ref ? put_string(r, s, code, pc, n, (s64)delta < 0) : 0;
	if (err)
		return err;
	r->slot[s->ptr] = post;
	if (s->other != DEP_S_ZERO && delta)
		r->slot[s->other] = (r->slot[s->other] + delta) & cut;
	return 0;
}

static int run_gather(struct dep_interp *r, const struct dep_gather *g, u8 code, u64 pc)
{
	const u8 *index = (const u8 *)r->vec[0], *mask = (const u8 *)r->vec[1];
	u64 addr, wide;
	u32 i, narrow;
	int err;

	err = dep_interp_room(r, g->n);
	for (i = 0; i < g->n && !err; i++) {
		if (g->mask_size ? !(mask[(i + 1) * g->mask_size - 1] & 0x80) : !(r->kreg >> i & 1))
			continue;
		if (g->index_size == 4) {
			memcpy(&narrow, index + i * 4, 4);
			wide = (u64)(s64)(s32)narrow;
		} else {
			memcpy(&wide, index + i * 8, 8);
		}
		addr = r->slot[g->base] + (wide << g->shift) + g->disp;
		if (g->addr32)
			addr = (u32)addr;
		put_ref(r, shown(r), code, pc, addr + r->slot[g->seg], g->size, g->type);
		count_ref(r, g->type, 1);
	}
	return err;
}

/* A bit for each of up to 64 elements that the mask selects. */
static u64 let_through(const struct dep_interp *r, const struct dep_op *op)
{
	u32 n = op->size & 0xff, elem = op->size >> 8 & 15, i;
	const u8 *mask = (const u8 *)r->vec[1];
	u64 bits = 0;

	if (!(op->size & DEP_MK_VECTOR))
		return n < 64 ? r->kreg & ((1ull << n) - 1) : r->kreg;
	for (i = 0; i < n; i++)
		bits |= (u64)(mask[(i + 1) * elem - 1] >> 7) << i;
	return bits;
}

/* One reference for each run of selected elements. */
static int run_masked(struct dep_interp *r, const struct dep_op *op, u64 pc)
{
	u32 n = op->size & 0xff, elem = op->size >> 8 & 15, from, size;
	u64 a = sum_of(op, r->slot), bits, rest;
	int err;

	a = (op->addr32 ? (u32)a : a) + r->slot[op->dst];
	err = dep_interp_room(r, n / 2 + 1);
	for (bits = let_through(r, op); bits && !err; bits &= bits + 1) {
		from = (u32)__builtin_ctzll(bits);
		rest = ~(bits >> from);
		size = rest ? (u32)__builtin_ctzll(rest) : 64;
		put_ref(r, shown(r), op->origin, pc, a + (u64)from * elem, size * elem, op->type);
		count_ref(r, op->type, 1);
		bits |= bits - 1;
	}
	return err;
}

struct enter {
	struct dep_interp *r;
	u8 code;
	u64 pc;
	int err;
};

static void enter_ref(void *arg, u64 addr, unsigned int size, int rw)
{
	struct enter *e = arg;

	if (!e->err)
		e->err = dep_interp_room(e->r, 1);
	if (e->err)
		return;
	put_ref(e->r, shown(e->r), e->code, e->pc, addr, size, rw);
	count_ref(e->r, rw, 1);
}

static int run_enter(struct dep_interp *r, const struct x86_insn *in, u8 code, u64 pc)
{
	struct enter e = { r, code, pc, 0 };

	x86_enter_refs(in, r->slot[X86_RSP], r->slot[X86_RBP], enter_ref, &e);
	return e.err;
}

/* Bit strings: the offset of the word of @size bytes that contains @bit. */
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

/* Return: emit the timestamp now?  Else it is withheld, or dropped with the withheld first one. */
static bool filter_timestamp(struct dep_interp *r, const struct dep_op *op, u64 pc, u64 timestamp)
{
	struct dep_filter *s = r->filter;
	u64 held = s->held.pc;

	if (dep_filter_locks(s, op->size, op->origin))
		put_off(r, false);
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
		put_off(r, !op->size && !dep_function_is_heap(f.function));
	it = &o->item[o->n];
	it->kind = DEP_ITEM_FUNCTION;
	it->function = f;
	it->function.passed = &o->passed[o->n];
	if (r->filter)
		passed.again = dep_filter_function(r->filter, &f, op->origin);
	o->passed[o->n++] = passed;
}

/* These operations can pass items to the sink, so they reserve room for the rest afterwards. */
static int run_dynamic(struct dep_interp *r, const struct dep_program *p, const struct dep_op *op,
		       u64 pc)
{
	const union dep_unusual *unusual = p->unusual + (op->code == DEP_O_MASKED ? 0 : op->imm);
	u8 code = op->origin;
	int err;

	if (op->code == DEP_O_STRING)
		err = dep_interp_string(r, &unusual->string, code, pc, r->value[0],
					unusual->string.rep);
	else if (op->code == DEP_O_GATHER)
		err = run_gather(r, &unusual->gather, code, pc);
	else if (op->code == DEP_O_MASKED)
		err = run_masked(r, op, pc);
	else
		err = run_enter(r, &unusual->enter, code, pc);
	return err ? err : dep_interp_reserve(r, p);
}

/* Fields of the current operation. */
#define IMM	((u64)(s64)op->imm)
#define PC	(base + (u64)(s64)op->pc)

static inline __attribute__((always_inline)) int run_ops(struct dep_interp *r,
							 const struct dep_program *p,
							 u32 from, u32 to, u32 last_insn,
							 enum shown show)
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
			put_op(r, show, op, base, sum_of(op, slot));
			break;
		case DEP_O_REFX:
			a = sum_of(op, slot);
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
			slot[op->dst] = sum_of(op, slot);
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
			err = run_dynamic(r, p, op, PC);
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
	switch (shown(r)) {
	case SHOW_FIRST:
		return run_ops(r, p, from, to, last_insn, SHOW_FIRST);
	case SHOW_WANTED:
		return run_ops(r, p, from, to, last_insn, SHOW_WANTED);
	case SHOW_ALL:
		break;
	}
	return run_ops(r, p, from, to, last_insn, SHOW_ALL);
}

/* A simple reference of a filtered program.  Return: did it begin an interval? */
static inline bool put_filtered(struct dep_interp *r, const struct dep_program *p,
				const struct dep_filtered_op *op, u64 addr)
{
	const struct dep_op *whole;

	if (__builtin_expect(dep_filter_again(r->filter, op->dst, addr, op->size, op->write), 1))
		return false;
	whole = &p->op[op->of];
	return put_op(r, SHOW_FIRST, whole, dep_program_base(p, op->of), addr);
}

/* Any other reference. */
static bool put_unusual(struct dep_interp *r, const struct dep_program *p, u32 of)
{
	const struct dep_op *op = &p->op[of];
	u64 base = dep_program_base(p, of), a = sum_of(op, r->slot);

	a = op->addr32 ? (u32)a : a;
	if (op->code == DEP_O_REFX)
		a += r->slot[op->dst];
	if (op->code == DEP_O_REF0)
		a += base;
	return put_op(r, SHOW_FIRST, op, base, a);
}

/* Run the whole program from the operation after @op to the end of the record at @x. */
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

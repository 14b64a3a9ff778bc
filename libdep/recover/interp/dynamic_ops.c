// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations whose number of references is known only when they run. */
#include <errno.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "emit_ref.h"

/* If a string instruction moves a pointer by more bytes than this, the segment is corrupt. */
#define MAX_MOVE	(1ull << 40)

#define STRING_PART	4096u	/* maximum size in bytes of a reference of a long string access */

static inline void count_ref(struct dep_interp *r, u32 type, u64 n)
{
	r->counts.refs += n;
	r->counts.reads += n * (type & 1);
	r->counts.writes += n * (type >> 1);
}

/* Emit a range as references of up to STRING_PART bytes.  Only for DEP_SHOW_FIRST. */
static int put_range(struct dep_interp *r, u8 code, u64 pc, u64 addr, u64 size, u32 type)
{
	u64 part;
	int err = 0;

	for (; size && !err; addr += part, size -= part) {
		part = size < STRING_PART ? size : STRING_PART;
		err = dep_interp_room(r, 1);
		if (!err)
			dep_put_ref(r, DEP_SHOW_FIRST, code, (struct dep_ref){
				.pc = pc, .addr = addr, .size = (u32)part, .type = (u16)type,
			});
	}
	return err;
}

static int put_string(struct dep_interp *r, const struct dep_string *s, u8 code, u64 pc, u64 n,
		      bool down)
{
	u64 at[2], i, cut = s->addr32 ? UINT32_MAX : UINT64_MAX, all = n * s->size;
	u64 step = down ? -(u64)s->size : s->size;
	enum dep_shown show = dep_shown(r);
	int err = 0;
	u32 k;

	for (k = 0; k < s->nmem; k++)
		at[k] = r->slot[s->base[k]];
	if (show == DEP_SHOW_FIRST && all > 64 && !s->addr32) {
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
			dep_put_ref(r, show, code, (struct dep_ref){
				.pc = pc, .addr = (at[k] & cut) + r->slot[s->seg[k]],
				.size = s->size, .type = s->type[k],
			});
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
		return dep_fail(-EBADMSG, "string instruction at %llx: impossible size %lld",
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
		dep_put_ref(r, dep_shown(r), code, (struct dep_ref){
			.pc = pc, .addr = addr + r->slot[g->seg], .size = g->size, .type = g->type,
		});
		count_ref(r, g->type, 1);
	}
	return err;
}

/* Return: the mask of a masked move; bit i is set if element i is accessed. */
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

/* Emit one reference for each group of adjacent elements that the mask selects. */
static int run_masked(struct dep_interp *r, const struct dep_op *op, u64 pc)
{
	u32 n = op->size & 0xff, elem = op->size >> 8 & 15, from, size;
	u64 a = dep_op_sum(op, r->slot), bits, rest;
	int err;

	a = (op->addr32 ? (u32)a : a) + r->slot[op->dst];
	err = dep_interp_room(r, n / 2 + 1);
	for (bits = let_through(r, op); bits && !err; bits &= bits + 1) {
		from = (u32)__builtin_ctzll(bits);
		rest = ~(bits >> from);
		size = rest ? (u32)__builtin_ctzll(rest) : 64;
		dep_put_ref(r, dep_shown(r), op->origin, (struct dep_ref){
			.pc = pc, .addr = a + (u64)from * elem, .size = size * elem,
			.type = op->type,
		});
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
	dep_put_ref(e->r, dep_shown(e->r), e->code, (struct dep_ref){
		.pc = e->pc, .addr = addr, .size = size, .type = (u16)rw,
	});
	count_ref(e->r, rw, 1);
}

static int run_enter(struct dep_interp *r, const struct x86_insn *in, u8 code, u64 pc)
{
	struct enter e = { r, code, pc, 0 };

	x86_enter_refs(in, r->slot[X86_RSP], r->slot[X86_RBP], enter_ref, &e);
	return e.err;
}

/* These operations can use up the room in the batch, so reserve it for the rest of the program. */
int dep_interp_dynamic(struct dep_interp *r, const struct dep_program *p, const struct dep_op *op,
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

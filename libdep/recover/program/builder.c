// SPDX-License-Identifier: LGPL-2.1-or-later
/* Add operations and other items to a program under construction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "compile.h"

/*
 * Maximum distance of an instruction from the program's base address, in bytes.  At this distance,
 * 32 bits are still enough for the instruction's displacements relative to the base.
 */
#define NEAR	(1ull << 30)

void *dep_builder_add(struct dep_builder *b, struct dep_vector *v, size_t size)
{
	size_t room = v->room ? v->room * 2 : 16;
	void *p;

	if (v->n == v->room) {
		p = realloc(v->item, room * size);
		if (!p) {
			b->err = dep_fail(-ENOMEM, "recovery program");
			return NULL;
		}
		v->item = p;
		v->room = room;
	}
	return memset((char *)v->item + v->n++ * size, 0, size);
}

struct dep_op *dep_add_op(struct dep_builder *b, u8 code, u64 pc)
{
	static _Thread_local struct dep_op waste;	/* dummy, returned if there is no memory */
	struct dep_op *op = dep_builder_add(b, &b->op, sizeof(*op));

	if (!op)
		op = &waste;
	op->code = code;
	op->src = DEP_S_ZERO;
	op->src2 = DEP_S_ZERO;
	op->dst = DEP_S_ZERO;
	op->pc = (s32)(pc - b->base);
	return op;
}

void dep_copy_op(struct dep_builder *b, const struct dep_op *from, u64 pc)
{
	struct dep_op *op = dep_add_op(b, from->code, pc);
	s32 at = op->pc;

	*op = *from;
	op->pc = at;
}

/* Add a 64-bit constant to dep_program.wide.  Return: its index. */
static s32 add_wide(struct dep_builder *b, u64 value)
{
	u64 *wide = dep_builder_add(b, &b->wide, sizeof(*wide));

	if (wide)
		*wide = value;
	return (s32)b->wide.n - 1;
}

void dep_rebase(struct dep_builder *b, u64 pc)
{
	if (pc - b->base + NEAR < 2 * NEAR)
		return;
	b->base = pc;
	dep_add_op(b, DEP_O_BASE, pc)->imm = add_wide(b, pc);
}

void dep_add_const(struct dep_builder *b, u8 dst, u64 value, u64 pc)
{
	struct dep_op *op;

	if (dep_fits(value)) {
		op = dep_add_op(b, DEP_O_CONST, pc);
		op->imm = (s32)value;
	} else if (dep_fits(value - b->base)) {
		op = dep_add_op(b, DEP_O_NEAR, pc);
		op->imm = (s32)(value - b->base);
	} else {
		op = dep_add_op(b, DEP_O_WIDE, pc);
		op->imm = add_wide(b, value);
	}
	op->dst = dst;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/error.h"
#include "compile.h"

static size_t round8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Copy a vector to offset @*at of the allocation @base; if @base is NULL, only add up sizes. */
static void *place(char *base, size_t *at, const void *item, size_t bytes)
{
	char *to = base ? base + *at : NULL;

	if (to && item && bytes)
		memcpy(to, item, bytes);
	*at += round8(bytes);
	return to;
}

static size_t lay_out(struct dep_program *p, char *base, const struct dep_builder *b)
{
	size_t at = round8(sizeof(*p));
	struct dep_program q;

	q.exit = place(base, &at, NULL, b->d->nexits * sizeof(*q.exit));
	q.op = place(base, &at, b->op.item, b->op.n * sizeof(*q.op));
	q.dop = place(base, &at, b->dop.item, b->dop.n * sizeof(*q.dop));
	q.wide = place(base, &at, b->wide.item, b->wide.n * sizeof(*q.wide));
	q.unusual = place(base, &at, b->unusual.item, b->unusual.n * sizeof(*q.unusual));
	if (p) {
		p->exit = q.exit;
		p->op = q.op;
		p->dop = q.dop;
		p->wide = q.wide;
		p->unusual = q.unusual;
	}
	return at;
}

static size_t lay_out_details(struct dep_details *d, char *base, const struct dep_builder *b)
{
	size_t at = round8(sizeof(*d));
	struct dep_details q;

	q.insn = place(base, &at, b->insn.item, b->insn.n * sizeof(*q.insn));
	q.store = place(base, &at, b->store.item, b->store.n * sizeof(*q.store));
	if (d) {
		d->insn = q.insn;
		d->store = q.store;
		d->words = b->words;
	}
	return at;
}

struct dep_static dep_program_static(const struct dep_program *p, u32 from, u32 to)
{
	struct dep_static n = { 0 };
	u32 i;

	for (i = from; i < to; i++) {
		n.blocks += p->op[i].code == DEP_O_BLOCK;
		if (!dep_op_is_ref(p->op[i].code))
			continue;
		n.refs++;
		n.reads += p->op[i].type & 1;
		n.writes += p->op[i].type >> 1;
	}
	return n;
}

u64 dep_program_rebased(const struct dep_program *p, u32 op)
{
	while (op--)
		if (p->op[op].code == DEP_O_BASE)
			return p->wide[p->op[op].imm];
	return p->base;
}

static int find_cut(const struct adept_desc_frag *d, const struct dep_details *in, u32 ninsns,
		    u32 nstores, struct dep_cut *cut)
{
	const struct adept_store *st = dep_desc_stores(d), *last = NULL, *next = NULL;

	if (ninsns > d->ninsns || nstores > d->nstores)
		return dep_fail(-EBADMSG, "fragment %u: no position after %u instructions and %u "
				"stores", d->first_exit, ninsns, nstores);
	if (nstores)
		last = st + nstores - 1;
	if (nstores < d->nstores)
		next = st + nstores;
	/*
	 * The last store before the position must not come after instruction @ninsns, and the next
	 * store must not come before instruction @ninsns - 1 has ended.
	 */
	if ((last && (last->insn > ninsns || (last->insn == ninsns && dep_store_is_post(last)))) ||
	    (next && next->insn < ninsns &&
	     (next->insn + 1u < ninsns || !dep_store_is_post(next))))
		return dep_fail(-EBADMSG, "fragment %u: no position after %u instructions and %u "
				"stores", d->first_exit, ninsns, nstores);
	cut->insn = ninsns;
	cut->op = 0;
	cut->known = d->entry_mask;
	if (ninsns) {
		cut->op = in->insn[ninsns - 1].op_end;
		cut->known = in->insn[ninsns - 1].known;
	}
	if (last && (last->insn == ninsns ||
		     (last->insn + 1u == ninsns && dep_store_is_post(last)))) {
		cut->op = in->store[nstores - 1].op_end;
		cut->known = in->store[nstores - 1].known;
	}
	cut->word = next ? in->store[nstores].word : in->words;
	cut->needs_extra = next && next->insn < ninsns && next->kind != ADEPT_ST_EXIT_REG;
	cut->in_string = next && next->insn == ninsns && next->kind == ADEPT_ST_POST;
	return 0;
}

static int fill_exit(struct dep_program *p, const struct dep_details *in,
		     const struct adept_exit *x, struct dep_exit_info *out)
{
	struct dep_cut cut;

	if (find_cut(p->d, in, x->ninsns, x->nstores, &cut) || cut.needs_extra)
		return dep_fail(-EBADMSG, "fragment %u: an exit lacks a store of an executed "
				"instruction", p->d->first_exit);
	if (x->mask & ~cut.known)
		return dep_fail(-EBADMSG, "fragment %u: the register mask %#x of an exit includes "
				"unknown registers (known: %#x)", p->d->first_exit, x->mask,
				cut.known);
	out->program = p;
	out->op_end = (u16)cut.op;
	out->words = cut.word;
	out->ninsns = x->ninsns;
	out->known = cut.known;
	out->kind = x->kind;
	if (x->ninsns)
		out->last_pc = (s32)(in->insn[x->ninsns - 1].pc - dep_program_base(p, cut.op));
	out->count = dep_program_static(p, 0, cut.op);
	return 0;
}

/* Compile the fragment; the caller calls free_builder() in any case. */
static int build(struct dep_builder *b, const struct adept_desc_frag *d)
{
	int err;

	*b = (struct dep_builder){ .d = d };
	err = dep_compile(b);
	if (!err && b->op.n > UINT16_MAX)
		err = dep_fail(-EBADMSG, "fragment %u compiles to too many operations, %zu",
			       d->first_exit, b->op.n);
	return err;
}

static void free_builder(struct dep_builder *b)
{
	free(b->op.item);
	free(b->insn.item);
	free(b->store.item);
	free(b->dop.item);
	free(b->wide.item);
	free(b->unusual.item);
}

static void *block(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		dep_fail(-ENOMEM, "recovery program");
	return p;
}

static int makes_item(u8 code)
{
	return dep_op_is_ref(code) || code == DEP_O_BLOCK || code == DEP_O_TIMESTAMP ||
	       code == DEP_O_CALL || code == DEP_O_FUNCTION;
}

int dep_program_make(const struct adept_desc_frag *d, struct dep_program **out)
{
	const struct dep_details *in;
	struct dep_program *p = NULL;
	struct dep_builder b;
	u32 i;
	int err;

	*out = NULL;
	err = build(&b, d);
	if (err)
		goto out_free;
	err = -ENOMEM;
	p = block(lay_out(NULL, NULL, &b));
	if (!p)
		goto out_free;
	lay_out(p, (char *)p, &b);
	p->d = d;
	p->base = b.first_base;
	p->nops = (u16)b.op.n;
	p->entry_mask = d->entry_mask;
	for (i = 0; i < p->nops; i++) {
		p->max_items += !!makes_item(p->op[i].code);
		p->rebased |= p->op[i].code == DEP_O_BASE;
	}
	in = &(struct dep_details){ b.insn.item, b.store.item, b.words };
	for (i = 0, err = 0; i < d->nexits && !err; i++)
		err = fill_exit(p, in, dep_desc_exits(d) + i, &p->exit[i]);
	if (!err) {
		*out = p;
		p = NULL;
	}
out_free:
	free(p);
	free_builder(&b);
	return err;
}

void dep_program_free(void *program)
{
	struct dep_program *p = program;

	if (!p)
		return;
	free(p->details);
	free(p->filtered);
	free(p);
}

int dep_program_details(const struct dep_program *p, const struct dep_details **out)
{
	struct dep_details *d = p->details, *none = NULL;
	struct dep_builder b;
	int err = 0;

	*out = d;
	if (d)
		return 0;
	err = build(&b, p->d);
	if (!err) {
		d = block(lay_out_details(NULL, NULL, &b));
		err = d ? 0 : -ENOMEM;
	}
	if (!err) {
		lay_out_details(d, (char *)d, &b);
		/* If another thread has installed details meanwhile, use those. */
		if (!atomic_compare_exchange_strong((struct dep_details *_Atomic *)&p->details,
						    &none, d)) {
			free(d);
			d = none;
		}
		*out = d;
	}
	free_builder(&b);
	return err;
}

int dep_program_cut(const struct dep_program *p, u32 ninsns, u32 nstores, struct dep_cut *cut)
{
	const struct dep_details *in;
	int err = dep_program_details(p, &in);

	return err ? err : find_cut(p->d, in, ninsns, nstores, cut);
}

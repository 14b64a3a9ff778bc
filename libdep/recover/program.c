// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../format/desc.h"
#include "../format/error.h"
#include "program.h"

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

static size_t round16(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* Move a vector to @*at inside the program's block; with @base NULL only count. */
static void *place(char *base, size_t *at, const void *item, size_t bytes)
{
	char *to = base ? base + *at : NULL;

	if (to && bytes)
		memcpy(to, item, bytes);
	*at += round16(bytes);
	return to;
}

static size_t lay_out(struct dep_program *p, char *base, const struct dep_builder *b)
{
	size_t at = round16(sizeof(*p));
	struct dep_program q;

	q.exit = place(base, &at, NULL, 0);
	at += round16(b->d->nexits * sizeof(*q.exit));
	q.op = place(base, &at, b->op.item, b->op.n * sizeof(*q.op));
	q.insn = place(base, &at, b->insn.item, b->insn.n * sizeof(*q.insn));
	q.store = place(base, &at, b->store.item, b->store.n * sizeof(*q.store));
	q.dop = place(base, &at, b->dop.item, b->dop.n * sizeof(*q.dop));
	q.string = place(base, &at, b->string.item, b->string.n * sizeof(*q.string));
	q.gather = place(base, &at, b->gather.item, b->gather.n * sizeof(*q.gather));
	q.enter = place(base, &at, b->enter.item, b->enter.n * sizeof(*q.enter));
	q.lean = place(base, &at, NULL, 0);
	at += round16(b->op.n * sizeof(*q.lean));
	if (p) {
		p->exit = q.exit;
		p->op = q.op;
		p->insn = q.insn;
		p->store = q.store;
		p->dop = q.dop;
		p->string = q.string;
		p->gather = q.gather;
		p->enter = q.enter;
		p->lean = q.lean;
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

static int fill_exit(struct dep_program *p, const struct adept_exit *x, struct dep_exit_info *out)
{
	struct dep_cut cut;

	if (dep_program_cut(p, x->ninsns, x->nstores, &cut) || cut.needs_extra)
		return dep_fail(-EBADMSG, "fragment %u: an exit cuts a store off",
				p->d->first_exit);
	if (x->mask & ~cut.known)
		return dep_fail(-EBADMSG, "fragment %u: an exit's mask %#x, known are %#x",
				p->d->first_exit, x->mask, cut.known);
	out->program = p;
	out->op_end = cut.op;
	out->words = cut.word;
	out->ninsns = x->ninsns;
	out->known = cut.known;
	out->kind = x->kind;
	out->target = x->target;
	out->last_pc = x->ninsns ? p->insn[x->ninsns - 1].pc : 0;
	out->count = dep_program_static(p, 0, cut.op);
	return 0;
}

int dep_program_make(const struct adept_desc_frag *d, struct dep_program **out)
{
	struct dep_builder b = { .d = d };
	struct dep_program *p = NULL;
	u32 i;
	int err;

	*out = NULL;
	err = dep_desc_check_code(d);
	if (!err)
		err = dep_compile(&b);
	if (!err && b.op.n > UINT16_MAX)
		err = dep_fail(-EBADMSG, "fragment %u: %zu operations", d->first_exit, b.op.n);
	if (err)
		goto out_free;
	err = -ENOMEM;
	p = calloc(1, lay_out(NULL, NULL, &b));
	if (!p) {
		dep_fail(err, "recovery program");
		goto out_free;
	}
	lay_out(p, (char *)p, &b);
	p->d = d;
	p->nops = b.op.n;
	p->ninsns = d->ninsns;
	p->nstores = d->nstores;
	p->entry_mask = d->entry_mask;
	p->words = b.words;
	for (i = 0; i < p->nops; i++)
		p->max_items += dep_op_is_ref(p->op[i].code) || p->op[i].code == DEP_O_BLOCK ||
				p->op[i].code == DEP_O_TICKET || p->op[i].code == DEP_O_CALL ||
				p->op[i].code == DEP_O_FUNCTION;
	for (i = 0, err = 0; i < d->nexits && !err; i++)
		err = fill_exit(p, dep_desc_exits(d) + i, &p->exit[i]);
	if (!err) {
		*out = p;
		p = NULL;
	}
out_free:
	free(p);
	free(b.op.item);
	free(b.insn.item);
	free(b.store.item);
	free(b.dop.item);
	free(b.string.item);
	free(b.gather.item);
	free(b.enter.item);
	return err;
}

int dep_program_cut(const struct dep_program *p, u32 ninsns, u32 nstores, struct dep_cut *cut)
{
	const struct adept_store *st = dep_desc_stores(p->d), *last = NULL, *next = NULL;

	if (ninsns > p->ninsns || nstores > p->nstores)
		return dep_fail(-EBADMSG, "fragment %u: no place %u,%u", p->d->first_exit, ninsns,
				nstores);
	if (nstores)
		last = st + nstores - 1;
	if (nstores < p->nstores)
		next = st + nstores;
	/* The last store is not behind instruction ninsns, the next not in front of ninsns - 1. */
	if ((last && (last->insn > ninsns || (last->insn == ninsns && dep_store_is_post(last)))) ||
	    (next && next->insn < ninsns &&
	     (next->insn + 1u < ninsns || !dep_store_is_post(next))))
		return dep_fail(-EBADMSG, "fragment %u: no place %u,%u", p->d->first_exit, ninsns,
				nstores);
	cut->insn = ninsns;
	cut->op = 0;
	cut->known = p->entry_mask;
	if (ninsns) {
		cut->op = p->insn[ninsns - 1].op_end;
		cut->known = p->insn[ninsns - 1].known;
	}
	if (last && (last->insn == ninsns ||
		     (last->insn + 1u == ninsns && dep_store_is_post(last)))) {
		cut->op = p->store[nstores - 1].op_end;
		cut->known = p->store[nstores - 1].known;
	}
	cut->word = next ? p->store[nstores].word : p->words;
	cut->needs_extra = next && next->insn < ninsns && next->kind != ADEPT_ST_EXIT_REG;
	cut->in_string = next && next->insn == ninsns && next->kind == ADEPT_ST_POST;
	return 0;
}

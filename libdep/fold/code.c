// SPDX-License-Identifier: LGPL-2.1-or-later
/* Decode all fragments of a store: their branches, and what each exit passes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/profile.h"
#include "libdep/format/file/error.h"
#include "code.h"
#include "times.h"

u8 dep_branch_of(const struct x86_insn *in)
{
	switch (in->kind) {
	case X86_JCC:
	case X86_LOOP:
		return DEP_BRANCH_COND;
	case X86_JMP:
		return DEP_BRANCH_JUMP;
	case X86_JMP_IND:
		return DEP_BRANCH_JUMP_INDIRECT;
	case X86_CALL:
		return DEP_BRANCH_CALL;
	case X86_CALL_IND:
		return DEP_BRANCH_CALL_INDIRECT;
	case X86_RET:
		return DEP_BRANCH_RETURN;
	case X86_SYSCALL:
		return DEP_BRANCH_SYSCALL;
	default:
		return DEP_BRANCH_NONE;
	}
}

void dep_code_begin(struct dep_code_reader *r, struct dep_store *store, u32 number)
{
	const struct adept_desc_frag *d = dep_store_fragment(store, number)->d;

	*r = (struct dep_code_reader){ .d = d, .run = dep_desc_runs(d) };
}

int dep_code_next(struct dep_code_reader *r, struct dep_code_insn *out)
{
	int err;

	if (r->at.insn == r->d->ninsns)
		return 0;
	if (!r->left) {
		r->pc = r->run->pc;
		r->left = r->run++->ninsns;
	}
	out->index = r->at.insn;
	out->code = r->at.code;
	out->pc = r->pc;
	err = dep_desc_insn(r->d, &r->at, &out->in);
	if (err)
		return err;
	r->pc += out->in.len;
	r->left--;
	return 1;
}

u64 dep_code_pc(struct dep_store *store, u32 number, u32 insn)
{
	struct dep_code_insn in = { 0 };
	struct dep_code_reader r;
	int ret;

	dep_code_begin(&r, store, number);
	while ((ret = dep_code_next(&r, &in)) > 0)
		if (in.index == insn)
			return in.pc;
	return !ret && insn == r.d->ninsns ? r.pc : 0;
}

size_t dep_insn_bytes(struct dep_store *store, uint32_t fragment, uint64_t pc, void *out)
{
	struct dep_code_reader r;
	struct dep_code_insn in;

	if (fragment >= store->model.fragments.n)
		return 0;
	dep_code_begin(&r, store, fragment);
	while (dep_code_next(&r, &in) > 0) {
		if (in.pc != pc)
			continue;
		memcpy(out, dep_desc_code(r.d) + in.code, in.in.len);
		return in.in.len;
	}
	return 0;
}

/* Room for @more rows behind the first @n. */
static int grow(void *rowsp, size_t *room, size_t n, size_t more, size_t size)
{
	void **rows = rowsp;
	size_t want = *room ? *room : 1024;
	void *p;

	if (n + more > UINT32_MAX)
		return dep_fail(-EBADMSG, "the fragments have too many exits or branches");
	while (want < n + more)
		want *= 2;
	if (want == *room)
		return 0;
	p = realloc(*rows, want * size);
	if (!p)
		return dep_fail(-ENOMEM, "exits of all fragments");
	*rows = p;
	*room = want;
	return 0;
}

/*
 * Decode a fragment, and append its steps: one for each branch, and one for the instructions behind
 * the last branch.
 */
static int add_steps(struct dep_code_made *c, struct dep_code_fragment *f, u32 number)
{
	struct dep_code_reader r;
	struct dep_code_insn in;
	struct dep_insn_info *info;
	struct dep_branch_step *s;
	u32 refs = 0;
	int ret;

	dep_code_begin(&r, c->store, number);
	c->first_insn[number] = c->ninsns;
	ret = grow(&c->insn, &c->insns_room, c->ninsns, r.d->ninsns, sizeof(*c->insn));
	if (ret)
		return ret;
	info = c->insn + c->ninsns;
	ret = grow(&c->step, &c->steps_room, c->code.nsteps, r.d->ninsns + 1ul, sizeof(*c->step));
	if (ret)
		return ret;
	s = c->step + c->code.nsteps;
	while ((ret = dep_code_next(&r, &in)) > 0) {
		refs += in.in.nmem;
		*info++ = (struct dep_insn_info){
			.size = in.in.len, .refs = in.in.nmem, .refs_up_to = refs,
			.branch = dep_branch_of(&in.in),
		};
		*s = (struct dep_branch_step){
			.pc = in.pc, .next = in.pc + in.in.len, .target = in.pc + in.in.len,
			.insns = (u16)(in.index + 1), .refs = (u16)refs,
			.branch = info[-1].branch,
		};
		if (s->branch == DEP_BRANCH_COND || s->branch == DEP_BRANCH_JUMP ||
		    s->branch == DEP_BRANCH_CALL)
			s->target = x86_branch_target(&in.in, in.pc);
		else if (s->branch != DEP_BRANCH_NONE && s->branch != DEP_BRANCH_SYSCALL)
			s->target = 0;
		if (s->branch != DEP_BRANCH_NONE || in.index + 1u == r.d->ninsns)
			s++;
	}
	f->nsteps = (u32)(s - (c->step + c->code.nsteps));
	c->code.nsteps += f->nsteps;
	c->ninsns += r.d->ninsns;
	return ret;
}

u32 dep_code_steps(const struct dep_fragments *code, const struct dep_code_fragment *f, u32 insns)
{
	const struct dep_branch_step *s = code->step + f->first_step;
	u32 lo = 0, hi = f->nsteps, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s[mid].insns <= insns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The exit's last step is the branch that ends its instructions, else the instructions behind the
 * last branch.  Of the two exits of a conditional jump the first one is the jump.
 */
static void set_exit(const struct dep_code_made *c, const struct dep_code_fragment *f, u32 number,
		     const struct adept_exit *from, bool second, struct dep_code_exit *x)
{
	const struct dep_branch_step *s = c->code.step + f->first_step;
	u32 n = dep_code_steps(&c->code, f, from->ninsns);

	x->fragment = number;
	x->nsteps = (u16)n;
	x->insns = from->ninsns;
	x->target = from->kind == ADEPT_X_INDIRECT ? 0 : from->target;
	if (n && s[n - 1].insns == from->ninsns) {
		x->branch = s[n - 1].branch;
		x->refs = s[n - 1].refs;
		x->taken = x->branch == DEP_BRANCH_COND && !second;
	} else {
		/* It ends behind an instruction that is no branch: not at the fragment's end. */
		x->branch = DEP_BRANCH_NONE;
		x->refs = (u16)dep_code_refs(&c->code, number, from->ninsns);
	}
}

/* Note @number in the block of @id, if it follows those that are there. */
static void set_in_block(struct dep_id_block *b, u32 id, u32 number)
{
	/* A forged log can have an id again. */
	if (id - b->first < b->n)
		b->n = id - b->first;
	if (!b->n)
		*b = (struct dep_id_block){ .first = id, .n = 1, .less = id - number };
	else if (id == b->first + b->n && id - b->less == number)
		b->n++;
}

static int set_number(struct dep_numbers *n, u32 id, u32 number)
{
	u32 **page = &n->page[id / DEP_CODE_PAGE];

	n->again |= dep_number_of(n, id) != 0;
	if (id < n->nlow) {
		n->low[id] = number;
		set_in_block(n->block + id / DEP_ID_BLOCK, id, number);
		return 0;
	}
	if (!*page)
		*page = calloc(DEP_CODE_PAGE, sizeof(**page));
	if (!*page)
		return dep_fail(-ENOMEM, "numbers of exits");
	(*page)[id % DEP_CODE_PAGE] = number;
	return 0;
}

static int add_exits(struct dep_code_made *c, struct dep_code_fragment *f, u32 number)
{
	const struct adept_desc_frag *d = dep_store_fragment(c->store, number)->d;
	const struct adept_exit *x = dep_desc_exits(d);
	u32 i;
	int err;

	err = grow(&c->exit, &c->exits_room, c->code.nexits, d->nexits, sizeof(*c->exit));
	c->code.step = c->step;
	for (i = 0; i < d->nexits && !err; i++) {
		struct dep_code_exit *to = &c->exit[c->code.nexits];

		*to = (struct dep_code_exit){ 0 };
		set_exit(c, f, number, &x[i], i && x[i - 1].ninsns == x[i].ninsns, to);
		err = set_number(&c->numbers, d->first_exit + i, c->code.nexits++);
	}
	f->nexits = c->code.nexits - f->first_exit;
	return err;
}

static int add_fragment(struct dep_code_made *c, u32 number)
{
	const struct dep_fragment *from = dep_store_fragment(c->store, number);
	struct dep_code_fragment *f = &c->fragment[number];
	u32 steps = c->code.nsteps, insns = c->ninsns;
	int err;

	*f = (struct dep_code_fragment){
		.pc = from->d->nruns ? dep_desc_runs(from->d)->pc : 0, .process = from->process,
		.first_step = steps, .first_exit = c->code.nexits,
	};
	err = add_steps(c, f, number);
	if (!err)
		return add_exits(c, f, number);
	if (err != -EBADMSG)
		return err;
	/* Segments that use it cannot be recovered, and are damaged for folds as well. */
	c->code.nsteps = steps;
	c->ninsns = insns;
	f->nsteps = 0;
	return 0;
}

/* Make the array @*p of @n elements longer; the new ones are zero. */
static int lengthen(void *p, size_t n, size_t want, size_t size)
{
	char **array = p, *longer = realloc(*array, want * size);

	if (!longer)
		return dep_fail(-ENOMEM, "numbers of exits");
	memset(longer + n * size, 0, (want - n) * size);
	*array = longer;
	return 0;
}

/* Make room for the low ids of fragments [@from, @to). */
static int grow_numbers(struct dep_code_made *c, u32 from, u32 to)
{
	struct dep_numbers *n = &c->numbers;
	const struct adept_desc_frag *d;
	u32 i, nlow = n->nlow, had = n->low ? nlow + 1 : 0;
	u32 blocks = n->block ? nlow / DEP_ID_BLOCK + 1 : 0;
	int err;

	for (i = from; i < to && nlow < DEP_CODE_LOW; i++) {
		d = dep_store_fragment(c->store, i)->d;
		if (d->first_exit + d->nexits > nlow)
			nlow = d->first_exit + d->nexits;
	}
	if (nlow > DEP_CODE_LOW)
		nlow = DEP_CODE_LOW;
	err = lengthen(&n->low, had, nlow + 1ul, sizeof(*n->low));
	if (!err)
		err = lengthen(&n->block, blocks, nlow / DEP_ID_BLOCK + 1ul, sizeof(*n->block));
	if (!err)
		n->nlow = nlow;
	return err;
}

/* Find out again when each fragment was translated, and its file. */
static int place_all(struct dep_code_made *c)
{
	struct dep_fragment_times times;
	u32 i;
	int err = dep_fragment_times_make(&times, c->store);

	for (i = 0; i < c->code.nfragments && !err; i++)
		err = dep_fragment_place(&times, dep_store_fragment(c->store, i), &c->fragment[i]);
	dep_fragment_times_free(&times);
	return err;
}

int dep_code_grow(struct dep_fragments *code)
{
	struct dep_code_made *c = (struct dep_code_made *)code;
	u32 i, from = code->nfragments, n = (u32)c->store->model.fragments.n;
	int err;

	err = grow(&c->fragment, &c->fragments_room, from, n - from, sizeof(*c->fragment));
	if (!err)
		err = grow(&c->first_insn, &c->first_insns_room, from, n - from,
			   sizeof(*c->first_insn));
	if (!err)
		err = grow_numbers(c, from, n);
	for (i = from; i < n && !err; i++)
		err = add_fragment(c, i);
	code->nfragments = i;
	if (!err)
		err = place_all(c);
	code->fragment = c->fragment;
	code->exit = c->exit;
	code->step = c->step;
	return err;
}

/* Number 0 stands for no exit. */
static int add_no_exit(struct dep_code_made *c)
{
	int err = grow(&c->exit, &c->exits_room, 0, 1, sizeof(*c->exit));

	if (err)
		return err;
	memset(c->exit, 0, sizeof(*c->exit));
	c->code.nexits = 1;
	c->numbers.page = calloc(DEP_EXIT_LIMIT / DEP_CODE_PAGE, sizeof(*c->numbers.page));
	return c->numbers.page ? 0 : dep_fail(-ENOMEM, "numbers of exits");
}

int dep_code_make(struct dep_store *store, struct dep_fragments **out)
{
	struct dep_code_made *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return dep_fail(-ENOMEM, "fragments");
	c->store = store;
	err = add_no_exit(c);
	if (!err)
		err = dep_code_grow(&c->code);
	if (err)
		dep_code_free(&c->code);
	else
		*out = &c->code;
	return err;
}

static void free_numbers(const struct dep_code_made *c)
{
	const struct adept_desc_frag *d;
	u32 i, id;

	free(c->numbers.low);
	free(c->numbers.block);
	for (i = 0; c->numbers.page && i < c->store->model.fragments.n; i++) {
		d = dep_store_fragment(c->store, i)->d;
		for (id = d->first_exit; id < d->first_exit + d->nexits; id++) {
			free(c->numbers.page[id / DEP_CODE_PAGE]);
			c->numbers.page[id / DEP_CODE_PAGE] = NULL;
		}
	}
	free(c->numbers.page);
}

void dep_code_free(struct dep_fragments *code)
{
	struct dep_code_made *c = (struct dep_code_made *)code;

	if (!c)
		return;
	free_numbers(c);
	free(c->fragment);
	free(c->exit);
	free(c->step);
	free(c->insn);
	free(c->first_insn);
	free(c);
}

uint32_t dep_code_number(const struct dep_fragments *code, uint32_t id)
{
	return dep_number_of(&dep_code_made(code)->numbers, id);
}

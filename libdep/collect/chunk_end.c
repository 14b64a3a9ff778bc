// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/wire.h"
#include "libdep/x86/decode.h"
#include "chunk_end.h"

#define PAGE	1024u
#define PAGES	(DEP_EXIT_LIMIT / PAGE)

/* Stores and exits of a fragment, without its code. */
struct cut {
	struct cut *next;
	u32 first_exit, nexits, nstores;
	struct adept_exit *exit;
	struct adept_store store[];
};

struct dep_cuts {
	struct cut **page[PAGES];	/* fragments by exit id: page[id / PAGE][id % PAGE] */
	struct cut *all;
};

struct dep_cuts *dep_cuts_new(void)
{
	return calloc(1, sizeof(struct dep_cuts));
}

void dep_cuts_free(struct dep_cuts *c)
{
	struct cut *k;
	u32 i;

	if (!c)
		return;
	while ((k = c->all)) {
		c->all = k->next;
		free(k);
	}
	for (i = 0; i < PAGES; i++)
		free(c->page[i]);
	free(c);
}

static struct cut *find(const struct dep_cuts *c, u32 id)
{
	return id < DEP_EXIT_LIMIT && c->page[id / PAGE] ? c->page[id / PAGE][id % PAGE] : NULL;
}

static int add(struct dep_cuts *c, const struct adept_desc_frag *d)
{
	size_t stores = d->nstores * sizeof(struct adept_store);
	size_t exits = d->nexits * sizeof(struct adept_exit);
	size_t at = (sizeof(struct cut) + stores + 7) & ~(size_t)7;
	struct cut *k;
	u32 i, id;

	for (i = 0; i < d->nexits; i++) {
		id = d->first_exit + i;
		if (find(c, id))
			return 0;
		if (!c->page[id / PAGE])
			c->page[id / PAGE] = calloc(PAGE, sizeof(struct cut *));
		if (!c->page[id / PAGE])
			return -ENOMEM;
	}
	k = malloc(at + exits);
	if (!k)
		return -ENOMEM;
	k->first_exit = d->first_exit;
	k->nexits = d->nexits;
	k->nstores = d->nstores;
	k->exit = (struct adept_exit *)((char *)k + at);
	memcpy(k->store, dep_desc_stores(d), stores);
	memcpy(k->exit, dep_desc_exits(d), exits);
	k->next = c->all;
	c->all = k;
	for (i = 0; i < d->nexits; i++)
		c->page[(d->first_exit + i) / PAGE][(d->first_exit + i) % PAGE] = k;
	return 0;
}

int dep_cuts_add(struct dep_cuts *c, const void *data, size_t size)
{
	const char *at = data;
	size_t n;
	int err;

	for (; size && (n = dep_desc_next(at, size)); at += n, size -= n) {
		const struct adept_desc *h = (const struct adept_desc *)at;

		if (h->type != ADEPT_DESC_FRAGMENT || dep_desc_check(h))
			continue;
		err = add(c, (const struct adept_desc_frag *)h);
		if (err)
			return err;
	}
	return 0;
}

bool dep_chunk_end_by_engine(const struct dep_crossing *x)
{
	return x->fault_at - x->record_at == ADEPT_CHUNK_END_AT;
}

/* The chunk ended at the store of the exit's id, which is the last store of a record. */
static void at_id(const struct cut *k, const struct adept_exit *e, const struct dep_crossing *x,
		  struct dep_chunk_end *out)
{
	u32 insn = e->at_id & ADEPT_XT_BEFORE ? e->ninsns - 1u : e->ninsns;

	if (e->at_id & ADEPT_XT_PUSHED)
		out->regs[X86_RSP] += 8;
	if (e->at_id & ADEPT_XT_RCX)
		out->regs[X86_RCX] = x->words[ADEPT_GS_RCX];
	if (e->at_id & ADEPT_XT_RDX)
		out->regs[X86_RDX] = x->words[ADEPT_GS_RDX];
	out->have = 4;
	if (insn)
		out->tail = out->head = (struct adept_position){
			.frag = k->first_exit, .insn = (u16)insn,
		};
}

/* The chunk ended at store number @n of the fragment, whose value did not fit. */
static void at_store(const struct cut *k, u32 n, u32 have, const struct dep_crossing *x,
		     struct dep_chunk_end *out)
{
	const struct adept_store *st = &k->store[n];

	u64 stored;

	if (st->held)
		out->regs[st->held - 1] = x->words[ADEPT_GS_SPILL];
	if (adept_store_is_timestamp(st)) {
		stored = out->regs[X86_RDX] << 32 | (u32)out->regs[X86_RAX];
		out->regs[X86_RAX] = x->words[ADEPT_GS_SPILL + 1];
		out->regs[X86_RDX] = x->words[ADEPT_GS_SPILL + 2];
	} else {
		stored = out->regs[st->arg & 15];
	}
	out->have = have;
	out->tail = (struct adept_position){
		.frag = k->first_exit, .insn = st->insn, .nvals = (u16)n,
	};
	out->head = out->tail;
	if (dep_store_is_post(st)) {
		out->tail.insn = out->head.insn = (u16)(st->insn + 1);
		out->tail.has_extra = 1;
		out->tail.extra = stored;
		out->head.nvals++;
	}
	/* No part of the record was in the chunk: it ended at a record boundary. */
	if (!out->tail.insn && !out->tail.nvals)
		out->tail.frag = out->head.frag = 0;
}

struct dep_begun dep_begun(const u8 *body)
{
	struct dep_begun b = { .id = __atomic_load_n((const u32 *)body, __ATOMIC_ACQUIRE) };
	struct adept_ev_partial p;

	if (b.id == ADEPT_EV_PARTIAL) {
		memcpy(&p, body + 4, sizeof(p));
		b.frag = p.frag;
		b.ninsns = p.ninsns;
	}
	return b;
}

/* Return: record @b's exit; for ADEPT_EV_PARTIAL, the one that would have been taken, or NULL. */
static const struct adept_exit *exit_of(const struct cut *k, const struct dep_begun *b)
{
	u32 i;

	if (b->id != ADEPT_EV_PARTIAL)
		return &k->exit[b->id - k->first_exit];
	for (i = 0; i < k->nexits; i++)
		if (k->exit[i].at_id & ADEPT_XT_BEFORE && k->exit[i].ninsns == b->ninsns + 1u)
			return &k->exit[i];
	return NULL;
}

bool dep_chunk_end(const struct dep_cuts *c, const struct dep_crossing *x,
		   const struct dep_begun *b, struct dep_chunk_end *out)
{
	u32 off = x->fault_at - x->record_at, at = 4, n, nstores, bytes;
	const struct adept_exit *e;
	const struct cut *k;

	memset(out, 0, sizeof(*out));
	memcpy(out->regs, x->regs, sizeof(out->regs));
	out->regs[X86_R15] = x->words[ADEPT_GS_R15];
	out->gs_base = x->words[ADEPT_GS_GSBASE];
	if (!x->valid)
		return false;
	if (dep_chunk_end_by_engine(x)) {
		out->regs[X86_RSP] = x->words[ADEPT_GS_RSP];
		return true;
	}
	k = find(c, b->id == ADEPT_EV_PARTIAL ? b->frag : b->id);
	if (!k)
		return false;
	e = exit_of(k, b);
	if (off < 4) {
		if (e)
			at_id(k, e, x, out);
		return e;
	}
	nstores = b->id == ADEPT_EV_PARTIAL ? k->nstores : e->nstores;
	for (n = 0; n < nstores; n++, at += bytes) {
		bytes = adept_store_bytes(&k->store[n]);
		if (off < at + bytes) {
			at_store(k, n, at, x, out);
			return true;
		}
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of a chunk of the kernel module, at every byte of every record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/collect/chunk_end.h"
#include "libdep/format/codec/descriptor.h"
#include "tests/unit/lib/stream.h"

#define NONE	((u32)-1)

static struct stream s;
static struct dep_cuts *cuts;

static int make(void **state)
{
	(void)state;
	stream_init(&s, 11);
	stream_standard(&s);
	cuts = dep_cuts_new();
	return !cuts || dep_cuts_add(cuts, s.desc, s.desc_size);
}

static int unmake(void **state)
{
	(void)state;
	dep_cuts_free(cuts);
	stream_free(&s);
	return 0;
}

/* A chunk end at byte @off of a record; each register has a recognisable value. */
static struct dep_crossing crossing(u32 off)
{
	struct dep_crossing x = { .record_at = 1000, .fault_at = 1000 + off, .valid = true };
	u32 i;

	for (i = 0; i < 16; i++)
		x.regs[i] = 100 + i;
	for (i = 0; i < 8; i++)
		x.words[i] = 200 + i;
	return x;
}

/* Which store writes byte @off of a record that ends with @exit; NONE beyond them. */
static u32 store_at(const struct stream_frag *f, const struct adept_exit *exit, u32 off, u32 *begin)
{
	u32 n, at = 4;

	for (n = 0; n < exit->nstores; n++) {
		*begin = at;
		at += adept_store_bytes(&f->store[n]);
		if (off < at)
			return n;
	}
	return NONE;
}

static bool by_id(const struct dep_crossing *x, u32 id, struct dep_chunk_end *out)
{
	return dep_chunk_end(cuts, x, &(struct dep_begun){ .id = id }, out);
}

static void check_at(const struct stream_frag *f, u32 e, u32 off)
{
	const struct dep_crossing x = crossing(off);
	const struct adept_exit *exit = &f->exit[e];
	u32 begin = 4, n = off < 4 ? NONE : store_at(f, exit, off, &begin);
	const struct adept_store *st = n == NONE ? NULL : &f->store[n];
	bool post = st && dep_store_is_post(st);
	struct dep_chunk_end out;

	if (off >= 4 && !st) {
		assert_false(by_id(&x, f->id + e, &out));
		return;
	}
	assert_true(by_id(&x, f->id + e, &out));
	assert_int_equal(out.have, begin);
	assert_int_equal(out.regs[X86_RAX], 100);
	assert_int_equal(out.regs[X86_R15], 200 + ADEPT_GS_R15);
	assert_int_equal(out.gs_base, 200 + ADEPT_GS_GSBASE);
	if (!st) {
		assert_int_equal(out.tail.insn, exit->ninsns);
		assert_int_equal(out.head.insn, exit->ninsns);
		assert_int_equal(out.tail.frag, exit->ninsns ? f->id : 0);
		return;
	}
	assert_int_equal(out.tail.insn, st->insn + post);
	assert_int_equal(out.tail.nvals, n);
	assert_int_equal(out.head.insn, out.tail.insn);
	/* The value of that store must be known from the registers. */
	assert_int_equal(out.head.nvals, n + post);
	assert_int_equal(out.tail.has_extra, post);
	if (post)
		assert_int_equal(out.tail.extra, out.regs[st->arg & 15]);
	assert_int_equal(out.tail.frag, n || out.tail.insn ? f->id : 0);
}

static void test_everywhere(void **state)
{
	u32 i, e, off, end, n, places = 0;

	(void)state;
	for (i = 0; i < s.nfrags; i++)
		for (e = 0; e < s.frag[i].nexits; e++) {
			for (end = 4, n = 0; n < s.frag[i].exit[e].nstores; n++)
				end += adept_store_bytes(&s.frag[i].store[n]);
			for (off = 0; off < end + 8; off++, places++)
				check_at(&s.frag[i], e, off);
		}
	assert_true(places > 1000);
}

/* Copy the descriptor of fragment @i to separate memory. */
static struct adept_desc_frag *copy(u32 i)
{
	const u8 *at = s.desc;
	struct adept_desc_frag *d;

	while (((const struct adept_desc_frag *)at)->first_exit != s.frag[i].id)
		at += ((const struct adept_desc *)at)->size;
	d = malloc(((const struct adept_desc *)at)->size);
	memcpy(d, at, ((const struct adept_desc *)at)->size);
	d->first_exit += 1u << 20;
	return d;
}

/* Registers that are saved elsewhere at the moment of a store. */
static void test_saved(void **state)
{
	struct dep_crossing x = crossing(4);
	struct adept_desc_frag *d;
	struct dep_chunk_end out;
	u32 i, flags;

	(void)state;
	for (i = 0; !s.frag[i].nstores || dep_store_is_post(&s.frag[i].store[0]); i++)
		;
	d = copy(i);
	((struct adept_store *)dep_desc_stores(d))->held = X86_RSI + 1;
	assert_int_equal(dep_cuts_add(cuts, d, d->h.size), 0);
	assert_true(by_id(&x, d->first_exit, &out));
	assert_int_equal(out.regs[X86_RSI], 200 + ADEPT_GS_SPILL);
	assert_int_equal(out.regs[X86_RDI], 100 + X86_RDI);
	free(d);

	for (flags = 0; flags <= ADEPT_XT_ALL; flags++) {
		x = crossing(3);
		d = copy(i);
		d->first_exit += (1 + flags) << 16;
		((struct adept_exit *)dep_desc_exits(d))->at_id = (u8)flags;
		assert_int_equal(dep_cuts_add(cuts, d, d->h.size), 0);
		assert_true(by_id(&x, d->first_exit, &out));
		assert_int_equal(out.head.insn, s.frag[i].exit[0].ninsns -
				 !!(flags & ADEPT_XT_BEFORE));
		assert_int_equal(out.regs[X86_RSP],
				 100 + X86_RSP + (flags & ADEPT_XT_PUSHED ? 8 : 0));
		assert_int_equal(out.regs[X86_RCX], flags & ADEPT_XT_RCX ?
				 200 + ADEPT_GS_RCX : 100 + X86_RCX);
		assert_int_equal(out.regs[X86_RDX], flags & ADEPT_XT_RDX ?
				 200 + ADEPT_GS_RDX : 100 + X86_RDX);
		free(d);
	}
}

static void check_same(const struct dep_chunk_end *a, const struct dep_chunk_end *b)
{
	assert_memory_equal(&a->tail, &b->tail, sizeof(a->tail));
	assert_memory_equal(&a->head, &b->head, sizeof(a->head));
	assert_memory_equal(a->regs, b->regs, sizeof(a->regs));
	assert_int_equal(a->have, b->have);
}

/* The thread has left the fragment in the meantime, and the next id says by which exit. */
static void test_left(void **state)
{
	struct dep_begun left = { .id = ADEPT_EV_PARTIAL };
	struct dep_crossing x;
	struct dep_chunk_end out, want;
	const struct stream_frag *f;
	struct adept_desc_frag *d;
	u32 i, off, places = 0;

	(void)state;
	for (i = 0; i < s.nfrags; i++) {
		f = &s.frag[i];
		left.frag = f->id;
		for (off = 4; off < 2000; off++) {
			x = crossing(off);
			if (!by_id(&x, f->id + f->nexits - 1, &want))
				break;
			assert_true(dep_chunk_end(cuts, &x, &left, &out));
			check_same(&out, &want);
			places++;
		}
	}
	assert_true(places > 100);
	/* The id's own store ends a chunk only if it comes before the last instruction. */
	x = crossing(0);
	left.frag = s.frag[0].id;
	left.ninsns = (u16)(s.frag[0].exit[0].ninsns - 1);
	assert_false(dep_chunk_end(cuts, &x, &left, &out));
	d = copy(0);
	d->first_exit += 1u << 25;
	((struct adept_exit *)dep_desc_exits(d))->at_id = ADEPT_XT_BEFORE | ADEPT_XT_PUSHED;
	assert_int_equal(dep_cuts_add(cuts, d, d->h.size), 0);
	left.frag = d->first_exit;
	assert_true(dep_chunk_end(cuts, &x, &left, &out));
	assert_int_equal(out.head.insn, left.ninsns);
	assert_int_equal(out.regs[X86_RSP], 100 + X86_RSP + 8);
	free(d);
	left.frag = 0;
	assert_false(dep_chunk_end(cuts, &x, &left, &out));
	left.frag = ~0u;
	assert_false(dep_chunk_end(cuts, &x, &left, &out));
}

static void test_engine(void **state)
{
	struct dep_crossing x = crossing(ADEPT_CHUNK_END_AT);
	struct dep_chunk_end out;

	(void)state;
	assert_true(dep_chunk_end_by_engine(&x));
	/* For any next record. */
	assert_true(by_id(&x, 0, &out));
	assert_int_equal(out.tail.frag, 0);
	assert_int_equal(out.regs[X86_RSP], 200 + ADEPT_GS_RSP);
	x = crossing(ADEPT_MAX_RECORD);
	assert_false(dep_chunk_end_by_engine(&x));
}

static void test_impossible(void **state)
{
	static const u32 ids[] = { 0, 1, ADEPT_FIRST_EXIT - 1, 0x0fffffff, 0x10000000, ~0u };
	struct dep_crossing x = crossing(0);
	struct dep_chunk_end out;
	u32 i;

	(void)state;
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_false(by_id(&x, ids[i], &out));
	x.fault_at = x.record_at - 1;
	assert_false(by_id(&x, s.frag[0].id, &out));
	x = crossing(0);
	x.valid = false;
	assert_false(by_id(&x, s.frag[0].id, &out));
}

/* Descriptors come from the recorded process and may have any content. */
static void test_hostile(void **state)
{
	struct dep_crossing x;
	struct dep_chunk_end out;
	struct dep_cuts *c;
	u8 *desc = malloc(s.desc_size);
	u32 i, k, id;

	(void)state;
	for (i = 0; i < 3000; i++) {
		memcpy(desc, s.desc, s.desc_size);
		for (k = 0; k < 1 + i % 4; k++)
			desc[stream_random(&s) % s.desc_size] = (u8)stream_random(&s);
		c = dep_cuts_new();
		assert_non_null(c);
		dep_cuts_add(c, desc, stream_random(&s) % 4 ? s.desc_size :
			     stream_random(&s) % s.desc_size);
		for (id = s.frag[0].id; id < s.next_id; id++) {
			x = crossing((u32)stream_random(&s) % 200);
			dep_chunk_end(c, &x, &(struct dep_begun){ .id = id }, &out);
			dep_chunk_end(c, &x, &(struct dep_begun){
				.id = ADEPT_EV_PARTIAL, .frag = id, .ninsns = (u16)(i % 8),
			}, &out);
		}
		dep_cuts_free(c);
	}
	free(desc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}

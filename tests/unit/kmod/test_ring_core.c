// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel module's rings: arithmetic, states, and random walks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kmod/ring_core.h"

#define KIB	1024u
#define MIB	(1024u * KIB)

static void abi_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct adept_version), 16);
	assert_int_equal(sizeof(struct adept_session_create), 128);
	assert_int_equal(sizeof(struct adept_session_info), 216);
	assert_int_equal(sizeof(struct adept_session_list), 32);
	assert_int_equal(sizeof(struct adept_session_adopt), 16);
	assert_int_equal(sizeof(struct adept_context), 256);
	assert_int_equal(sizeof(struct adept_chunk_info), 640);
	assert_int_equal(sizeof(struct adept_desc), 40);
	assert_int_equal(sizeof(struct adept_give), 16);
	assert_int_equal(sizeof(struct adept_exchange), 56);
	assert_int_equal(sizeof(struct adept_uring_cmd), 16);
	assert_int_equal(sizeof(struct adept_slot_cmd), 16);
	assert_int_equal(sizeof(struct adept_ring_info), 72);
	assert_int_equal(sizeof(struct adept_set_policy), 8);
	assert_int_equal(sizeof(struct adept_stats), 192);
}

static void geometry(void **state)
{
	static const struct { __u32 size, nchunks, nslots; int ret; } t[] = {
		{ 64 * KIB, 2, 1, 0 },
		{ 64 * KIB + 4096, 3, 5, 0 },
		{ 64 * MIB, 16, 4096, 0 },
		{ 64 * KIB - 4096, 2, 1, -EINVAL },
		{ 64 * KIB + 1, 2, 1, -EINVAL },
		{ 64 * MIB + 4096, 2, 1, -EINVAL },
		{ 0, 2, 1, -EINVAL },
		{ 0xfffff000, 2, 1, -EINVAL },
		{ MIB, 1, 1, -EINVAL },
		{ MIB, 0, 1, -EINVAL },
		{ MIB, 17, 1, -EINVAL },
		{ MIB, 0xffffffff, 1, -EINVAL },
		{ MIB, 4, 0, -EINVAL },
		{ MIB, 4, 4097, -EINVAL },
	};
	struct adept_geo g;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(adept_geo_init(&g, t[i].size, t[i].nchunks, t[i].nslots),
				 t[i].ret);
		if (t[i].ret)
			continue;
		assert_int_equal(g.chunk_stride, t[i].size + 65536ull);
		assert_int_equal(g.slot_stride, g.chunk_stride * t[i].nchunks);
		assert_int_equal(g.area_size, g.slot_stride * t[i].nslots);
		assert_int_equal(g.info_stride % 4096, 0);
		assert_true(g.info_stride >= t[i].nchunks * sizeof(struct adept_chunk_info));
		assert_true(g.info_stride < t[i].nchunks * sizeof(struct adept_chunk_info) + 4096);
		assert_int_equal(adept_geo_ring_bytes(&g), (__u64)t[i].size * t[i].nchunks);
		/* The data and info areas lie above, see kmod/adept.h. */
		assert_true(g.area_size < 1ull << 44);
	}
}

static void places(void **state)
{
	struct adept_geo g;
	struct adept_place p;
	__u32 s, c;

	(void)state;
	assert_int_equal(adept_geo_init(&g, 68 * KIB, 3, 4), 0);
	for (s = 0; s < 4; s++) {
		for (c = 0; c < 3; c++) {
			__u64 base = adept_geo_chunk(&g, s, c), off;

			for (off = 0; off < g.chunk_stride; off += 1021) {
				assert_true(adept_geo_place(&g, base + off, &p));
				assert_int_equal(p.slot, s);
				assert_int_equal(p.chunk, c);
				assert_int_equal(p.off, off);
			}
		}
	}
	assert_true(adept_geo_place(&g, g.area_size - 1, &p));
	assert_int_equal(p.off, g.chunk_stride - 1);
	assert_false(adept_geo_place(&g, g.area_size, &p));
	assert_false(adept_geo_place(&g, ~0ull, &p));
}

static void hits(void **state)
{
	struct adept_geo g;
	struct adept_hit h;
	__u64 base, end;

	(void)state;
	assert_int_equal(adept_geo_init(&g, 64 * KIB, 4, 8), 0);
	base = adept_geo_chunk(&g, 5, 2);
	end = base + g.chunk_size;
	/* good ones */
	assert_true(adept_geo_hit(&g, 5, 2, end, end, &h));
	assert_int_equal(h.record_at, g.chunk_size);
	assert_int_equal(h.fault_at, g.chunk_size);
	assert_true(adept_geo_hit(&g, 5, 2, end + 3839, end, &h));
	assert_true(adept_geo_hit(&g, 5, 2, end, end - 3839, &h));
	assert_int_equal(h.record_at, g.chunk_size - 3839);
	assert_true(adept_geo_hit(&g, 5, 2, end + 20, end - 100, &h));
	assert_int_equal(h.fault_at, g.chunk_size + 20);
	/* too far after r15 */
	assert_false(adept_geo_hit(&g, 5, 2, end + 3840, end, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, end - 3840, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, end - 3841, &h));
	/* r15 elsewhere */
	assert_false(adept_geo_hit(&g, 5, 2, end + 8, end + 1, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, base - 1, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, 0, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, ~0ull, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end, 1ull << 63, &h));
	/* another gap, or none */
	assert_false(adept_geo_hit(&g, 5, 2, end - 1, end - 100, &h));
	assert_false(adept_geo_hit(&g, 5, 1, end, end, &h));
	assert_false(adept_geo_hit(&g, 4, 2, end, end, &h));
	assert_false(adept_geo_hit(&g, 5, 2, end + 65536, end, &h));
	assert_false(adept_geo_hit(&g, 5, 2, 0, end, &h));
	assert_false(adept_geo_hit(&g, 5, 2, ~0ull, end, &h));
}

static void consumers(void **state)
{
	const __u64 t = 5000000000ull;

	(void)state;
	assert_int_equal(adept_consumer_state(true, false, t, 0, 0), ADEPT_CONSUMER_THERE);
	assert_int_equal(adept_consumer_state(false, false, t, t, 0), ADEPT_CONSUMER_GONE);
	assert_int_equal(adept_consumer_state(false, false, t, t, 1), ADEPT_CONSUMER_AWAITED);
	assert_int_equal(adept_consumer_state(false, false, t + 999999, t, 1),
			 ADEPT_CONSUMER_AWAITED);
	assert_int_equal(adept_consumer_state(false, false, t + 1000000, t, 1),
			 ADEPT_CONSUMER_GONE);
	assert_int_equal(adept_consumer_state(false, true, t, t, 1), ADEPT_CONSUMER_GONE);
	assert_int_equal(adept_consumer_state(false, false, t, t, 0xffffffff),
			 ADEPT_CONSUMER_AWAITED);
}

static void steps(void **state)
{
	struct adept_core c;
	__u32 cause = 0;

	(void)state;
	adept_core_start(&c, 2);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_GONE, &cause),
			 ADEPT_STEP_ADVANCE);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DISCARD, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_ANEW);
	assert_int_equal(cause, ADEPT_LOSS_DISCARD);
	assert_int_equal(adept_core_advance(&c), 0);
	/* chunk 0 is FILLED, 1 FILLING */
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_WAIT);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_AWAITED, &cause),
			 ADEPT_STEP_WAIT);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_GONE, &cause),
			 ADEPT_STEP_OUST);
	assert_int_equal(cause, ADEPT_LOSS_NO_CONSUMER);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_OUST);
	assert_int_equal(cause, ADEPT_LOSS_FULL);
	assert_int_equal(adept_core_oldest(&c), 0);
	adept_core_take(&c, 0);
	assert_int_equal(adept_core_oldest(&c), -ENOENT);
	/* all but the writer's own are taken */
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_ANEW);
	assert_int_equal(cause, ADEPT_LOSS_FULL);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_GONE, &cause),
			 ADEPT_STEP_ANEW);
	assert_int_equal(cause, ADEPT_LOSS_NO_CONSUMER);
	adept_core_anew(&c, 4711);
	assert_int_equal(c.seq[1], 2);
	assert_int_equal(c.lost_bytes, 4711);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_WAIT);
	assert_int_equal(adept_core_give(&c, 1), -EINVAL);
	assert_int_equal(adept_core_give(&c, 2), -EINVAL);
	assert_int_equal(adept_core_give(&c, 0), 0);
	assert_int_equal(adept_core_give(&c, 0), -EINVAL);
	/* not yet: it is being zeroed */
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_WAIT);
	assert_int_equal(adept_core_unread(&c), 1);
	adept_core_cleaned(&c, 0);
	assert_int_equal(adept_core_unread(&c), 0);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_ADVANCE);
	assert_true(adept_core_end(&c, ADEPT_RING_ENDED));
	assert_int_equal(c.flags[1], ADEPT_CHUNK_LAST | ADEPT_CHUNK_UNFINISHED);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_ENDED);
	assert_false(adept_core_end(&c, ADEPT_RING_DEAD));
	assert_int_equal(c.state, ADEPT_RING_DEAD);
	assert_false(adept_core_end(&c, ADEPT_RING_ENDED));
	assert_int_equal(c.state, ADEPT_RING_DEAD);
	assert_int_equal(adept_core_oldest(&c), 1);
	assert_int_equal(c.filled, 1);
}

static void advance(struct adept_core *c, __u32 n)
{
	while (n--)
		adept_core_advance(c);
}

/* A writer that drops loses the oldest chunk that is not taken, wherever it is. */
static void oldest_goes(void **state)
{
	struct adept_core c;
	__u32 cause;

	(void)state;
	adept_core_start(&c, 4);
	advance(&c, 3);
	adept_core_take(&c, 0);
	/* 0 is TAKEN, 1 and 2 are FILLED, 3 is FILLING */
	assert_int_equal(adept_core_free(&c), -ENOENT);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_OUST);
	assert_int_equal(adept_core_oldest(&c), 1);
	adept_core_oust(&c, 1, 500);
	assert_int_equal(c.filled, 1);
	assert_int_equal(c.lost_chunks, 1);
	assert_int_equal(c.lost_bytes, 500);
	/* it is the writer's chunk and cannot be returned or taken */
	assert_int_equal(adept_core_give(&c, 1), -EINVAL);
	assert_int_equal(adept_core_oldest(&c), 2);
	adept_core_cleaned(&c, 1);
	assert_int_equal(adept_core_unread(&c), 2);
	assert_int_equal(adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause),
			 ADEPT_STEP_ADVANCE);
	assert_int_equal(adept_core_advance(&c), 3);
	assert_int_equal(c.cur, 1);
	assert_int_equal(c.seq[1], 4);
	/* Returned after its successor in the ring: the sequence numbers give the order. */
	assert_int_equal(adept_core_give(&c, 0), 0);
	adept_core_cleaned(&c, 0);
	assert_int_equal(adept_core_advance(&c), 1);
	assert_int_equal(c.cur, 0);
	assert_int_equal(adept_core_oldest(&c), 2);
	adept_core_take(&c, 2);
	assert_int_equal(adept_core_oldest(&c), 3);
	adept_core_take(&c, 3);
	assert_int_equal(adept_core_oldest(&c), 1);
}

/* The expected state in the random walk below. */
struct model {
	struct adept_core c;
	__u64 written;		/* chunks that the writer has filled or dropped */
	__u64 next;		/* seq that the consumer gets next, unless it is lost */
	__u64 gaps;		/* skipped sequence numbers */
	__u64 again_lost;	/* sequence numbers that were lost before a repeated delivery */
	__u64 held[ADEPT_CHUNKS_MAX];
	__u32 nheld;
};

static void check(const struct model *m)
{
	__u32 i, count[5] = { 0 };

	for (i = 0; i < m->c.nchunks; i++)
		count[m->c.chunk[i]]++;
	assert_int_equal(count[ADEPT_C_FILLING], m->c.state == ADEPT_RING_LIVE);
	assert_int_equal(count[ADEPT_C_FILLED], m->c.filled);
	assert_int_equal(count[ADEPT_C_TAKEN] + count[ADEPT_C_CLEANING], m->c.taken);
	assert_int_equal(count[ADEPT_C_TAKEN], m->nheld);
	assert_int_equal(m->c.next_seq, m->written + 1);
}

static void write_chunk(struct model *m, __u32 policy, enum adept_consumer consumer)
{
	__u32 cause = 0, cur = m->c.cur;
	__u64 seq = m->c.seq[cur];
	int i;

	switch (adept_core_step(&m->c, policy, consumer, &cause)) {
	case ADEPT_STEP_ADVANCE:
		assert_int_equal(adept_core_advance(&m->c), cur);
		assert_int_equal(m->c.seq[cur], seq);
		m->written++;
		break;
	case ADEPT_STEP_OUST:
		assert_int_not_equal(policy, ADEPT_POLICY_DISCARD);
		assert_true(policy != ADEPT_POLICY_WAIT || consumer == ADEPT_CONSUMER_GONE);
		i = adept_core_oldest(&m->c);
		assert_in_range(i, 0, m->c.nchunks - 1);
		/* A new consumer does not get it again. */
		m->again_lost += !!(m->c.flags[i] & ADEPT_CHUNK_AGAIN);
		adept_core_oust(&m->c, i, 1000);
		adept_core_cleaned(&m->c, i);
		assert_int_equal(adept_core_free(&m->c), i);
		break;
	case ADEPT_STEP_ANEW:
		assert_true(policy != ADEPT_POLICY_WAIT || consumer == ADEPT_CONSUMER_GONE);
		assert_true(policy == ADEPT_POLICY_DISCARD || !m->c.filled);
		adept_core_anew(&m->c, 1000);
		assert_int_equal(m->c.cur, cur);
		m->written++;
		break;
	case ADEPT_STEP_WAIT:
		assert_int_equal(policy, ADEPT_POLICY_WAIT);
		assert_int_equal(m->c.filled + m->c.taken, m->c.nchunks - 1);
		break;
	case ADEPT_STEP_ENDED:
		assert_int_not_equal(m->c.state, ADEPT_RING_LIVE);
		break;
	}
}

static void take_chunk(struct model *m)
{
	int i = adept_core_oldest(&m->c);
	__u64 seq;

	if (i < 0) {
		assert_int_equal(m->c.filled, 0);
		return;
	}
	seq = m->c.seq[i];
	adept_core_take(&m->c, i);
	if (rand() % 16 == 0) {
		adept_core_untake(&m->c, i);
		return;
	}
	m->held[m->nheld++] = seq;
	if (m->c.flags[i] & ADEPT_CHUNK_AGAIN) {
		assert_true(seq < m->next);
	} else {
		assert_true(seq >= m->next);
		m->gaps += seq - m->next;
		m->next = seq + 1;
	}
}

/* Return chunks in any order, sometimes one that does not exist. */
static void give_chunk(struct model *m)
{
	__u32 k;
	int i;

	assert_int_equal(adept_core_give(&m->c, m->c.next_seq + rand() % 3), -EINVAL);
	if (!m->nheld)
		return;
	k = rand() % m->nheld;
	i = adept_core_give(&m->c, m->held[k]);
	assert_in_range(i, 0, m->c.nchunks - 1);
	assert_int_equal(m->c.seq[i], m->held[k]);
	m->held[k] = m->held[--m->nheld];
	check(m);
	adept_core_cleaned(&m->c, i);
}

static void adopt(struct model *m)
{
	assert_int_equal(adept_core_redeliver(&m->c), m->nheld);
	m->nheld = 0;
}

static void walk(__u32 nchunks, __u32 policy, enum adept_consumer consumer)
{
	struct model m = { 0 };
	__u32 n;

	adept_core_start(&m.c, nchunks);
	for (n = 0; n < 3000; n++) {
		switch (rand() % 16) {
		case 0 ... 5:
			write_chunk(&m, policy, consumer);
			break;
		case 6 ... 9:
			take_chunk(&m);
			break;
		case 10 ... 14:
			give_chunk(&m);
			break;
		default:
			if (rand() % 8 == 0)
				adopt(&m);
		}
		check(&m);
	}
	assert_true(adept_core_end(&m.c, rand() % 2 ? ADEPT_RING_ENDED : ADEPT_RING_DEAD));
	/* The last chunk counts as written in next_seq, but not in the model. */
	while (m.c.filled || m.nheld) {
		take_chunk(&m);
		give_chunk(&m);
	}
	assert_int_equal(adept_core_unread(&m.c), 0);
	assert_int_equal(m.next, m.c.next_seq);
	assert_int_equal(m.gaps + m.again_lost, m.c.lost_chunks);
	assert_int_equal(m.c.lost_bytes, 1000 * m.c.lost_chunks);
	if (policy == ADEPT_POLICY_WAIT && consumer == ADEPT_CONSUMER_THERE)
		assert_int_equal(m.gaps, 0);
	if (policy == ADEPT_POLICY_DISCARD)
		assert_int_equal(m.gaps, m.written);
}

static void walks(void **state)
{
	const char *seed = getenv("ADEPT_TEST_SEED");
	__u32 nchunks, i;

	(void)state;
	srand(seed ? (unsigned int)strtoul(seed, NULL, 0) : 20261121);
	for (nchunks = 2; nchunks <= ADEPT_CHUNKS_MAX; nchunks++) {
		for (i = 0; i < 10; i++) {
			walk(nchunks, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_THERE);
			walk(nchunks, ADEPT_POLICY_WAIT, ADEPT_CONSUMER_GONE);
			walk(nchunks, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE);
			walk(nchunks, ADEPT_POLICY_DISCARD, ADEPT_CONSUMER_THERE);
		}
	}
}

/* A writer that drops, with two chunks, keeps the newest one. */
static void two_chunks_recover(void **state)
{
	struct adept_core c;
	__u32 cause, i, n = 0;

	(void)state;
	adept_core_start(&c, 2);
	for (i = 0; i < 100; i++) {
		if (adept_core_step(&c, ADEPT_POLICY_DROP, ADEPT_CONSUMER_THERE, &cause) ==
		    ADEPT_STEP_OUST) {
			adept_core_oust(&c, !c.cur, 1);
			adept_core_cleaned(&c, !c.cur);
		}
		adept_core_advance(&c);
		assert_int_equal(c.seq[!c.cur], i);
		if (i % 3 == 2) {
			int k = adept_core_oldest(&c);

			adept_core_take(&c, k);
			adept_core_cleaned(&c, adept_core_give(&c, c.seq[k]));
			n++;
		}
	}
	assert_int_equal(n, 33);
	assert_int_equal(c.lost_chunks, 66);
	assert_int_equal(c.filled, 1);
}

static void quota(void **state)
{
	__u64 used = 10;

	(void)state;
	assert_true(adept_quota_add(&used, 100, 90));
	assert_int_equal(used, 100);
	assert_false(adept_quota_add(&used, 100, 1));
	assert_true(adept_quota_add(&used, 100, 0));
	assert_false(adept_quota_add(&used, 50, 0));
	assert_false(adept_quota_add(&used, ~0ull, ~0ull));
	assert_int_equal(used, 100);
	assert_true(adept_quota_add(&used, ~0ull, ~0ull - 100));
	assert_false(adept_quota_add(&used, ~0ull, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abi_sizes),
		cmocka_unit_test(geometry),
		cmocka_unit_test(places),
		cmocka_unit_test(hits),
		cmocka_unit_test(consumers),
		cmocka_unit_test(steps),
		cmocka_unit_test(oldest_goes),
		cmocka_unit_test(walks),
		cmocka_unit_test(two_chunks_recover),
		cmocka_unit_test(quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

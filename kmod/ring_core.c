// SPDX-License-Identifier: GPL-2.0-only
#include "ring_core.h"

int adept_geo_init(struct adept_geo *g, __u32 chunk_size, __u32 nchunks, __u32 nslots)
{
	__u64 info = (__u64)nchunks * sizeof(struct adept_chunk_info);

	if (chunk_size < ADEPT_CHUNK_SIZE_MIN || chunk_size > ADEPT_CHUNK_SIZE_MAX ||
	    chunk_size % ADEPT_CORE_PAGE || nchunks < ADEPT_CHUNKS_MIN ||
	    nchunks > ADEPT_CHUNKS_MAX || !nslots || nslots > ADEPT_SLOTS_MAX)
		return -EINVAL;
	g->chunk_size = chunk_size;
	g->nchunks = nchunks;
	g->nslots = nslots;
	g->chunk_stride = (__u64)chunk_size + ADEPT_RING_GAP;
	g->slot_stride = nchunks * g->chunk_stride;
	g->area_size = nslots * g->slot_stride;
	g->info_stride = (info + ADEPT_CORE_PAGE - 1) / ADEPT_CORE_PAGE * ADEPT_CORE_PAGE;
	g->info_size = nslots * g->info_stride;
	return 0;
}

bool adept_geo_place(const struct adept_geo *g, __u64 off, struct adept_place *p)
{
	if (off >= g->area_size)
		return false;
	p->slot = off / g->slot_stride;
	off %= g->slot_stride;
	p->chunk = off / g->chunk_stride;
	p->off = off % g->chunk_stride;
	return true;
}

bool adept_geo_hit(const struct adept_geo *g, __u32 slot, __u32 cur, __u64 fault, __u64 r15,
		   struct adept_hit *h)
{
	__u64 base = adept_geo_chunk(g, slot, cur);
	__u64 fault_at = fault - base, record_at = r15 - base;

	/* If @fault or @r15 is below base, the difference wraps to a large number: rejected. */
	if (fault_at < g->chunk_size || fault_at >= g->chunk_stride ||
	    record_at > g->chunk_size || record_at < g->chunk_size - ADEPT_RING_RECORD_MAX ||
	    fault_at - record_at >= ADEPT_RING_RECORD_MAX)
		return false;
	h->record_at = record_at;
	h->fault_at = fault_at;
	return true;
}

enum adept_consumer adept_consumer_state(bool there, bool given_up, __u64 now, __u64 since,
					 __u32 wait_ms)
{
	if (there)
		return ADEPT_CONSUMER_THERE;
	if (given_up || now - since >= wait_ms * 1000000ull)
		return ADEPT_CONSUMER_GONE;
	return ADEPT_CONSUMER_AWAITED;
}

static void begin(struct adept_core *c, __u32 i)
{
	c->cur = i;
	c->chunk[i] = ADEPT_C_FILLING;
	c->flags[i] = 0;
	c->seq[i] = c->next_seq++;
}

void adept_core_start(struct adept_core *c, __u32 nchunks)
{
	*c = (struct adept_core){ .state = ADEPT_RING_LIVE, .nchunks = nchunks };
	begin(c, 0);
}

int adept_core_free(const struct adept_core *c)
{
	__u32 n, i = c->cur;

	for (n = 1; n < c->nchunks; n++) {
		i = i + 1 == c->nchunks ? 0 : i + 1;
		if (c->chunk[i] == ADEPT_C_FREE)
			return i;
	}
	return -ENOENT;
}

enum adept_step adept_core_step(const struct adept_core *c, __u32 policy,
				enum adept_consumer consumer, __u32 *cause)
{
	if (c->state != ADEPT_RING_LIVE)
		return ADEPT_STEP_ENDED;
	*cause = ADEPT_LOSS_DISCARD;
	if (policy == ADEPT_POLICY_DISCARD)
		return ADEPT_STEP_ANEW;
	if (adept_core_free(c) >= 0)
		return ADEPT_STEP_ADVANCE;
	if (policy == ADEPT_POLICY_DROP)
		*cause = ADEPT_LOSS_FULL;
	else if (consumer == ADEPT_CONSUMER_GONE)
		*cause = ADEPT_LOSS_NO_CONSUMER;
	else
		return ADEPT_STEP_WAIT;
	/* If no chunk is FILLED, the consumer has all but the current one: drop the current one. */
	return c->filled ? ADEPT_STEP_OUST : ADEPT_STEP_ANEW;
}

__u32 adept_core_advance(struct adept_core *c)
{
	__u32 i = c->cur;

	c->chunk[i] = ADEPT_C_FILLED;
	c->filled++;
	begin(c, adept_core_free(c));
	return i;
}

void adept_core_oust(struct adept_core *c, __u32 i, __u64 bytes)
{
	c->lost_chunks++;
	c->lost_bytes += bytes;
	c->chunk[i] = ADEPT_C_CLEANING;
	c->filled--;
	c->taken++;
}

void adept_core_anew(struct adept_core *c, __u64 bytes)
{
	c->lost_chunks++;
	c->lost_bytes += bytes;
	c->seq[c->cur] = c->next_seq++;
}

bool adept_core_end(struct adept_core *c, __u32 state)
{
	bool last = c->state == ADEPT_RING_LIVE;

	if (c->state == ADEPT_RING_DEAD)
		return false;
	c->state = state;
	if (!last)
		return false;
	c->chunk[c->cur] = ADEPT_C_FILLED;
	c->flags[c->cur] = ADEPT_CHUNK_LAST | ADEPT_CHUNK_UNFINISHED |
			   (state == ADEPT_RING_DEAD ? ADEPT_CHUNK_DEAD : 0);
	c->filled++;
	return true;
}

int adept_core_oldest(const struct adept_core *c)
{
	int best = -ENOENT;
	__u32 i;

	for (i = 0; c->filled && i < c->nchunks; i++)
		if (c->chunk[i] == ADEPT_C_FILLED && (best < 0 || c->seq[i] < c->seq[best]))
			best = i;
	return best;
}

void adept_core_take(struct adept_core *c, __u32 i)
{
	c->chunk[i] = ADEPT_C_TAKEN;
	c->filled--;
	c->taken++;
}

void adept_core_untake(struct adept_core *c, __u32 i)
{
	c->chunk[i] = ADEPT_C_FILLED;
	c->filled++;
	c->taken--;
}

int adept_core_give(struct adept_core *c, __u64 seq)
{
	__u32 i;

	for (i = 0; i < c->nchunks; i++) {
		if (c->chunk[i] == ADEPT_C_TAKEN && c->seq[i] == seq) {
			c->chunk[i] = ADEPT_C_CLEANING;
			return i;
		}
	}
	return -EINVAL;
}

void adept_core_cleaned(struct adept_core *c, __u32 i)
{
	c->chunk[i] = ADEPT_C_FREE;
	c->taken--;
}

__u32 adept_core_redeliver(struct adept_core *c)
{
	__u32 i, n = 0;

	for (i = 0; i < c->nchunks; i++) {
		if (c->chunk[i] != ADEPT_C_TAKEN)
			continue;
		adept_core_untake(c, i);
		c->flags[i] |= ADEPT_CHUNK_AGAIN;
		n++;
	}
	return n;
}

bool adept_quota_add(__u64 *used, __u64 limit, __u64 n)
{
	if (*used > limit || n > limit - *used)
		return false;
	*used += n;
	return true;
}

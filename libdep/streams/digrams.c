// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The digram table: open addressing, with linear probing and removal by moving entries back.
 *
 * An entry is eight bytes.  Nodes are read only if the tag is equal, so a digram that is not in the
 * table costs one cache miss.  The hash has a random seed: a recording is hostile input, and
 * addresses that share a slot would make the table slow.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "digrams.h"

#define FIRST_BITS	10u
#define BITS_MAX	31u

static struct seq_slot *new_table(u32 bits)
{
	size_t size = seq_table_bytes(bits);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

int seq_digrams_init(struct sequitur *g)
{
	if (getrandom(g->seed, sizeof(g->seed), 0) != sizeof(g->seed))
		return -errno;
	g->bits = FIRST_BITS;
	g->slot = new_table(g->bits);
	return g->slot ? 0 : -ENOMEM;
}

static void enter(struct seq_slot *slot, u32 bits, struct seq_slot s)
{
	u32 mask = (1u << bits) - 1, i = s.tag >> (32 - bits);

	while (slot[i].node)
		i = (i + 1) & mask;
	slot[i] = s;
}

bool seq_digrams_enlarge(struct sequitur *g)
{
	struct seq_slot *to;
	u32 i;

	if (g->bits == BITS_MAX || seq_memory(g) + seq_table_bytes(g->bits + 1) > g->limit)
		return false;
	to = new_table(g->bits + 1);
	if (!to)
		return false;
	for (i = 0; i < 1u << g->bits; i++)
		if (g->slot[i].node)
			enter(to, g->bits + 1, g->slot[i]);
	munmap(g->slot, seq_table_bytes(g->bits));
	g->slot = to;
	g->bits++;
	return true;
}

void seq_digrams_flush(struct sequitur *g)
{
	u32 i;

	for (i = 0; i < SEQ_LATE; i++)
		seq_enter_late(g, i);
}

bool seq_digram_drop(struct sequitur *g, u32 a)
{
	u32 mask = (1u << g->bits) - 1, tag, i, j, home;

	i = seq_equal(g->late, a);
	if (i) {
		g->late[__builtin_ctz(i)] = 0;
		g->digrams--;
		return true;
	}
	/* Only the entry with this node counts, so that no other node need be read. */
	tag = seq_digram_tag(g, a);
	for (i = tag >> (32 - g->bits); g->slot[i].node != a; i = (i + 1) & mask)
		if (!g->slot[i].node)
			return false;
	for (j = (i + 1) & mask; g->slot[j].node; j = (j + 1) & mask) {
		home = g->slot[j].tag >> (32 - g->bits);
		if (((j - home) & mask) >= ((j - i) & mask)) {
			g->slot[i] = g->slot[j];
			i = j;
		}
	}
	g->slot[i].node = 0;
	g->digrams--;
	return true;
}

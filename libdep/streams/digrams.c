// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The digram table: a hash table whose buckets are cache lines.
 *
 * A digram is in its line, or in the first line behind it that had a free place.  One that goes
 * leaves a free place, which is filled from the lines behind if the line was full.  Nodes are read
 * only if the tag is equal, so a digram that is not in the table costs one cache miss.  The hash
 * has a random seed: a recording is hostile input, and addresses that share a line would make the
 * table slow.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "digrams.h"

#define FIRST_BITS	10u
#define BITS_MAX	31u

static struct seq_line *new_table(u32 bits)
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
	g->line = new_table(g->bits);
	return g->line ? 0 : -ENOMEM;
}

bool seq_digrams_enlarge(struct sequitur *g)
{
	u32 lines = (1u << g->bits) / SEQ_LINE, i, k;
	const struct seq_line *from;
	struct seq_line *to;

	if (g->bits == BITS_MAX || seq_memory(g) + seq_table_bytes(g->bits + 1) > g->limit)
		return false;
	to = new_table(g->bits + 1);
	if (!to)
		return false;
	for (i = 0; i < lines; i++) {
		from = &g->line[i];
		for (k = 0; k < SEQ_LINE; k++)
			if (from->node[k])
				seq_line_put(to, g->bits + 1, from->node[k], from->tag[k]);
	}
	munmap(g->line, seq_table_bytes(g->bits));
	g->line = to;
	g->bits++;
	return true;
}

void seq_digrams_flush(struct sequitur *g)
{
	u32 i;

	for (i = 0; i < SEQ_LINE; i++)
		seq_enter_late(g, i);
}

/* A digram in line @from that may be in line @to before it; SEQ_LINE if there is none. */
static u32 movable(const struct sequitur *g, u32 from, u32 to)
{
	u32 mask = (1u << g->bits) / SEQ_LINE - 1, k;

	for (k = 0; k < SEQ_LINE; k++)
		if (g->line[from].node[k] &&
		    ((from - seq_home(g->bits, g->line[from].tag[k])) & mask) >=
		    ((from - to) & mask))
			break;
	return k;
}

/* The line at @i was full, and has a free place now. */
static void fill(struct sequitur *g, u32 i, u32 place)
{
	u32 mask = (1u << g->bits) / SEQ_LINE - 1, j, k;
	struct seq_line *line;
	bool full;

	for (j = (i + 1) & mask, full = true; full && j != i; j = (j + 1) & mask) {
		line = &g->line[j];
		full = !seq_equal(line->node, 0);
		k = movable(g, j, i);
		if (k == SEQ_LINE)
			continue;
		g->line[i].node[place] = line->node[k];
		g->line[i].tag[place] = line->tag[k];
		line->node[k] = 0;
		i = j;
		place = k;
	}
}

bool seq_digram_drop(struct sequitur *g, u32 a)
{
	u32 mask = (1u << g->bits) / SEQ_LINE - 1, equal = seq_equal(g->late.node, a), i;
	bool full;

	if (equal) {
		g->late.node[__builtin_ctz(equal)] = 0;
		g->digrams--;
		return true;
	}
	/* Only the entry with this node counts, so that no other node need be read. */
	for (i = seq_home(g->bits, seq_digram_tag(g, a));; i = (i + 1) & mask) {
		equal = seq_equal(g->line[i].node, a);
		full = !seq_equal(g->line[i].node, 0);
		if (equal)
			break;
		if (!full)
			return false;
	}
	g->line[i].node[__builtin_ctz(equal)] = 0;
	g->digrams--;
	if (full)
		fill(g, i, (u32)__builtin_ctz(equal));
	return true;
}

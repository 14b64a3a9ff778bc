// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Fragments by application pc, their versions, and which of them come from a page.
 */
#include "frag.h"

struct lock frag_lock;

/* Versions per pc, the {rsp} one not counted. */
#define MAX_VERSIONS	6

static struct frag **buckets;
static u32 nbuckets, nfrags;

static u32 hash(u64 pc)
{
	return (u32)((pc * 0x9e3779b97f4a7c15ull) >> 32) & (nbuckets - 1);
}

static void grow(void)
{
	struct frag **old = buckets;
	u32 n = nbuckets;

	nbuckets = n ? n * 4 : 4096;
	buckets = heap_alloc(nbuckets * sizeof(*buckets));
	for (u32 i = 0; i < n; i++) {
		while (old[i]) {
			struct frag *f = old[i];
			u32 h = hash(f->pc);

			old[i] = f->next;
			f->next = buckets[h];
			buckets[h] = f;
		}
	}
	if (n)
		heap_free(old, n * sizeof(*old));
}

void frag_insert(struct frag *f)
{
	u32 h;

	if (nfrags >= nbuckets)
		grow();
	h = hash(f->pc);
	f->next = buckets[h];
	buckets[h] = f;
	nfrags++;
}

static unsigned int count_bits(u32 mask)
{
	unsigned int n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/* Is the code still what @f was made from?  Only for sources that cannot be watched. */
static int source_matches(struct frag *f)
{
	const u8 *len = frag_lens(f), *want = f->source;
	u8 now[16];

	for (u32 r = 0; r < f->nruns; r++) {
		u64 pc = f->runs[r].pc;

		for (u32 i = 0; i < f->runs[r].ninsns; i++, len++) {
			if (rt_copy_in(now, (void *)pc, *len) != *len || memcmp(now, want, *len))
				return 0;
			pc += *len;
			want += *len;
		}
	}
	return 1;
}

/*
 * Lazy versions: build one for the state at hand unless an existing one knows all
 * that matters of it, or there are enough.
 */
struct frag *frag_get(u64 pc, u16 known)
{
	struct frag *best = NULL, *next;
	u32 versions = 0;

	for (struct frag *f = nbuckets ? buckets[hash(pc)] : NULL; f; f = next) {
		next = f->next;
		if (f->pc != pc)
			continue;
		if (f->source && !source_matches(f)) {
			frag_kill(f);
			continue;
		}
		versions++;
		if (f->mask & ~known)
			continue;
		if (!((known & f->relevant) & ~f->mask))
			return f;
		if (!best || count_bits(f->mask) > count_bits(best->mask))
			best = f;
	}
	if (versions >= MAX_VERSIONS && best)
		return best;
	proc_slot()->built++;
	return build_fragment(pc, versions >= MAX_VERSIONS ? X86_BIT(X86_RSP) : known);
}

void frag_kill(struct frag *f)
{
	struct frag **pp = &buckets[hash(f->pc)];

	if (f->dead)
		return;
	f->dead = 1;
	for (; *pp; pp = &(*pp)->next) {
		if (*pp == f) {
			*pp = f->next;
			nfrags--;
			break;
		}
	}
	while (f->in)
		exit_unlink(f->in);
	for (u32 i = 0; i < f->nexits; i++)
		exit_unlink(&f->exits[i]);
}

static int overlaps(struct frag *f, u64 start, u64 end)
{
	const u8 *len = frag_lens(f);

	for (u32 r = 0; r < f->nruns; r++) {
		u64 from = f->runs[r].pc, to = from;

		for (u32 i = 0; i < f->runs[r].ninsns; i++)
			to += *len++;
		if (to == from)
			to++;
		if (from < end && to > start)
			return 1;
	}
	return 0;
}

unsigned int frag_kill_range(u64 start, u64 end)
{
	unsigned int n = 0;

	for (u32 i = 0; i < nbuckets; i++) {
		struct frag *next;

		for (struct frag *f = buckets[i]; f; f = next) {
			next = f->next;
			if (overlaps(f, start, end)) {
				frag_kill(f);
				n++;
			}
		}
	}
	return n;
}

struct frag *frag_of_cache(u64 addr)
{
	struct arena *a = arena_of(addr);

	return a ? arena_frag(a, addr) : NULL;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Index of fragments by application pc, with all versions of a pc, and removal of fragments by
 * address range.
 */
#include "translate.h"
#include "libdep/engine/base/chaos.h"
#include "libdep/engine/hooks/hooks.h"
#include "libdep/engine/record/record.h"

/* Maximal number of versions for one pc, in addition to the version that needs only rsp. */
#define MAX_VERSIONS	6

/*
 * Hash table with open addressing.  Most lookups find nothing; the tag lets them end without
 * reading a fragment.
 */
struct slot {
	u32 tag;		/* part of the hash of the fragment's pc */
	/* heap_ref() of the fragment; 0: slot is free; GONE: the fragment was killed */
	u32 frag;
};

#define GONE	1u

static struct slot *slots;
static u32 nslots, used;	/* used: number of slots that are not free */

static u64 hash(u64 pc)
{
	return pc * 0x9e3779b97f4a7c15ull;
}

static u32 first_slot(u64 pc)
{
	return (u32)(hash(pc) >> 16) & (nslots - 1);
}

static u32 tag_of(u64 pc)
{
	return (u32)(hash(pc) >> 32);
}

static void put(struct frag *f)
{
	u32 i = first_slot(f->pc);

	while (slots[i].frag)
		i = (i + 1) & (nslots - 1);
	slots[i] = (struct slot){ tag_of(f->pc), heap_ref(f) };
	used++;
}

static void grow(void)
{
	struct slot *old = slots;
	u32 n = nslots, live = 0;

	for (u32 i = 0; i < n; i++)
		live += slots[i].frag > GONE;
	nslots = live * 4 < n ? n : n ? n * 2 : 8192;
	slots = heap_alloc(nslots * sizeof(*slots));
	used = 0;
	for (u32 i = 0; i < n; i++)
		if (old[i].frag > GONE)
			put(heap_at(old[i].frag));
	if (n)
		heap_free(old, n * sizeof(*old));
}

void frag_insert(struct frag *f)
{
	if (used >= nslots / 4 * 3)
		grow();
	put(f);
}

/*
 * Return the next version of @pc, or NULL.  *@at is the position in the table: first_slot(pc)
 * before the first call, updated by each call.
 */
static struct frag *next_version(u64 pc, u32 *at)
{
	u32 tag = tag_of(pc);

	if (!nslots)
		return NULL;
	for (u32 i = *at; slots[i].frag; i = (i + 1) & (nslots - 1)) {
		struct frag *f;

		if (slots[i].frag == GONE || slots[i].tag != tag)
			continue;
		f = heap_at(slots[i].frag);
		if (f->pc != pc)
			continue;
		*at = (i + 1) & (nslots - 1);
		return f;
	}
	return NULL;
}

static unsigned int count_bits(u32 mask)
{
	unsigned int n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/*
 * Whether the application's code is still the same as when @f was translated; only for code whose
 * changes cannot be noticed.
 */
static int source_matches(struct frag *f)
{
	const u8 *len = frag_lens(f), *want = heap_at(f->source);
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
 * Find a version of @pc, or build one on demand.  A version for @known is built unless an existing
 * version uses all relevant registers of @known, or the maximal number of versions is reached.
 */
struct frag *frag_get(u64 pc, u16 known, int call)
{
	u32 versions = 0, at = first_slot(pc);
	struct frag *best = NULL, *f;

	if (chaos_is(ADEPT_S_CHAOS_VERSIONS))
		known = X86_BIT(X86_RSP);
	while ((f = next_version(pc, &at))) {
		if (f->source && !source_matches(f)) {
			frag_kill(f);
			continue;
		}
		versions++;
		if (f->mask & ~known || (call && !f->entry))
			continue;
		if (!((known & f->relevant) & ~f->mask))
			return f;
		if (!best || count_bits(f->mask) > count_bits(best->mask))
			best = f;
	}
	if (versions >= MAX_VERSIONS && best)
		return best;
	return build_fragment(pc, versions >= MAX_VERSIONS ? X86_BIT(X86_RSP) : known);
}

int frag_exists(u64 pc, u16 known)
{
	u32 at = first_slot(pc);
	struct frag *f;

	while ((f = next_version(pc, &at)))
		if (!(f->mask & ~known))
			return 1;
	return 0;
}

void frag_kill(struct frag *f)
{
	u32 at = first_slot(f->pc);

	if (f->dead)
		return;
	f->dead = 1;
	LOG_LOCKED(ADEPT_LOG_TRANSLATE, "fragment %u at %lx is removed", f->first_exit, f->pc);
	while (slots[at].frag != heap_ref(f))
		at = (at + 1) & (nslots - 1);
	slots[at].frag = GONE;
	while (f->in)
		exit_unlink(heap_at(f->in));
	for (u32 i = 0; i < f->nexits; i++)
		exit_unlink(&frag_exits(f)[i]);
	if (f->after == AFTER_RETURN)
		call_stub_rebuild(f->pc);
	else if (f->after == AFTER_JUMP)
		landing_renew(f->pc);
	record_removed(f);
}

/* Kill all versions of @pc that do not record results of hooked functions. */
static void kill_at(u64 pc)
{
	u32 at = first_slot(pc);
	struct frag *f;

	while ((f = next_version(pc, &at)))
		if (!f->runs[0].returns)
			frag_kill(f);
}

void frag_kill_at(u64 pc)
{
	u32 at = first_slot(pc);
	struct frag *f;

	if (!pc)
		return;
	while ((f = next_version(pc, &at)))
		frag_kill(f);
}

void frag_make_return_site(u64 pc)
{
	if (!hook_is_return_site(pc)) {
		if (!hook_add_return(pc))
			return;
		kill_at(pc);
	}
	return_sites_enter(pc);
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

	for (u32 i = 0; i < nslots; i++) {
		struct frag *f = slots[i].frag > GONE ? heap_at(slots[i].frag) : NULL;

		if (f && overlaps(f, start, end)) {
			frag_kill(f);
			n++;
		}
	}
	return n;
}

static int keeps(struct frag *f, int (*keep)(u64 start, u64 end))
{
	const u8 *len = frag_lens(f);

	for (u32 r = 0; r < f->nruns; r++) {
		u64 from = f->runs[r].pc, to = from;

		for (u32 i = 0; i < f->runs[r].ninsns; i++)
			to += *len++;
		if (to != from && !keep(from, to))
			return 0;
	}
	return 1;
}

void frag_keep(int (*keep)(u64 start, u64 end))
{
	for (u32 i = 0; i < nslots; i++) {
		struct frag *f = slots[i].frag > GONE ? heap_at(slots[i].frag) : NULL;

		if (f && !keeps(f, keep))
			frag_kill(f);
	}
}

struct frag *frag_of_cache(u64 addr)
{
	struct arena *a = arena_of(addr);

	return a ? arena_frag(a, addr) : NULL;
}

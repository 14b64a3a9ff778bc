// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Keep the fragments while the program runs natively for some time, and may change its code.
 *
 * Hashes of all pages with code of fragments are kept meanwhile.  Fragments in a page that has
 * another hash afterwards, or in a mapping that has changed, are removed.  Those in writable
 * mappings are gone before: write protection is removed at a pause (code_unprotect_range()).
 */
#include "code_cache.h"
#include "code_map.h"
#include "code_regions.h"
#include "mapping_table.h"

#define NO_CODE		0u		/* hash of a page without fragments */
#define MOST_PAGES	(1u << 20)	/* fragments in a larger mapping are not kept */

/** struct kept - an executable mapping, with a hash for each of its pages; NULL: it is too large */
struct kept {
	struct region region;
	u32 *hash;
};

static struct kept *kept;
static u32 nkept, room;

static u64 pages(const struct region *r)
{
	return (r->end - r->start + ADEPT_PAGE - 1) / ADEPT_PAGE;
}

/*
 * The hash of the page at @addr; NO_CODE if it cannot be read.
 *
 * The kernel copies the page, since a fault could not be handled here.
 */
static u32 hash_page(u64 addr)
{
	static u64 page[ADEPT_PAGE / 8];
	const u64 to[2] = { (u64)page, sizeof(page) }, from[2] = { addr, sizeof(page) };
	u64 h = 0;

	if (sys6(__NR_process_vm_readv, (u64)sys0(__NR_getpid), (u64)to, 1, (u64)from, 1, 0) !=
	    (s64)sizeof(page))
		return NO_CODE;
	for (u32 i = 0; i < ARRAY_SIZE(page); i++)
		h = (h ^ page[i]) * 0x9e3779b97f4a7c15ull ^ h >> 29;
	return (u32)(h >> 32) | 1;
}

static void keep(const struct region *r)
{
	if (nkept < room)
		kept[nkept++] = (struct kept){
			*r, pages(r) > MOST_PAGES ? NULL : heap_alloc(pages(r) * sizeof(u32)),
		};
}

static struct kept *kept_of(u64 pc)
{
	for (u32 i = 0; i < nkept; i++)
		if (pc - kept[i].region.start < kept[i].region.end - kept[i].region.start)
			return &kept[i];
	return NULL;
}

/* Hash the pages of a run.  Return: 0 if its mapping is not known any more. */
static int hash_run(u64 start, u64 end)
{
	for (u64 at = start & ~(u64)(ADEPT_PAGE - 1); at < end; at += ADEPT_PAGE) {
		u64 from = at < start ? start : at;
		struct kept *k = kept_of(from);
		u64 page = k ? (from - k->region.start) / ADEPT_PAGE : 0;

		if (!k || !k->hash)
			return 0;
		if (k->hash[page] == NO_CODE)
			k->hash[page] = hash_page(at);
		if (k->hash[page] == NO_CODE)
			return 0;
	}
	return 1;
}

void code_pause(void)
{
	lock(&frag_lock);
	room = region_count();
	kept = heap_alloc(room * sizeof(*kept) + 1);
	nkept = 0;
	region_each(keep);
	frag_keep(hash_run);
	unlock(&frag_lock);
}

static int is_same(const struct region *r)
{
	struct map_line l;
	u64 base;

	return track_find(r->start, &l, &base) && l.start <= r->start && l.end >= r->end &&
	       l.prot == r->prot && l.shared == r->shared && l.dev == r->dev &&
	       l.inode == r->inode && (!l.inode || l.offset + (r->start - l.start) == r->offset);
}

static void check_pages(const struct kept *k)
{
	for (u64 i = 0; k->hash && i < pages(&k->region); i++) {
		u64 at = k->region.start + i * ADEPT_PAGE;

		if (k->hash[i] != NO_CODE && k->hash[i] != hash_page(at))
			frag_kill_range(at, at + ADEPT_PAGE);
	}
}

void code_resume(void)
{
	struct kept *k;
	int same;

	for (k = kept; k < kept + nkept; k++) {
		lock(&frag_lock);
		same = is_same(&k->region);
		if (same)
			check_pages(k);
		unlock(&frag_lock);
		if (!same)
			code_changed(TRACK_ANY, k->region.start, k->region.end);
		heap_free(k->hash, pages(&k->region) * sizeof(u32));
	}
	heap_free(kept, room * sizeof(*kept) + 1);
	kept = NULL;
	nkept = 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Code map: regions of executable memory, and write-protected pages.
 *
 * A region is looked up when code in it runs for the first time, and forgotten when a system call
 * changes it.  Pages of writable regions are write-protected while fragments made from them exist.
 *
 * Regions come from the table of mappings (mapping_table.h).  /proc/self/maps is read only for
 * addresses that are not in the table; if it cannot be read, such addresses count as not
 * executable.
 */
#include "code_cache.h"
#include "code_map.h"
#include "code_regions.h"
#include "mapping_table.h"
#include "libdep/engine/record/record.h"
#include "libdep/engine/record/triggers.h"
#include "libdep/engine/hooks/hooks.h"

#define MAX_REGIONS	1024
#define MAX_PROTECTED	4096

struct watched {
	u64 page;
	u64 stamp;		/* time of the write protection, as a stamp of mapping_table.h */
	u32 prot;
};

/* All of the following is protected by frag_lock. */
static struct region regions[MAX_REGIONS];
static u32 nregions;
static int forgotten;	/* 1: a region was dropped because the table was full */
static struct watched watched[MAX_PROTECTED];
static u32 nwatched;
static u32 unwatched;	/* number of pages whose write protection was removed; only grows */

#define VSYSCALL	0xffffffffff600000ull
#define K_MADV_DONTFORK	10
#define K_MADV_DOFORK	11

u64 mem_ours_from(u64 start, u64 end)
{
	u64 first = arena_first(start, end);
	const u64 own[][2] = {
		{ boot.image, boot.image_size }, { boot.low, boot.low_size },
		{ boot.heap, boot.heap_size }, { boot.session, layout()->file_size },
		{ boot.attached, boot.attached_size },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i][1] && start < own[i][0] + own[i][1] && first > own[i][0])
			first = own[i][0] > start ? own[i][0] : start;
	return first;
}

static void list(u64 start, u64 size)
{
	if (size && boot.nmappings < ADEPT_MAPPINGS)
		boot.mapping[boot.nmappings++] = (struct adept_mapping){ start, size };
}

void mem_list_ours(void)
{
	u64 base, size;

	boot.nmappings = 0;
	list(boot.low, boot.low_size);
	list(boot.heap, boot.heap_size);
	list(boot.attached, boot.attached_size);
	for (u32 i = 0; arena_nth(i, &base, &size); i++)
		list(base, size);
	list(boot.session, layout()->file_size);
}

static void advise_ours(u64 advice)
{
	mem_list_ours();
	for (u64 i = 0; i < boot.nmappings; i++)
		sys3(__NR_madvise, boot.mapping[i].start, boot.mapping[i].size, advice);
	sys3(__NR_madvise, boot.image, boot.image_size, advice);
}

void mem_give_to_children(void)
{
	advise_ours(K_MADV_DOFORK);
}

void mem_keep_from_children(void)
{
	advise_ours(K_MADV_DONTFORK);
}

int mem_is_ours(u64 start, u64 len)
{
	return mem_ours_from(start, start + len) < start + len;
}

/*
 * Find the mapping that contains @addr in /proc/self/maps.
 * @l: receives the mapping; its path is valid until the next call
 * @base: receives the address of the file's first byte, or 0
 *
 * Return: 1; 0 if no mapping contains @addr; -errno if the file cannot be read.
 */
static s64 find_mapping(u64 addr, struct map_line *l, u64 *base)
{
	static struct maps m;
	struct map_line first = { 0 };
	s64 err = maps_open(&m);
	int found = 0;

	if (err)
		return err;
	while (!found && maps_next(&m, l)) {
		if (l->inode && !l->offset)
			first = *l;
		found = addr >= l->start && addr < l->end;
	}
	maps_close(&m);
	*base = l->inode && l->inode == first.inode && l->dev == first.dev ? first.start : 0;
	return found;
}

/*
 * Find the executable mapping that contains @pc, record it and hook its functions.  Return: 0 if no
 * executable mapping contains @pc.
 */
static int lookup_region(u64 pc, struct region *r)
{
	struct map_line l, line;
	u64 base, line_base;
	int found = track_find(pc, &l, &base);

	/*
	 * Read /proc/self/maps if the mapping is not in the table, or has no file name because
	 * mprotect() made it executable.
	 */
	if ((!found || (l.inode && !*l.path)) && find_mapping(pc, &line, &line_base) > 0 &&
	    line.prot & K_PROT_EXEC) {
		l = line;
		base = line_base;
		found = 1;
	}
	if (!found)
		return 0;
	*r = (struct region){
		.start = l.start, .end = l.end, .offset = l.offset, .dev = l.dev,
		.inode = l.inode, .prot = l.prot, .shared = l.shared,
	};
	LOG_LOCKED(ADEPT_LOG_MEMORY, "code from mapping %lx-%lx of %s", l.start, l.end, l.path);
	if (recording())
		record_map(&l);
	if (base)
		hooks_scan_module(base, l.start, l.end);
	triggers_scan_module(base, &l);
	return 1;
}

u32 region_count(void)
{
	return nregions;
}

void region_each(void (*f)(const struct region *r))
{
	for (u32 i = 0; i < nregions; i++)
		f(&regions[i]);
}

static struct region *region_of(u64 pc)
{
	struct region *r;

	for (u32 i = 0; i < nregions; i++) {
		r = &regions[i];
		if (pc - r->start < r->end - r->start) {
			struct region first = regions[0];

			/*
			 * Move the region to the front: most lookups are in the same region as the
			 * last lookup.
			 */
			regions[0] = *r;
			*r = first;
			return &regions[0];
		}
	}
	if (nregions == MAX_REGIONS) {
		nregions--;
		forgotten = 1;
	}
	r = &regions[nregions];
	if (mem_is_ours(pc, 1) || !lookup_region(pc, r))
		return NULL;
	nregions++;
	return r;
}

/* ---- write-protected pages ---- */

static struct watched *find_protected(u64 page)
{
	for (u32 i = 0; i < nwatched; i++)
		if (watched[i].page == page)
			return &watched[i];
	return NULL;
}

static void unprotect(struct watched *w)
{
	sys3(__NR_mprotect, w->page, ADEPT_PAGE, w->prot);
	LOG_LOCKED(ADEPT_LOG_MEMORY, "page %lx of code is writable again", w->page);
	*w = watched[--nwatched];
	__atomic_store_n(&unwatched, unwatched + 1, __ATOMIC_RELEASE);
}

/* Write-protect @page.  Return: 0 if this is not possible. */
static int watch(u64 page, u32 prot)
{
	if (find_protected(page))
		return 1;
	if (nwatched == MAX_PROTECTED)
		return 0;
	/* mprotect() fails if the process has too many mappings. */
	if (sys3(__NR_mprotect, page, ADEPT_PAGE, prot & ~K_PROT_WRITE) < 0)
		return 0;
	watched[nwatched++] = (struct watched){ page, track_tick(), prot };
	LOG_LOCKED(ADEPT_LOG_MEMORY, "page %lx of code is write-protected", page);
	return 1;
}

u32 code_unprotect_count(void)
{
	return __atomic_load_n(&unwatched, __ATOMIC_ACQUIRE);
}

static int unprotect_range(u64 start, u64 end)
{
	int n = 0;

	for (u32 i = 0; i < nwatched;) {
		u64 page = watched[i].page;

		if (page < end && page + ADEPT_PAGE > start) {
			frag_kill_range(page, page + ADEPT_PAGE);
			unprotect(&watched[i]);
			n++;
		} else {
			i++;
		}
	}
	return n != 0;
}

int code_unprotect_range(u64 start, u64 end)
{
	int any;

	lock(&frag_lock);
	any = unprotect_range(start, end);
	unlock(&frag_lock);
	return any;
}

/* Whether @page is writable by now, because another thread has just handled a fault on it. */
static int came_late(u64 page)
{
	struct map_line l;
	u64 base;

	if (!unwatched)
		return 0;
	return (track_find(page, &l, &base) || find_mapping(page, &l, &base) > 0) &&
	       l.prot & K_PROT_WRITE;
}

int code_write_fault(u64 addr)
{
	u64 page = addr & ~(u64)(ADEPT_PAGE - 1);
	int ours;

	if (!__atomic_load_n(&nwatched, __ATOMIC_RELAXED) && !code_unprotect_count())
		return 0;
	lock(&frag_lock);
	ours = unprotect_range(page, page + ADEPT_PAGE) || came_late(page);
	unlock(&frag_lock);
	return ours;
}

/* Provide the code of the three calls in the vsyscall page, which may not be readable. */
static size_t fetch_vsyscall(u64 pc, u8 *buf, size_t n)
{
	static const u8 nr[4] = { 96, 201, 0x35, 0 };	/* gettimeofday, time, getcpu = 0x135 */
	u8 code[10] = { 0x48, 0xc7, 0xc0, 0, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	u64 entry = (pc - VSYSCALL) / 1024, off = (pc - VSYSCALL) % 1024;

	if (entry > 2 || off >= sizeof(code))
		return 0;
	code[3] = nr[entry];
	code[4] = entry == 2;
	if (n > sizeof(code) - off)
		n = sizeof(code) - off;
	memcpy(buf, code + off, n);
	return n;
}

/* Put back what the injector's int3 instructions replace: see struct adept_caught_pc. */
static void restore_caught(u64 pc, u8 *buf, size_t n)
{
	for (u64 i = 0; i < boot.ncaught && i < ADEPT_CAUGHT_PCS; i++)
		if (boot.caught[i].pc - pc < n && buf[boot.caught[i].pc - pc] == 0xcc)
			buf[boot.caught[i].pc - pc] = (u8)boot.caught[i].byte;
}

/* Write a byte to code that the program cannot write to. */
static void write_byte(const struct region *r, u64 pc, u8 byte)
{
	u64 start = r->start, size = r->end - r->start;

	/*
	 * mprotect() leaves a private mapping accounted for as writable.  A page of a mapping would
	 * stay a mapping of its own.
	 */
	if (sys3(__NR_mprotect, start, size, r->prot | K_PROT_WRITE) < 0) {
		start = pc & ~(u64)(ADEPT_PAGE - 1);
		size = ADEPT_PAGE;
		if (sys3(__NR_mprotect, start, size, r->prot | K_PROT_WRITE) < 0)
			return;
	}
	*(volatile u8 *)pc = byte;
	sys3(__NR_mprotect, start, size, r->prot);
}

/* Without its private copy the page is the file's again. */
static void restore_byte(const struct adept_caught_pc *c)
{
	u64 page = c->pc & ~(u64)(ADEPT_PAGE - 1);
	struct region *r = region_of(c->pc);
	u8 byte;

	if (!r || rt_copy_in(&byte, (void *)c->pc, 1) != 1 || byte != 0xcc)
		return;
	if (r->prot & K_PROT_WRITE) {
		unprotect_range(page, page + ADEPT_PAGE);
		*(volatile u8 *)c->pc = (u8)c->byte;
		return;
	}
	if (c->of_file && !sys3(__NR_madvise, page, ADEPT_PAGE, K_MADV_DONTNEED))
		return;
	write_byte(r, c->pc, (u8)c->byte);
}

void code_restore_caught(void)
{
	lock(&frag_lock);
	for (u64 i = 0; i < boot.ncaught && i < ADEPT_CAUGHT_PCS; i++)
		restore_byte(&boot.caught[i]);
	unlock(&frag_lock);
}

size_t code_fetch(u64 pc, u8 *buf, size_t n, u8 *unwatchable)
{
	size_t got = 0;

	if (pc - VSYSCALL < ADEPT_PAGE)
		return fetch_vsyscall(pc, buf, n);
	while (got < n) {
		struct region *r = region_of(pc + got);
		size_t part, in;

		if (!r)
			break;
		part = n - got;
		if (part > r->end - (pc + got))
			part = r->end - (pc + got);
		*unwatchable |= (u8)r->shared;
		if (r->prot & K_PROT_WRITE) {
			u64 page = (pc + got) & ~(u64)(ADEPT_PAGE - 1);
			u64 last = (pc + got + part - 1) & ~(u64)(ADEPT_PAGE - 1);

			for (; page <= last; page += ADEPT_PAGE)
				*unwatchable |= (u8)!watch(page, r->prot);
		}
		in = rt_copy_in(buf + got, (void *)(pc + got), part);
		got += in;
		if (in < part)
			break;
	}
	restore_caught(pc, buf, got);
	return got;
}

/*
 * Remove [@start, @end) from region number @i.  The rest of the region must stay in the table,
 * because fragments are killed only if their code is in a region.
 */
static void cut_region(u32 i, u64 start, u64 end)
{
	struct region after = regions[i];

	if (regions[i].start < start)
		regions[i].end = start;
	else
		regions[i] = regions[--nregions];
	if (after.end <= end)
		return;
	after.offset += end - after.start;
	after.start = end;
	if (nregions == MAX_REGIONS)
		forgotten = 1;
	else
		regions[nregions++] = after;
}

void code_files_unmapped(u64 start, u64 end)
{
	if (!boot.nattached || !recording())
		return;
	lock(&frag_lock);
	if (track_has_file(start, end))
		record_unmap(start, end);
	unlock(&frag_lock);
}

/* The program may write to these pages, or has mapped others. */
static void caught_changed(u64 start, u64 end)
{
	for (u64 i = 0; i < boot.ncaught && i < ADEPT_CAUGHT_PCS; i++)
		if (boot.caught[i].pc >= start && boot.caught[i].pc < end)
			boot.caught[i].of_file = 0;
}

void code_changed(u64 stamp, u64 start, u64 end)
{
	int hit = 0;

	lock(&frag_lock);
	caught_changed(start, end);
	for (u32 i = 0; i < nregions;) {
		if (regions[i].start < end && regions[i].end > start) {
			cut_region(i, start, end);
			hit = 1;
		} else {
			i++;
		}
	}
	for (u32 i = 0; i < nwatched;) {
		if (watched[i].page < end && watched[i].page >= start &&
		    watched[i].stamp <= stamp) {
			watched[i] = watched[--nwatched];
			unwatched++;
		} else {
			i++;
		}
	}
	if (hit || forgotten) {
		LOG_LOCKED(ADEPT_LOG_MEMORY, "mapping %lx-%lx of code has changed", start, end);
		frag_kill_range(start, end);
		hooks_forget_range(start, end);
		if (recording())
			record_unmap(start, end);
	}
	unlock(&frag_lock);
}

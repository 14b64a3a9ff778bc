// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Code regions are read from /proc/self/maps when code in an unknown place runs
 * for the first time, and forgotten when a system call changes them.  Pages of
 * writable regions are write-protected while fragments made from them exist.
 */
#include "mem.h"
#include "../record/record.h"
#include "../watch/watch.h"

#define MAX_REGIONS	1024
#define MAX_WATCHED	4096

struct region {
	u64 start, end;
	u32 prot;
	u32 shared;
};

struct watched {
	u64 page;
	u32 prot;
};

/* All under frag_lock. */
static struct region regions[MAX_REGIONS];
static u32 nregions;
static int forgotten;	/* there were more regions than that */
static struct watched watched[MAX_WATCHED];
static u32 nwatched;
static u32 unwatched;	/* how many there have been */

#define VSYSCALL	0xffffffffff600000ull

int mem_is_ours(u64 start, u64 len)
{
	u64 end = start + len;
	struct adept_session *s = session();
	const u64 own[][2] = {
		{ boot.blob, boot.blob_size }, { boot.low, boot.low_size },
		{ boot.heap, boot.heap_size }, { boot.session, s->file_size },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i][1] && start < own[i][0] + own[i][1] && end > own[i][0])
			return 1;
	return arena_overlaps(start, end);
}

/* ---- /proc/self/maps ---- */

struct maps {
	int fd;
	u32 at, len;
	char buf[4096];
};

static int maps_char(struct maps *m)
{
	if (m->at == m->len) {
		s64 n = sys3(__NR_read, (u64)m->fd, (u64)m->buf, sizeof(m->buf));

		if (n <= 0)
			return -1;
		m->at = 0;
		m->len = (u32)n;
	}
	return (u8)m->buf[m->at++];
}

static u64 parse_number(const char **p, unsigned int base)
{
	u64 v = 0;

	for (;; (*p)++) {
		unsigned int c = (u8)**p, d;

		if (c - '0' < 10)
			d = c - '0';
		else if (c - 'a' < 6)
			d = c - 'a' + 10;
		else
			break;
		if (d >= base)
			break;
		v = v * base + d;
	}
	return v;
}

struct map_line {
	u64 start, end, offset, dev, inode;
	u32 prot, shared;
	const char *path;
	u64 base;		/* where the file's first byte is, or 0 */
};

/* start-end rwxp offset major:minor inode   path */
static void parse_line(const char *p, struct map_line *l)
{
	l->start = parse_number(&p, 16);
	p++;
	l->end = parse_number(&p, 16);
	p++;
	l->prot = (p[0] == 'r' ? K_PROT_READ : 0) | (p[1] == 'w' ? K_PROT_WRITE : 0) |
		  (p[2] == 'x' ? K_PROT_EXEC : 0);
	l->shared = p[3] == 's';
	p += 5;
	l->offset = parse_number(&p, 16);
	p++;
	l->dev = parse_number(&p, 16) << 32;
	p++;
	l->dev |= parse_number(&p, 16);
	p++;
	l->inode = parse_number(&p, 10);
	while (*p == ' ')
		p++;
	l->path = p;
}

static int read_line(struct maps *m, char *line, u32 size)
{
	u32 n = 0;
	int c;

	while ((c = maps_char(m)) >= 0 && c != '\n')
		if (n + 1 < size)
			line[n++] = (char)c;
	line[n] = 0;
	return n || c >= 0;
}

/*
 * Find the mapping around @addr; 0 if there is none, -errno if that cannot be known.
 * @l->path stays until the next call.
 */
static s64 find_mapping(u64 addr, struct map_line *l)
{
	static char line[4200];
	static struct maps m;
	struct map_line first = { 0 };
	s64 fd = sys3(__NR_open, (u64)"/proc/self/maps", 02000000 /* O_CLOEXEC */, 0);
	int found = 0;

	if (fd < 0)
		return fd;
	m.fd = (int)fd;
	m.at = m.len = 0;
	while (!found && read_line(&m, line, sizeof(line))) {
		parse_line(line, l);
		if (l->inode && !l->offset)
			first = *l;
		found = addr >= l->start && addr < l->end;
	}
	sys1(__NR_close, (u64)fd);
	l->base = l->inode && l->inode == first.inode && l->dev == first.dev ? first.start : 0;
	return found;
}

/* Find the executable mapping around @pc; 0 if there is none. */
static int lookup_region(u64 pc, struct region *r)
{
	struct map_line l;
	s64 found = find_mapping(pc, &l);

	if (found < 0)
		fatal("cannot read /proc/self/maps: error %ld", -found);
	if (!found || !(l.prot & K_PROT_EXEC))
		return 0;
	*r = (struct region){ l.start, l.end, l.prot, l.shared };
	if (recording())
		record_map(l.start, l.end, l.offset, l.dev, l.inode, l.prot, l.path);
	if (l.base)
		watch_module(l.base, l.start, l.end);
	return 1;
}

static struct region *region_of(u64 pc)
{
	struct region *r;

	for (u32 i = 0; i < nregions; i++) {
		r = &regions[i];
		if (pc - r->start < r->end - r->start) {
			struct region first = regions[0];

			/* Most lookups follow one another in one module. */
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

/* ---- watched pages ---- */

static struct watched *find_watched(u64 page)
{
	for (u32 i = 0; i < nwatched; i++)
		if (watched[i].page == page)
			return &watched[i];
	return NULL;
}

static void unwatch(struct watched *w)
{
	sys3(__NR_mprotect, w->page, ADEPT_PAGE, w->prot);
	*w = watched[--nwatched];
	__atomic_store_n(&unwatched, unwatched + 1, __ATOMIC_RELEASE);
}

/* Return: 0 if no more pages can be watched. */
static int watch(u64 page, u32 prot)
{
	if (find_watched(page))
		return 1;
	if (nwatched == MAX_WATCHED)
		return 0;
	sys3(__NR_mprotect, page, ADEPT_PAGE, prot & ~K_PROT_WRITE);
	watched[nwatched++] = (struct watched){ page, prot };
	return 1;
}

u32 code_unwatched(void)
{
	return __atomic_load_n(&unwatched, __ATOMIC_ACQUIRE);
}

static int unwatch_range(u64 start, u64 end)
{
	int n = 0;

	for (u32 i = 0; i < nwatched;) {
		u64 page = watched[i].page;

		if (page < end && page + ADEPT_PAGE > start) {
			frag_kill_range(page, page + ADEPT_PAGE);
			unwatch(&watched[i]);
			n++;
		} else {
			i++;
		}
	}
	return n != 0;
}

int code_unwatch_range(u64 start, u64 end)
{
	int any;

	lock(&frag_lock);
	any = unwatch_range(start, end);
	unlock(&frag_lock);
	return any;
}

/* Another thread has come first: the page is no longer watched, and writable. */
static int came_late(u64 page)
{
	struct map_line l;

	return unwatched && find_mapping(page, &l) > 0 && l.prot & K_PROT_WRITE;
}

int code_write_fault(u64 addr)
{
	u64 page = addr & ~(u64)(ADEPT_PAGE - 1);
	int ours;

	if (!__atomic_load_n(&nwatched, __ATOMIC_RELAXED) && !code_unwatched())
		return 0;
	lock(&frag_lock);
	ours = unwatch_range(page, page + ADEPT_PAGE) || came_late(page);
	unlock(&frag_lock);
	return ours;
}

/* The three calls of the vsyscall page, whose bytes may not be readable. */
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
	return got;
}

void code_changed(u64 start, u64 end)
{
	int hit = 0;

	lock(&frag_lock);
	for (u32 i = 0; i < nregions;) {
		if (regions[i].start < end && regions[i].end > start) {
			regions[i] = regions[--nregions];
			hit = 1;
		} else {
			i++;
		}
	}
	for (u32 i = 0; i < nwatched;) {
		if (watched[i].page < end && watched[i].page >= start) {
			watched[i] = watched[--nwatched];
			unwatched++;
		} else {
			i++;
		}
	}
	if (hit || forgotten) {
		frag_kill_range(start, end);
		watch_forget(start, end);
		if (recording())
			record_unmap(start, end);
	}
	unlock(&frag_lock);
}

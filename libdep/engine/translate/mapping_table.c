// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The table has mappings in ascending order that do not overlap: all executable mappings; and
 * shared mappings and mappings of the first bytes of files, which are needed if mprotect() makes a
 * mapping executable.  A mapping that is not in the table is private and not executable, unless the
 * table has once been full.
 */
#include "mapping_table.h"
#include "code_cache.h"
#include "code_map.h"

#define MAX_TRACKED	1024u

#define K_MAP_TYPE	0xfu	/* MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE */
#define K_MAP_GROWSDOWN	0x100u
#define K_PROT_GROWSDOWN 0x01000000u
#define K_PROT_ANY	(K_PROT_READ | K_PROT_WRITE | K_PROT_EXEC)
#define MREMAP_DONTUNMAP 4
#define READ_IMPLIES_EXEC 0x0400000

/* All of the following is protected by frag_lock. */
static struct tracked table[MAX_TRACKED];
static u32 n;
static u64 now;
/* 1: the table was once full, so an unknown mapping may be shared */
static int lossy;
static int implies_exec;
static u32 path_cache[256];	/* heap_ref() of paths, indexed by the hash of the path; 0: none */

/* ---- the table of mappings ---- */

/* Index of the first entry that ends after @addr. */
static u32 first_behind(u64 addr)
{
	u32 lo = 0, hi = n;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (table[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void take_out(u32 i)
{
	n--;
	memmove(&table[i], &table[i + 1], (n - i) * sizeof(table[0]));
}

/* Remove an entry that is kept only for its file's name.  Return: 0 if there is none. */
static int evict(void)
{
	for (u32 i = 0; i < n; i++) {
		if (table[i].prot & K_PROT_EXEC || table[i].shared)
			continue;
		take_out(i);
		return 1;
	}
	return 0;
}

static int continues(const struct tracked *a, const struct tracked *b)
{
	return a->end == b->start && a->prot == b->prot && a->shared == b->shared &&
	       a->dev == b->dev && a->inode == b->inode && a->path == b->path &&
	       a->grows == b->grows && a->sysv == b->sysv &&
	       (!a->inode || a->offset + (a->end - a->start) == b->offset);
}

/* Insert @t, which overlaps no entry. */
static void put(const struct tracked *t)
{
	u32 i;

	if (n == MAX_TRACKED && !evict()) {
		lossy = 1;
		return;
	}
	i = first_behind(t->start);
	if (i && continues(&table[i - 1], t)) {
		table[i - 1].end = t->end;
		table[i - 1].stamp = t->stamp;
		return;
	}
	memmove(&table[i + 1], &table[i], (n - i) * sizeof(table[0]));
	table[i] = *t;
	n++;
}

/* Return the part of mapping @t from @start to @end. */
static struct tracked part(const struct tracked *t, u64 start, u64 end)
{
	struct tracked p = *t;

	p.start = start;
	p.end = end;
	p.offset += t->inode ? start - t->start : 0;
	p.grows = t->grows && start == t->start;
	return p;
}

/* Split the entry that contains @addr at this address, unless the mapping is newer than @stamp. */
static void split(u64 stamp, u64 addr)
{
	u32 i = first_behind(addr);
	struct tracked after;

	if (i == n || table[i].start >= addr || table[i].stamp > stamp)
		return;
	if (n == MAX_TRACKED && !evict()) {
		/*
		 * Remove the mapping rather than keep a wrong one: it can be looked up in
		 * /proc/self/maps.
		 */
		lossy = 1;
		take_out(i);
		return;
	}
	i = first_behind(addr);
	if (i == n || table[i].start >= addr)
		return;
	after = part(&table[i], addr, table[i].end);
	table[i].end = addr;
	memmove(&table[i + 2], &table[i + 1], (n - i - 1) * sizeof(table[0]));
	table[i + 1] = after;
	n++;
}

static void forget(u64 stamp, u64 start, u64 end)
{
	u32 i;

	split(stamp, start);
	split(stamp, end);
	for (i = first_behind(start); i < n && table[i].start < end;) {
		if (table[i].stamp <= stamp)
			take_out(i);
		else
			i++;
	}
}

static int is_worth(const struct tracked *t)
{
	return t->prot & K_PROT_EXEC || t->shared || (t->inode && !t->offset);
}

static u8 effective(u64 prot)
{
	if (implies_exec && prot & K_PROT_READ)
		prot |= K_PROT_EXEC;
	return (u8)(prot & K_PROT_ANY);
}

/* ---- names of mapped files ---- */

/* Convert a device number from stat's format to that of struct map_line. */
static u64 maps_dev(u64 dev)
{
	return (dev >> 8 & 0xfff) << 32 | (dev & 0xff) | (dev >> 12 & 0xfff00);
}

/*
 * Copy a file name to the heap.  Names are never freed, since entries share them.  The cache
 * prevents a program that loads the same libraries again and again from exhausting the heap.
 */
static u32 keep_path(const char *path, u64 len)
{
	u32 hash = 0, *cached;
	char *copy;

	for (u64 i = 0; i < len; i++)
		hash = hash * 31 + (u8)path[i];
	cached = &path_cache[hash % ARRAY_SIZE(path_cache)];
	if (*cached) {
		copy = heap_at(*cached);
		if (strlen(copy) == len && !memcmp(copy, path, len))
			return *cached;
	}
	copy = heap_alloc(len + 1);
	memcpy(copy, path, len);
	*cached = heap_ref(copy);
	return *cached;
}

/* Get the name of file @fd; 0 without /proc. */
static u32 path_of(u64 fd)
{
	static char path[4096];
	char link[32];
	s64 len;

	rt_format(link, sizeof(link), "/proc/self/fd/%d", (int)fd);
	len = sys3(__NR_readlink, (u64)link, (u64)path, sizeof(path));
	return len > 0 ? keep_path(path, (u64)len) : 0;
}

static void name_file(struct tracked *t, u64 fd)
{
	struct { u64 dev, inode, other[16]; } st = { 0 };

	if (sys2(__NR_fstat, fd, (u64)&st) < 0)
		return;
	t->dev = maps_dev(st.dev);
	t->inode = st.inode;
	/*
	 * The name of a mapping that mprotect() makes executable is looked up at that time
	 * (code_map.c).
	 */
	t->path = t->prot & K_PROT_EXEC ? path_of(fd) : 0;
}

/* ---- system calls that change mappings ---- */

u64 track_begin(void)
{
	return __atomic_load_n(&now, __ATOMIC_ACQUIRE);
}

u64 track_tick(void)
{
	return __atomic_add_fetch(&now, 1, __ATOMIC_ACQ_REL);
}

void track_mapped(u64 start, const u64 a[6])
{
	struct tracked t = {
		.start = start, .end = start + ALIGN_UP(a[1], ADEPT_PAGE),
		.offset = a[3] & K_MAP_ANON ? 0 : a[5], .prot = effective(a[2]),
		.shared = (a[3] & K_MAP_TYPE) != K_MAP_PRIVATE, .grows = !!(a[3] & K_MAP_GROWSDOWN),
	};
	int file = !(a[3] & K_MAP_ANON);

	lock(&frag_lock);
	forget(TRACK_ANY, t.start, t.end);
	if (is_worth(&t) || (file && !t.offset)) {
		if (file)
			name_file(&t, a[4]);
		t.stamp = track_tick();
		if (is_worth(&t))
			put(&t);
	}
	unlock(&frag_lock);
}

void track_unmapped(u64 stamp, u64 start, u64 end)
{
	lock(&frag_lock);
	forget(stamp, start, end);
	unlock(&frag_lock);
}

/* Add a mapping that was not in the table because it was private and not executable. */
static void add_unknown(u64 start, u64 end, u8 prot, u8 grows)
{
	struct tracked t = {
		.start = start, .end = end, .prot = prot, .shared = (u8)lossy, .grows = grows,
	};

	t.stamp = track_tick();
	put(&t);
}

void track_protected(u64 start, u64 end, u64 prot)
{
	u8 grows = !!(prot & K_PROT_GROWSDOWN), p = effective(prot);
	u64 at = start;
	u32 i;

	lock(&frag_lock);
	split(TRACK_ANY, start);
	split(TRACK_ANY, end);
	for (i = first_behind(start); i < n && table[i].start < end;) {
		table[i].prot = p;
		table[i].grows |= grows && table[i].start == start;
		if (is_worth(&table[i]))
			i++;
		else
			take_out(i);
	}
	while (p & K_PROT_EXEC && at < end) {
		i = first_behind(at);
		if (i < n && table[i].start <= at) {
			at = table[i].end;
			continue;
		}
		add_unknown(at, i < n && table[i].start < end ? table[i].start : end, p,
			    grows && at == start);
		/* add_unknown() may have found no room in the table. */
		i = first_behind(at);
		at = i < n && table[i].start <= at ? table[i].end :
		     i < n && table[i].start < end ? table[i].start : end;
	}
	unlock(&frag_lock);
}

void track_save(u64 start, u64 len, struct tracked_range *r)
{
	u64 end = start + ALIGN_UP(len, ADEPT_PAGE);

	r->n = 0;
	lock(&frag_lock);
	for (u32 i = first_behind(start); i < n && table[i].start < end; i++) {
		u64 from = table[i].start > start ? table[i].start : start;
		u64 to = table[i].end < end ? table[i].end : end;

		if (r->n == ARRAY_SIZE(r->entry)) {
			lossy = 1;
			break;
		}
		r->entry[r->n++] = part(&table[i], from, to);
	}
	unlock(&frag_lock);
}

static void extend(u64 from, u64 len, u64 new_len, u64 stamp)
{
	u32 i = first_behind(from + len - 1);

	if (i < n && table[i].end == from + len && table[i].stamp <= stamp)
		table[i].end = from + new_len;
}

/*
 * Enter the mappings of a moved range at the new address.  If the range shrinks, cut them off at
 * the new length; if it grows, extend the last one.
 */
static void put_moved(const struct tracked_range *r, u64 from, u64 to, u64 len, u64 new_len)
{
	for (u32 i = 0; i < r->n; i++) {
		struct tracked t = r->entry[i];

		if (t.start - from >= new_len)
			break;
		if (t.end - from > new_len || t.end == from + len)
			t.end = from + new_len;
		t.start += to - from;
		t.end += to - from;
		t.stamp = track_tick();
		put(&t);
	}
}

void track_moved(u64 stamp, u64 start, const u64 a[6], const struct tracked_range *r)
{
	u64 from = a[0], len = ALIGN_UP(a[1], ADEPT_PAGE), new_len = ALIGN_UP(a[2], ADEPT_PAGE);

	lock(&frag_lock);
	if (start != from) {
		forget(TRACK_ANY, start, start + new_len);
		/* With a length of 0, mremap() maps a shared mapping a second time. */
		put_moved(r, from, start, len ? len : new_len, new_len);
		if (!(a[3] & MREMAP_DONTUNMAP))
			forget(stamp, from, from + len);
	} else if (new_len < len) {
		forget(stamp, from + new_len, from + len);
	} else if (new_len > len) {
		forget(TRACK_ANY, from + len, from + new_len);
		extend(from, len, new_len, stamp);
	}
	unlock(&frag_lock);
}

void track_attached(u64 start, u64 size, int exec)
{
	struct tracked t = {
		.start = start, .end = start + ALIGN_UP(size, ADEPT_PAGE), .shared = 1, .sysv = 1,
		.prot = (u8)(effective(K_PROT_READ) | (exec ? K_PROT_EXEC : 0)),
	};

	lock(&frag_lock);
	forget(TRACK_ANY, t.start, t.end);
	t.stamp = track_tick();
	put(&t);
	unlock(&frag_lock);
}

void track_detached(u64 stamp, u64 start)
{
	u32 i;

	lock(&frag_lock);
	i = first_behind(start);
	while (i < n && table[i].start == start && table[i].sysv && table[i].stamp <= stamp) {
		start = table[i].end;
		take_out(i);
	}
	unlock(&frag_lock);
}

void track_personality(void)
{
	s64 ret = sys1(__NR_personality, 0xffffffff);

	implies_exec = ret > 0 && ret & READ_IMPLIES_EXEC;
}

/* ---- mappings that exist when the engine starts ---- */

static void add_line(const struct map_line *l)
{
	struct tracked t = {
		.start = l->start, .end = l->end, .offset = l->offset, .dev = l->dev,
		.inode = l->inode, .prot = (u8)l->prot, .shared = (u8)l->shared,
		.grows = !memcmp(l->path, "[stack]", 8),
	};

	if (!is_worth(&t) || l->start >> 47)
		return;
	/* After an attach the text has the engine's mappings, too. */
	if (mem_is_ours(l->start, l->end - l->start) || l->start == boot.stub)
		return;
	t.path = *l->path && t.prot & K_PROT_EXEC ? keep_path(l->path, strlen(l->path)) : 0;
	t.stamp = now;
	put(&t);
}

void track_init(char *text)
{
	char *at = text, *line;
	struct map_line l;

	n = 0;
	lossy = 0;
	while (*at) {
		line = at;
		while (*at && *at != '\n')
			at++;
		if (*at)
			*at++ = 0;
		maps_parse(line, &l);
		add_line(&l);
	}
	memset(text, 0, (u64)(at - text));
	track_personality();
}

/* ---- lookup of a mapping ---- */

/*
 * Whether mapping @t, which grows downwards, has grown to @addr: all pages from @addr to @t are
 * mapped.
 */
static int has_grown(const struct tracked *t, u64 addr)
{
	u64 at = addr & ~(u64)(ADEPT_PAGE - 1);
	u8 byte;

	if (!t->grows)
		return 0;
	for (; at < t->start; at += ADEPT_PAGE)
		if (rt_copy_in(&byte, (void *)at, 1) != 1)
			return 0;
	return 1;
}

static u64 base_of(const struct tracked *t)
{
	for (u32 i = (u32)(t - table) + 1; i--;)
		if (table[i].inode == t->inode && table[i].dev == t->dev && !table[i].offset)
			return table[i].start;
	return 0;
}

int track_has_file(u64 start, u64 end)
{
	for (u32 i = first_behind(start); i < n && table[i].start < end; i++)
		if (table[i].inode)
			return 1;
	return 0;
}

int track_find(u64 addr, struct map_line *l, u64 *base)
{
	u32 i = first_behind(addr);
	struct tracked *t = &table[i];

	if (i == n)
		return 0;
	if (t->start > addr) {
		if (!has_grown(t, addr))
			return 0;
		t->start = addr & ~(u64)(ADEPT_PAGE - 1);
	}
	if (!(t->prot & K_PROT_EXEC))
		return 0;
	*l = (struct map_line){
		.start = t->start, .end = t->end, .offset = t->offset, .dev = t->dev,
		.inode = t->inode, .prot = t->prot, .shared = t->shared,
		.path = t->path ? heap_at(t->path) : "",
	};
	*base = t->inode ? base_of(t) : 0;
	return 1;
}

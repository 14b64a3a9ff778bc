// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Views of a part of the data area: every page offset, at the lowest address that a user may map,
 * views that lose a part of themselves, and how many there may be.
 *
 * The module maps the rest of a chunk together with the page that faulted.  At a low address the
 * chunk's beginning would be below address 0.
 */
#include "vm.h"

#define LOW	((u8 *)0x10000)		/* vm.mmap_min_addr */
#define PAGE	4096ul
#define CHUNK	(128 * KIB)
#define VIEWS	1024u			/* maximum number for a session */

static struct session s;
static u64 pages, shown;		/* of the area; with data in them */
static u8 *copy;			/* of the area, through the view of all */

static bool is_gap(u64 page)
{
	return page * PAGE % s.info.chunk_stride >= s.info.chunk_size;
}

static u8 *map_low(u64 first, u64 n)
{
	u8 *p = mmap(LOW, n * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, s.fd,
		     s.info.data_off + first * PAGE);

	must(p == LOW);
	return p;
}

/*
 * Compare pages @from to @to of a view at @p, whose first page is @first, with the expected data.
 */
static u32 compare(const u8 *p, u64 first, u64 from, u64 to)
{
	u32 bad = 0;
	u64 i;

	for (i = from; i < to; i++)
		if (!is_gap(i))
			bad += memcmp(p + (i - first) * PAGE, copy + i * PAGE, PAGE) != 0;
	return bad;
}

static void every_offset(void)
{
	static const u64 lengths[] = { 1, 2, 31, 33, 0 };
	u32 bad = 0, i, views = 0;
	u64 first, n;

	for (first = 0; first < pages; first++)
		for (i = 0; i < 5; i++, views++) {
			n = lengths[i] ?: pages;
			n = n < pages - first ? n : pages - first;
			bad += compare(map_low(first, n), first, first, first + n);
			must(!munmap(LOW, n * PAGE));
		}
	check(!bad, "%u views at %p of every page offset: %u pages are wrong", views, LOW, bad);
}

/* The last page first: pages that are mapped with it come before it. */
static void backwards(void)
{
	u64 first, i;
	u32 bad = 0;

	for (first = 0; first < pages; first++) {
		u8 *p = map_low(first, pages - first);

		for (i = pages; i-- > first; )
			bad += compare(p, first, i, i + 1);
		must(!munmap(p, (pages - first) * PAGE));
	}
	check(!bad, "read from the end: %u pages are wrong", bad);
}

static void partial_munmap(void)
{
	u32 bad = 0;
	u64 cut;
	u8 *p;

	for (cut = 1; cut < pages; cut++) {
		p = map_low(0, pages);
		must(!munmap(p, cut * PAGE));
		bad += compare(p, 0, cut, pages);
		must(!munmap(p, pages * PAGE));
		p = map_low(0, pages);
		must(!munmap(p + (pages - cut) * PAGE, cut * PAGE));
		bad += compare(p, 0, 0, pages - cut);
		must(!munmap(p, pages * PAGE));
		/* A hole makes two mappings with separate offsets. */
		p = map_low(0, pages);
		must(!munmap(p + cut * PAGE, PAGE));
		bad += compare(p, 0, 0, cut) + compare(p, 0, cut + 1, pages);
		must(!munmap(p, pages * PAGE));
		/* Pages that were mapped before are mapped again. */
		p = map_low(0, pages);
		bad += compare(p, 0, 0, pages);
		must(!munmap(p, cut * PAGE));
		must(cut == pages || !madvise(p + cut * PAGE, (pages - cut) * PAGE, MADV_DONTNEED));
		bad += compare(p, 0, cut, pages);
		must(!munmap(p, pages * PAGE));
	}
	check(!bad, "views cut at every page: %u pages are wrong", bad);
}

static u8 *map_page(u64 page)
{
	u8 *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, s.fd, s.info.data_off + page * PAGE);

	return p == MAP_FAILED ? NULL : p;
}

static int child_gets_none(void *arg)
{
	(void)arg;
	return map_page(0) || errno != ENOMEM;
}

/*
 * All views of the session count, including those created by splitting, and those in other
 * processes.
 */
static void limited(void)
{
	static u8 *view[2 * VIEWS];
	u32 ring = ring_info(&s, 0).ring, n = 0, bad = 0, i;
	u64 began;

	while (n < 2 * VIEWS && (view[n] = map_page(0)))
		n++;
	check(n == VIEWS - 2 && errno == ENOMEM, "%u views plus two: %s", n, strerror(errno));
	check(!wait_for(spawn(child_gets_none, NULL)), "another process with the file gets none");
	check(munmap(s.data + PAGE, PAGE) && errno == ENOMEM, "nor can one be cut in two");
	bad += compare(s.data, 0, 0, pages);
	for (i = 0; i < n; i++)
		bad += compare(view[i], 0, 0, 1);
	check(!bad, "all show what they should: %u pages are wrong", bad);
	/* The kernel cuts off both ends first, so a hole needs room for two mappings. */
	must(!munmap(view[--n], PAGE) && !munmap(view[--n], PAGE));
	check(!munmap(s.data + PAGE, PAGE), "with room for two it can be");
	view[n] = map_page(0);
	check(view[n++] && !map_page(0), "which leaves room for one");
	began = now_ns();
	must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring, ADEPT_RESET_FORCE));
	check(counter_becomes("pages", 0), "a ring in %u views is freed, in %lu us", VIEWS,
	      (now_ns() - began) / 1000);
	while (n)
		must(!munmap(view[--n], PAGE));
	view[0] = map_page(0);
	check(view[0] && !munmap(view[0], PAGE), "and there is room when they are gone");
}

int main(void)
{
	struct progress *progress = progress_make();
	struct adept_desc d[8];
	struct adept_exchange x = { .take = (u64)d, .ntake = 8 };
	struct job j = { &s, progress, 0, 2 * CHUNK / 210 };
	pid_t pid;
	u64 i;

	session_make(&s, CHUNK, 2, 1, ADEPT_POLICY_WAIT);
	pages = s.info.area_size / PAGE;
	pid = spawn(job_run, &j);
	while (!ring_info(&s, 0).waiting)
		sleep_ms(1);
	must(!do_exchange(&s, &x) && x.taken == 1);
	kill(pid, SIGKILL);
	wait_for(pid);
	must(!do_exchange(&s, &x) && x.taken == 1);
	copy = calloc(pages, PAGE);
	for (i = 0; i < pages; i++)
		if (!is_gap(i)) {
			memcpy(copy + i * PAGE, s.data + i * PAGE, PAGE);
			shown += *(u64 *)(copy + i * PAGE) != 0;
		}
	check(shown > 40, "%lu pages have records in them", shown);
	every_offset();
	backwards();
	partial_munmap();
	limited();
	session_close(&s);
	must(counter_becomes("sessions", 0));
	return finish();
}

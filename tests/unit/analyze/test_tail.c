// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live analysis: a store that grows byte by byte, and synthetic threads, some of which sleep while
 * their last records are in their rings.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "dep/analyze.h"
#include "libdep/collect/collect.h"
#include "libdep/collect/snapshot.h"
#include "libdep/format/read/store.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"

#define MAX_SEEN	64u
#define ENTER		2000u
#define END		5001u
#define FOUND		6000u		/* memory that the end of a call reports */

/* ---- a growing store ---- */

static void copy_part(const char *from, const char *to, const char *name, size_t part)
{
	size_t size;
	u8 *p = slurp(from, name, &size);

	spew(to, name, p, part < size ? part : size);
	free(p);
}

static void same_store(struct dep_store *a, struct dep_store *b)
{
	const struct dep_segment *sa, *sb;
	const struct dep_thread *ta, *tb;
	const struct dep_process *pa, *pb;
	size_t n = dep_store_segments(a, &sa);

	assert_int_equal(dep_store_segments(b, &sb), n);
	while (n--) {
		assert_int_equal(sa[n].thread, sb[n].thread);
		assert_int_equal(sa[n].seq, sb[n].seq);
		assert_int_equal(sa[n].offset, sb[n].offset);
		assert_int_equal(sa[n].value_bytes, sb[n].value_bytes);
	}
	n = dep_store_threads(a, &ta);
	assert_int_equal(dep_store_threads(b, &tb), n);
	while (n--) {
		assert_int_equal(ta[n].serial, tb[n].serial);
		assert_int_equal(ta[n].end_ns, tb[n].end_ns);
		assert_int_equal(ta[n].end, tb[n].end);
	}
	assert_int_equal(dep_store_processes(a, &pa), dep_store_processes(b, &pb));
	if (dep_store_processes(a, &pa))
		assert_int_equal(pa->end_ns, pb->end_ns);
	assert_memory_equal(dep_store_loss(a), dep_store_loss(b), sizeof(struct dep_loss));
	assert_int_equal(a->model.fragments.n, b->model.fragments.n);
	assert_int_equal(a->model.bad_bytes, b->model.bad_bytes);
	assert_int_equal(dep_store_exit_status(a), dep_store_exit_status(b));
}

/* The log and the segments of a store, some bytes at a time; @end: their sizes. */
static void grow_by(size_t log_step, size_t seg_step, size_t log_end, size_t seg_end)
{
	char dir[128], copy[128];
	struct dep_store *s, *whole;
	const struct dep_segment *segs;
	struct stream stream;
	struct dep_writer *w;
	size_t log = sizeof(struct dep_file_header), seg = 0, n, last = 0;

	scratch_name(dir, sizeof(dir));
	make_stream(&stream);
	write_store(dir, &w, &stream);
	assert_int_equal(close_writer(w, NULL, 3), 0);
	scratch_name(copy, sizeof(copy));
	assert_int_equal(mkdir(copy, 0700), 0);
	copy_part(dir, copy, "fragments", log);
	copy_part(dir, copy, "manifest.json", SIZE_MAX);
	assert_int_equal(dep_store_open_growing(&s, copy), 0);
	while (log < log_end || seg < seg_end) {
		log = log_end - log > log_step ? log + log_step : log_end;
		seg = seg_end - seg > seg_step ? seg + seg_step : seg_end;
		copy_part(dir, copy, "fragments", log);
		copy_part(dir, copy, "segments.000", seg);
		assert_int_equal(dep_store_grow(s), 0);
		n = dep_store_segments(s, &segs);
		assert_true(n >= last);
		last = n;
	}
	if (log_end == SIZE_MAX)
		copy_part(dir, copy, "manifest.json", SIZE_MAX);
	assert_int_equal(dep_store_finish_tail(s), 0);
	assert_int_equal(dep_store_open(&whole, copy), 0);
	same_store(s, whole);
	dep_store_close(whole);
	dep_store_close(s);
	stream_free(&stream);
	scratch_remove(copy);
	scratch_remove(dir);
}

static size_t size_of(const char *name)
{
	char dir[128];
	struct stream stream;
	struct dep_writer *w;
	size_t size;

	scratch_name(dir, sizeof(dir));
	make_stream(&stream);
	write_store(dir, &w, &stream);
	assert_int_equal(close_writer(w, NULL, 3), 0);
	free(slurp(dir, name, &size));
	stream_free(&stream);
	scratch_remove(dir);
	return size;
}

static void grows(void **state)
{
	size_t log = size_of("fragments"), seg = size_of("segments.000");

	(void)state;
	grow_by(log / 97, seg, log, seg);
	grow_by(log, seg / 203, log, seg);
	grow_by(log / 61, seg / 59, log, seg);
}

/* Unfinished data at the end reads as in a store that is opened at this time. */
static void is_cut(void **state)
{
	size_t log = size_of("fragments"), seg = size_of("segments.000"), i;

	(void)state;
	for (i = 1; i < 40; i += 3)
		grow_by(log / 5, seg / 7, log - i * 7, seg - i * 61);
	/* Not even the file header is complete. */
	for (i = 1; i < 16; i += 5)
		grow_by(log / 5, 1, log, i);
}

/* ---- threads ---- */

struct seen {
	u32 what[MAX_SEEN];
	u32 n;
	u32 foreseen;		/* number of the call; 0: none */
};

static void see(struct seen *s, const struct dep_thread *t, u32 what)
{
	assert_true(s->n < MAX_SEEN);
	s->what[s->n++] = t->serial * 10000 + what;
}

static ssize_t items(void *self, const struct dep_thread *t, const struct dep_item *it, size_t n,
		     bool late)
{
	const struct adept_ev_syscall *call;
	size_t i;

	(void)late;
	for (i = 0; i < n; i++, it++) {
		if (it->kind == DEP_ITEM_EVENT && it->event.id == ADEPT_EV_BUFFER)
			see(self, t, FOUND);
		if (it->kind != DEP_ITEM_EVENT ||
		    (it->event.id & ~DEP_EV_ENTER) != ADEPT_EV_SYSCALL)
			continue;
		call = it->event.payload;
		see(self, t, call->nr + (it->event.id & DEP_EV_ENTER ? ENTER : 0));
	}
	return (ssize_t)n;
}

static int end(void *self, const struct dep_thread *t)
{
	see(self, t, END);
	return 0;
}

static bool foreseen(void *self, uint32_t nr, const uint64_t args[6])
{
	(void)args;
	return nr == ((struct seen *)self)->foreseen;
}

static const struct dep_analyzer analyzer = {
	.name = "test", .want = DEP_WANT_REFS, .items = items, .end = end, .foreseen = foreseen,
};

/* Thread 1 sleeps in call 9, which it entered at 30; thread 2 is in the store up to 70. */
struct scene {
	struct dep_session s;
	struct dep_writer *w;
	struct stream t[2];
	char dir[128];
	struct seen seen;
	u32 looked;		/* number of calls of wait().. */
	u32 waits;		/* ..before the sleeper wakes up; 0: 20 */
	u32 seen_before;	/* when the sleeper woke up */
	u32 wakes_as;		/* the call that the store has in the end */
	enum { WAKES, FINDS, ENDS, IS_KILLED, IS_LOST, GOES_ON } how;
};

static void call(struct stream *s, u32 nr, u64 before, u64 after)
{
	struct adept_ev_syscall ev = { .nr = nr, .before = before, .after = after };

	stream_event(s, ADEPT_EV_SYSCALL, &ev);
	stream_context(s, 0x401000);
}

static void store_thread(struct scene *c, u32 i)
{
	struct dep_thread t = { .serial = i + 2, .tid = 100 + i, .process = 1, .end_ns = 5,
				.end = !i && c->how == IS_LOST ? DEP_END_UNFINISHED :
								 DEP_END_WHOLE };
	size_t k;

	stream_close(&c->t[i]);
	for (k = 0; k < c->t[i].nchunks; k++)
		assert_int_equal(dep_writer_segment(c->w, t.serial, &c->t[i].chunk[k].c,
						    c->t[i].chunk[k].body), 0);
	assert_int_equal(dep_writer_thread_end(c->w, &t), 0);
}

static void sleeps(struct scene *c)
{
	struct adept_thread *sh = dep_session_thread(&c->s, 0);
	struct stream *t = &c->t[0];

	sh->chunk[0] = t->cur;
	memcpy(dep_session_chunk(&c->s, 0, 0), t->body, t->fill);
	sh->serial = 2;
	sh->call = (struct adept_call){ .before = 30, .nr = 9 };
	sh->state = ADEPT_SLOT_LIVE;
}

static void set_scene(struct scene *c)
{
	struct dep_process p = { .serial = 1, .pid = 100, .start_ns = 1 };
	struct dep_meta m = { .cwd = "/" };
	u32 i;

	memset(c, 0, sizeof(*c));
	c->wakes_as = 9;
	assert_int_equal(dep_session_create(&c->s, 0, 0, 4, 4, 0), 0);
	scratch_name(c->dir, sizeof(c->dir));
	assert_int_equal(dep_writer_create(&c->w, c->dir, &m, 0), 0);
	assert_int_equal(dep_writer_process(c->w, &p), 0);
	for (i = 0; i < 2; i++) {
		struct dep_thread t = { .serial = i + 2, .tid = 100 + i, .process = 1 };

		assert_int_equal(dep_writer_thread(c->w, &t), 0);
		stream_init(&c->t[i], 1);
		c->t[i].cur.timestamp = i ? 5 : 1;
		stream_context(&c->t[i], 0x401000);
	}
	call(&c->t[0], 1, 10, 20);
	sleeps(c);
	call(&c->t[1], 3, 15, 40);
	stream_close(&c->t[1]);
	c->t[1].cur.timestamp = 45;
	call(&c->t[1], 4, 50, 70);
	store_thread(c, 1);
}

static void strike(struct scene *c)
{
	stream_free(&c->t[0]);
	stream_free(&c->t[1]);
	dep_session_destroy(&c->s);
	scratch_remove(c->dir);
}

/* What the sleeper does when it wakes up. */
static void wakes(struct scene *c)
{
	const struct adept_ev_buffer found = { 0x1000, 8 };
	const struct adept_ev_end end = { 0, 80 };

	switch (c->how) {
	case FINDS:
		stream_event(&c->t[0], ADEPT_EV_BUFFER, &found);
		/* fall through */
	case WAKES:
		call(&c->t[0], c->wakes_as, 30, 80);
		call(&c->t[0], 2, 90, 91);
		break;
	case ENDS:
		stream_event(&c->t[0], ADEPT_EV_THREAD_END, &end);
		break;
	case GOES_ON:
		stream_close(&c->t[0]);
		c->t[0].cur.timestamp = 85;
		call(&c->t[0], 2, 90, 91);
		break;
	case IS_KILLED:
	case IS_LOST:
		break;
	}
}

/* After some calls the sleeper wakes up. */
static int wait_more(void *arg, unsigned int ms)
{
	struct scene *c = arg;

	(void)ms;
	usleep(1000);
	if (++c->looked < (c->waits ? c->waits : 20))
		return 0;
	if (c->w) {
		c->seen_before = c->seen.n;
		dep_session_thread(&c->s, 0)->call.before = 0;
		wakes(c);
		store_thread(c, 0);
		dep_session_thread(&c->s, 0)->state = ADEPT_SLOT_FREE;
		assert_int_equal(close_writer(c->w, NULL, 0), 0);
		c->w = NULL;
	}
	return 1;
}

static const struct dep_analyze_options one_job = { .jobs = 1 };

static void same_afterwards(struct scene *c)
{
	struct seen after = { .foreseen = c->seen.foreseen };
	struct dep_analysis how;
	struct dep_store *store;

	assert_int_equal(dep_store_open(&store, c->dir), 0);
	assert_int_equal(dep_analyze(store, &analyzer, &after, &one_job, &how), 0);
	assert_int_equal(how.gaps + how.disorder, 0);
	dep_store_close(store);
	assert_memory_equal(&after, &c->seen, sizeof(after));
}

static int analyze(struct scene *c, unsigned int jobs)
{
	const struct dep_analyze_options options = { .jobs = jobs };
	struct dep_live_options live = { .wait = wait_more, .arg = c, .session = c->s.fd };
	struct dep_analysis how;
	struct dep_store *store;
	int err;

	assert_int_equal(dep_store_open_growing(&store, c->dir), 0);
	err = dep_analyze_live(store, &analyzer, &c->seen, &options, &live, &how);
	dep_store_close(store);
	return err;
}

static void sleeper(void **state)
{
	static const u32 before[] = {
		22001, 32003, 20001, 22009, 30003, 32004, 30004, 30000 + END,
	};
	struct scene c;
	unsigned int jobs;

	(void)state;
	for (jobs = 1; jobs <= 2; jobs++) {
		set_scene(&c);
		c.seen.foreseen = 9;
		assert_int_equal(analyze(&c, jobs), 0);
		assert_int_equal(c.seen_before, sizeof(before) / sizeof(before[0]));
		assert_memory_equal(c.seen.what, before, sizeof(before));
		same_afterwards(&c);
		strike(&c);
	}
}

/* A call whose beginning depends on its result delays everything after it. */
static void not_foreseen(void **state)
{
	struct scene c;

	(void)state;
	set_scene(&c);
	assert_int_equal(analyze(&c, 1), 0);
	assert_int_equal(c.seen_before, 3);
	same_afterwards(&c);
	strike(&c);
}

/*
 * A signal may interrupt the call and another call follow: an analysis that assumed the call is
 * stale.
 */
static void woken_otherwise(void **state)
{
	struct scene c;

	(void)state;
	set_scene(&c);
	c.seen.foreseen = 9;
	c.wakes_as = 7;
	assert_int_equal(analyze(&c, 1), -ESTALE);
	strike(&c);
}

/* Memory that the end of a call reports as accessed is not lost. */
static void finds_memory(void **state)
{
	static const u32 seen[] = {
		22001, 32003, 20001, 22009, 30003, 32004, 30004, 30000 + END,
		20000 + FOUND, 20009, 22002, 20002, 20000 + END,
	};
	struct scene c;

	(void)state;
	set_scene(&c);
	c.seen.foreseen = 9;
	c.how = FINDS;
	assert_int_equal(analyze(&c, 1), 0);
	assert_int_equal(c.seen.n, sizeof(seen) / sizeof(seen[0]));
	assert_memory_equal(c.seen.what, seen, sizeof(seen));
	strike(&c);
}

static int end_asleep(struct scene *c, u32 foreseen_call, u32 how, unsigned int jobs)
{
	int err;

	set_scene(c);
	c->seen.foreseen = foreseen_call;
	c->how = how;
	err = analyze(c, jobs);
	/* If the beginning of the call was not emitted, the result is that of a later analysis. */
	if (!foreseen_call && !err)
		same_afterwards(c);
	strike(c);
	return err;
}

/* The process ends in the call: if nothing else is missing, the analysis completes. */
static void ends_asleep(void **state)
{
	static const u32 seen[] = {
		22001, 32003, 20001, 22009, 30003, 32004, 30004, 30000 + END, 20000 + END,
	};
	static const u32 how[] = { ENDS, IS_KILLED };
	struct scene c;
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		assert_int_equal(end_asleep(&c, 9, how[i % 2], i / 2 + 1), 0);
		assert_int_equal(c.seen.n, sizeof(seen) / sizeof(seen[0]));
		assert_memory_equal(c.seen.what, seen, sizeof(seen));
	}
	assert_int_equal(end_asleep(&c, 9, IS_LOST, 1), -ESTALE);
	assert_int_equal(end_asleep(&c, 9, GOES_ON, 1), -ESTALE);
	assert_int_equal(end_asleep(&c, 0, ENDS, 1), 0);
	assert_int_equal(end_asleep(&c, 0, IS_KILLED, 1), 0);
}

/* The start time of a thread with a claimed slot is unknown. */
static void being_made(void **state)
{
	struct scene c;

	(void)state;
	set_scene(&c);
	c.seen.foreseen = 9;
	dep_session_thread(&c.s, 2)->state = ADEPT_SLOT_CLAIMED;
	assert_int_equal(analyze(&c, 1), 0);
	assert_int_equal(c.seen_before, 0);
	same_afterwards(&c);
	strike(&c);
	/* A thread that is killed in this state never starts. */
	set_scene(&c);
	c.seen.foreseen = 9;
	c.waits = 1500;
	dep_session_thread(&c.s, 2)->state = ADEPT_SLOT_CLAIMED;
	assert_int_equal(analyze(&c, 1), 0);
	assert_int_equal(c.seen_before, 8);
	same_afterwards(&c);
	strike(&c);
}

/* Values that no correct process writes to its slot and ring. */
static void hostile(void **state)
{
	struct adept_thread *sh;
	struct scene c;
	u64 seed = 4711;
	u32 i, k;

	(void)state;
	for (i = 0; i < 60; i++) {
		set_scene(&c);
		c.seen.foreseen = 9;
		sh = dep_session_thread(&c.s, 0);
		for (k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			if (i % 2)
				dep_session_chunk(&c.s, 0, 0)[seed >> 33 & 255] = seed >> 20;
			else
				((u32 *)sh)[seed >> 33 & 127] = (u32)(seed >> 20);
		}
		/* The collector stores only valid data. */
		c.looked = 14;
		k = (u32)analyze(&c, 1);
		assert_true(!k || (int)k == -ESTALE);
		strike(&c);
	}
}

static int wait_renamed(void *arg, unsigned int ms)
{
	struct scene *c = arg;
	int i;

	(void)ms;
	/* As if it was written between any two reads. */
	for (i = 1; i < 4; i++) {
		dep_session_thread(&c->s, (u32)i)->serial = 1000 + 4 * c->looked + (u32)i;
		dep_session_thread(&c->s, (u32)i)->state = ADEPT_SLOT_LIVE;
	}
	if (++c->looked < 6000)
		return 0;
	return wait_more(arg, ms);
}

/*
 * The same in the session's first page: the analysis waits, and the store is complete in the end.
 */
static void nonsense(void **state)
{
	struct scene c;

	(void)state;
	set_scene(&c);
	c.s.map->nchunks = 99;
	assert_int_equal(analyze(&c, 1), -ESTALE);
	assert_null(c.w);
	assert_int_equal(c.seen.n, 0);
	strike(&c);
}

/* New threads appear at each read: memory is bounded, and the analysis ends as stale. */
static void without_end(void **state)
{
	struct dep_analysis how;
	struct dep_store *store;
	struct scene c;
	struct dep_live_options live = { .wait = wait_renamed, .arg = &c };

	(void)state;
	set_scene(&c);
	c.seen.foreseen = 9;
	live.session = c.s.fd;
	assert_int_equal(dep_store_open_growing(&store, c.dir), 0);
	assert_int_equal(dep_analyze_live(store, &analyzer, &c.seen, &one_job, &live, &how),
			 -ESTALE);
	dep_store_close(store);
	strike(&c);
}

static off_t memory_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_blocks;
}

/* Reading slots allocates no memory for unused ones. */
static void looks_without_a_trace(void **state)
{
	const struct dep_peeked *seen;
	struct dep_session s;
	struct dep_snapshot *p;
	off_t before;
	bool making;
	u64 now;
	u32 i;

	(void)state;
	assert_int_equal(dep_session_create(&s, 0, 0, 4, 1000, 0), 0);
	for (i = 300; i < 1000; i += 300) {
		dep_session_thread(&s, i)->serial = i;
		dep_session_thread(&s, i)->state = ADEPT_SLOT_LIVE;
	}
	before = memory_of(s.fd);
	assert_int_equal(dep_snapshot_open(&p, s.fd), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(dep_snapshot_threads(p, &seen, &now, &making), 3);
		assert_true(!making && seen[0].slot == 300 && seen[2].serial == 900);
	}
	dep_snapshot_close(p);
	assert_int_equal(memory_of(s.fd), before);
	dep_session_destroy(&s);
}

/* A file that another process could truncate is not accepted. */
static void not_sealed(void **state)
{
	struct dep_session s;
	struct dep_snapshot *p;
	int fd;

	(void)state;
	assert_int_equal(dep_session_create(&s, 0, 0, 4, 4, 0), 0);
	fd = memfd_create("not sealed", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)s.layout.file_size), 0);
	assert_int_equal(pwrite(fd, s.map, 4096, 0), 4096);
	assert_int_equal(dep_snapshot_open(&p, fd), -EBADMSG);
	close(fd);
	dep_session_destroy(&s);
}

/* The session file of the process that writes a store, found by its name. */
static void finds_the_session(void **state)
{
	struct dep_session s, other;
	struct stat made, found;
	struct stream stream;
	struct dep_writer *w;
	char dir[128];
	int fd, copy;

	(void)state;
	scratch_name(dir, sizeof(dir));
	make_stream(&stream);
	write_store(dir, &w, &stream);
	assert_int_equal(dep_session_open(dir), -ENOENT);
	assert_int_equal(dep_session_create(&s, 0, 0, 4, 4, 0), 0);
	fd = dep_session_open(dir);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(fstat(s.fd, &made), 0);
	assert_int_equal(found.st_ino, made.st_ino);
	close(fd);
	/* The process may have it twice. */
	copy = dup(s.fd);
	fd = dep_session_open(dir);
	assert_true(fd >= 0);
	close(fd);
	close(copy);
	assert_int_equal(dep_session_create(&other, 0, 0, 4, 4, 0), 0);
	assert_int_equal(dep_session_open(dir), -EOPNOTSUPP);
	dep_session_destroy(&other);
	assert_int_equal(close_writer(w, NULL, 3), 0);
	assert_int_equal(dep_session_open(dir), -ESRCH);
	dep_session_destroy(&s);
	stream_free(&stream);
	scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(is_cut),
		cmocka_unit_test(sleeper),
		cmocka_unit_test(not_foreseen),
		cmocka_unit_test(woken_otherwise),
		cmocka_unit_test(finds_memory),
		cmocka_unit_test(ends_asleep),
		cmocka_unit_test(being_made),
		cmocka_unit_test(hostile),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(without_end),
		cmocka_unit_test(looks_without_a_trace),
		cmocka_unit_test(not_sealed),
		cmocka_unit_test(finds_the_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window on the disk whose collector was killed: what is stored of it, and what becomes of
 * damaged and forged files.  Which files stay when a recording ends with an error.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <xxhash.h>

#include "libdep/collect/window.h"
#include "libdep/collect/window_files.h"
#include "libdep/collect/window_recover.h"
#include "dep/verdict.h"
#include "libdep/format/file/log.h"
#include "libdep/format/read/store.h"
#include "libdep/format/write/store_dir.h"
#include "tests/unit/lib/random.h"
#include "tests/unit/lib/store_util.h"

#define BOUND	(512u << 10)
#define THREADS	3u
#define ROUNDS	2000u

static struct stream stream;
static char dir[128], to[128];
static struct dep_last *dropped;	/* of the window that was killed */

static int make_it(void **state)
{
	(void)state;
	make_stream(&stream);
	dropped = mmap(NULL, sizeof(*dropped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	return dropped == MAP_FAILED;
}

static int free_it(void **state)
{
	(void)state;
	stream_free(&stream);
	return munmap(dropped, sizeof(*dropped));
}

static void entry(struct dep_window *w, enum dep_job_kind kind, u32 serial)
{
	struct dep_job *job = calloc(1, sizeof(*job) + 16);

	assert_non_null(job);
	job->kind = kind;
	job->serial = serial;
	job->room = 16;
	if (kind == DEP_JOB_PROCESS || kind == DEP_JOB_PROCESS_END) {
		strcpy((char *)job->data, "/bin/prog");
		job->process = (struct dep_process){
			.serial = serial, .pid = 100, .start_ns = 1, .end_ns = 77,
			.exe = (char *)job->data, .cause = ADEPT_BY_LAUNCH,
		};
	} else {
		strcpy((char *)job->data, "name");
		job->tid_address = 0x1000 + serial;
		job->thread = (struct dep_thread){
			.serial = serial, .tid = 200 + serial, .process = 1000, .start_ns = 2,
			.end_ns = kind == DEP_JOB_THREAD ? 0 : 50, .end = DEP_END_WHOLE,
			.name = (char *)job->data,
		};
	}
	assert_int_equal(dep_window_entry(w, job), 0);
	free(job);
}

/* Add a chunk of up to @most bytes. */
static int try_chunk(struct dep_window *w, u32 thread, u64 seq, u32 most)
{
	const struct stream_chunk *k = &stream.chunk[seq % stream.nchunks];
	struct dep_job *job = calloc(1, sizeof(*job));
	static u64 ns = 1000;
	int err;

	assert_non_null(job);
	job->kind = DEP_JOB_SEGMENT;
	job->serial = thread;
	job->chunk = k->c;
	job->chunk.seq = seq;
	if (job->chunk.fill > most)
		job->chunk.fill = most;
	job->size = job->chunk.fill;
	job->body = k->body;
	ns++;
	err = dep_window_chunk(w, job, (struct dep_moment){ ns, 2 * ns });
	free(job);
	return err;
}

static void chunk(struct dep_window *w, u32 thread, u64 seq)
{
	assert_int_equal(try_chunk(w, thread, seq, UINT32_MAX), 0);
}

static void small_chunk(struct dep_window *w, u32 thread, u64 seq)
{
	assert_int_equal(try_chunk(w, thread, seq, 64), 0);
}

/* A window in a new store @dir, with process 1000 and @threads threads. */
static struct dep_window *window_of(struct dep_writer **writer, struct dep_store_dir *at,
				    u32 threads)
{
	struct dep_window *w = dep_window_new(BOUND, 0, 65536);
	u32 i;

	assert_non_null(w);
	assert_int_equal(dep_writer_create(writer, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_dir(*writer, at), 0);
	assert_int_equal(dep_window_to_disk(w, at), 0);
	entry(w, DEP_JOB_PROCESS, 1000);
	for (i = 1; i <= threads; i++)
		entry(w, DEP_JOB_THREAD, i);
	return w;
}

/* Record in a child, which ends without a word. Of thread 4 nothing is kept, thread 2 has ended. */
static void record_and_die(void)
{
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w = window_of(&writer, &at, THREADS + 1);
	u32 i;

	assert_int_equal(dep_window_descriptors(w, 1000, stream.desc, stream.desc_size, 0), 0);
	chunk(w, THREADS + 1, 0);
	for (i = 0; i < ROUNDS; i++)
		chunk(w, 1 + i % THREADS, i / THREADS);
	entry(w, DEP_JOB_THREAD_END, 2);
	dep_window_dropped(w, dropped);
	_exit(0);
}

static void kill_one(void)
{
	int status;
	pid_t child;

	scratch_name(dir, sizeof(dir));
	scratch_name(to, sizeof(to));
	child = fork();
	if (!child)
		record_and_die();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(dep_window_is_left(dir));
}

static void check_segments(struct dep_store *s, const struct dep_last *last)
{
	const struct dep_segment *seg;
	size_t n = dep_store_segments(s, &seg), i;

	assert_int_equal(n + last->chunks, ROUNDS + 1);
	for (i = 0; i < n; i++)
		if (!i || seg[i].thread != seg[i - 1].thread)
			assert_int_equal(seg[i].seq, dep_store_first(s, seg[i].thread));
		else
			assert_int_equal(seg[i].seq, seg[i - 1].seq + 1);
	assert_int_equal(seg[n - 1].seq, (ROUNDS - THREADS) / THREADS);
}

static void killed(void **state)
{
	struct dep_save_result r;
	struct dep_last last;
	const struct dep_thread *t;
	const struct dep_verdict *v;
	struct dep_store *s;
	size_t i;

	(void)state;
	kill_one();
	assert_int_equal(dep_window_recover(dir, to, 0, &r), 0);
	assert_int_equal(r.threads, THREADS + 1);
	assert_int_equal(dep_store_open(&s, to), 0);
	assert_true(dep_store_last(s, &last));
	assert_int_equal(last.max_bytes, BOUND);
	/* A chunk stays until the last one of its file is dropped. */
	assert_in_range(last.chunks, dropped->chunks / 2, dropped->chunks);
	assert_int_equal(last.nthreads, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		assert_in_range(last.thread[i].chunks, last.chunks / THREADS - 1,
				last.chunks / THREADS + 1);
	assert_int_equal(last.thread[THREADS].chunks, 1);
	assert_int_equal(last.thread[THREADS].first, 1);
	assert_int_equal(last.thread[1].tid_address, 0x1002);
	check_segments(s, &last);
	assert_int_equal(dep_store_threads(s, &t), THREADS + 1);
	assert_int_equal(t[1].end, DEP_END_WHOLE);
	assert_string_equal(t[1].name, "name");
	assert_int_equal(t[0].end, DEP_END_UNTAKEN);
	v = dep_store_verdict(s);
	assert_int_equal(v->state, DEP_VERDICT_INCOMPLETE);
	assert_int_equal(v->cause, DEP_CLOSE_LOST);
	/* The kill, and the three threads that ran on. */
	assert_int_equal(v->ndefects, 1 + THREADS);
	dep_store_close(s);
	/* The store that was left did not change, so it can be done again, but not to the same. */
	assert_int_equal(dep_window_recover(dir, to, 0, &r), -EEXIST);
	scratch_remove(to);
	assert_int_equal(dep_window_recover(dir, to, 0, &r), 0);
	scratch_remove(to);
	scratch_remove(dir);
}

static void newest_file(char *name, size_t size)
{
	u32 n;

	for (n = 9999; n; n--) {
		snprintf(name, size, "%s/window.%03u", dir, n);
		if (!access(name, F_OK))
			return;
	}
	fail();
}

/* The collector was killed while it appended a chunk, at any byte: that is no damage. */
static void unfinished(void **state)
{
	struct dep_save_result r;
	struct dep_store *s;
	char name[192];
	struct stat st;
	u32 cut;

	(void)state;
	kill_one();
	newest_file(name, sizeof(name));
	for (cut = 1; cut < 4; cut++) {
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(truncate(name, st.st_size - (cut == 1 ? 8 : 100 * cut)), 0);
		assert_int_equal(dep_window_recover(dir, to, 0, &r), 0);
		assert_int_equal(dep_store_open(&s, to), 0);
		assert_int_equal(dep_store_loss(s)->discarded_bytes, 0);
		dep_store_close(s);
		scratch_remove(to);
	}
	scratch_remove(dir);
}

/* A recorder that lives is not disturbed. */
static void in_use(void **state)
{
	struct dep_save_result r;
	struct dep_writer *w;

	(void)state;
	scratch_name(dir, sizeof(dir));
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_false(dep_window_is_left(dir));
	assert_int_equal(dep_window_recover(dir, "/nowhere", 0, &r), -EBUSY);
	dep_writer_discard(w);
	assert_int_equal(dep_window_recover(dir, "/nowhere", 0, &r), -ENOENT);
	assert_non_null(strstr(r.error, "window.log"));
	scratch_remove(dir);
}

/*
 * The chunks of many threads come and go, while no thread begins or ends and no code is new: the
 * log does not grow for ever.
 */
static void log_is_bounded(void **state)
{
	const u32 threads = 1500;
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	struct stat st;
	off_t most = 0;
	u32 i;

	(void)state;
	scratch_name(dir, sizeof(dir));
	w = window_of(&writer, &at, threads);
	for (i = 0; i < 80000; i++) {
		small_chunk(w, 1 + i % threads, i / threads);
		if (i % 1000)
			continue;
		assert_int_equal(fstatat(at.dirfd, DEP_WINDOW_LOG, &st, 0), 0);
		if (st.st_size > most)
			most = st.st_size;
	}
	/* Twice what the window has in memory, and the slack of 1 MiB. */
	assert_in_range(most, 1, 2 * dep_window_descriptor_bytes(w) + (1u << 20) + 65536);
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(dir);
}

/* The small chunks that the window has got, with those that it has dropped. */
static u64 count_added(const struct dep_window *w)
{
	struct dep_last last;

	dep_window_dropped(w, &last);
	return last.chunks + dep_window_bytes(w) / dep_window_file_size(64);
}

/*
 * Something is in the way of the new log.  That is not the chunk's fault, so the error is none of
 * those for which the queue rejects one chunk and goes on.  The window has not got the chunk.
 */
static void log_cannot_be_replaced(void **state)
{
	const u32 threads = 1500;
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	u64 added = 0;
	int err = 0;
	u32 i;

	(void)state;
	scratch_name(dir, sizeof(dir));
	w = window_of(&writer, &at, threads);
	assert_int_equal(mkdirat(at.dirfd, "window.log.new", 0700), 0);
	for (i = 0; i < 80000 && !err; i++) {
		added = count_added(w);
		err = try_chunk(w, 1 + i % threads, i / threads, 64);
	}
	assert_int_equal(err, -EIO);
	assert_int_equal(count_added(w), added);
	assert_int_equal(unlinkat(at.dirfd, "window.log.new", AT_REMOVEDIR), 0);
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(dir);
}

/* Chunks of few bytes take more memory than disk: the limit of memory drops them. */
static void memory_is_bounded(void **state)
{
	const u64 most = 65536, size = dep_window_file_size(64);
	struct dep_store_dir at;
	struct dep_writer *writer;
	struct dep_window *w;
	u64 chunks;
	u32 i;

	(void)state;
	scratch_name(dir, sizeof(dir));
	w = window_of(&writer, &at, 1);
	for (i = 0; i < 1000; i++)
		small_chunk(w, 1, i);
	assert_int_equal(dep_window_bytes(w), 1000 * size);
	dep_window_max_memory(w, most);
	for (; i < 2000; i++)
		small_chunk(w, 1, i);
	chunks = dep_window_bytes(w) / size;
	assert_in_range(chunks * sizeof(struct dep_kept_chunk) + dep_window_descriptor_bytes(w),
			most / 2, most + sizeof(struct dep_kept_chunk));
	/* Descriptors take it all: a part is left to chunks. */
	for (i = 0; i < 2000; i++)
		entry(w, DEP_JOB_THREAD, 2 + i);
	assert_true(dep_window_descriptor_bytes(w) > most);
	small_chunk(w, 1, 2000);
	chunks = dep_window_bytes(w) / size;
	assert_in_range(chunks * sizeof(struct dep_kept_chunk), most / 32,
			most / 16 + sizeof(struct dep_kept_chunk));
	dep_window_free(w);
	dep_writer_discard(writer);
	scratch_remove(dir);
}

/* ---- the end of a window in a queue ---- */

static bool disk_is_short;

/* The real one is not used: a window asks only for the free bytes. */
int fstatvfs(int fd, struct statvfs *st)
{
	(void)fd;
	*st = (struct statvfs){ .f_frsize = 4096, .f_bavail = disk_is_short ? 0 : 1u << 20 };
	return 0;
}

struct recording {
	struct adept_session s;
	struct dep_pool *pool;
	struct dep_writer *writer;
	struct dep_window *w;
	struct dep_queue *q;
};

static struct dep_job *new_job(struct recording *r, enum dep_job_kind kind, size_t room)
{
	struct dep_job *job = dep_queue_job(r->q, kind, room);

	assert_non_null(job);
	return job;
}

/* A queue whose window on the disk has @chunks chunks of thread 1. */
static void record(struct recording *r, u32 chunks)
{
	struct dep_queue_setup setup = { .s = &r->s, .chunk_size = 65536 };
	struct dep_store_dir at;
	struct dep_job *job;
	u32 i;

	memset(r, 0, sizeof(*r));
	scratch_name(dir, sizeof(dir));
	scratch_name(to, sizeof(to));
	r->w = window_of(&r->writer, &at, 1);
	setup.w = r->writer;
	setup.window = r->w;
	r->pool = dep_pool_create(1);
	assert_non_null(r->pool);
	r->q = dep_queue_create(r->pool, &setup);
	assert_non_null(r->q);
	job = new_job(r, DEP_JOB_DESCRIPTORS, stream.desc_size);
	job->serial = 1000;
	job->size = stream.desc_size;
	memcpy(job->data, stream.desc, stream.desc_size);
	dep_queue_put(r->q, job);
	dep_queue_drain(r->q);
	for (i = 0; i < chunks; i++)
		chunk(r->w, 1, i);
}

static void end(struct recording *r)
{
	dep_queue_free(r->q);
	dep_window_free(r->w);
	dep_pool_free(r->pool);
}

static u32 count_files(void)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += !strncmp(e->d_name, "window.", 7);
	closedir(d);
	return n;
}

/*
 * The disk is short, so that files are removed as soon as they are stored.  But the store fails
 * before the window ends: nothing of it is stored, so all files stay.
 */
static void store_fails(void **state)
{
	const struct dep_kept why = { .reason = DEP_KEEP_ENDED };
	const struct dep_segment *seg;
	struct rlimit old, none;
	struct dep_save_result result;
	struct recording r;
	struct dep_store *s;
	struct dep_job *job;
	u32 files;

	(void)state;
	record(&r, 20);
	getrlimit(RLIMIT_FSIZE, &old);
	none = (struct rlimit){ 1, old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	job = new_job(&r, DEP_JOB_MESSAGE, 16);
	strcpy((char *)job->data, "no room");
	job->size = 8;
	dep_queue_put(r.q, job);
	dep_queue_drain(r.q);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(dep_queue_store_failed(r.q));
	files = count_files();
	assert_true(files > 1);
	disk_is_short = true;
	assert_int_equal(dep_queue_end_window(r.q, &why), 0);
	dep_queue_drain(r.q);
	disk_is_short = false;
	assert_int_equal(count_files(), files);
	dep_window_keep_files(r.w);
	end(&r);
	dep_writer_discard(r.writer);
	assert_int_equal(count_files(), files);
	assert_int_equal(dep_window_recover(dir, to, 0, &result), 0);
	assert_int_equal(dep_store_open(&s, to), 0);
	assert_int_equal(dep_store_segments(s, &seg), 20);
	dep_store_close(s);
	scratch_remove(to);
	scratch_remove(dir);
}

/* Too many descriptions end a recording, but what the window has is stored: no file stays. */
static void too_many_descriptions(void **state)
{
	const struct dep_kept why = { .reason = DEP_KEEP_ENDED };
	const struct dep_segment *seg;
	struct recording r;
	struct dep_store *s;
	struct dep_job *job;
	u32 i;

	(void)state;
	record(&r, 4);
	for (i = 0; i < 70 && !dep_queue_failed(r.q); i++) {
		job = new_job(&r, DEP_JOB_PROCESS, 1 << 20);
		job->serial = 2000 + i;
		job->process = (struct dep_process){ .serial = 2000 + i, .pid = 1000 + i };
		dep_queue_put(r.q, job);
		dep_queue_drain(r.q);
	}
	assert_true(dep_queue_failed(r.q));
	assert_false(dep_queue_store_failed(r.q));
	assert_false(dep_window_is_empty(r.w));
	assert_int_equal(dep_queue_end_window(r.q, &why), 0);
	dep_queue_put(r.q, new_job(&r, DEP_JOB_CLOSE, 0));
	dep_queue_drain(r.q);
	assert_true(dep_window_is_empty(r.w));
	assert_false(dep_queue_store_failed(r.q));
	end(&r);
	assert_int_equal(count_files(), 0);
	assert_int_equal(dep_store_open(&s, dir), 0);
	assert_int_equal(dep_store_segments(s, &seg), 4);
	dep_store_close(s);
	scratch_remove(dir);
}

/* ---- damaged and forged files ---- */

static u32 below(u32 n)
{
	return n ? (u32)(rnd() % n) : 0;
}

/* Make a store of @dir if that is possible; it must then be one. */
static void recover_any(void)
{
	struct dep_save_result r;
	struct dep_loss loss;
	int err = dep_window_recover(dir, to, 0, &r);

	if (err)
		assert_true(*r.error);
	else
		assert_true(recover_what_is_there(to, &loss) >= 0);
	scratch_remove(to);
}

/* The name of one of the files with chunks, by chance. */
static void choose_chunks(char *name, size_t size)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, "window.", 7) && strcmp(e->d_name, "window.log") &&
		    !below(++n))
			snprintf(name, size, "%.255s", e->d_name);
	closedir(d);
	assert_true(n > 3);
}

static void odd_number(u8 *at, size_t size)
{
	static const u64 odd[] = {
		0, 1, 7, 8, 64, 4096, 1u << 28, 1u << 30, 0x7fffffff, 0xffffffff, 1ull << 32,
		1ull << 63, ~0ull,
	};
	u64 v = odd[below(sizeof(odd) / sizeof(odd[0]))];
	u32 wide = below(2) && size >= 8 ? 8 : 4;

	if (size >= wide)
		memcpy(at + below((u32)((size - wide) / 4 + 1)) * 4, &v, wide);
}

/* Change one frame of window.log, and write all frames with correct checksums. */
static void forge_log(const u8 *log, size_t size)
{
	struct dep_store_dir at = { .dirfd = open(dir, O_RDONLY | O_DIRECTORY) };
	const struct dep_log_entry *fr;
	struct dep_file_header h;
	struct dep_log_scan s;
	struct dep_log to_log;
	u64 n = 0, which;
	u8 *payload;
	u32 type;

	assert_int_equal(dep_log_open(&s, log, size), 0);
	at.fmt = s.fmt;
	while (dep_log_next(&s))
		n++;
	which = below((u32)n);
	assert_int_equal(unlinkat(at.dirfd, "window.log", 0), 0);
	assert_int_equal(dep_file_create(&to_log.file, at.dirfd, "window.log", DEP_LOG_MAGIC, 0,
					 &at.fmt, &at.access), 0);
	dep_file_header(&h, &at.fmt, DEP_LOG_MAGIC, 0);
	to_log.seed = at.fmt.seed;
	to_log.prev = h.check;
	assert_int_equal(dep_log_open(&s, log, size), 0);
	for (n = 0; (fr = dep_log_next(&s)); n++) {
		payload = malloc(fr->size + 16);
		memcpy(payload, fr->payload, fr->size);
		type = fr->type;
		if (n == which && !below(4))
			type = 1 + below(15);
		else if (n == which)
			odd_number(payload, fr->size);
		assert_int_equal(dep_log_append(&to_log, &(struct dep_new_frame){
			.type = type, .process = fr->process, .data = payload,
			.size = n == which && !below(4) ? below(fr->size + 16) : fr->size,
		}), 0);
		free(payload);
	}
	close(to_log.file.fd);
	close(at.dirfd);
}

/* Change the header of one chunk, and correct its checksum. */
static void forge_chunks(u8 *file, size_t size, u64 of)
{
	struct dep_wire_window_chunk h;
	size_t at, from = below((u32)size);

	for (at = sizeof(struct dep_file_header); at + sizeof(h) < size;
	     at += dep_align8(sizeof(h) + (u64)h.chunk.fill)) {
		memcpy(&h, file + at, sizeof(h));
		if (at < from)
			continue;
		odd_number((u8 *)&h + 8, sizeof(h) - 8);
		h.check = XXH3_64bits_withSeed(&h, offsetof(typeof(h), check), of);
		memcpy(file + at, &h, sizeof(h));
		return;
	}
}

static void damaged(void **state)
{
	size_t log_size, size;
	u64 of;
	u8 *log, *file, *copy;
	const u64 count = from_env("ADEPT_TEST_COUNT", 150);
	char name[256] = "";
	u32 i;

	(void)state;
	kill_one();
	log = slurp(dir, "window.log", &log_size);
	of = XXH3_64bits(((struct dep_file_header *)log)->id, DEP_ID_SIZE);
	for (i = 0; i < count; i++) {
		choose_chunks(name, sizeof(name));
		file = slurp(dir, name, &size);
		copy = slurp(dir, name, &size);
		if (i % 3 == 1)
			forge_log(log, log_size);
		else if (i % 3 == 2)
			forge_chunks(copy, size, of);
		else
			copy[below((u32)size)] ^= 1u << below(8);
		spew(dir, name, copy, below(4) ? size : below((u32)size));
		recover_any();
		spew(dir, name, file, size);
		spew(dir, "window.log", log, log_size);
		free(file);
		free(copy);
	}
	for (i = 0; i < 40; i++) {
		spew(dir, "window.log", log, below((u32)log_size));
		recover_any();
	}
	free(log);
	scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed),
		cmocka_unit_test(unfinished),
		cmocka_unit_test(in_use),
		cmocka_unit_test(log_is_bounded),
		cmocka_unit_test(log_cannot_be_replaced),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(store_fails),
		cmocka_unit_test(too_many_descriptions),
		cmocka_unit_test(damaged),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	return cmocka_run_group_tests(tests, make_it, free_it);
}

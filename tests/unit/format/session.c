// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "libdep/format/read/store.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/fixed_random.h"
#include "session.h"
#include "tests/unit/lib/store_util.h"

/* ---- what is recorded ---- */

static void add_desc(struct session *s, u32 k, const void *data, size_t size)
{
	s->desc[k] = realloc(s->desc[k], s->desc_size[k] + size);
	memcpy(s->desc[k] + s->desc_size[k], data, size);
	s->desc_size[k] += size;
}

static void add_map(struct session *s, u32 k, const char *path, u64 time)
{
	struct {
		struct adept_desc_map m;
		char path[32];
	} d = { .m = { .h = { sizeof(d), ADEPT_DESC_MAP }, .start = time << 20,
		       .end = (time + 1) << 20, .time_ns = time } };
	struct stat st;

	snprintf(d.path, sizeof(d.path), "%s", path);
	assert_int_equal(stat(path, &st), 0);
	d.m.dev = (u64)major(st.st_dev) << 32 | minor(st.st_dev);
	d.m.inode = st.st_ino;
	add_desc(s, k, &d, sizeof(d));
}

static void add(struct session *s, struct step step)
{
	s->step = realloc(s->step, (s->nsteps + 1) * sizeof(step));
	s->step[s->nsteps++] = step;
}

/* All descriptors that were made since the last of these steps. */
static void add_batch(struct session *s, u32 serial)
{
	size_t from = 0, i;

	for (i = 0; i < s->nsteps; i++)
		if (s->step[i].kind == STEP_DESC && s->step[i].serial == serial)
			from = s->step[i].to;
	add(s, (struct step){ STEP_DESC, serial, from, s->desc_size[serial - 1], 0 });
}

static void begin(struct session *s, u32 serial)
{
	struct stream *st = &s->stream[serial - 1];
	size_t half = 0;

	add(s, (struct step){ .kind = STEP_PROCESS, .serial = serial });
	add_map(s, serial - 1, "/bin/sh", 2 * serial);
	add_map(s, serial - 1, "/proc/self/exe", 2 * serial + 1);
	add_batch(s, serial);
	add(s, (struct step){ .kind = STEP_THREAD, .serial = serial });
	while (half < st->desc_size / 2)
		half += ((struct adept_desc *)(st->desc + half))->size;
	add_desc(s, serial - 1, st->desc, half);
	add_batch(s, serial);
	add_desc(s, serial - 1, st->desc + half, st->desc_size - half);
	add_batch(s, serial);
}

static void segment(struct session *s, u32 serial, u32 seq)
{
	add(s, (struct step){ .kind = STEP_SEGMENT, .serial = serial, .seq = seq });
}

static void end(struct session *s, u32 serial)
{
	add_map(s, serial - 1, "/bin/sh", 10 + serial);
	add_batch(s, serial);
	add(s, (struct step){ .kind = STEP_THREAD_END, .serial = serial });
	add(s, (struct step){ .kind = STEP_PROCESS_END, .serial = serial });
}

void session_init(struct session *s, u32 chunks)
{
	struct dep_writer *w;
	u32 i, k;

	memset(s, 0, sizeof(*s));
	for (k = 0; k < SESSION_PROCESSES; k++) {
		stream_init(&s->stream[k], 7 + k);
		s->stream[k].next_id += k * 100000;
		stream_standard(&s->stream[k]);
		for (i = 0; i < chunks; i++) {
			stream_random_run(&s->stream[k], 12);
			stream_close(&s->stream[k]);
		}
	}
	begin(s, 1);
	for (i = 0; i < chunks; i++) {
		segment(s, 1, i);
		if (i == 1)
			begin(s, 2);
		if (i > 1)
			segment(s, 2, i - 2);
	}
	segment(s, 2, chunks - 2);
	end(s, 1);
	segment(s, 2, chunks - 1);
	end(s, 2);
	scratch_name(s->reference, sizeof(s->reference));
	fixed_random_reset();
	assert_int_equal(dep_writer_create(&w, s->reference, &meta, 0), 0);
	session_write(s, w, NULL, s->nsteps);
	assert_int_equal(close_writer(w, NULL, 3 << 8), 0);
}

void session_free(struct session *s)
{
	u32 k;

	for (k = 0; k < SESSION_PROCESSES; k++) {
		stream_free(&s->stream[k]);
		free(s->desc[k]);
	}
	free(s->step);
	scratch_remove(s->reference);
}

/* ---- writing ---- */

static int has(const struct dep_resume *r, const struct step *st)
{
	const struct dep_resume_process *p = NULL;
	const struct dep_resume_thread *t = NULL;
	size_t i;

	for (i = 0; i < r->nprocesses; i++)
		if (r->process[i].serial == st->serial)
			p = &r->process[i];
	for (i = 0; i < r->nthreads; i++)
		if (r->thread[i].serial == st->serial)
			t = &r->thread[i];
	switch (st->kind) {
	case STEP_PROCESS:
		return p && p->pid;
	case STEP_THREAD:
		return t && t->process;
	case STEP_DESC:
		if (p && p->desc_bytes > st->from)
			assert_true(p->desc_bytes >= st->to);
		return p && p->desc_bytes >= st->to;
	case STEP_SEGMENT:
		return t && t->next_seq > st->seq;
	case STEP_THREAD_END:
		return t && t->ended;
	case STEP_PROCESS_END:
		return p && p->ended;
	}
	return 0;
}

static int write_step(const struct session *s, struct dep_writer *w, const struct step *st)
{
	struct dep_process p = { .serial = st->serial, .pid = 99 + st->serial,
				 .parent = st->serial - 1, .start_ns = st->serial,
				 .cause = st->serial - 1,
				 .exe = st->serial == 1 ? "/bin/prog" : NULL };
	struct dep_thread t = { .serial = st->serial, .tid = 99 + st->serial,
				.process = st->serial, .start_ns = st->serial };
	const struct stream_chunk *c;

	switch (st->kind) {
	case STEP_PROCESS:
		return dep_writer_process(w, &p);
	case STEP_PROCESS_END:
		p.end_ns = 100 + st->serial;
		p.built = 12;
		p.translate_ns = 1ull << 40;
		return dep_writer_process_end(w, &p);
	case STEP_THREAD:
		return dep_writer_thread(w, &t);
	case STEP_THREAD_END:
		t.end_ns = 90 + st->serial;
		t.flushes = 3;
		t.end = DEP_END_WHOLE;
		return dep_writer_thread_end(w, &t);
	case STEP_DESC:
		return dep_writer_descriptors(w, st->serial, s->desc[st->serial - 1] + st->from,
					      st->to - st->from);
	case STEP_SEGMENT:
		c = &s->stream[st->serial - 1].chunk[st->seq];
		return dep_writer_segment(w, st->serial, &c->c, c->body);
	}
	return -1;
}

void session_write(const struct session *s, struct dep_writer *w, const struct dep_resume *r,
		   size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!r || !has(r, &s->step[i]))
			assert_int_equal(write_step(s, w, &s->step[i]), 0);
}

static struct dep_writer *go_on(const struct session *s, const char *dir, size_t n, u64 roll,
				struct dep_resume *r)
{
	struct dep_writer *w;
	int err = dep_writer_resume(&w, dir, 0, NULL, NULL, r);

	if (err)
		print_error("%s: %s\n", dir, dep_error());
	assert_int_equal(err, 0);
	if (roll)
		w->roll = roll;
	session_write(s, w, r, n);
	return w;
}

void session_go_on(const struct session *s, const char *dir, size_t n, u64 roll)
{
	struct dep_resume r;
	struct dep_writer *w = go_on(s, dir, n, roll, &r);

	dep_resume_free(&r);
	dep_writer_free(w);
}

void session_finish(const struct session *s, const char *dir, u64 roll, struct dep_resume *r)
{
	struct dep_resume own;
	struct dep_writer *w = go_on(s, dir, s->nsteps, roll, r ? r : &own);

	if (!r)
		dep_resume_free(&own);
	assert_int_equal(close_writer(w, NULL, 3 << 8), 0);
}

/* ---- comparing ---- */

static void hash(u64 *h, const void *data, size_t size)
{
	const u8 *p = data;

	while (size--)
		*h = (*h ^ *p++) * 0x100000001b3ull;
}

static int hash_items(void *arg, const struct dep_segment *seg, const struct dep_item *it,
		      size_t n)
{
	(void)seg;
	for (; n--; it++) {
		hash(arg, &it->kind, sizeof(it->kind));
		switch (it->kind) {
		case DEP_ITEM_BLOCK:
			hash(arg, &it->block.pc, 8);
			hash(arg, &it->block.ninsns, 4);
			break;
		case DEP_ITEM_REF:
			hash(arg, &it->ref, sizeof(it->ref));
			break;
		case DEP_ITEM_EVENT:
			hash(arg, &it->event.id, 4);
			hash(arg, it->event.payload, it->event.size);
			break;
		case DEP_ITEM_TIMESTAMP:
			hash(arg, &it->timestamp, sizeof(it->timestamp));
			break;
		case DEP_ITEM_CALL:
			hash(arg, &it->call, sizeof(it->call));
			break;
		case DEP_ITEM_FUNCTION:
			hash(arg, &it->function.pc, 8);
			hash(arg, it->function.passed, sizeof(*it->function.passed));
			break;
		case DEP_ITEM_PAGE:
			fail_msg("nothing is left out here");
			break;
		}
	}
	return 0;
}

static u64 items_of(struct dep_store *st, const struct dep_segment *g)
{
	u64 h = 0xcbf29ce484222325ull;
	struct dep_sink sink = { .want = DEP_WANT_BLOCKS | DEP_WANT_REFS | DEP_WANT_EVENTS |
					 DEP_WANT_TIMESTAMPS | DEP_WANT_CALLS | DEP_WANT_JUMPS |
					 DEP_WANT_FUNCTIONS,
				 .batch = hash_items, .arg = &h };
	struct dep_counts counts = { 0 };

	assert_int_equal(dep_recover_segment(st, g, &sink, &counts), 0);
	assert_true(counts.values == counts.values_used);
	return h;
}

static void same_segments(struct dep_store *a, struct dep_store *b)
{
	const struct dep_segment *g, *h;
	struct dep_counts counts = { 0 };
	size_t i, n = dep_store_segments(a, &g);

	assert_int_equal(dep_store_segments(b, &h), n);
	for (i = 0; i < n; i++) {
		assert_int_equal(g[i].thread, h[i].thread);
		assert_int_equal(g[i].seq, h[i].seq);
		assert_int_equal(g[i].raw_bytes, h[i].raw_bytes);
		assert_int_equal(g[i].stored_bytes, h[i].stored_bytes);
		assert_int_equal(g[i].control_bytes, h[i].control_bytes);
		assert_int_equal(g[i].value_bytes, h[i].value_bytes);
		assert_true(items_of(a, &g[i]) == items_of(b, &h[i]));
		if (i + 1 < n && g[i + 1].thread == g[i].thread)
			assert_int_equal(dep_recover_check_boundary(b, &h[i], &h[i + 1], &counts),
					 0);
	}
}

static void same_text(const char *a, const char *b)
{
	assert_true(!a == !b);
	if (a)
		assert_string_equal(a, b);
}

static void same_tables(struct dep_store *a, struct dep_store *b)
{
	const struct dep_process *p, *q;
	const struct dep_module *m, *o;
	const struct dep_thread *t, *u;
	u64 x[3], y[3];
	size_t i, n;

	n = dep_store_processes(a, &p);
	assert_int_equal(dep_store_processes(b, &q), n);
	for (i = 0; i < n; i++) {
		assert_memory_equal(&p[i], &q[i], offsetof(struct dep_process, exe));
		assert_true(p[i].built == q[i].built && p[i].translate_ns == q[i].translate_ns);
		same_text(p[i].exe, q[i].exe);
	}
	n = dep_store_threads(a, &t);
	assert_int_equal(dep_store_threads(b, &u), n);
	assert_memory_equal(t, u, n * sizeof(*t));
	n = dep_store_modules(a, &m);
	assert_int_equal(dep_store_modules(b, &o), n);
	for (i = 0; i < n; i++) {
		assert_int_equal(m[i].process, o[i].process);
		assert_true(m[i].start == o[i].start && m[i].end == o[i].end);
		assert_true(m[i].from_ns == o[i].from_ns && m[i].to_ns == o[i].to_ns);
		same_text(m[i].path, o[i].path);
		same_text(m[i].build_id, o[i].build_id);
	}
	assert_int_equal(a->model.build_ids.n, b->model.build_ids.n);
	dep_store_fragments(a, &x[0], &x[1], &x[2]);
	dep_store_fragments(b, &y[0], &y[1], &y[2]);
	assert_memory_equal(x, y, sizeof(x));
}

static void same_meta(struct dep_store *a, struct dep_store *b)
{
	const struct dep_meta *m = dep_store_meta(a), *n = dep_store_meta(b);
	int i;

	assert_int_equal(m->argc, n->argc);
	for (i = 0; i < m->argc; i++)
		assert_string_equal(m->argv[i], n->argv[i]);
	assert_string_equal(m->cwd, n->cwd);
	assert_memory_equal(&m->session_flags, &n->session_flags,
			    sizeof(*m) - offsetof(struct dep_meta, session_flags));
	assert_int_equal(dep_store_exit_status(a), dep_store_exit_status(b));
	assert_memory_equal(dep_store_loss(a), dep_store_loss(b), sizeof(struct dep_loss));
	assert_int_equal(b->model.bad_bytes, 0);
	assert_int_equal(b->model.bad_descriptors, 0);
}

static void same_bytes(const struct session *s, const char *dir)
{
	size_t n, m;
	u8 *a = slurp(s->reference, "segments.000", &n), *b = slurp(dir, "segments.000", &m);

	assert_int_equal(n, m);
	assert_memory_equal(a, b, n);
	free(a);
	free(b);
}

size_t session_check(const struct session *s, const char *dir, int bytes)
{
	const char *const *note;
	struct dep_store *a, *b;
	size_t n;

	assert_int_equal(dep_store_open(&a, s->reference), 0);
	assert_int_equal(dep_store_open(&b, dir), 0);
	same_tables(a, b);
	same_segments(a, b);
	same_meta(a, b);
	assert_int_equal(dep_store_verdict(a)->state, DEP_VERDICT_COMPLETE);
	assert_int_equal(dep_store_verdict(b)->state, DEP_VERDICT_COMPLETE);
	n = dep_store_messages(b, &note);
	dep_store_close(a);
	dep_store_close(b);
	if (bytes)
		same_bytes(s, dir);
	return n;
}

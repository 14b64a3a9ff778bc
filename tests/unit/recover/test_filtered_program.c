// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random streams recovered by full programs, by filtered programs, and by their machine code: each
 * interval accesses the same bytes.  ADEPT_TEST_SEED decides which words are locked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dep/races.h"
#include "libdep/analyze/merge/segments.h"
#include "libdep/recover/program/syscall_info.h"
#include "libdep/recover/jit/jit.h"
#include "libdep/recover/interp/run.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/joined.h"
#include "one_filter.h"
#include "tests/unit/lib/random.h"
#include "tests/unit/lib/scratch.h"
#include "tests/unit/lib/stream.h"

/* Accesses of one interval of a thread, a bit for each byte and kind. */
struct turn {
	u64 key[8192];
	u8 bits[8192];
	u32 n;
};

static void add_byte(struct turn *t, u64 address, u32 type)
{
	u32 i = (u32)(address * 0x9e3779b97f4a7c15ull >> 51);

	while (t->bits[i] && t->key[i] != address)
		i = (i + 1) % 8192;
	assert_true(t->bits[i] || ++t->n < 8000);
	t->key[i] = address;
	/* A write covers a read. */
	t->bits[i] |= type & DEP_WRITE ? 3 : 1;
}

/* Does @b contain everything in @a? */
static bool covers(const struct turn *b, const struct turn *a)
{
	u32 i, k;

	for (i = 0; i < 8192; i++) {
		k = (u32)(a->key[i] * 0x9e3779b97f4a7c15ull >> 51);
		while (a->bits[i] && b->bits[k] && b->key[k] != a->key[i])
			k = (k + 1) % 8192;
		if (a->bits[i] & ~b->bits[k])
			return false;
	}
	return true;
}

/* Does it order threads?  @p: words that are known to, even if the reference has no flag. */
static bool releases(const struct dep_ref *r, const struct dep_word_set *p)
{
	if (!p)
		return r->type & DEP_REF_RELEASES;
	return r->type == DEP_WRITE && r->size <= 16 && dep_word_set_has(p, r->addr, r->size);
}

/* The hooked functions that the thread is in; accesses inside some of them are dropped. */
struct inside {
	u64 sp[64];
	u32 function[64], n;
};

static bool is_muted(const struct inside *in)
{
	u32 i;

	for (i = 0; i < in->n; i++)
		if (dep_function_mutes(in->function[i]))
			return true;
	return false;
}

/* Return: is everything new after it? */
static bool follow(struct inside *in, const struct dep_function_call *f)
{
	u64 sp = f->passed->sp, last = 0;
	u32 function = f->function;
	bool muted;

	if (!f->is_return) {
		while (in->n && in->sp[in->n - 1] <= sp)
			in->n--;
		muted = is_muted(in);
		assert_true(in->n < 64);
		in->sp[in->n] = sp;
		in->function[in->n++] = function;
		return !muted && !dep_function_is_heap(function);
	}
	while (in->n && in->sp[in->n - 1] < sp) {
		last = in->sp[--in->n];
		function = in->function[in->n];
	}
	return !is_muted(in) && last == sp - 8 && (!dep_function_is_heap(function) ||
						   dep_function_reallocates(function));
}

static bool only_receives(const struct dep_event *e)
{
	const struct adept_ev_syscall *call = e->payload;

	return e->id == ADEPT_EV_BUFFER || e->id == ADEPT_EV_SHARED ||
	       ((e->id & ~DEP_EV_ENTER) == ADEPT_EV_SYSCALL && dep_call_receives(call->nr));
}

static bool ends_interval(struct inside *in, const struct dep_item *it)
{
	switch (it->kind) {
	case DEP_ITEM_REF:
	case DEP_ITEM_PAGE:
		return false;
	case DEP_ITEM_TIMESTAMP:
		return !it->timestamp.after && !is_muted(in);
	case DEP_ITEM_FUNCTION:
		return follow(in, &it->function);
	default:
		if (only_receives(&it->event))
			return false;
		if (it->event.id == ADEPT_EV_SIGNAL || it->event.id == ADEPT_EV_SIGRETURN)
			in->n = 0;
		return true;
	}
}

static void add_page_accesses(struct turn *t, const struct dep_page_accesses *j, u64 *refs)
{
	struct dep_ref r;
	u32 at = 0, b;

	while (next_run(j, &at, &r)) {
		for (b = 0; b < r.size; b++)
			add_byte(t, r.addr + b, r.type);
		++*refs;
	}
}

/* Collect the interval that begins with item *@i of @l.  Return: whether there is another one. */
static bool next_turn(const struct dep_segment_items *l, const struct dep_word_set *p,
		      struct inside *in, size_t *i, struct turn *t, u64 *refs)
{
	const struct dep_ref *r;
	u32 b;

	memset(t, 0, sizeof(*t));
	for (; *i < l->nitems && !ends_interval(in, &l->item[*i]); (*i)++) {
		/* Deferred references are not of that function. */
		if (l->item[*i].kind == DEP_ITEM_PAGE)
			add_page_accesses(t, l->item[*i].joined, refs);
		if (l->item[*i].kind != DEP_ITEM_REF || is_muted(in))
			continue;
		r = &l->item[*i].ref;
		for (b = 0; b < r->size; b++)
			add_byte(t, r->addr + b, r->type);
		++*refs;
		if (releases(r, p))
			break;
	}
	return (*i)++ < l->nitems;
}

/* Machine code may emit references after an ordering write of the same record before it. */
static void compare_loaded(const struct dep_segment_items *all,
			   const struct dep_segment_items *left, const struct dep_word_set *locked,
			   bool native, u64 *refs)
{
	struct inside in_all = { .n = 0 }, in_left = { .n = 0 };
	static struct turn a, b;
	size_t i = 0, k = 0;
	bool more;

	assert_int_equal(all->err, 0);
	assert_int_equal(left->err, 0);
	assert_memory_equal(&all->counts, &left->counts, sizeof(all->counts));
	do {
		more = next_turn(all, locked, &in_all, &i, &a, &refs[0]);
		assert_int_equal(next_turn(left, NULL, &in_left, &k, &b, &refs[1]), more);
		assert_true(covers(&b, &a));
		assert_true(native || covers(&a, &b));
	} while (more);
}

static u8 any_code(void *arg, u32 process, u64 pc)
{
	(void)arg;
	(void)process;
	(void)pc;
	return DEP_CODE_PROGRAM;
}

/* Make some of the accessed words atomic, each with the probability 1/@in for an access. */
static void lock_some(struct one *o, const struct dep_segment_items *l, u32 in)
{
	size_t i;

	for (i = 0; i < l->nitems; i++)
		if (l->item[i].kind == DEP_ITEM_REF && rnd() % in == 0)
			dep_word_set_add(&o->locked, l->item[i].ref.addr, 4);
}

#define TIMES	(2 * DEP_JIT_RUNS + 8)

/* Repeat each stream, so that there is machine code; every second time it is not used. */
static void compare_often(struct dep_store *store, const struct dep_segment *seg, struct one *o,
			  u64 *refs)
{
	const u32 want = DEP_WANT_REFS | DEP_WANT_FUNCTIONS;
	struct dep_segment_items *all = dep_load(store, seg, want, NULL, false, NULL), *left;
	u64 other[2];
	u32 i;

	assert_non_null(all);
	lock_some(o, all, 8);
	for (i = 0; i < TIMES; i++) {
		o->scope.interpret = i % 2;
		o->scope.singly = i % 3 == 0;
		dep_filter_reset(&o->s);
		left = dep_load(store, seg, want, &o->s, false, NULL);
		assert_non_null(left);
		compare_loaded(all, left, &o->locked, !o->scope.interpret,
			       o->scope.singly ? refs : other);
		dep_loaded_free(left);
	}
	dep_loaded_free(all);
}

static u32 count_native(struct dep_store *store)
{
	const struct dep_jit *jit = dep_jit_of(store);
	u32 id, n = 0;

	assert_non_null(jit);
	for (id = 0; id < 1 << 16; id++)
		n += dep_jit_has(jit, id);
	return n;
}

static void make_stream(struct stream *s, u64 seed)
{
	stream_init(s, seed);
	s->use_ea = seed & 1;
	stream_standard(s);
	stream_random_run(s, 1500);
	stream_close(s);
}

static struct dep_store *make_store(const struct stream *s, char *dir, size_t size)
{
	struct dep_meta meta = { .cwd = "/" };
	struct dep_store *store;
	struct dep_writer *w;
	size_t i;

	scratch_name(dir, size);
	assert_int_equal(dep_writer_create(&w, dir, &meta, 0), 0);
	assert_int_equal(dep_writer_descriptors(w, 1, s->desc, s->desc_size), 0);
	for (i = 0; i < s->nchunks; i++)
		assert_int_equal(dep_writer_segment(w, 1, &s->chunk[i].c, s->chunk[i].body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	assert_int_equal(dep_store_open(&store, dir), 0);
	if (rnd() % 2)
		assert_non_null(dep_jit_lookup(store));
	return store;
}

/* Return the number of exits that got machine code. */
static u32 compare_stream(const struct stream *s, u64 *refs)
{
	const struct dep_segment *seg;
	struct dep_store *store;
	struct one o;
	char dir[128];
	size_t i, n;
	u32 ret;

	store = make_store(s, dir, sizeof(dir));
	n = dep_store_segments(store, &seg);
	begin_one(&o, false);
	o.scope.code = any_code;
	for (i = 0; i < n; i++)
		compare_often(store, &seg[i], &o, refs);
	ret = count_native(store);
	end_one(&o);
	dep_store_close(store);
	scratch_remove(dir);
	return ret;
}

/* Full programs, filtered programs and machine code access the same bytes in the same intervals. */
static void recovered(void **unused)
{
	u64 refs[2] = { 0 }, seed;
	struct stream s;

	(void)unused;
	for (seed = 100; seed < 108; seed++) {
		make_stream(&s, seed);
		assert_true(compare_stream(&s, refs) > 10);
		stream_free(&s);
	}
	assert_true(refs[1] < refs[0]);
}

#define SEGMENTS	16u

/* All but the last one end in the middle of an interval, in a fragment that pushes and pops. */
static void make_segments(struct stream *s, u64 seed)
{
	u32 i, k;

	stream_init(s, seed);
	stream_standard(s);
	for (i = 0; i < SEGMENTS - 1; i++) {
		stream_random_run(s, 100);
		/* A signal handler is in no function whose accesses are dropped. */
		stream_context(s, s->frag[0].pc[0]);
		stream_partial(s, 0, 2);
		s->split_at = s->stores + 30 + (long)(rnd() % 30);
		for (k = 0; k < 20; k++)
			stream_run(s, 0, s->frag[0].nexits - 1);
	}
	stream_random_run(s, 100);
	stream_close(s);
}

/* Append the items of all @part; the parts stay valid. */
static struct dep_segment_items joined(struct dep_segment_items **part, size_t n)
{
	struct dep_segment_items all = { .nitems = 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		all.item = realloc(all.item,
				   (all.nitems + part[i]->nitems + 1) * sizeof(*all.item));
		assert_non_null(all.item);
		memcpy(all.item + all.nitems, part[i]->item, part[i]->nitems * sizeof(*all.item));
		all.nitems += part[i]->nitems;
		dep_counts_add(&all.counts, &part[i]->counts);
		assert_int_equal(part[i]->err, 0);
	}
	return all;
}

/*
 * Load the segments of a thread.  References that one segment (@more) defers are mostly emitted by
 * the next one.  Return: number of segments with deferred references at their end.
 */
static u32 load_segments(struct dep_store *store, struct dep_filter *filter, bool more,
			  struct dep_segment_items **part)
{
	const struct dep_segment *seg;
	size_t i, n = dep_store_segments(store, &seg);
	u32 ret = 0;

	assert_in_range(n, 2, SEGMENTS);
	for (i = 0; i < n; i++) {
		part[i] = dep_load(store, &seg[i], DEP_WANT_REFS | DEP_WANT_FUNCTIONS, filter,
				   more && i + 1 < n && rnd() % 4, NULL);
		assert_non_null(part[i]);
		ret += filter && filter->seen.later;
	}
	return ret;
}

static void free_segments(struct dep_segment_items **part, size_t n, struct dep_segment_items *all)
{
	while (n--)
		dep_loaded_free(part[n]);
	free(all->item);
}

/* Return: as load_segments() does. */
static u32 compare_whole(struct dep_store *store, struct one *o)
{
	static struct dep_segment_items *part[2][SEGMENTS];
	const struct dep_segment *seg;
	size_t n = dep_store_segments(store, &seg);
	struct dep_segment_items all, left;
	u64 refs[2] = { 0 };
	u32 k, ret = 0;

	load_segments(store, NULL, false, part[0]);
	all = joined(part[0], n);
	lock_some(o, &all, 1000);
	for (k = 0; k < TIMES; k++) {
		o->scope.interpret = k % 2;
		dep_filter_reset(&o->s);
		o->s.next_seq = seg[0].seq;
		ret += load_segments(store, &o->s, true, part[1]);
		assert_null(o->s.seen.later);
		left = joined(part[1], n);
		compare_loaded(&all, &left, &o->locked, !o->scope.interpret, refs);
		free_segments(part[1], n, &left);
	}
	free_segments(part[0], n, &all);
	return ret;
}

/* Also if a later segment emits references that an earlier one deferred. */
static void from_segment_to_segment(void **unused)
{
	struct dep_store *store;
	struct stream s;
	struct one o;
	char dir[128];
	u32 n = 0;
	u64 seed;

	(void)unused;
	for (seed = 200; seed < 208; seed++) {
		make_segments(&s, seed);
		store = make_store(&s, dir, sizeof(dir));
		begin_one(&o, false);
		o.scope.code = any_code;
		o.scope.singly = false;
		n += compare_whole(store, &o);
		end_one(&o);
		dep_store_close(store);
		scratch_remove(dir);
		stream_free(&s);
	}
	assert_true(n);
}

/* If a segment cannot be read, references deferred by the one before are emitted before the gap. */
static void before_unreadable(void **unused)
{
	const u32 want = DEP_WANT_REFS | DEP_WANT_FUNCTIONS;
	const struct dep_segment *seg;
	struct dep_segment_items *l;
	struct dep_store *store;
	struct dep_segment bad;
	struct stream s;
	struct one o;
	char dir[128];

	(void)unused;
	make_segments(&s, 300);
	store = make_store(&s, dir, sizeof(dir));
	dep_store_segments(store, &seg);
	begin_one(&o, false);
	o.scope.code = any_code;
	o.scope.singly = false;
	o.s.next_seq = seg[0].seq;
	l = dep_load(store, &seg[0], want, &o.s, true, NULL);
	assert_true(l && !l->err && o.s.seen.later);
	dep_loaded_free(l);
	bad = seg[1];
	bad.offset += 8;
	l = dep_load(store, &bad, want, &o.s, true, NULL);
	assert_true(l && l->err && !o.s.seen.later);
	assert_true(l->nitems && l->item[0].kind == DEP_ITEM_PAGE);
	dep_loaded_free(l);
	end_one(&o);
	dep_store_close(store);
	scratch_remove(dir);
	stream_free(&s);
}

/* The same with fragments that continue at distant addresses. */
static void far_away(void **unused)
{
	u64 refs[2] = { 0 };
	struct stream s;

	(void)unused;
	stream_init(&s, 1);
	stream_far(&s);
	stream_random_run(&s, 200);
	stream_close(&s);
	assert_true(compare_stream(&s, refs) > 2);
	stream_free(&s);
}

/* Segments loaded earlier into the same memory, and other requests, make no difference. */
static void space_again(void **unused)
{
	static const u32 wants[] = {
		DEP_WANT_REFS, DEP_WANT_REFS | DEP_WANT_FUNCTIONS, DEP_WANT_FUNCTIONS,
	};
	struct dep_load_buffers *space = dep_load_buffers_new();
	struct dep_segment_items *own, *l;
	const struct dep_segment *seg;
	struct dep_store *store;
	struct stream s;
	char dir[128];
	size_t i, k, n;

	(void)unused;
	assert_non_null(space);
	make_stream(&s, 100);
	store = make_store(&s, dir, sizeof(dir));
	n = dep_store_segments(store, &seg);
	for (i = 0; i < n; i++) {
		for (k = 0; k < sizeof(wants) / sizeof(wants[0]); k++) {
			own = dep_load(store, &seg[i], wants[k], NULL, false, NULL);
			l = dep_load(store, &seg[i], wants[k], NULL, false, space);
			assert_true(own && l);
			assert_int_equal(l->err, 0);
			assert_int_equal(l->nitems, own->nitems);
			assert_int_equal(l->nmarks, own->nmarks);
			assert_memory_equal(&l->counts, &own->counts, sizeof(l->counts));
			dep_loaded_free(own);
			dep_loaded_free(l);
		}
	}
	dep_load_buffers_free(space);
	dep_store_close(store);
	scratch_remove(dir);
	stream_free(&s);
}

/* Return the number of intervals of the last segment, and the bytes lost in it. */
static u64 turns(const struct stream *s, u64 *lost)
{
	const struct dep_segment *seg;
	struct dep_segment_items *l;
	struct dep_store *store;
	struct one o;
	char dir[128];
	size_t n;
	u64 ret;

	store = make_store(s, dir, sizeof(dir));
	n = dep_store_segments(store, &seg);
	begin_one(&o, false);
	o.scope.code = any_code;
	o.s.next_seq = seg[n - 1].seq;
	ret = o.s.seen.turn;
	l = dep_load(store, &seg[n - 1], DEP_WANT_REFS | DEP_WANT_FUNCTIONS, &o.s, false, NULL);
	assert_non_null(l);
	*lost = l->lost_bytes;
	ret = o.s.seen.turn - ret;
	dep_loaded_free(l);
	end_one(&o);
	dep_store_close(store);
	scratch_remove(dir);
	return ret;
}

/* After invalid data in a segment the thread's state is unknown. */
static void damaged(void **unused)
{
	const u32 nonsense[] = { 0xfffffff0, 0 };
	struct stream_chunk *last;
	struct stream s;
	u64 n, lost;
	u8 *body;

	(void)unused;
	make_stream(&s, 1);
	n = turns(&s, &lost);
	assert_int_equal(lost, 0);
	last = &s.chunk[s.nchunks - 1];
	assert_int_equal(last->c.fill, last->c.tail_at);
	body = malloc(last->c.fill + sizeof(nonsense));
	assert_non_null(body);
	memcpy(body, last->body, last->c.fill);
	memcpy(body + last->c.fill, nonsense, sizeof(nonsense));
	free(last->body);
	last->body = body;
	last->c.fill += sizeof(nonsense);
	last->c.tail_at = last->c.fill;
	assert_int_equal(turns(&s, &lost), n + 1);
	assert_int_equal(lost, sizeof(nonsense));
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recovered),
		cmocka_unit_test(from_segment_to_segment),
		cmocka_unit_test(before_unreadable),
		cmocka_unit_test(space_again),
		cmocka_unit_test(far_away),
		cmocka_unit_test(damaged),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", (u64)time(NULL));
	printf("seed %llu\n", (unsigned long long)rnd_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

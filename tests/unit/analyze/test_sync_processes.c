// SPDX-License-Identifier: GPL-2.0-or-later
/* Synchronisation between processes: shared memory, forks, ends, signals, the limit of threads. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "libdep/format/read/store.h"
#include "two_threads.h"

static void shares(void **state)
{
	static const struct sync_shared_map all[] = {
		{ { 1, 7, 0 }, 1, true, 0x1000 },
		{ { 1, 7, 0 }, 2, false, 0x9000 },
		{ { 1, 8, 0 }, 3, true, 0x1000 },
		/* the same mapping twice at one address, and at two */
		{ { 1, 8, 0 }, 3, true, 0x1000 },
		{ { 2, 8, 0 }, 4, true, 0x1000 },
		{ { 2, 8, 0 }, 4, true, 0x2000 },
		/* nobody writes */
		{ { 3, 1, 0 }, 5, false, 0x1000 },
		{ { 3, 1, 0 }, 6, false, 0x1000 },
		{ { SYNC_ANONYMOUS, 9, 1 }, 9, true, 0x1000 },
		{ { SYNC_ANONYMOUS, 9, 2 }, 10, true, 0x1000 },
	};
	struct sync_shared_maps s = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(sync_shared_maps_resolve(&s), 0);
	assert_false(sync_shared_maps_has(&s, 1));
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(sync_shared_maps_add(&s, &all[i]), 0);
	assert_int_equal(sync_shared_maps_resolve(&s), 0);
	assert_int_equal(s.nimages, 3);
	assert_true(sync_shared_maps_has(&s, 1));
	assert_true(sync_shared_maps_has(&s, 2));
	assert_true(sync_shared_maps_has(&s, 4));
	assert_false(sync_shared_maps_has(&s, 3));
	sync_shared_maps_free(&s);
}

/* Each is recorded once, however often and in whatever order. */
static void many_shares(void **state)
{
	struct sync_shared_maps s = { 0 };
	struct sync_shared_map share = { .image = 1 };
	u32 i;

	(void)state;
	for (i = 0; i < 60000; i++) {
		share.key = (struct sync_key){ i % 3, i % 20000 / 100, 0 };
		share.at = i % 100 << 12;
		share.writes = i >= 40000;
		assert_int_equal(sync_shared_maps_add(&s, &share), 0);
	}
	assert_int_equal(s.n, 60000);
	share.writes = false;
	for (i = 0; i < 60000; i++) {
		share.key = (struct sync_key){ i % 3, i % 20000 / 100, 0 };
		share.at = i % 100 << 12;
		assert_int_equal(sync_shared_maps_add(&s, &share), 0);
	}
	assert_int_equal(s.n, 60000);
	for (i = 0; i < 60000; i++)
		assert_int_equal(s.v[i].writes, i >= 40000);
	sync_shared_maps_free(&s);
}

#define SHARED	0x200000u
#define MOVED	0x700000u
#define OWN	0x500000u
#define FILE_MAP 0x900000u

/* A process that maps memory.. */
static void begin_first(struct two *t, struct sync_shared_maps *s, u64 flags)
{
	static u32 both[] = { 1, 2 };

	memset(t, 0, sizeof(*t));
	*s = (struct sync_shared_maps){ .image = both, .nimages = 2 };
	t->sync.options = &t->options;
	t->sync.words = &t->words;
	t->sync.pass = SYNC_EXACT;
	t->sync.shares = s;
	t->first = sync_thread_of(&t->sync, &(struct dep_thread){ .serial = 1, .tid = 10,
								  .process = 1 });
	assert_int_equal(sync_thread_begin(t->first), 0);
	call(t->first, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = SHARED,
		.args = { 0, 8192, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS },
	});
}

/* ..and one that it forked. */
static void begin_second(struct two *t)
{
	t->second = sync_thread_of(&t->sync, &(struct dep_thread){ .serial = 2, .tid = 20,
								   .process = 2 });
	assert_int_equal(sync_thread_begin(t->second), 0);
	assert_ptr_equal(t->first->process, t->second->process);
}

static void begin_processes(struct two *t, struct sync_shared_maps *s, u64 flags)
{
	begin_first(t, s, flags);
	assert_int_equal(sync_thread_created(t->first, &(struct adept_ev_fork){ .pid = 20 }), 0);
	/* a later mapping is not the child's */
	call(t->first, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = OWN,
		.args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS },
	});
	begin_second(t);
}

static void end_processes(struct two *t, u32 want)
{
	assert_int_equal(races(t), want);
	finish(t);
}

static void processes(void **state)
{
	const struct adept_ev_syscall wait = { .nr = SYS_wait4, .result = 20, .args = { ~0ull } };
	const struct adept_ev_syscall send[] = {
		{ .nr = SYS_kill, .args = { 10, 11 } },
		{ .nr = SYS_kill, .args = { 10, 10 } },
		{ .nr = SYS_tkill, .args = { 10, 10 } },
		{ .nr = SYS_tgkill, .args = { 10, 10, 10 } },
		{ .nr = SYS_rt_sigqueueinfo, .args = { 10, 10 } },
		{ .nr = SYS_pidfd_send_signal, .args = { 3, 10 } },
	};
	const struct adept_ev_fork fork = { .pid = 20 };
	struct sync_shared_maps s;
	struct two t;
	u32 i;

	(void)state;
	/* private memory, and memory of only one process */
	begin_processes(&t, &s, MAP_PRIVATE);
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	access_it(t.first, OWN, DEP_WRITE);
	access_it(t.second, OWN, DEP_WRITE);
	end_processes(&t, 0);

	begin_processes(&t, &s, MAP_SHARED);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 16, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	access_it(t.second, SHARED + 8, DEP_READ);
	end_processes(&t, 1);

	/* accesses before the fork, and after the end of the child */
	begin_first(&t, &s, MAP_SHARED);
	access_it(t.first, SHARED, DEP_WRITE);
	assert_int_equal(sync_thread_created(t.first, &fork), 0);
	begin_second(&t);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(sync_thread_ended(t.second), 0);
	call(t.first, &wait);
	access_it(t.first, SHARED, DEP_WRITE);
	end_processes(&t, 0);

	/* wait() for a given pid, or for any child */
	for (i = 0; i < 3; i++) {
		begin_processes(&t, &s, MAP_SHARED);
		access_it(t.second, SHARED, DEP_WRITE);
		assert_int_equal(sync_thread_ended(t.second), 0);
		call(t.first, &(struct adept_ev_syscall){
			.nr = SYS_waitid, .args = { i ? P_PID : P_ALL, i > 1 ? 21 : 20 } });
		access_it(t.first, SHARED, DEP_WRITE);
		end_processes(&t, i > 1);
	}

	/* memory stays known while a child may have it whose stream has not begun */
	begin_first(&t, &s, MAP_SHARED);
	assert_int_equal(sync_thread_created(t.first, &fork), 0);
	access_it(t.first, SHARED, DEP_WRITE);
	call(t.first, &(struct adept_ev_syscall){ .nr = SYS_munmap, .args = { SHARED, 8192 } });
	begin_second(&t);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(t.first->process->regions.v[0]->maps, 1);
	end_processes(&t, 1);

	/* a signal follows all accesses before it was sent, in any way of sending */
	for (i = 0; i < sizeof(send) / sizeof(send[0]); i++) {
		begin_processes(&t, &s, MAP_SHARED);
		access_it(t.second, SHARED, DEP_WRITE);
		call(t.second, &send[i]);
		event(t.first, ADEPT_EV_SIGNAL);
		access_it(t.first, SHARED, DEP_WRITE);
		end_processes(&t, !i);
	}

	/* a process exists while a thread of it may appear */
	begin_processes(&t, &s, MAP_SHARED);
	assert_int_equal(sync_thread_created(t.first, &(struct adept_ev_fork){
		.pid = 11, .flags = CLONE_VM | CLONE_THREAD }), 0);
	assert_int_equal(sync_thread_ended(t.first), 0);
	t.first = sync_thread_of(&t.sync, &(struct dep_thread){ .serial = 3, .tid = 11,
								.process = 1 });
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(sync_thread_ended(t.first), 0);
	assert_int_equal(t.first->image->maps.n, 0);
	end_processes(&t, 1);

	/* the half that was moved, and a new mapping in its place */
	begin_processes(&t, &s, MAP_SHARED);
	call(t.second, &(struct adept_ev_syscall){
		.nr = SYS_mremap, .result = MOVED, .args = { SHARED + 4096, 4096, 4096, 1 },
	});
	access_it(t.first, SHARED + 4096, DEP_WRITE);
	access_it(t.second, SHARED + 4096, DEP_WRITE);
	assert_int_equal(races(&t), 0);
	access_it(t.second, MOVED, DEP_WRITE);
	assert_int_equal(sync_address_of(t.second->image, sync_at(t.first, SHARED + 4096)),
			 MOVED);
	end_processes(&t, 1);
}

static void map_file(struct sync_thread *t, u64 at)
{
	t->shared = (struct adept_ev_shared){ 1, 7, 4096 };
	t->has_shared = true;
	call(t, &(struct adept_ev_syscall){
		.nr = SYS_mmap, .result = at,
		.args = { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 3 },
	});
}

/* Accesses to memory are kept as long as a process maps it, and no longer. */
static void regions(void **state)
{
	const struct adept_ev_syscall move = { .nr = SYS_mremap, .result = MOVED,
					      .args = { FILE_MAP, 4096, 4096, 1 } };
	const struct adept_ev_syscall unmap = { .nr = SYS_munmap, .args = { FILE_MAP, 4096 } };
	struct sync_shared_maps s;
	struct two t;

	(void)state;
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	access_it(t.first, FILE_MAP, DEP_WRITE);
	call(t.first, &move);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 1);
	/* the same file mapped again at the same address */
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	access_it(t.first, FILE_MAP, DEP_WRITE);
	map_file(t.first, FILE_MAP);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 1);
	/* accesses that the detector has not received yet */
	begin_processes(&t, &s, MAP_PRIVATE);
	map_file(t.first, FILE_MAP);
	assert_int_equal(sync_access(t.first, 0x2000, sync_at(t.first, FILE_MAP), 4, RACE_WRITE),
			 0);
	call(t.first, &unmap);
	map_file(t.second, FILE_MAP);
	access_it(t.second, FILE_MAP, DEP_WRITE);
	end_processes(&t, 0);
}

#define PAGES	48u
#define BASE	0x100000u

/* File and page at each page of memory; 0: none. */
static void check_places(const struct two *t, const u32 *file, const u32 *nth)
{
	const struct sync_regions *all = &t->first->process->regions;
	const struct sync_region *r;
	u64 left, place;
	u32 i, run;

	for (i = 0; i < PAGES; i++) {
		left = ~0ull;
		place = sync_place(t->first->image, BASE + i * 4096 + 8, &left);
		for (run = i + 1; run < PAGES && file[run] == file[i] &&
		     (!file[i] || nth[run] == nth[i] + run - i); run++)
			;
		assert_int_equal(!!(place & SYNC_SHARED), !!file[i]);
		if (!file[i]) {
			/* nothing is missing between this mapping and the next shared one */
			assert_int_equal(place & ((1ull << SYNC_NUMBER) - 1), BASE + i * 4096 + 8);
			assert_true(run == PAGES || left == (run - i) * 4096 - 8);
			continue;
		}
		r = all->v[(place & ~SYNC_SHARED) >> SYNC_REGION];
		assert_int_equal(r->key.inode, file[i]);
		assert_int_equal(place - r->base, nth[i] * 4096 + 8);
		/* one range that two calls mapped may be reported as two */
		assert_true(left <= (run - i) * 4096 - 8 && (left + 8) % 4096 == 0);
	}
}

static u32 random_number(u64 *seed, u32 n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(*seed >> 33) % n;
}

/* Against an array of pages. */
static void random_maps(void **state)
{
	u32 file[PAGES] = { 0 }, nth[PAGES] = { 0 }, from, to, n, i, k, was[2][PAGES];
	struct sync_shared_maps s;
	struct two t;
	u64 seed = 1;

	(void)state;
	begin_processes(&t, &s, MAP_PRIVATE);
	for (k = 0; k < 20000; k++) {
		n = 1 + random_number(&seed, 8);
		from = random_number(&seed, PAGES - n);
		to = random_number(&seed, PAGES - n);
		switch (random_number(&seed, 3)) {
		case 0:
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_munmap, .args = { BASE + from * 4096, n * 4096 } });
			memset(file + from, 0, n * sizeof(*file));
			break;
		case 1:
			t.first->shared = (struct adept_ev_shared){ 1, 1 + to % 5, 0 };
			t.first->has_shared = true;
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = BASE + from * 4096,
				.args = { 0, n * 4096 - 5, 3, MAP_SHARED | MAP_FIXED, 3,
					  to * 4096 },
			});
			for (i = 0; i < n; i++) {
				file[from + i] = 1 + to % 5;
				nth[from + i] = to + i;
			}
			break;
		case 2:
			/*
			 * within one mapping, as the kernel requires, and to an address outside of
			 * it
			 */
			for (i = 1; i < n && file[from] && file[from + i] == file[from] &&
			     nth[from + i] == nth[from] + i; i++)
				;
			if (i < n || !file[from] || (from < to + n && to < from + n))
				break;
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mremap, .result = BASE + to * 4096,
				.args = { BASE + from * 4096, n * 4096, n * 4096, 3,
					  BASE + to * 4096 },
			});
			memcpy(was[0], file + from, n * sizeof(*file));
			memcpy(was[1], nth + from, n * sizeof(*nth));
			memset(file + from, 0, n * sizeof(*file));
			memcpy(file + to, was[0], n * sizeof(*file));
			memcpy(nth + to, was[1], n * sizeof(*nth));
			break;
		}
		check_places(&t, file, nth);
	}
	end_processes(&t, 0);
}

/*
 * Beyond the limit of threads, including ended ones, the process is not analysed further, and this
 * is reported.
 */
static void too_many_threads(void **state)
{
	struct adept_ev_fork fork = { .flags = CLONE_VM | CLONE_THREAD };
	const struct dep_item it = {
		.kind = DEP_ITEM_EVENT,
		.event = { .id = ADEPT_EV_FORK, .size = sizeof(fork), .payload = &fork },
	};
	struct two t;
	u32 i;

	(void)state;
	begin(&t);
	access_it(t.first, BLOCK, DEP_WRITE);
	access_it(t.second, BLOCK, DEP_WRITE);
	for (i = 2; i < RACE_THREADS; i++) {
		fork.pid = 100 + i;
		item(t.first, &it);
	}
	assert_int_equal(t.sync.nover_limit, 0);
	fork.pid = 100 + i;
	item(t.first, &it);
	assert_int_equal(t.sync.nover_limit, 1);
	/* the thread beyond the limit may have ordered these */
	access_it(t.first, BLOCK + 8, DEP_WRITE);
	access_it(t.second, BLOCK + 8, DEP_WRITE);
	assert_int_equal(sync_end(&t.sync, &(struct dep_thread){ .serial = 1, .process = 1 }), 0);
	assert_int_equal(sync_gap(&t.sync, &(struct dep_thread){ .serial = 2, .process = 1 }), 0);
	assert_int_equal(t.sync.nover_limit, 1);
	end(&t, 1);
}

/* The limit of images in a group; images outside of the group are still analysed. */
static void too_many_processes(void **state)
{
	struct sync_thread *lone, *other;
	struct sync_shared_maps s;
	struct two t;

	(void)state;
	begin_processes(&t, &s, MAP_SHARED);
	t.first->process->nimages = SYNC_IMAGES - 1;
	access_it(t.first, SHARED, DEP_WRITE);
	access_it(t.second, SHARED, DEP_WRITE);
	assert_int_equal(dep_word_set_add(&sync_facts_of(&t.sync, 3)->raced, SHARED, 16), 0);
	lone = sync_thread_of(&t.sync, &(struct dep_thread){ .serial = 3, .tid = 30,
							     .process = 3 });
	assert_ptr_not_equal(lone->process, t.first->process);
	assert_int_equal(t.sync.nover_limit, 1);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 8, DEP_WRITE);
	other = sync_thread_of(&t.sync, &(struct dep_thread){ .serial = 4, .tid = 31,
							      .process = 3 });
	assert_int_equal(sync_thread_begin(lone), 0);
	assert_int_equal(sync_thread_begin(other), 0);
	access_it(lone, SHARED + 8, DEP_WRITE);
	access_it(other, SHARED + 8, DEP_WRITE);
	assert_int_equal(race_rows_count(lone->process->rows), 1);
	assert_int_equal(race_rows_count(t.first->process->rows), 1);
	finish(&t);
}

/* A child that is not in the store takes no memory. */
static void forks(void **state)
{
	struct dep_process all[] = {
		{ .serial = 1, .pid = 10 }, { .serial = 2, .pid = 20, .parent = 1 },
	};
	struct dep_store store = { .model.processes = { all, 2, 2 } };
	struct sync_shared_maps s;
	struct two t;
	u32 i;

	(void)state;
	begin_first(&t, &s, MAP_SHARED);
	t.sync.store = &store;
	for (i = 0; i < 1000; i++)
		assert_int_equal(sync_thread_created(t.first,
						     &(struct adept_ev_fork){ .pid = 30 + i }),
				 0);
	assert_null(t.sync.forks);
	assert_int_equal(sync_thread_created(t.first, &(struct adept_ev_fork){ .pid = 20 }), 0);
	assert_non_null(t.sync.forks);
	begin_second(&t);
	assert_null(t.sync.forks);
	assert_int_equal(t.second->index, 1);
	access_it(t.first, SHARED + 8, DEP_WRITE);
	access_it(t.second, SHARED + 8, DEP_WRITE);
	end_processes(&t, 1);
	/* the same in the first pass; but live analysis does not know which children will appear */
	for (i = 0; i < 2; i++) {
		struct dep_live_options live = { 0 };

		begin(&t);
		t.sync.store = &store;
		t.sync.pass = SYNC_FIRST;
		t.options.live = i ? &live : NULL;
		assert_int_equal(sync_thread_created(t.first,
						     &(struct adept_ev_fork){ .pid = 30 }), 0);
		assert_int_equal(!!t.sync.forks, i);
		end(&t, 0);
	}
}

/* Mappings of a damaged store. */
static void odd_maps(void **state)
{
	static const u64 odd[] = { 0, 1, 4095, 1ull << 46, 1ull << 47, 1ull << 62, ~0ull - 4096 };
	struct sync_shared_maps s;
	struct two t, other;
	size_t i, k;

	(void)state;
	begin_processes(&t, &s, MAP_SHARED);
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		for (k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = odd[i],
				.args = { 0, odd[k], 3, MAP_SHARED | MAP_ANONYMOUS },
			});
			t.second->shared = (struct adept_ev_shared){ 1, i, odd[k] };
			t.second->has_shared = true;
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_mmap, .result = odd[k],
				.args = { 0, odd[i], 3, MAP_SHARED, 3, odd[k] },
			});
			t.second->has_shared = true;
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_shmat, .result = odd[i], .args = { i } });
			call(t.second, &(struct adept_ev_syscall){
				.nr = SYS_mremap, .result = odd[k],
				.args = { odd[i], odd[k], odd[i] },
			});
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_shmdt, .args = { odd[i] } });
			access_it(t.second, odd[i], DEP_WRITE);
			call(t.first, &(struct adept_ev_syscall){
				.nr = SYS_munmap, .args = { odd[i], odd[k] } });
		}
	}
	/* a range that wraps around is ignored and splits no other one */
	begin_processes(&other, &s, MAP_SHARED);
	k = other.first->image->maps.n;
	for (i = 0; i < 16; i++)
		call(other.first, &(struct adept_ev_syscall){
			.nr = SYS_munmap, .args = { SHARED + 8191, ~0ull - 4095 } });
	assert_int_equal(other.first->image->maps.n, k);
	finish(&other);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares),
		cmocka_unit_test(many_shares),
		cmocka_unit_test(processes),
		cmocka_unit_test(regions),
		cmocka_unit_test(random_maps),
		cmocka_unit_test(too_many_threads),
		cmocka_unit_test(too_many_processes),
		cmocka_unit_test(forks),
		cmocka_unit_test(odd_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kill storms: writers, consumers and both are killed at random moments, sessions are
 * adopted, the module's removal is tried meanwhile.  What survives is exact: of a
 * killed writer's stream all records that it had finished, and at most one more.
 * Afterwards no page is missing.
 */
#include <sched.h>
#include <sys/sysinfo.h>

#include "vm.h"

#define SLOTS	4
#define THREADS	2		/* per process */

static struct progress *progress;
static unsigned int seed;

static u32 chance(u32 n)
{
	return rand_r(&seed) % n;
}

static struct adept_session_create config = {
	.version = ADEPT_ABI_VERSION, .chunk_size = 64 * KIB, .nchunks = 3, .nslots = SLOTS,
	.orphan_wait_ms = 60000, .orphan_keep_ms = 60000,
};

/* ---- writers: two threads in two slots ---- */

struct writers {
	u8 *area;
	struct session *s;
	u32 slot;
};

static void *one(void *arg)
{
	struct writers *ws = arg;
	struct writer w;
	u32 slot = __atomic_fetch_add(&ws->slot, 1, __ATOMIC_RELAXED);

	w = (struct writer){
		.window = ws->area + slot * ws->s->info.slot_stride, .stream = slot,
		.progress = &progress[slot],
	};
	writer_run(&w);
	return NULL;
}

static int run_writers(void *arg)
{
	struct writers *ws = arg;
	pthread_t t;

	ws->area = session_enrol(ws->s);
	close(ws->s->fd);
	must(!pthread_create(&t, NULL, one, ws));
	one(ws);
	return 0;
}

static pid_t start_writers(struct session *s, u32 first)
{
	struct writers ws = { .s = s, .slot = first };
	u32 i;

	for (i = 0; i < THREADS; i++)
		progress[first + i].done = 0;
	return spawn(run_writers, &ws);
}

/* ---- writers killed under a consumer that lives ---- */

static void kill_writers(u32 kills, u32 policy)
{
	struct consumer c;
	struct session s;
	u32 i, k, bad = 0;
	u64 records = 0;

	config.policy = policy;
	errno = -session_try(&s, &config);
	config.policy = ADEPT_POLICY_WAIT;
	must(s.fd >= 0);
	session_view(&s);
	consumer_init(&c, &s);
	for (i = 0; i < kills && !bad; i++) {
		u32 first = i % 2 * THREADS;
		u64 until = now_ns() + 5000000000ull;
		pid_t pid = start_writers(&s, first);

		/* On a slow machine all would die before their first record; some should. */
		while (i % 4 && !progress[first].done && now_ns() < until)
			sleep_ms(1);
		until = now_ns() + chance(15) * 1000000ull;
		while (!bad && now_ns() < until) {
			/* Do not drain: that would not end with writers as fast as these. */
			bad += consumer_step(&c) < 0;
			/* A slow consumer finds dropped chunks. */
			if (policy == ADEPT_POLICY_DROP)
				usleep(1000);
		}
		kill(pid, SIGKILL);
		wait_for(pid);
		bad += !consumer_drain(&c);
		for (k = first; k < first + THREADS; k++) {
			struct adept_ring_info ri = ring_info(&s, k);
			u64 got = c.st[k].next, done = progress[k].done;

			if (ri.state == ADEPT_RING_NONE) {
				bad += done != 0;
				continue;
			}
			records += got;
			if (got < done || got > done + 1 || !c.st[k].last_flags) {
				snprintf(c.error, sizeof(c.error), "%lu records of %lu", got, done);
				bad++;
			}
			bad += slot_cmd(&s, ADEPT_IOC_RESET, k, ri.ring, 0) != 0;
		}
	}
	check(!bad && (policy == ADEPT_POLICY_WAIT) == !session_stats(&s).lost_chunks,
	      "%u writers of %u threads killed, %lu records exact, %llu chunks dropped %s", i,
	      THREADS, records, session_stats(&s).lost_chunks, bad ? c.error : "");
	session_close(&s);
}

/* ---- killed consumers; the next one adopts ---- */

struct taking {
	u64 id;
	u64 *next;		/* per slot: record and seq up to which everything is checked */
	u64 *seq;
	u32 *ring;
	u32 *bad;
};

/* A consumer that stores its position, like one that writes to disk. */
static int run_consumer(void *arg)
{
	struct taking *t = arg;
	struct adept_session_adopt a = { .id = t->id };
	struct consumer c;
	struct session s;
	u32 i, k;
	int fd;

	/* The previous one may still be exiting. */
	while ((fd = device_call(ADEPT_IOC_SESSION_ADOPT, &a)) == -EBUSY)
		sched_yield();
	if (fd < 0)
		return 1;
	session_fd(&s, fd);
	session_view(&s);
	for (;;) {
		struct adept_desc d[8];
		struct adept_give g[8];
		struct adept_exchange x = { .take = (u64)d, .ntake = 8 };

		consumer_init(&c, &s);
		must(!do_exchange(&s, &x));
		for (i = 0; i < x.taken; i++) {
			const u8 *body = s.data + d[i].slot * s.info.slot_stride +
					 d[i].chunk * s.info.chunk_stride;
			u64 next;
			u32 id, n, at = 0;

			k = d[i].slot;
			g[i] = (struct adept_give){ k, d[i].ring, d[i].seq };
			/* delivered again, but already stored by the previous consumer */
			if (d[i].seq < t->seq[k])
				continue;
			if (d[i].seq != t->seq[k] || d[i].ring != t->ring[k])
				++*t->bad;
			for (next = t->next[k]; at < d[i].end; at += 4 + 8 * n, next++) {
				memcpy(&id, body + at, 4);
				n = rec_values(k, next);
				if (!id && d[i].flags & ADEPT_CHUNK_UNFINISHED)
					break;
				if (id != rec_id(next, n) || *(u64 *)(body + at + 4) != next) {
					++*t->bad;
					break;
				}
			}
			t->next[k] = next;
			__atomic_store_n(&t->seq[k], d[i].seq + 1, __ATOMIC_RELEASE);
		}
		x = (struct adept_exchange){ .give = (u64)g, .ngive = x.taken };
		must(!do_exchange(&s, &x));
		if (x.given != x.ngive)
			++*t->bad;
	}
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	return p;
}

/* The last consumer may have been killed while it had chunks. */
static void end_session(u64 id)
{
	struct adept_session_adopt a = { .id = id };
	struct session s;
	u32 k;
	int fd;

	while ((fd = device_call(ADEPT_IOC_SESSION_ADOPT, &a)) == -EBUSY)
		sched_yield();
	if (fd >= 0) {
		session_fd(&s, fd);
		for (k = 0; k < SLOTS; k++)
			must(!slot_cmd(&s, ADEPT_IOC_RESET, k, ring_info(&s, k).ring,
				       ADEPT_RESET_FORCE));
		session_close(&s);
	}
	must(counter_becomes("sessions", 0));
}

static void kill_consumers(u32 kills, bool writers_too)
{
	struct taking t = { 0, shared(4096), shared(4096), shared(4096), shared(4096) };
	pid_t consumer, writers[2];
	struct session s;
	u64 sum = 0;
	u32 i, k, short_of = 0, rounds = 0;

	while (rounds < kills) {
		memset(t.next, 0, 4096);
		memset(t.seq, 0, 4096);
		errno = -session_try(&s, &config);
		must(s.fd >= 0);
		t.id = s.info.id;
		for (i = 0; i < 2; i++)
			writers[i] = start_writers(&s, i * THREADS);
		/* Rings are numbered in the order of the first stores. */
		for (k = 0; k < SLOTS; k++) {
			while (ring_info(&s, k).state == ADEPT_RING_NONE)
				sched_yield();
			t.ring[k] = ring_info(&s, k).ring;
		}
		session_close(&s);
		for (i = 0; i < 20 && rounds < kills; i++, rounds++) {
			consumer = spawn(run_consumer, &t);
			usleep(chance(20000));
			if (writers_too && i == 10) {
				kill(writers[0], SIGKILL);
				rounds++;
			}
			kill(consumer, SIGKILL);
			if (wait_for(consumer) != 128 + SIGKILL)
				++*t.bad;
		}
		for (i = 0; i < 2; i++) {
			kill(writers[i], SIGKILL);
			wait_for(writers[i]);
		}
		/* The last one reads the rest. */
		consumer = spawn(run_consumer, &t);
		for (k = 0, i = 0; k < SLOTS; k++) {
			while (t.next[k] < progress[k].done && i++ < 2000)
				sleep_ms(1);
			short_of += t.next[k] < progress[k].done ||
				    t.next[k] > progress[k].done + 1;
			sum += t.next[k];
		}
		kill(consumer, SIGKILL);
		wait_for(consumer);
		end_session(t.id);
	}
	check(!*t.bad && !short_of,
	      "%u %s killed, %lu records in order, none missing (%u, %u)", rounds,
	      writers_too ? "consumers and writers" : "consumers", sum, *t.bad, short_of);
}

/* ---- others ---- */

static int try_rmmod(void *arg)
{
	u32 refused = 0;

	(void)arg;
	for (;;) {
		if (!syscall(SYS_delete_module, "adept", O_NONBLOCK))
			_exit(1);
		refused++;
		usleep(20000);
	}
}

/* Free pages in the caches of processors count as used: keep these caches small. */
static void keep_few_pages(void)
{
	int fd = open("/proc/sys/vm/percpu_pagelist_high_fraction", O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, "100000", 6) == 6);
	close(fd);
}

/* Memory that is in use and in none of the kernel's accounts, such as a lost ring. */
static u64 unaccounted_kib(void)
{
	static const char *const accounts[] = {
		"MemFree", "Buffers", "Cached", "AnonPages", "Slab", "KernelStack", "PageTables",
		"SecPageTables", "Percpu",
	};
	u64 kib, total = 0, known = 0;
	char line[128], name[64];
	FILE *f = fopen("/proc/meminfo", "re");
	size_t i;

	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63[^:]: %lu", name, &kib) != 2)
			continue;
		if (!strcmp(name, "MemTotal"))
			total = kib;
		for (i = 0; i < sizeof(accounts) / sizeof(*accounts); i++)
			known += strcmp(name, accounts[i]) ? 0 : kib;
	}
	fclose(f);
	return total - known;
}

int main(void)
{
	u32 kills = getenv("LONG") && *getenv("LONG") == '1' ? 2000 : 200;
	const char *given = getenv("SEED");
	struct session pin;
	u64 before, after, until;
	pid_t rm;

	seed = given && *given ? (u32)atoi(given) : (u32)time(NULL);
	printf("seed %u\n", seed);
	progress = progress_make();
	keep_few_pages();
	/* Run once before measuring, for memory that is allocated permanently. */
	kill_writers(4, ADEPT_POLICY_WAIT);
	must(counter_becomes("sessions", 0));
	before = unaccounted_kib();
	errno = -session_try(&pin, &config);
	must(pin.fd >= 0);
	rm = spawn(try_rmmod, NULL);
	kill_writers(kills, ADEPT_POLICY_WAIT);
	kill_writers(kills / 2, ADEPT_POLICY_DROP);
	session_close(&pin);
	must(!kill(rm, SIGKILL));
	check(wait_for(rm) == 128 + SIGKILL, "rmmod is refused while there are sessions");
	kill_consumers(kills, false);
	kill_consumers(kills, true);
	check(counter_becomes("sessions", 0) && !counter("rings") && !counter("pages") &&
	      !counter("orphans"), "no session, ring or page is left");
	/* A ring has 192 KiB, and hundreds were created.  Memory that is freed late comes back. */
	until = now_ns() + 10 * 1000000000ull;
	do {
		sleep_ms(200);
		after = unaccounted_kib();
	} while (after >= before + 8192 && now_ns() < until);
	check(after < before + 8192, "memory is back: %lu KiB unaccounted for before, %lu after",
	      before, after);
	return finish();
}

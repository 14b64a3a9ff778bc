// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write nonsense over all that a recorded program shares with depd, and over the engine in itself.
 *
 *	attack_scribble SECONDS SEED SOCKET DEPCTL DIR
 *
 * By turns a recorded run of itself, whose threads and children write to the session's first page,
 * its tables, descriptor rings and chunks, to the rings of the kernel module where it is loaded, to
 * their struct adept_boot and to the engine's memory; and a session as a client has it, without an
 * engine that would break first.
 */
#include <pthread.h>

#include "attack.h"

#define RUN_MS		1500
#define SEARCH_MOST	(64ul << 20)	/* bytes searched for the engine's layout */

static struct adept_session *session;
static struct adept_session layout;	/* copy of the layout when it was found */
static char *base;			/* of the session */
static size_t size;
static struct adept_boot *boot;		/* the engine's copy in this process */
static struct adept_boot boot_was;
static char *module_rings;		/* NULL: none */
static size_t module_size;

/* ---- targets ---- */

/* Ranges that were writable when they were read: a write elsewhere would end the process. */
static struct { unsigned long from, to; } range[1024];
static size_t nranges;

static void find_ranges(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[4352], may[8];

	nranges = 0;
	module_rings = NULL;
	while (f && nranges < 1024 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, may) != 3 || may[1] != 'w')
			continue;
		if (strchr(line, '/') && !strcmp(strchr(line, '/'), "/adept (deleted)\n")) {
			module_rings = (char *)from;
			module_size = to - from;
		}
		range[nranges].from = from;
		range[nranges++].to = to;
	}
	if (f)
		fclose(f);
}

static int is_writable(const char *p)
{
	size_t i;

	for (i = 0; i < nranges; i++)
		if ((unsigned long)p >= range[i].from && (unsigned long)p + 8 <= range[i].to)
			return 1;
	return 0;
}

/* Write at most @n bytes at @p. */
static void scribble(void *p, size_t n)
{
	uint64_t was = 0, v;

	if (!is_writable(p))
		return;
	n = n < 8 ? n : 1ull << below(4);
	memcpy(&was, p, n);
	v = hostile(was);
	memcpy(p, &v, n);
}

static void scribble_in(uint64_t off, uint64_t n)
{
	if (n > 8 && off < size && n <= size - off)
		scribble(base + off + (below(n - 8) & (below(4) ? ~7ull : ~0ull)), 8);
}

/* Usually one of the first slots, which are in use. */
static uint64_t slot(uint64_t n)
{
	return below(3) ? below(n < 8 ? n : 8) : below(n);
}

static void scribble_chunk(void)
{
	uint64_t stride = adept_chunk_stride(&layout);
	uint64_t at = layout.ring_off +
		      (slot(layout.nthreads) * layout.nchunks + below(layout.nchunks)) * stride;

	scribble_in(at, below(2) ? 4096 : layout.chunk_size);
}

/* The engine's memory, if there is an engine. */
static void scribble_engine(void)
{
	static const uint64_t far = 0x1000000;

	switch (below(5)) {
	case 0:
	case 1:
		scribble((char *)boot + (below(sizeof(*boot)) & ~7ull), 8);
		break;
	case 2:
		scribble((char *)boot_was.low + (below(boot_was.low_size) & ~7ull), 8);
		break;
	case 3:
		scribble((char *)boot_was.heap + (below(far) & ~7ull), 8);
		break;
	default:
		scribble((char *)boot_was.arena[0] + (below(far) & ~7ull), 8);
	}
}

/* Usually the first chunk: a store to a chunk that is not mapped ends the program. */
static void scribble_module(void)
{
	uint64_t room = below(1024) ? 65536 : module_size;

	if (module_rings)
		scribble(module_rings + (below(room) & ~7ull), 8);
}

enum { PAGE, COUNTERS, PROCS, THREADS, DESCS, CHUNKS, MODULE, ENGINE, TARGETS };

static void scribble_once(unsigned int targets)
{
	unsigned int what = (unsigned int)below(TARGETS);

	if (!(targets & 1u << what))
		return;
	switch (what) {
	case PAGE:
		scribble_in(0, offsetof(struct adept_session, wakeup));
		break;
	case COUNTERS:
		scribble_in(offsetof(struct adept_session, wakeup),
			    sizeof(struct adept_session) -
			    offsetof(struct adept_session, wakeup));
		break;
	case PROCS:
		scribble_in(layout.proc_off + slot(layout.nprocs) * sizeof(struct adept_proc),
			    sizeof(struct adept_proc));
		break;
	case THREADS:
		scribble_in(layout.thread_off + slot(layout.nthreads) * sizeof(struct adept_thread),
			    below(2) ? offsetof(struct adept_thread, chunk) :
			    sizeof(struct adept_thread));
		break;
	case DESCS:
		scribble_in(layout.desc_off + slot(layout.nprocs) * layout.desc_size,
			    layout.desc_size);
		break;
	case CHUNKS:
		scribble_chunk();
		break;
	case MODULE:
		scribble_module();
		break;
	default:
		if (boot)
			scribble_engine();
	}
	if (!below(16))
		__atomic_fetch_add(&session->wakeup, 1, __ATOMIC_SEQ_CST);
}

/* ---- in the recorded program ---- */

/* Find the engine's copy of the layout, which begins with the session's magic number. */
static void find_boot(void)
{
	unsigned long from, to, at, searched = 0;
	char line[4352], may[8];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !boot && fgets(line, sizeof(line), f)) {
		if (is_session_map(line) || sscanf(line, "%lx-%lx %7s", &from, &to, may) != 3 ||
		    may[0] != 'r' || may[1] != 'w' || strstr(line, "[stack]"))
			continue;
		for (at = from; at < to && searched < SEARCH_MOST; at += 8, searched += 8) {
			struct adept_boot *b = (struct adept_boot *)
				(at - offsetof(struct adept_boot, layout));

			if (*(uint64_t *)at != ADEPT_SESSION_MAGIC || (unsigned long)b < from ||
			    to - at < sizeof(layout) || b->session != (uint64_t)(uintptr_t)session)
				continue;
			boot = b;
			boot_was = *b;
			break;
		}
	}
	if (f)
		fclose(f);
}

struct writer {
	uint64_t seed;
	unsigned int targets, pause;
};

static void *write_nonsense(void *arg)
{
	struct writer w = *(struct writer *)arg;

	attack_state = w.seed;
	for (;;) {
		scribble_once(w.targets);
		if (w.pause && !below(w.pause))
			nap_ms(1);
	}
	return NULL;
}

static void *work(void *arg)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < 200000; i++)
		sum += i * (unsigned long)(uintptr_t)arg;
	return NULL;
}

/* Sometimes a child or thread, so that slots are taken and returned in the meantime. */
static void live(uint64_t until)
{
	pthread_t t;
	pid_t pid;

	while (now_ms() < until) {
		if (!pthread_create(&t, NULL, work, (void *)(uintptr_t)rnd()))
			pthread_join(t, NULL);
		pid = fork();
		if (!pid) {
			if (below(2))
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		for (int i = 0; pid > 0 && i < 50 && waitpid(pid, NULL, WNOHANG) != pid; i++)
			nap_ms(2);
	}
}

static int inside(uint64_t seed)
{
	static struct writer w[2];
	unsigned long range[2];
	pthread_t t;

	attack_state = seed;
	if (session_range(range))
		return 3;
	session = (struct adept_session *)range[0];
	base = (char *)session;
	size = range[1] - range[0];
	layout = *session;
	find_boot();
	/* All of it, including guards and unused parts, if they can be written. */
	if (below(2))
		mprotect(base, layout.ring_off + 8 * layout.nchunks * adept_chunk_stride(&layout),
			 PROT_READ | PROT_WRITE);
	find_ranges();
	for (int i = 0; i < 2; i++) {
		w[i] = (struct writer){ rnd(), (unsigned int)rnd(), (unsigned int)below(4) };
		/* If the engine breaks at once, nothing more is tested. */
		if (below(4))
			w[i].targets &= ~(1u << ENGINE);
		if (pthread_create(&t, NULL, write_nonsense, &w[i]))
			return 4;
	}
	live(now_ms() + RUN_MS);
	return 7;
}

/* ---- as a client ---- */

/* Claim a slot for a living process: this one, or one with that pid. */
static void claim(void)
{
	struct adept_proc *p = (struct adept_proc *)(base + layout.proc_off) + slot(layout.nprocs);
	uint64_t i = slot(layout.nthreads);
	struct adept_thread *t = (struct adept_thread *)(base + layout.thread_off) + i;

	p->serial = (uint32_t)below(8);
	p->pid = p->exec_tid = below(2) ? (uint32_t)getpid() : (uint32_t)below(40000);
	p->exec_state = (uint32_t)below(5);
	__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
	t->serial = (uint32_t)below(8);
	t->tid = p->pid;
	t->proc = (uint32_t)slot(layout.nprocs);
	t->proc_serial = (uint32_t)below(8);
	t->head = (uint32_t)below(4);
	__atomic_store_n(&t->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
}

static void client(const char *path, const char *dir, unsigned int n)
{
	unsigned int id, targets = (unsigned int)rnd();
	uint64_t until = now_ms() + RUN_MS;
	int sock = attack_connect(path), fd;
	char store[4096];

	snprintf(store, sizeof(store), "%s/client-%u.dep", dir, n);
	fd = sock < 0 ? -1 : attack_session(sock, store, &id);
	session = fd < 0 ? NULL : attack_map(fd, &size);
	if (session) {
		base = (char *)session;
		layout = *session;
		boot = NULL;
		find_ranges();
		while (now_ms() < until) {
			for (int i = 0; i < 100; i++)
				scribble_once(targets);
			claim();
			nap_ms(1);
		}
		munmap(base, size);
	}
	if (fd >= 0)
		close(fd);
	if (sock >= 0)
		close(sock);
}

int main(int argc, char **argv)
{
	char number[32], store[4096];
	uint64_t until;
	unsigned int n;

	if (argc == 3 && !strcmp(argv[1], "inside"))
		return inside(strtoull(argv[2], NULL, 0));
	if (argc < 6)
		return 98;
	printf("attack_scribble: seed %s\n", argv[2]);
	fflush(stdout);
	attack_state = strtoull(argv[2], NULL, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	until = now_ms() + strtoull(argv[1], NULL, 0) * 1000;
	for (n = 0; now_ms() < until; n++) {
		char *run[] = { argv[4], (char *)"record", (char *)"-q", (char *)"-o", store,
				(char *)"--ring-size=1M", (char *)"--", argv[0], (char *)"inside",
				number, NULL };

		snprintf(store, sizeof(store), "%s/scribble-%u.dep", argv[5], n);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)rnd());
		if (n % 3 == 2)
			client(argv[3], argv[5], n);
		else
			one_run(run, 2 * RUN_MS);
	}
	printf("attack_scribble: %u rounds\n", n);
	return 0;
}

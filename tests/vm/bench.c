// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What handing full chunks over costs the writer, side by side: by the module; by a
 * SIGSEGV handler and a futex, as the shared-memory transport does it (without what the
 * engine's handler has to find out); and not at all, a loop that goes from chunk to chunk
 * by itself.  Consumers zero the chunks and give them back.  The ways take turns; medians.
 *
 * An emulated processor runs at an arbitrary speed: only ratios mean anything there.
 */
#include <asm/prctl.h>
#include <linux/futex.h>
#include <ucontext.h>

#include "vm.h"

#define ROUNDS	5
#define CHUNKS	4
#define RECORD	60
#define GAP	65536

static u32 chunk_size;
static u64 amount;		/* bytes per measurement */
static u64 *result;		/* shared: wall and processor time */

/* Records of 7 values at r15. */
static inline __attribute__((always_inline)) void records(u64 n)
{
	asm volatile("1:\n\tmovq %0, 4(%%r15)\n\tmovq %0, 12(%%r15)\n\tmovq %0, 20(%%r15)\n\t"
		     "movq %0, 28(%%r15)\n\tmovq %0, 36(%%r15)\n\tmovq %0, 44(%%r15)\n\t"
		     "movq %0, 52(%%r15)\n\tmovl $4096, (%%r15)\n\tlea 60(%%r15), %%r15\n\t"
		     "dec %0\n\tjnz 1b" : "+r"(n) : : "memory");
}

static u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* After a lap and a bit, when all memory is there. */
static void measure(u8 *window, bool bare)
{
	u64 saved, n = amount / RECORD, lap = (CHUNKS + 1) * (u64)chunk_size / RECORD;
	u64 per = chunk_size / RECORD, stride = chunk_size + GAP, k, wall, cpu;
	static u64 words[8];

	/* As in recorded threads: the module reads what the base of gs points to. */
	must(!syscall(SYS_arch_prctl, ARCH_SET_GS, words));
	asm volatile("mov %%r15, %0" : "=r"(saved));
	asm volatile("mov %0, %%r15" : : "r"(window));
	if (!bare)
		records(lap);
	for (lap = 0; bare && lap < CHUNKS; lap++) {
		asm volatile("mov %0, %%r15" : : "r"(window + lap * stride));
		records(per);
	}
	wall = now_ns();
	cpu = cpu_ns();
	if (!bare)
		records(n);
	for (; bare && n; n -= k) {
		asm volatile("mov %0, %%r15" : : "r"(window + lap++ % CHUNKS * stride));
		k = n < per ? n : per;
		records(k);
	}
	result[0] = now_ns() - wall;
	result[1] = cpu_ns() - cpu;
	asm volatile("mov %0, %%r15" : : "r"(saved));
}

static int bare(void *arg)
{
	u8 *p = mmap(NULL, CHUNKS * (u64)(chunk_size + GAP), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	must(p != MAP_FAILED);
	measure(p, true);
	return 0;
}

/* ---- the module ---- */

static struct session s;

static int module_writer(void *arg)
{
	u8 *area = session_enrol(&s);

	(void)arg;
	close(s.fd);
	measure(area, false);
	return 0;
}

static int by_module(void *arg)
{
	struct adept_desc d[CHUNKS];
	struct adept_give g[CHUNKS];
	struct adept_exchange x = { .take = (u64)d, .ntake = CHUNKS, .give = (u64)g };
	bool last = false;
	pid_t pid;
	u32 i;

	(void)arg;
	session_make(&s, chunk_size, CHUNKS, 1, ADEPT_POLICY_WAIT);
	pid = spawn(module_writer, NULL);
	while (!last) {
		struct pollfd p = { .fd = s.fd, .events = POLLIN };

		must(!do_exchange(&s, &x));
		for (i = 0; i < x.taken; i++) {
			g[i] = (struct adept_give){ d[i].slot, d[i].ring, d[i].seq };
			last |= d[i].flags & ADEPT_CHUNK_LAST;
		}
		x.ngive = x.taken;
		if (!x.taken)
			poll(&p, 1, 1000);
	}
	result[2] = session_stats(&s).published;
	session_close(&s);
	return wait_for(pid);
}

/* ---- the signal handler ---- */

struct shm {
	u32 head, tail, end;
	u32 pad[13];
};

static struct shm *shm;
static u8 *ring;

static void futex(u32 *word, int op, u32 value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	greg_t *r15 = &((ucontext_t *)context)->uc_mcontext.gregs[REG_R15];
	u64 stride = chunk_size + GAP, at = (u64)info->si_addr - (u64)ring;
	u32 head = shm->head, tail;
	u8 *end, *next;

	(void)sig;
	if (at >= CHUNKS * stride || at % stride < chunk_size)
		_exit(9);
	end = ring + head % CHUNKS * stride + chunk_size;
	head++;
	__atomic_store_n(&shm->head, head, __ATOMIC_SEQ_CST);
	futex(&shm->head, FUTEX_WAKE, 1);
	while (tail = __atomic_load_n(&shm->tail, __ATOMIC_SEQ_CST), head - tail >= CHUNKS)
		futex(&shm->tail, FUTEX_WAIT, tail);
	next = ring + head % CHUNKS * stride;
	memcpy(next, (void *)*r15, end - (u8 *)*r15);
	*r15 = (greg_t)next;
}

static int signal_writer(void *arg)
{
	struct sigaction a = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_sp = malloc(65536), .ss_size = 65536 };

	(void)arg;
	must(!sigaltstack(&ss, NULL) && !sigaction(SIGSEGV, &a, NULL));
	measure(ring, false);
	__atomic_store_n(&shm->end, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shm->head, 1, __ATOMIC_SEQ_CST);
	futex(&shm->head, FUTEX_WAKE, 1);
	return 0;
}

static int by_signal(void *arg)
{
	u64 stride = chunk_size + GAP;
	pid_t pid;
	u32 i;

	(void)arg;
	shm = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ring = mmap(NULL, CHUNKS * stride, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shm != MAP_FAILED && ring != MAP_FAILED);
	for (i = 0; i < CHUNKS; i++)
		must(!mprotect(ring + i * stride, chunk_size, PROT_READ | PROT_WRITE));
	pid = spawn(signal_writer, NULL);
	for (;;) {
		u32 head = __atomic_load_n(&shm->head, __ATOMIC_SEQ_CST);

		if (head == shm->tail) {
			futex(&shm->head, FUTEX_WAIT, head);
			continue;
		}
		if (__atomic_load_n(&shm->end, __ATOMIC_SEQ_CST))
			break;
		memset(ring + shm->tail % CHUNKS * stride, 0, chunk_size);
		__atomic_add_fetch(&shm->tail, 1, __ATOMIC_SEQ_CST);
		futex(&shm->tail, FUTEX_WAKE, 1);
	}
	return wait_for(pid);
}

/* ---- */

static int compare(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	static const struct { const char *name; int (*fn)(void *); } way[] = {
		{ "bare stores", bare }, { "module", by_module }, { "signal", by_signal },
	};
	static const u32 sizes[] = { 64 * KIB, 256 * KIB, MIB };
	u64 wall[3][ROUNDS], cpu[3][ROUNDS];
	u32 i, w, k;

	result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(result != MAP_FAILED);
	printf("%10s %-12s %10s %10s %10s %10s %12s %9s\n", "chunk", "way", "wall ms", "cpu ms",
	       "us/MiB", "flushes", "cpu us/flush", "over bare");
	for (i = 0; i < 3; i++) {
		u64 flushes;

		chunk_size = sizes[i];
		amount = 96 * (u64)MIB;
		flushes = amount / (chunk_size - RECORD / 2);
		for (k = 0; k < ROUNDS; k++) {
			for (w = 0; w < 3; w++) {
				must(!wait_for(spawn(way[w].fn, NULL)));
				wall[w][k] = result[0];
				cpu[w][k] = result[1];
			}
		}
		for (w = 0; w < 3; w++) {
			double base, c;

			qsort(wall[w], ROUNDS, sizeof(u64), compare);
			qsort(cpu[w], ROUNDS, sizeof(u64), compare);
			base = cpu[0][ROUNDS / 2];
			c = cpu[w][ROUNDS / 2];
			printf("%6u KiB %-12s %10.1f %10.1f %10.1f %10lu %12.2f %8.2f%%\n",
			       chunk_size / KIB, way[w].name, wall[w][ROUNDS / 2] / 1e6, c / 1e6,
			       c / 1e3 / 96, w ? flushes : 0, w ? (c - base) / 1e3 / flushes : 0.0,
			       (c - base) * 100 / base);
			fflush(stdout);
		}
	}
	return 0;
}

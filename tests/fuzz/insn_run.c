// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run the cases and write the state after each.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "insn_fuzz.h"

const uint64_t place_at[NPLACES] = {
	[AT_LOW] = 0x30000000,
	[AT_FAR] = 0x200000000000,
	[AT_LIBS] = 0x7fffe0000000,
};

const uint64_t window_at[NWINDOWS] = {
	[WIN_LOW] = 0x20000000,
	[WIN_MID] = 0x100012340000,
	[WIN_BELOW] = 0x200000000000 - 0x7fe00000,
	[WIN_ABOVE] = 0x200000000000 + 0x7ff00000,
	[WIN_LIBS] = 0x7fffe2000000,
};

struct transit {
	uint64_t gpr[16];
	uint64_t flags, fsbase, gsbase;
	uint64_t target;
	uint64_t host_rsp, host_fs, host_gs;
	uint64_t mask;
	void *load, *store, *clean;
};

struct transit transit;
void fuzz_enter(void);
void fuzz_left(void);
extern const char fuzz_leave[], fuzz_leave_end[];

#define IMAGE_SIZE	4096
#define POOL_SIZE	65536u
#define FLAGS_SEEN	0x244cd5u	/* without IF and TF */

static uint8_t load_image[IMAGE_SIZE] __attribute__((aligned(64)));
static uint8_t store_image[IMAGE_SIZE] __attribute__((aligned(64)));
static uint8_t clean_image[IMAGE_SIZE] __attribute__((aligned(64)));
static uint8_t pool[POOL_SIZE + 4096] __attribute__((aligned(64)));
static uint8_t small_pool[4096] __attribute__((aligned(64)));
static int light;
static uint32_t at_ymm, at_k, at_zmm_high, at_zmm16;
static struct fuzz_result now;
static uint8_t handler_stack[65536] __attribute__((aligned(64)));

/* Without string functions and byte loops: this runs under the engine for each case. */
static inline void copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static inline void zero(void *to, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

static uint64_t hash(const void *p, size_t n, uint64_t h)
{
	const uint64_t *v = p;
	uint64_t a = h, b = ~h;

	n /= 8;
	for (; n >= 8; n -= 8, v += 8) {
		a = __builtin_ia32_crc32di(a, v[0] ^ v[1] * 3);
		b = (b ^ v[2]) * 0x9e3779b97f4a7c15ull + (a << 32);
		a = __builtin_ia32_crc32di(a, v[3] ^ v[4] * 5);
		b = (b ^ v[5] ^ b >> 29) * 0xbf58476d1ce4e5b9ull;
		b = (b ^ v[6]) * 0x94d049bb133111ebull + v[7];
	}
	for (; n; n--, v++)
		b = (b ^ *v ^ b >> 31) * 0x9e3779b97f4a7c15ull;
	return b ^ a << 32;
}

/* The thread's fs base is that of the case: libc cannot be used. */
static void on_signal(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;

	now.signo = (uint32_t)signo;
	now.code = (uint32_t)info->si_code;
	now.trap = (uint32_t)r[REG_TRAPNO];
	now.error = (uint32_t)r[REG_ERR];
	now.address = (uint64_t)info->si_addr;
	now.fault = (uint64_t)r[REG_RIP] - transit.target;
	now.frame = hash(r, (REG_EFL + 1) * sizeof(*r), 0);
	if (r[REG_RIP] - (greg_t)transit.target > MAX_CODE)
		_exit(99);
	r[REG_RIP] = (greg_t)fuzz_left;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void map(uint64_t at, size_t size, int prot)
{
	if (mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) != (void *)at)
		die("mmap");
}

static void setup_memory(void)
{
	int fd = memfd_create("bus", MFD_CLOEXEC);

	for (int i = 0; i < NWINDOWS; i++)
		map(window_at[i], WINDOW_SIZE, PROT_READ | PROT_WRITE);
	for (int i = 0; i < NPLACES; i++)
		map(place_at[i], CODE_SIZE, PROT_READ | PROT_WRITE);
	map(BAD_READONLY, 4096, PROT_READ);
	if (fd < 0 || mmap((void *)BAD_BUS, 4096, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != (void *)BAD_BUS)
		die("mmap");
	close(fd);
}

static void setup_signals(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_sp = handler_stack, .ss_size = sizeof(handler_stack) };

	sigfillset(&sa.sa_mask);
	if (sigaltstack(&ss, NULL))
		die("sigaltstack");
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &sa, NULL))
			die("sigaction");
}

static uint32_t component(uint32_t n)
{
	uint32_t a, b, c, d;

	if (!(transit.mask >> n & 1) || !__get_cpuid_count(0xd, n, &a, &b, &c, &d) ||
	    b + a > IMAGE_SIZE)
		return 0;
	return b;
}

static void setup_state(void)
{
	static const double special[] = { 0.0, -0.0, 1.0, -1.5, 1e300, 1e-310, 65536.0, 0.5 };
	uint32_t a, b, c, d, lo, hi;
	uint64_t s = 4711;

	if (!(getauxval(AT_HWCAP2) & 2) || !__get_cpuid(1, &a, &b, &c, &d) ||
	    !(c & (1u << 27)) || !(c & (1u << 20))) {
		fprintf(stderr, "insn_fuzz: this processor lacks fsgsbase, xsave or crc32\n");
		exit(77);
	}
	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	transit.mask = lo & 0xe7;
	transit.load = load_image;
	transit.store = store_image;
	transit.clean = clean_image;
	at_ymm = component(2);
	at_k = component(5);
	at_zmm_high = component(6);
	at_zmm16 = component(7);
	for (size_t i = 0; i < (light ? 4096 : sizeof(pool)); i += 8) {
		uint64_t v = fuzz_random(&s);

		switch (v % 8) {
		case 0:
			memcpy(&v, &special[v >> 32 & 7], 8);
			break;
		case 1:
			v = window_at[(v >> 8) % NWINDOWS] + (v >> 32) % WINDOW_SIZE;
			break;
		case 2:
			v = v >> 32 & 255;
			break;
		case 3:
			v = (v >> 8 & 0x807fffff) | 0x3f800000 | (v & 0xff) << 56;
			break;
		}
		memcpy(pool + i, &v, 8);
	}
	/* Indices: small in units of 4 and of 8 bytes. */
	for (size_t i = 0; i < sizeof(small_pool); i += 8) {
		uint64_t v = fuzz_random(&s);

		v = v & 0x3f;
		if (i & 0x40)
			v |= (v * 7 & 0x3f) << 32;
		memcpy(small_pool + i, &v, 8);
	}
	clean_image[0] = 0x7f;
	clean_image[1] = 3;
	clean_image[24] = 0x80;
	clean_image[25] = 0x1f;
	memcpy(clean_image + 512, &transit.mask, 8);
}

static const void *from_pool(uint64_t *s, uint32_t size)
{
	return pool + (fuzz_random(s) % (light ? 4096 - size + 1 : POOL_SIZE) & ~7ul);
}

static void fill(uint32_t at, uint32_t size, uint64_t *s)
{
	if (at)
		copy(load_image + at, from_pool(s, size), size);
}

static void make_state(const struct fuzz_case *c)
{
	uint64_t s = c->seed, v;
	uint8_t *m = load_image;

	zero(m, 512);
	memcpy(m, &c->fcw, 2);
	v = fuzz_random(&s);
	m[3] = (uint8_t)(v & 0x3f);		/* top of stack, C1, C0, C2 */
	if (v >> 16 & 1)
		m[4] = (uint8_t)(v >> 8);
	else if (v >> 17 & 1)
		m[4] = 0xff;
	memcpy(m + 24, &c->mxcsr, 4);
	memcpy(m + 512, &transit.mask, 8);
	fill(32, 128, &s);
	for (int i = 0; i < 8; i++) {
		uint64_t e = 0x3fff - 20 + (v >> (20 + 5 * i) & 31);

		if (i & 3)
			memcpy(m + 32 + 16 * i + 8, &e, 8);
		else
			zero(m + 32 + 16 * i + 10, 6);
		m[32 + 16 * i + 7] |= 0x80;
	}
	fill(160, 256, &s);
	fill(at_ymm, 256, &s);
	fill(at_k, 64, &s);
	fill(at_zmm_high, 512, &s);
	fill(at_zmm16, 1024, &s);
	/* 4..7 and 20..23 are indices, or all signs (masks) */
	for (int i = 4; i < 8; i++) {
		const uint8_t *from = small_pool + (fuzz_random(&s) % 3584 & ~63ul);

		copy(m + 160 + 16 * i, from, 16);
		if (at_ymm)
			copy(m + at_ymm + 16 * i, from + 16, 16);
		if (at_zmm_high)
			copy(m + at_zmm_high + 32 * i, from + 32, 32);
		if (at_zmm16)
			copy(m + at_zmm16 + 64 * i, from + 64, 64);
	}
	for (int w = 0; w < NWINDOWS; w++)
		copy((void *)window_at[w], from_pool(&s, WINDOW_SIZE), WINDOW_SIZE);
}

static uint64_t state_hash(void)
{
	uint64_t h;

	zero(store_image + 6, 18);		/* where the last x87 instruction was */
	h = hash(store_image, 416, 1);
	if (at_ymm)
		h = hash(store_image + at_ymm, 256, h);
	if (at_k)
		h = hash(store_image + at_k, 64, h);
	if (at_zmm_high)
		h = hash(store_image + at_zmm_high, 512, h);
	if (at_zmm16)
		h = hash(store_image + at_zmm16, 1024, h);
	return h;
}

static void run_case(const struct fuzz_case *c, uint64_t i)
{
	memset(&now, 0, sizeof(now));
	if (!light || !transit.target)
		make_state(c);
	memcpy(transit.gpr, c->gpr, sizeof(transit.gpr));
	transit.flags = c->flags;
	transit.fsbase = c->fsbase;
	transit.gsbase = c->gsbase;
	transit.target = case_pc(c, i);
	fuzz_enter();
	memcpy(now.gpr, transit.gpr, sizeof(now.gpr));
	now.flags = transit.flags & FLAGS_SEEN;
	now.fsbase = transit.fsbase;
	now.gsbase = transit.gsbase;
	if (light)
		return;
	now.xstate = state_hash();
	for (int w = 0; w < NWINDOWS; w++)
		now.memory[w] = hash((void *)window_at[w], WINDOW_SIZE, 2);
}

static void protect(int prot)
{
	for (int i = 0; i < NPLACES; i++)
		if (mprotect((void *)place_at[i], CODE_SIZE, prot))
			die("mprotect");
}

static void place_code(const struct fuzz_file *f, uint64_t from, uint64_t to)
{
	protect(PROT_READ | PROT_WRITE);
	for (int i = 0; i < NPLACES; i++)
		copy((void *)place_at[i], fuzz_leave, (size_t)(fuzz_leave_end - fuzz_leave));
	for (uint64_t i = from; i < to; i++) {
		const struct fuzz_case *c = &f->c[i];
		uint8_t *pc = (uint8_t *)case_pc(c, i);
		int32_t rel = (int32_t)(place_at[c->place] - ((uint64_t)pc + c->len + 5));

		copy(pc, c->code, c->len);
		pc[c->len] = 0xe9;
		memcpy(pc + c->len + 1, &rel, 4);
	}
	protect(PROT_READ | PROT_EXEC);
}

static void write_all(const char *path, const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	const char *at = p;

	if (fd < 0)
		die(path);
	while (n) {
		ssize_t k = write(fd, at, n);

		if (k <= 0)
			die(path);
		at += k;
		n -= (size_t)k;
	}
	close(fd);
}

/*
 * A random address may be in the engine's memory.  The native run shows this: an access to a page
 * that is unmapped there and mapped under the engine would not fault, and a store would change the
 * engine.  For single-stepping, all such cases are avoided, so that both runs do the same.
 */
static int avoid(const struct fuzz_result *native)
{
	uint64_t a = native->address;
	unsigned char there;

	if (native->trap != TRAP_PAGE || (native->error & 1) || a - BAD_UNMAPPED < 4096)
		return 0;
	return light || !mincore((void *)(a & ~4095ul), 4096, &there);
}

int run_cases(const struct fuzz_file *f, const struct fuzz_run *run)
{
	struct fuzz_result *r = calloc(run->count + 1, sizeof(*r));
	uint64_t end = run->first + run->count, next, n = 0;
	const struct fuzz_result *native = NULL;

	if (!r)
		die("calloc");
	if (run->native) {
		native = load_results(run->native, &n);
		if (n != run->count) {
			fprintf(stderr, "insn_fuzz: %s: %lu results, not %lu\n", run->native, n,
				run->count);
			exit(2);
		}
	}
	light = run->light;
	setup_state();
	setup_memory();
	setup_signals();
	for (uint64_t i = run->first; i < end; i = next) {
		next = (i / SLOTS + 1) * SLOTS;
		if (next > end)
			next = end;
		place_code(f, i, next);
		for (uint64_t k = i; k < next; k++) {
			if (native && avoid(&native[k - run->first])) {
				r[k - run->first].avoided = 1;
				continue;
			}
			run_case(&f->c[k], k);
			r[k - run->first] = now;
		}
	}
	write_all(run->out, r, run->count * sizeof(*r));
	if (run->image)
		write_all(run->image, store_image, sizeof(store_image));
	free(r);
	return 0;
}

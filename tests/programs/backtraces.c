// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library for LD_PRELOAD that takes backtraces of an unmodified program at SIGPROF, as profilers
 * do.  $BACKTRACES names the file for them (backtraces.h).
 *
 * Each thread has a timer of its processor time.  The kernel looks at such timers only when its
 * clock ticks, so each tick starts some signals at shorter and varying intervals.  These are of
 * real time; they are few, because a thread that sleeps has no ticks.
 *
 * No backtrace is taken where libgcc itself is interrupted.  Before it jumps to the handler of an
 * exception, it writes that function's registers over those saved in its own frame, and has no
 * unwind tables for this: backtrace() returns wrong frames, or crashes.  All of this is in code of
 * libgcc, which calls no other library meanwhile.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "backtraces.h"

#define TICK_NS		4000000
#define BURST		8		/* signals after each tick */
#define BURST_NS	100000		/* to twice this number between them */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct begin {
	void *(*start)(void *);
	void *arg;
};

/* As in libgcc, which exports the function but has no header for it. */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

static struct backtraces *file;
static uint64_t unwinder, unwinder_end;		/* libgcc's code */
static create_fn create;

static __thread timer_t tick, burst;
static __thread unsigned int left, number, seed;

static void die(const char *what)
{
	perror(what);
	_exit(99);
}

static void start_burst(void)
{
	struct itimerspec when = { 0 };

	seed = seed * 1103515245 + 12345;
	when.it_value.tv_nsec = BURST_NS + (seed >> 8) % BURST_NS;
	timer_settime(burst, 0, &when, NULL);
}

/* The last address is a return address, unless it is what a signal interrupted. */
static int lacks_tables(const struct backtrace_note *note)
{
	struct dwarf_eh_bases bases;
	uint64_t pc = note->pc[note->n - 1];

	if (note->n < 2 || note->pc[note->n - 2] != note->pc[1])
		pc--;
	return !_Unwind_Find_FDE((void *)pc, &bases);
}

/* The unwinder leaves its frames by mov %rcx,%rsp; pop %rcx; jmp *%rcx. */
static int has_unwound(uint64_t interrupted)
{
	static const uint8_t end[] = { 0x59, 0xff, 0xe1 };
	const void *p = (const void *)interrupted;

	return !memcmp(p, end, sizeof(end)) || !memcmp(p, end + 1, sizeof(end) - 1);
}

static void take(struct backtrace_note *note, uint64_t interrupted)
{
	uint32_t kind;

	note->tid = (uint32_t)gettid();
	note->number = number;
	if (interrupted - unwinder < unwinder_end - unwinder) {
		kind = has_unwound(interrupted) ? BACKTRACE_UNWOUND : BACKTRACE_IN_UNWINDER;
	} else {
		note->n = (uint32_t)backtrace((void **)note->pc, BACKTRACES_FRAMES);
		kind = lacks_tables(note) ? BACKTRACE_NO_TABLES : BACKTRACE_WHOLE;
	}
	note->kind = kind;
}

static void handler(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	int err = errno;
	uint64_t i = __atomic_fetch_add(&file->used, 1, __ATOMIC_RELAXED);

	(void)signo;
	if (i < BACKTRACES_NOTES)
		take(file->note + i, (uint64_t)uc->uc_mcontext.gregs[REG_RIP]);
	number++;
	if (info->si_code == SI_TIMER && info->si_int)
		left = BURST;
	if (left) {
		left--;
		start_burst();
	}
	errno = err;
}

static timer_t new_timer(clockid_t clock, int is_tick)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF,
		.sigev_value.sival_int = is_tick, .sigev_notify_thread_id = gettid(),
	};
	timer_t t;

	if (timer_create(clock, &event, &t))
		die("timer_create");
	return t;
}

static void start_timers(void)
{
	const struct itimerspec each = { { 0, TICK_NS }, { 0, TICK_NS } };

	seed = (unsigned int)gettid();
	burst = new_timer(CLOCK_MONOTONIC, 0);
	tick = new_timer(CLOCK_THREAD_CPUTIME_ID, 1);
	if (timer_settime(tick, 0, &each, NULL))
		die("timer_settime");
}

static void *begin(void *p)
{
	struct begin b = *(struct begin *)p;
	void *result;

	free(p);
	start_timers();
	result = b.start(b.arg);
	timer_delete(tick);
	timer_delete(burst);
	left = 0;
	return result;
}

__attribute__((visibility("default")))
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	struct begin *b;
	int err;

	if (!file)
		return create(thread, attr, start, arg);
	b = malloc(sizeof(*b));
	if (!b)
		return EAGAIN;
	*b = (struct begin){ start, arg };
	err = create(thread, attr, begin, b);
	if (err)
		free(b);
	return err;
}

/* Find the code that has _Unwind_Find_FDE(). */
static int find_unwinder(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *p;
	uint64_t begin;

	(void)size;
	(void)arg;
	for (p = info->dlpi_phdr; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || (uint64_t)_Unwind_Find_FDE - begin >= p->p_memsz)
			continue;
		unwinder = begin;
		unwinder_end = begin + p->p_memsz;
		return 1;
	}
	return 0;
}

static struct backtraces *map_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct backtraces)))
		die(name);
	p = mmap(NULL, sizeof(struct backtraces), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(name);
	close(fd);
	return p;
}

__attribute__((constructor))
static void prepare(void)
{
	struct sigaction action = {
		.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
	};
	const char *name = getenv("BACKTRACES");
	void *first[2];

	create = (create_fn)dlsym(RTLD_NEXT, "pthread_create");
	if (!name)
		return;
	file = map_file(name);
	if (!dl_iterate_phdr(find_unwinder, NULL))
		die("libgcc");
	/* Programs that this one executes are not looked at. */
	unsetenv("BACKTRACES");
	unsetenv("LD_PRELOAD");
	/* The first call loads libgcc_s. */
	backtrace(first, 2);
	/* No signal comes between the handler's beginning and its end. */
	sigfillset(&action.sa_mask);
	if (sigaction(SIGPROF, &action, NULL))
		die("sigaction");
	start_timers();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach-cases.  attach_storm CASE: does the same thing again and again, and checks each
 * result, until standard input ends.  attach_storm exec N: N programs, each executed by a thread.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <ucontext.h>

#include "cases.h"

#define PAGE	4096ul

static atomic_bool over;

/* Until standard input ends, in the first thread. */
static void until_told(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	announce();
	while (poll(&in, 1, -1) <= 0)
		;
	over = true;
}

/* ---- faults: each runs its handler once, with the address and the registers of the fault ---- */

#define NON_CANONICAL	((char *)(1ul << 63))
#define UNMAPPED	((char *)8)	/* nothing is mapped there */

void fault_store(void *p);
void fault_trap(void *p);
void fault_overflow(void *p);
void fault_divide(void *p);
void fault_invalid(void *p);
void fault_sent(void *p);

__asm__(".text\n"
	"fault_store:	movb $1,(%rdi)\n	ret\n"
	"fault_trap:	int3\n	ret\n"
	"fault_overflow:	int $4\n	ret\n"
	"fault_divide:	xor %edx,%edx\n	xor %ecx,%ecx\n	div %ecx\n	ret\n"
	"fault_invalid:	ud2\n	ret\n"
	/* tgkill(getpid(), gettid(), SIGSEGV) */
	"fault_sent:	mov $39,%eax\n	syscall\n	mov %eax,%edi\n"
	"		mov $186,%eax\n	syscall\n	mov %eax,%esi\n"
	"		mov $11,%edx\n	mov $234,%eax\n	syscall\n	ret\n");

static char *read_only, *unmapped = UNMAPPED, *non_canonical = NON_CANONICAL;

static const struct fault {
	void (*raise)(void *p);
	int sig, code;
	int at, past;	/* from the function to rip in the handler, and to its ret */
	char **address;	/* NULL: that of the instruction */
	bool has_address;
} faults[] = {
	{ fault_store, SIGSEGV, SEGV_ACCERR, 0, 3, &read_only, true },
	{ fault_store, SIGSEGV, SEGV_MAPERR, 0, 3, &unmapped, true },
	{ fault_store, SIGSEGV, SI_KERNEL, 0, 3, &non_canonical, false },
	{ fault_overflow, SIGSEGV, SI_KERNEL, 2, 2, NULL, false },
	{ fault_trap, SIGTRAP, SI_KERNEL, 1, 1, NULL, false },
	{ fault_divide, SIGFPE, FPE_INTDIV, 4, 6, NULL, true },
	{ fault_invalid, SIGILL, ILL_ILLOPN, 0, 2, NULL, true },
	{ fault_sent, SIGSEGV, SI_TKILL, 30, 30, NULL, false },
}, general = { fault_store, SIGSEGV, SI_KERNEL, 0, 3, &non_canonical, false };

static _Thread_local const struct fault *raised;
static _Thread_local unsigned long handled;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	long long *rip = &uc->uc_mcontext.gregs[REG_RIP];
	long long begin = (long long)(size_t)raised->raise;
	void *address = raised->address ? *raised->address : (char *)(size_t)(begin + raised->at);

	handled++;
	check(sig == raised->sig, "signal", sig);
	check(info->si_code == raised->code, "code", info->si_code);
	check(*rip - begin == raised->at, "rip", (long)(*rip - begin));
	check(!raised->has_address || info->si_addr == address, "address", (long)info->si_addr);
	*rip = begin + raised->past;
}

static void raise_fault(const struct fault *f)
{
	unsigned long before = handled;

	raised = f;
	f->raise(f->address ? *f->address : NULL);
	check(handled == before + 1, "handlers that ran", (long)(handled - before));
}

static void *faulting(void *arg)
{
	size_t i;

	while (!over)
		for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
			raise_fault(&faults[i]);
	return arg;
}

static void set_fault_handlers(void)
{
	size_t i;

	read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(read_only != MAP_FAILED, "mmap", 0);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		set_handler(faults[i].sig, on_fault, 0);
}

static void case_faults(void)
{
	pthread_t t[2];
	int i;

	set_fault_handlers();
	for (i = 0; i < 2; i++)
		t[i] = begin_thread(faulting, NULL);
	until_told();
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* ---- threads that do nothing but raise signals: one is always about to receive one ---- */

#define AT_A_TIME	1000	/* before the first thread looks at its standard input */
#define MANY		8

static void *general_only(void *arg)
{
	while (!over)
		raise_fault(&general);
	return arg;
}

static void case_general(void)
{
	pthread_t t[MANY];
	int i;

	set_fault_handlers();
	for (i = 0; i < MANY; i++)
		t[i] = begin_thread(general_only, NULL);
	announce();
	while (!told_to_end())
		for (i = 0; i < AT_A_TIME; i++)
			raise_fault(&general);
	over = true;
	for (i = 0; i < MANY; i++)
		pthread_join(t[i], NULL);
}

static void case_ignored(void)
{
	int i;

	signal(SIGFPE, SIG_IGN);
	announce();
	while (!told_to_end())
		for (i = 0; i < AT_A_TIME; i++)
			check(!raise(SIGFPE), "raise", errno);
}

/* ---- writes that handlers interrupt: all that is written is read ---- */

#define NUMBERS	40000	/* more than a pipe holds */

static int numbers[2];	/* a pipe */

static void on_interrupt(int sig, siginfo_t *info, void *context)
{
	(void)context;
	check(info->si_code == SI_TKILL, "code of an interrupt", sig);
	handled++;
}

static void *writes(void *arg)
{
	static unsigned int number[NUMBERS], next;
	ssize_t done, n;
	int i;

	while (!over) {
		for (i = 0; i < NUMBERS; i++)
			number[i] = next++;
		for (done = 0; done < (ssize_t)sizeof(number); done += n) {
			n = write(numbers[1], (char *)number + done, sizeof(number) - (size_t)done);
			check(n > 0, "written", (long)n);
		}
	}
	check(handled, "interrupts", 0);
	close(numbers[1]);
	return arg;
}

static void *reads(void *arg)
{
	unsigned int number, next = 0;
	FILE *f = fdopen(numbers[0], "r");

	check(!!f, "fdopen", 0);
	while (fread(&number, sizeof(number), 1, f) == 1) {
		check(number == next++, "number", (long)number);
		/* The writer waits nearly always. */
		if (!(next % (NUMBERS / 4)))
			usleep(1000);
	}
	check(next && feof(f), "numbers", next);
	fclose(f);
	return arg;
}

static void *interrupts(void *arg)
{
	pthread_t *to = arg;

	while (!over) {
		pthread_kill(*to, SIGUSR2);
		sched_yield();
	}
	return arg;
}

static void case_interrupts(void)
{
	pthread_t writer, reader, sender;

	check(!pipe(numbers), "pipe", 0);
	set_handler(SIGUSR2, on_interrupt, SA_RESTART);
	writer = begin_thread(writes, NULL);
	reader = begin_thread(reads, NULL);
	sender = begin_thread(interrupts, &writer);
	until_told();
	pthread_join(sender, NULL);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
}

/* ---- threads: each computes what it must ---- */

#define AT_ONCE	8

static void *computes(void *arg)
{
	size_t n = *(size_t *)arg, sum = 0, i;

	for (i = 1; i <= n; i++)
		sum += i * i;
	*(size_t *)arg = sum;
	return arg;
}

static void *creates(void *arg)
{
	size_t n[AT_ONCE], i, k, sum;
	pthread_t t[AT_ONCE];

	for (k = 1; !over; k++) {
		for (i = 0; i < AT_ONCE; i++) {
			n[i] = k % 100 + i;
			t[i] = begin_thread(computes, &n[i]);
		}
		for (i = 0; i < AT_ONCE; i++) {
			pthread_join(t[i], NULL);
			sum = k % 100 + i;
			check(n[i] == sum * (sum + 1) * (2 * sum + 1) / 6, "sum", (long)n[i]);
		}
	}
	return arg;
}

static void case_threads(void)
{
	pthread_t t[2] = { begin_thread(creates, NULL), begin_thread(creates, NULL) };

	until_told();
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
}

/* ---- descriptors: each new one is the lowest, in the only thread that makes some ---- */

static void *opens(void *arg)
{
	int lowest = open("/dev/null", O_RDONLY), fd, copy;

	close(lowest);
	while (!over) {
		fd = open("/dev/null", O_RDONLY);
		check(fd == lowest, "descriptor of open()", fd);
		copy = dup(fd);
		check(copy == lowest + 1, "descriptor of dup()", copy);
		check(!close(copy) && !close(fd), "close()", fd);
	}
	return arg;
}

static void case_descriptors(void)
{
	pthread_t t = begin_thread(opens, NULL);

	begin_thread(idle, NULL);
	until_told();
	pthread_join(t, NULL);
}

/* ---- the area of restartable sequences, which glibc registers ---- */

static struct rseq *rseq_area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* The kernel says in the area on which processor a thread runs. */
static void *moves(void *arg)
{
	unsigned int cpu, n = 0;
	cpu_set_t all, one;

	check(!sched_getaffinity(0, sizeof(all), &all), "sched_getaffinity", 0);
	for (cpu = 0; !over; cpu = (cpu + 1) % CPU_SETSIZE) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		check(!sched_setaffinity(0, sizeof(one), &one), "sched_setaffinity", cpu);
		check(sched_getcpu() == (int)cpu, "sched_getcpu", cpu);
		check(*(volatile unsigned int *)&rseq_area()->cpu_id == cpu, "cpu_id", cpu);
		n++;
	}
	check(n, "moves", 0);
	return arg;
}

static void case_processor(void)
{
	pthread_t t = begin_thread(moves, NULL);

	until_told();
	pthread_join(t, NULL);
}

/* ---- programs that threads execute ---- */

#define LATE_MS	4000

static char **program;

static void *executes(void *arg)
{
	usleep(5000);
	execv("/proc/self/exe", program);
	return arg;
}

/* @begun: when the previous program executed this one, in ms */
static int execs(int left, long begun)
{
	const struct timespec epoch = { 0 };
	long now = ms_since(&epoch);
	char number[16], time[24];
	char *args[] = { program[0], program[1], number, time, NULL };

	if (begun && now - begun > LATE_MS)
		wrong("ms until execve has returned", now - begun);
	if (!left) {
		printf("right\n");
		return 0;
	}
	snprintf(number, sizeof(number), "%d", left - 1);
	snprintf(time, sizeof(time), "%ld", now);
	program = args;
	begin_thread(executes, NULL);
	begin_thread(executes, NULL);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "faults", case_faults }, { "general", case_general },
		{ "ignored", case_ignored }, { "interrupts", case_interrupts },
		{ "threads", case_threads },
		{ "descriptors", case_descriptors }, { "processor", case_processor },
	};

	program = argv;
	if (argc >= 3 && !strcmp(argv[1], "exec"))
		return execs(atoi(argv[2]), argc > 3 ? atol(argv[3]) : 0);
	return run_case(cases, sizeof(cases) / sizeof(cases[0]),
			argc == 2 ? argv[1] : "descriptors");
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: attach-cases.  attach_rseq CASE: counters of each processor, changed in restartable
 * sequences as by librseq, in the area that glibc registers.  Their sum must be right.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/rseq.h>

#include "cases.h"

static atomic_bool over;

#define COUNTERS	1024
#define COUNTING	4
#define ON_ITS_OWN	64	/* longs from one counter to the next: 512 bytes */

static long counter[COUNTERS * ON_ITS_OWN];

static struct rseq *rseq_area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* Add 1 to the counter of the processor.  Return: false if the kernel has aborted that. */
static bool count_here(struct rseq *area)
{
	unsigned int cpu = *(volatile unsigned int *)&area->cpu_id_start;

	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n\t"
		     ".balign 32\n"
		     "3:	.long 0, 0\n\t"
		     ".quad 1f, 2f - 1f, 4f\n\t"
		     ".popsection\n\t"
		     "leaq 3b(%%rip), %%rax\n\t"
		     "movq %%rax, %0\n"
		     "1:	cmpl %1, %2\n\t"
		     "jnz %l[aborted]\n\t"
		     "movq (%3), %%rax\n\t"
		     "incq %%rax\n\t"
		     "movq %%rax, (%3)\n"
		     "2:\n\t"
		     ".pushsection __rseq_failure, \"ax\"\n\t"
		     ".byte 0x0f, 0xb9, 0x3d\n\t"
		     ".long 0x53053053\n"
		     "4:	jmp %l[aborted]\n\t"
		     ".popsection"
		     :
		     : "m"(area->rseq_cs), "r"(cpu), "m"(area->cpu_id),
		       "r"(&counter[cpu % COUNTERS * ON_ITS_OWN])
		     : "rax", "cc", "memory"
		     : aborted);
	return true;
aborted:
	return false;
}

/* Without registration, as under depctl record. */
static bool count_otherwise(void)
{
	__atomic_add_fetch(&counter[0], 1, __ATOMIC_RELAXED);
	return true;
}

static void *counts(void *n)
{
	struct rseq *area = rseq_area();

	do
		*(long *)n += __rseq_size ? count_here(area) : count_otherwise();
	while (!over || !*(long *)n);
	return n;
}

/* @later: the sequences are executed only after a byte of standard input. */
static void count(bool later)
{
	static long n[COUNTING * ON_ITS_OWN];
	pthread_t t[COUNTING];
	long sum = 0, right = 0;
	int i;

	if (later)
		here();
	for (i = 0; i < COUNTING; i++)
		t[i] = begin_thread(counts, &n[i * ON_ITS_OWN]);
	here();
	over = true;
	for (i = 0; i < COUNTING; i++) {
		pthread_join(t[i], NULL);
		right += n[i * ON_ITS_OWN];
	}
	for (i = 0; i < COUNTERS; i++)
		sum += counter[i * ON_ITS_OWN];
	check(right > 0 && sum == right, "counted too little", right - sum);
}

static void case_now(void)
{
	count(false);
}

static void case_later(void)
{
	count(true);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "now", case_now }, { "later", case_later },
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc == 2 ? argv[1] : "now");
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ring of a dead process cannot be used by another process, even if the kernel gives that one the
 * same mm_struct: the kernel uses the memory of a dead process's mm_struct for the next fork, and
 * the area is mapped at the same address each time.
 */
#include <sched.h>

#include "vm.h"

#define AREA	((u8 *)0x500000000000ul)
#define ROUNDS	400

static struct session s;
static struct progress *progress;

static u8 *enrol_fixed(void)
{
	char path[64];
	u8 *area;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	area = mmap(AREA, s.info.area_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	must(area == AREA);
	close(fd);
	return area;
}

static int write_some(void *arg)
{
	struct writer w = { .window = enrol_fixed(), .stream = 0, .records = 300 };

	(void)arg;
	writer_run(&w);
	return 0;
}

static int read_it(void *arg)
{
	const volatile u32 *word = (void *)enrol_fixed();

	(void)arg;
	/* Not reached, or reached with a foreign record. */
	return *word == rec_id(0, rec_values(0, 0)) ? 1 : 2;
}

static int write_over_it(void *arg)
{
	(void)arg;
	store_r15((u64)enrol_fixed(), 4, 1);
	return 1;
}

/* The same address space, at the same address. */
static int map_again(void *arg)
{
	write_some(arg);
	must(!munmap(AREA, s.info.area_size));
	return read_it(arg);
}

int main(void)
{
	u32 i, seen = 0, written = 0, other = 0, spoilt = 0;
	struct consumer c;
	cpu_set_t one;
	int sig;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	must(!sched_setaffinity(0, sizeof(one), &one));
	progress = progress_make();
	session_make(&s, 64 * KIB, 2, 1, ADEPT_POLICY_WAIT);
	for (i = 0; i < ROUNDS; i++) {
		must(!wait_for(spawn(write_some, NULL)));
		sig = dies_by(read_it, NULL);
		seen += !sig;
		other += sig && sig != SIGSEGV;
		sig = dies_by(write_over_it, NULL);
		written += !sig;
		other += sig && sig != SIGSEGV;
		consumer_init(&c, &s);
		spoilt += !consumer_until_last(&c, 0, 1, 5000) || c.st[0].next != 300;
		must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring_info(&s, 0).ring, ADEPT_RESET_FORCE));
	}
	check(!seen, "%u of %u processes read a dead one's records", seen, ROUNDS);
	check(!written, "%u of %u wrote over them", written, ROUNDS);
	check(!other, "each gets SIGSEGV");
	check(!spoilt, "%u of the dead ones' records are not what was written", spoilt);
	check(dies_by(map_again, NULL) == SIGSEGV, "a process that maps its area anew, likewise");
	session_close(&s);
	must(counter_becomes("sessions", 0));
	return finish();
}

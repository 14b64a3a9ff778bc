/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces the header of the same name that ThreadSanitizer's tests include, whose barrier is a
 * function of its runtime: the declarations that they need without instrumentation.
 */
#ifndef RACES_SUITES_TEST_H
#define RACES_SUITES_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <smmintrin.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 * A barrier that orders nothing for any detector: each thread appends a byte to a file that no
 * thread reads, and the kernel serialises these writes.  (It does not do so for lseek().)
 */
typedef struct {
	int fd;
	unsigned int count;
} invisible_barrier_t;

static inline void barrier_init(invisible_barrier_t *b, unsigned int count)
{
	b->fd = memfd_create("barrier", 0);
	b->count = count;
	if (b->fd < 0 || fcntl(b->fd, F_SETFL, O_APPEND))
		abort();
}

static inline void barrier_wait(invisible_barrier_t *b)
{
	/* No thread arrives again before all have arrived. */
	off_t all = (lseek(b->fd, 0, SEEK_END) / b->count + 1) * b->count;

	if (write(b->fd, "", 1) != 1)
		abort();
	while (lseek(b->fd, 0, SEEK_END) < all)
		usleep(200);
}

invisible_barrier_t barrier;

static inline unsigned long long monotonic_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* "text0x..., 0x...", as the tests' checks expect it */
static inline void print_address(const char *text, int n, ...)
{
	va_list args;

	fprintf(stderr, "%s", text);
	va_start(args, n);
	while (n--)
		fprintf(stderr, "0x%012lx ", (unsigned long)(uintptr_t)va_arg(args, void *));
	va_end(args);
	fprintf(stderr, "\n");
}

#define ASM_SYMBOL(symbol)	#symbol

#endif

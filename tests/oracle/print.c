// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output: `TID PC ADDR SIZE TYPE` and, for blocks, `TID PC`.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>

#include "oracle.h"

static char buf[1 << 16];
static size_t used;
static int fd = STDOUT_FILENO;
static int error;

static void flush(void)
{
	size_t done = 0;

	while (done < used && !error) {
		ssize_t n = write(fd, buf + done, used - done);

		if (n < 0 && errno != EINTR)
			error = errno;
		else if (n > 0)
			done += n;
	}
	used = 0;
}

static void hex(uint64_t v)
{
	int shift = v ? (63 - __builtin_clzll(v)) & ~3 : 0;

	for (; shift >= 0; shift -= 4)
		buf[used++] = "0123456789abcdef"[v >> shift & 15];
}

static void decimal(uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = '0' + v % 10;
	while (v /= 10);
	while (n)
		buf[used++] = digits[--n];
}

static void head(struct tracee *t, uint64_t pc)
{
	if (used > sizeof(buf) - 128)
		flush();
	decimal(t->pid);
	buf[used++] = ' ';
	hex(pc);
}

int print_open(const char *path)
{
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : 0;
}

void print_refs(struct tracee *t, uint64_t pc, const struct ref *refs, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		head(t, pc);
		buf[used++] = ' ';
		hex(refs[i].addr);
		buf[used++] = ' ';
		decimal(refs[i].size);
		buf[used++] = ' ';
		buf[used++] = "?RWM"[refs[i].type & 3];
		buf[used++] = '\n';
	}
}

void print_block(struct tracee *t, uint64_t pc)
{
	head(t, pc);
	buf[used++] = '\n';
}

int print_close(void)
{
	flush();
	return -error;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stepped program's memory and vector registers.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "oracle.h"

/*
 * Read up to @len bytes, up to the first page that cannot be read.  process_vm_readv refuses
 * execute-only pages, PTRACE_PEEKTEXT does not.
 */
size_t mem_read(struct tracee *t, uint64_t addr, void *buf, size_t len)
{
	uint64_t in_page = 4096 - (addr & 4095);
	struct iovec local = { buf, len };
	struct iovec remote[2];
	size_t done = 0;
	ssize_t n;

	remote[0].iov_base = (void *)addr;
	remote[0].iov_len = len < in_page ? len : in_page;
	remote[1].iov_base = (void *)(addr + remote[0].iov_len);
	remote[1].iov_len = len - remote[0].iov_len;
	n = process_vm_readv(t->pid, &local, 1, remote, remote[1].iov_len ? 2 : 1, 0);
	if (n > 0)
		return n;
	while (done < len) {
		uint64_t at = addr + done;
		unsigned int skip = at & 7, take = 8 - skip;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, t->pid, at - skip, 0);
		if (errno)
			break;
		if (take > len - done)
			take = len - done;
		memcpy((char *)buf + done, (char *)&word + skip, take);
		done += take;
	}
	return done;
}

/* Write @len <= 8 bytes, even to protected pages. */
int mem_poke(struct tracee *t, uint64_t addr, const void *buf, size_t len)
{
	uint64_t word;

	if (mem_read(t, addr, &word, sizeof(word)) != sizeof(word)) {
		/* the end of a mapping: shift the word to end there */
		unsigned int back = 8 - len;

		if (mem_read(t, addr - back, &word, sizeof(word)) != sizeof(word))
			return -EFAULT;
		memcpy((char *)&word + back, buf, len);
		return ptrace(PTRACE_POKEDATA, t->pid, addr - back, word) ? -errno : 0;
	}
	memcpy(&word, buf, len);
	return ptrace(PTRACE_POKEDATA, t->pid, addr, word) ? -errno : 0;
}

/* Offset of a component in the uncompacted XSAVE image, 0 if there is none. */
static unsigned int xstate_offset(unsigned int component)
{
	static unsigned int cache[16];
	unsigned int a, b, c, d;

	if (!cache[component]) {
		__cpuid_count(0xd, component, a, b, c, d);
		cache[component] = b;
	}
	return cache[component];
}

/* Parts beyond the image, or that the processor lacks, are zero. */
static void fetch(void *to, const uint8_t *image, size_t have, unsigned int from,
		  unsigned int len)
{
	if (from && from + len <= have)
		memcpy(to, image + from, len);
	else
		memset(to, 0, len);
}

/**
 * vector_state() - read all vector and mask registers
 *
 * Return: 0 or a negative errno.
 */
int vector_state(struct tracee *t, uint8_t vec[32][64], uint64_t k[8])
{
	static uint8_t image[16384] __attribute__((aligned(64)));
	struct iovec iov = { image, sizeof(image) };
	unsigned int i, ymm, kk, hi256, hi16;

	if (ptrace(PTRACE_GETREGSET, t->pid, NT_X86_XSTATE, &iov))
		return -errno;
	ymm = xstate_offset(2);
	kk = xstate_offset(5);
	hi256 = xstate_offset(6);
	hi16 = xstate_offset(7);
	for (i = 0; i < 16; i++) {
		fetch(&vec[i][0], image, iov.iov_len, 160 + 16 * i, 16);
		fetch(&vec[i][16], image, iov.iov_len, ymm ? ymm + 16 * i : 0, 16);
		fetch(&vec[i][32], image, iov.iov_len, hi256 ? hi256 + 32 * i : 0, 32);
		fetch(&vec[16 + i][0], image, iov.iov_len, hi16 ? hi16 + 64 * i : 0, 64);
	}
	for (i = 0; i < 8; i++)
		fetch(&k[i], image, iov.iov_len, kk ? kk + 8 * i : 0, 8);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: exact.  Code written, called, written again: in RWX pages, by mprotect
 * toggling, by munmap and mmap at the same place, by read(2), by itself in its page.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

typedef uint64_t (*code_fn)(uint64_t *);

/* mov $value, %eax; add [rdi], rax; inc qword [rdi]; ret */
static size_t emit(uint8_t *to, uint32_t value)
{
	static const uint8_t tail[] = { 0x48, 0x03, 0x07, 0x48, 0xff, 0x07, 0xc3 };

	to[0] = 0xb8;
	memcpy(to + 1, &value, 4);
	memcpy(to + 5, tail, sizeof(tail));
	return 5 + sizeof(tail);
}

static void *get(void *at, int prot)
{
	void *p = mmap(at, 8192, prot, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void run(void *code, uint32_t value)
{
	uint64_t cell = 100, r = ((code_fn)code)(&cell);

	CHECK(r == value + 100 && cell == 101);
	mix(r);
}

static void rwx(void)
{
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint32_t i;

	for (i = 0; i < 40; i++) {
		emit(p + 100, i);
		run(p + 100, i);
		run(p + 100, i);
		/* only the constant */
		memcpy(p + 101, &(uint32_t){ i + 7 }, 4);
		run(p + 100, i + 7);
		/* across the page boundary */
		emit(p + 4092, i * 3);
		run(p + 4092, i * 3);
	}
	munmap(p, 8192);
}

/* Calls that leave the mapping writable, by success or by failure. */
static void still_writable(void)
{
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint32_t i;

	for (i = 0; i < 10; i++) {
		emit(p, i);
		run(p, i);
		CHECK(!madvise(p, 4096, MADV_NORMAL));
		emit(p, i + 1);
		run(p, i + 1);
		CHECK(mprotect(p, 4096, 0x40000000) == -1);
		emit(p, i + 2);
		run(p, i + 2);
	}
	munmap(p, 8192);
}

static void toggled(void)
{
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE);
	uint32_t i;

	for (i = 0; i < 40; i++) {
		CHECK(!mprotect(p, 8192, PROT_READ | PROT_WRITE));
		emit(p, i);
		CHECK(!mprotect(p, 8192, PROT_READ | PROT_EXEC));
		run(p, i);
		run(p, i);
	}
	munmap(p, 8192);
}

static void remapped(void)
{
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint32_t i;

	for (i = 0; i < 40; i++) {
		emit(p, i);
		run(p, i);
		if (i & 1) {
			munmap(p, 8192);
			CHECK(get(p, PROT_READ | PROT_WRITE | PROT_EXEC) == p);
		} else {
			get(p, PROT_READ | PROT_WRITE | PROT_EXEC);
		}
	}
	munmap(p, 8192);
}

static void by_read(void)
{
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE | PROT_EXEC), code[32];
	int fds[2];
	uint32_t i;

	CHECK(!pipe(fds));
	for (i = 0; i < 40; i++) {
		ssize_t n = emit(code, i);

		CHECK(write(fds[1], code, n) == n);
		CHECK(read(fds[0], p + 64, n) == n);
		run(p + 64, i);
	}
	close(fds[0]);
	close(fds[1]);
	munmap(p, 8192);
}

static void two_views(void)
{
	int fd = memfd_create("code", 0);
	uint8_t *w, *x;
	uint32_t i;

	CHECK(fd >= 0 && !ftruncate(fd, 4096));
	w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(w != MAP_FAILED && x != MAP_FAILED);
	for (i = 0; i < 40; i++) {
		emit(w, i);
		run(x, i);
	}
	munmap(w, 4096);
	munmap(x, 4096);
	close(fd);
}

/*
 * A loop that changes an instruction ahead of it and one after it in its own page:
 * each lap adds another constant.
 */
static void itself(void)
{
	static const uint8_t code[] = {
		0x31, 0xc0,				/* 0: xor eax, eax */
		0xb9, 0x32, 0, 0, 0,			/* 2: mov ecx, 50 */
		0x88, 0x0d, 0x01, 0, 0, 0,		/* 7: mov [rip+1], cl */
		0x05, 0x00, 0, 0, 0,			/* 13: add eax, 0; first byte changes */
		0xfe, 0x05, 0xef, 0xff, 0xff, 0xff,	/* 18: inc byte [rip-17]: byte 7 below */
		0xfe, 0x0d, 0xe9, 0xff, 0xff, 0xff,	/* 24: dec byte [rip-23]: the same */
		0xff, 0xc9,				/* 30: dec ecx */
		0x75, 0xe5,				/* 32: jnz 7 */
		0xc3,
	};
	uint8_t *p = get(NULL, PROT_READ | PROT_WRITE | PROT_EXEC);
	int i;

	for (i = 0; i < 4; i++) {
		memcpy(p, code, sizeof(code));
		CHECK((uint32_t)((code_fn)p)(NULL) == 50 * 51 / 2);
	}
	munmap(p, 8192);
	mix(i);
}

int main(void)
{
	rwx();
	still_writable();
	toggled();
	remapped();
	by_read();
	two_views();
	itself();
	return finish("code_rewrite");
}

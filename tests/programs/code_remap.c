// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Suite: output.  Code replaced by other code at the same place, by mremap and by
 * attaching a segment; and what has no other purpose than to hit a profiler's memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "common.h"
#include "session_map.h"

#define REACH	0x80000000ul	/* of 32-bit displacements */
#define ALL	(PROT_READ | PROT_WRITE | PROT_EXEC)

/* mov $value, %eax; ret */
static void emit(uint8_t *to, uint32_t value)
{
	to[0] = 0xb8;
	memcpy(to + 1, &value, 4);
	to[5] = 0xc3;
}

static uint32_t call(void *code)
{
	return ((uint32_t (*)(void))code)();
}

static void by_mremap(void)
{
	uint8_t *p = mmap(NULL, 8192, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	emit(p, 11);
	emit(p + 4096, 12);
	CHECK(call(p) == 11 && call(p + 4096) == 12);
	CHECK(mremap(p + 4096, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p);
	mix(call(p));
	CHECK(call(p) == 12);
	munmap(p, 4096);
}

static void by_segment(void)
{
	uint8_t *p = mmap(NULL, 4096, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);

	CHECK(p != MAP_FAILED && id >= 0);
	q = shmat(id, NULL, 0);
	CHECK(q != (void *)-1);
	emit(q, 22);
	emit(p, 21);
	CHECK(call(p) == 21);
	CHECK(shmat(id, p, SHM_REMAP | SHM_EXEC) == p);
	mix(call(p));
	CHECK(call(p) == 22);
	CHECK(!shmdt(q) && !shmdt(p));
	/* shmget's pages end with the last process */
	CHECK(!shmctl(id, IPC_RMID, NULL));
}

static void refused(const char *what, uintptr_t at, int succeeded)
{
	if (succeeded) {
		fprintf(stderr, "%s at %lx was let through\n", what, at);
		exit(1);
	}
}

/* A mapping that natively is not there: none of this may succeed. */
static void attack(uintptr_t start, uintptr_t end, int id)
{
	uintptr_t last = end - 4096;
	void *p = mmap(NULL, 4096, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	refused("munmap", start - 4096, !munmap((void *)(start - 4096), 8192));
	refused("munmap", last, !munmap((void *)last, 8192));
	refused("mprotect", start, !mprotect((void *)start, 4096, PROT_NONE));
	refused("madvise", last, !madvise((void *)last, 4096, MADV_DONTNEED));
	refused("mmap", last, mmap((void *)last, 4096, ALL,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	refused("mremap from", start,
		mremap((void *)start, 4096, 4096, MREMAP_MAYMOVE) != MAP_FAILED);
	refused("mremap to", last, mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
					  (void *)last) != MAP_FAILED);
	refused("shmat", last, shmat(id, (void *)last, SHM_REMAP) != (void *)-1);
	munmap(p, 4096);
}

/* Code far from all other code, for which a profiler may need memory close to it. */
static uint8_t *far_code(void)
{
	uint8_t *p = mmap((void *)0x300000000000, 4096, ALL,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == (void *)0x300000000000);
	emit(p, 33);
	CHECK(call(p) == 33);
	return p;
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);
	uint8_t *far = far_code();
	uintptr_t a, b;
	int near, nnear = 0, profiled = 0;
	char line[4352];
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps && id >= 0);
	by_mremap();
	by_segment();
	while (fgets(line, sizeof(line), maps)) {
		CHECK(sscanf(line, "%lx-%lx", &a, &b) == 2);
		/* Memory at such places only ever comes from a profiler. */
		near = a - (uintptr_t)far + REACH < 2 * REACH && a != (uintptr_t)far;
		if (near || is_session_map(line) || a >> 28 == 0x550000000000 >> 28) {
			attack(a, b, id);
			nnear += near;
			profiled = 1;
		}
	}
	fclose(maps);
	/* An arena for the far code was among them, or the test misses its mark. */
	CHECK(!profiled || nnear);
	CHECK(call(far) == 33);
	shmctl(id, IPC_RMID, NULL);
	return finish("code_remap");
}

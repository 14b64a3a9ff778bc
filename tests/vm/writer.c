// SPDX-License-Identifier: GPL-2.0-or-later
/* Streams of records, and their writers. */
#include <asm/prctl.h>

#include "vm.h"

static u64 mix(u64 a, u64 b)
{
	u64 x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x7f4a7c15) * 0xbf58476d1ce4e5b9ull;

	x ^= x >> 31;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 29;
}

/* Mostly short; sometimes the longest possible record. */
u32 rec_values(u64 stream, u64 k)
{
	u64 r = mix(stream, k);

	switch (r & 31) {
	case 0:
		return 1 + (r >> 8) % 479;
	case 1:
		return 479 - (r >> 8) % 3;
	default:
		return 1 + (r >> 8) % 9;
	}
}

u64 rec_value(u64 stream, u64 k, u32 i)
{
	return i ? mix(stream ^ k << 20, i) : k;
}

static void set_gs(const void *p)
{
	must(!syscall(SYS_arch_prctl, ARCH_SET_GS, p));
}

static inline u64 get_r15(void)
{
	u64 v;

	asm volatile("mov %%r15, %0" : "=r"(v));
	return v;
}

static inline void set_r15(u64 v)
{
	asm volatile("mov %0, %%r15" : : "r"(v));
}

/* r12 has the record's number at each store, so that contexts can be checked. */
static inline void put_value(u64 k, u64 i, u64 v)
{
	register u64 number asm("r12") = k;

	asm volatile("movq %2, 4(%%r15,%1,8)" : : "r"(number), "r"(i), "r"(v) : "memory");
}

static inline void put_id(u64 k, u32 id, u64 bytes)
{
	register u64 number asm("r12") = k;

	asm volatile("movl %1, (%%r15)\n\tlea (%%r15,%2), %%r15"
		     : : "r"(number), "r"(id), "r"(bytes) : "memory");
}

u64 writer_run(struct writer *w)
{
	u64 saved = get_r15(), k, end;
	u32 i, n;

	for (i = 0; i < 8; i++)
		w->gs[i] = mix(w->stream, ~(u64)i);
	set_gs(w->gs);
	set_r15((u64)w->window);
	for (k = 0; !w->records || k < w->records; k++) {
		n = rec_values(w->stream, k);
		for (i = 0; i < n; i++)
			put_value(k, i, rec_value(w->stream, k, i));
		put_id(k, rec_id(k, n), 4 + 8 * n);
		if (w->progress) {
			__atomic_store_n(&w->progress->done, k + 1, __ATOMIC_RELEASE);
			if (__atomic_load_n(&w->progress->go, __ATOMIC_RELAXED))
				break;
		}
	}
	end = get_r15();
	set_r15(saved);
	set_gs(NULL);
	return end;
}

int job_run(void *arg)
{
	struct job *j = arg;
	struct writer w = {
		.window = session_enrol(j->s) + j->slot * j->s->info.slot_stride,
		.stream = j->slot, .records = j->records, .progress = &j->progress[j->slot],
	};

	/* The views are not inherited. */
	close(j->s->fd);
	w.progress->started = 1;
	writer_run(&w);
	return 0;
}

u64 store_r15(u64 r15, u64 off, u64 value)
{
	u64 saved = get_r15();

	set_r15(r15);
	asm volatile("movq %1, (%%r15,%0)" : : "r"(off), "r"(value) : "memory");
	r15 = get_r15();
	set_r15(saved);
	return r15;
}

void store_plain(u64 addr, u64 value)
{
	asm volatile("movq %1, (%0)" : : "r"(addr), "r"(value) : "memory");
}

struct progress *progress_make(void)
{
	void *p = mmap(NULL, sizeof(struct progress) * MAX_SLOTS, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED);
	return p;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The freestanding base of the engine image: what a libc would give it.
 */
#ifndef ADEPT_ENGINE_BASE_RUNTIME_H
#define ADEPT_ENGINE_BASE_RUNTIME_H

#include "libdep/abi/session_file.h"
#include "sys.h"
#include "tls.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, n)	(((x) + (n) - 1) & ~((u64)(n) - 1))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* The engine image's own image; boot parameters stand at its start. */
extern struct adept_boot boot;

/* What does not change, where no other process can change it. */
static inline const struct adept_session *layout(void)
{
	return &boot.layout;
}

static inline struct adept_proc *proc_slots(void)
{
	return (struct adept_proc *)(boot.session + layout()->proc_off);
}

static inline struct adept_thread *thread_slots(void)
{
	return (struct adept_thread *)(boot.session + layout()->thread_off);
}

/* boot.proc of a process that found no free slot: it runs unrecorded (os/thread.c). */
#define NO_SLOT		(~0u)

/* What proc_slot() is then: memory of the process's own that nobody reads. */
extern struct adept_proc unslotted;

static inline int has_slot(void)
{
	return boot.proc != NO_SLOT;
}

static inline struct adept_proc *proc_slot(void)
{
	if (unlikely(!has_slot()))
		return &unslotted;
	return proc_slots() + boot.proc;
}

/* What changes of the session's first page while it is used; see record/isolate.c for domains. */
static inline struct adept_session *session(void)
{
	u32 domain = boot.domain;

	if (likely(!domain))
		return (struct adept_session *)boot.session;
	return domain == ADEPT_NO_DOMAIN ? &unslotted.own : &proc_slots()[domain - 1].own;
}

static inline struct tls *tls_self(void)
{
	struct tls *t;

	__asm__("mov %%gs:0, %0" : "=r"(t));
	return t;
}

/*
 * A kernel that does not use FSGSBASE itself restores only those bases that were set by a
 * system call: what wrgsbase writes is lost at the next context switch, where the instruction can
 * be executed at all.  thread_clone() in gate.S does the same for new threads.
 */
static inline void set_gs_base(void *p)
{
	if (boot.fsgsbase)
		__asm__ volatile("wrgsbase %0" : : "r"(p) : "memory");
	else
		sys2(__NR_arch_prctl, ARCH_SET_GS, (u64)p);
}

static inline u64 get_fs_base(void)
{
	u64 v;

	__asm__ volatile("rdfsbase %0" : "=r"(v));
	return v;
}

/* A timestamp, see abi/stream.h: not before what was done before has been seen by all. */
static inline u64 rt_timestamp(void)
{
	u32 low, high;

	__asm__ volatile("mfence\n\tlfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);

/**
 * rt_copy_in() - copy from memory that may be unmapped
 *
 * Return: how many of @n bytes could be read.
 */
size_t rt_copy_in(void *dst, const void *src, size_t n);

/* heap.c: memory for the engine's own data; never fails, never returns to the kernel. */
/** heap_init() - with memory for what the engine needs to begin; 0: there is none */
int heap_init(u64 base, u64 size);
/** heap_alloc() - @n zeroed bytes, 16-aligned; dies with a message if the reserve is used up */
void *heap_alloc(size_t n);
/** heap_free() - give back @n bytes for later heap_alloc() of the same size class */
void heap_free(void *p, size_t n);
/* Heap addresses in 32 bits; the least is 2. */
static inline u32 heap_ref(const void *p)
{
	return (u32)(((u64)p - boot.heap) >> 3);
}

static inline void *heap_at(u32 ref)
{
	return (void *)(boot.heap + ((u64)ref << 3));
}

/** heap_lock_for_fork() - hold (1) or release (0) the heap's lock around fork */
void heap_lock_for_fork(int hold);

/* log.c */
/**
 * fatal() - the engine cannot go on: message to standard error, then SIGABRT
 *
 * Formats: %s, %d, %u, %x (64-bit all).
 */
__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *fmt, ...);
/** rt_format() - write at most @size bytes, NUL terminated; returns the length */
size_t rt_format(char *buf, size_t size, const char *fmt, ...);

/* Time for ordering and display only; CLOCK_MONOTONIC, nanoseconds. */
u64 rt_now(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Freestanding base of the engine: boot parameters, slots, heap, and replacements for libc.
 */
#ifndef ADEPT_ENGINE_BASE_RUNTIME_H
#define ADEPT_ENGINE_BASE_RUNTIME_H

#include "libdep/abi/boot.h"
#include "sys.h"
#include "tls.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, n)	(((x) + (n) - 1) & ~((u64)(n) - 1))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* Parameters from the injector, at the start of the engine image. */
extern struct adept_boot boot;

/* Constants of the session, from a private copy that other processes cannot change. */
static inline const struct adept_session *layout(void)
{
	return &boot.layout;
}

static inline int recording(void)
{
	return !(layout()->flags & ADEPT_S_NO_RECORD);
}

static inline struct adept_proc *proc_slots(void)
{
	return (struct adept_proc *)(boot.session + layout()->proc_off);
}

static inline struct adept_thread *thread_slots(void)
{
	return (struct adept_thread *)(boot.session + layout()->thread_off);
}

/* Value of boot.proc if the process got no slot: it runs unrecorded (record/process_slots.c). */
#define NO_SLOT		(~0u)

/*
 * Used instead of a process slot if the process has none: private memory that other processes never
 * read.
 */
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

/*
 * Variables of the session: the session file's first page, or the copy that an isolated process and
 * its descendants use (record/isolate.c).
 */
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
 * Set the gs base of this thread.
 *
 * Without HWCAP2_FSGSBASE, wrgsbase cannot be used: the instruction may fault, and the kernel loses
 * the value at the next context switch.  The kernel preserves a base that is set by a system call.
 * thread_clone() in os/calls.S does the same for new threads.
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

/* Take a timestamp (abi/stream.h) after all earlier stores are visible to other processors. */
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
 * Return: the number of bytes copied, less than @n if a fault ended the copy.
 */
size_t rt_copy_in(void *dst, const void *src, size_t n);

/**
 * filtered_syscall() - make a system call that the program's seccomp filter checks (os/seccomp.c)
 */
s64 filtered_syscall(u64 nr, const u64 args[6]);

/* heap.c: memory for the engine's own data, which is never returned to the kernel. */
/**
 * heap_init() - use [@base, @base + @size) as heap; return 0 if the memory does not suffice to
 * start
 */
int heap_init(u64 base, u64 size);
/** heap_limits_known() - if the heap was there before rlimit_init(): count it; as heap_init() */
int heap_limits_known(void);
/** heap_alloc() - allocate @n zeroed bytes, 16-aligned; calls fatal() if there is no memory */
void *heap_alloc(size_t n);
/** heap_free() - free @n bytes at @p for later heap_alloc() of the same size class */
void heap_free(void *p, size_t n);
/* 32-bit references to heap addresses; the smallest is 2, so 0 means no reference. */
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

/**
 * fatal() - print a message to standard error, then raise SIGABRT: the engine cannot continue
 *
 * Formats: %s, %d, %u, %x; with l: 64 bits.
 */
__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *fmt, ...);
/** rt_format() - format into @buf of @size bytes, NUL-terminated; returns the length */
size_t rt_format(char *buf, size_t size, const char *fmt, ...);
size_t rt_vformat(char *buf, size_t size, const char *fmt, __builtin_va_list ap);

/* CLOCK_MONOTONIC time in nanoseconds. */
u64 rt_now(void);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory that the kernel accesses in system calls. Buffers whose addresses are in memory, such as
 * the vectors of readv(), are recorded as events before the call.
 */
#include <sys/syscall.h>

#include "sync.h"

/* maximum number of bytes accessed by one call, which damaged stores may exceed */
#define MOST	(16u << 20)

enum { READS = 1, WRITES };

/*
 * struct buffer - a buffer that is an argument of system call @nr
 * @how: READS or WRITES, by the kernel
 * @arg: number of the argument with the address
 * @count: number of the argument with the count of elements; RESULT: the call's result, but at most
 *	the argument after @arg; ONE: one element
 * @size: bytes of an element
 */
struct buffer {
	u16 nr;
	u8 how, arg, count;
	u16 size;
};

#define RESULT	6u
#define ONE	7u

static const struct buffer buffers[] = {
	/*
	 * The size that a write call has written is known only after the call, but the buffer is
	 * read before it. The store has the result at both timestamps.
	 */
	{ SYS_write, READS, 1, RESULT, 1 },
	{ SYS_pwrite64, READS, 1, RESULT, 1 },
	{ SYS_sendto, READS, 1, RESULT, 1 },
	{ SYS_writev, READS, 1, 2, 16 },
	{ SYS_readv, READS, 1, 2, 16 },
	{ SYS_preadv, READS, 1, 2, 16 },
	{ SYS_pwritev, READS, 1, 2, 16 },
	{ SYS_preadv2, READS, 1, 2, 16 },
	{ SYS_pwritev2, READS, 1, 2, 16 },
	{ SYS_vmsplice, READS, 1, 2, 16 },
	{ SYS_process_vm_readv, READS, 1, 2, 16 },
	{ SYS_process_vm_writev, READS, 1, 2, 16 },
	{ SYS_sendmsg, READS, 1, ONE, 56 },
	{ SYS_recvmsg, READS, 1, ONE, 56 },
	{ SYS_sendmmsg, READS, 1, RESULT, 64 },
	{ SYS_recvmmsg, READS, 1, RESULT, 64 },
	{ SYS_mq_timedsend, READS, 1, 2, 1 },
	{ SYS_connect, READS, 1, 2, 1 },
	{ SYS_bind, READS, 1, 2, 1 },
	{ SYS_nanosleep, READS, 0, ONE, 16 },
	{ SYS_clock_nanosleep, READS, 2, ONE, 16 },
	{ SYS_timerfd_settime, READS, 2, ONE, 32 },
	{ SYS_timer_settime, READS, 2, ONE, 32 },
	{ SYS_setitimer, READS, 1, ONE, 32 },
	{ SYS_setrlimit, READS, 1, ONE, 16 },
	{ SYS_prlimit64, READS, 2, ONE, 16 },
	{ SYS_read, WRITES, 1, RESULT, 1 },
	{ SYS_pread64, WRITES, 1, RESULT, 1 },
	{ SYS_recvfrom, WRITES, 1, RESULT, 1 },
	{ SYS_getrandom, WRITES, 0, RESULT, 1 },
	{ SYS_getcwd, WRITES, 0, RESULT, 1 },
	{ SYS_readlink, WRITES, 1, RESULT, 1 },
	{ SYS_readlinkat, WRITES, 2, RESULT, 1 },
	{ SYS_getdents64, WRITES, 1, RESULT, 1 },
	{ SYS_mq_timedreceive, WRITES, 1, RESULT, 1 },
	{ SYS_epoll_wait, WRITES, 1, RESULT, 12 },
	{ SYS_epoll_pwait, WRITES, 1, RESULT, 12 },
	{ SYS_epoll_pwait2, WRITES, 1, RESULT, 12 },
	{ SYS_stat, WRITES, 1, ONE, 144 },
	{ SYS_fstat, WRITES, 1, ONE, 144 },
	{ SYS_lstat, WRITES, 1, ONE, 144 },
	{ SYS_newfstatat, WRITES, 2, ONE, 144 },
	{ SYS_statx, WRITES, 4, ONE, 256 },
	{ SYS_statfs, WRITES, 1, ONE, 120 },
	{ SYS_fstatfs, WRITES, 1, ONE, 120 },
	{ SYS_pipe, WRITES, 0, ONE, 8 },
	{ SYS_pipe2, WRITES, 0, ONE, 8 },
	{ SYS_socketpair, WRITES, 3, ONE, 8 },
	{ SYS_uname, WRITES, 0, ONE, 390 },
	{ SYS_sysinfo, WRITES, 0, ONE, 112 },
	{ SYS_times, WRITES, 0, ONE, 32 },
	{ SYS_getrusage, WRITES, 1, ONE, 144 },
	{ SYS_getrlimit, WRITES, 1, ONE, 16 },
	{ SYS_prlimit64, WRITES, 3, ONE, 16 },
	{ SYS_clock_gettime, WRITES, 1, ONE, 16 },
	{ SYS_clock_getres, WRITES, 1, ONE, 16 },
	{ SYS_getitimer, WRITES, 1, ONE, 32 },
	{ SYS_timerfd_gettime, WRITES, 1, ONE, 32 },
	{ SYS_timer_gettime, WRITES, 1, ONE, 32 },
};

void sync_note_buffer(struct sync_thread *t, const struct adept_ev_buffer *b)
{
	if (t->nbuffers < ADEPT_BUFFERS)
		t->buffer[t->nbuffers++] = *b;
}

/* Access a range of memory, parts of which may be shared with other images. */
static int access_all(struct sync_thread *t, u64 pc, u64 address, u64 size, u32 flags)
{
	u64 part, place;
	int err = 0;

	for (; size && !err; size -= part, address += part) {
		part = size;
		place = sync_range(t, address, &part);
		err = sync_access(t, pc, place, part, flags | RACE_SYSCALL);
	}
	return err;
}

/* Access the recorded buffers of the call. All buffers of a call are either read or written. */
static int found(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter)
{
	bool writes = c->nr == SYS_readv || c->nr == SYS_preadv || c->nr == SYS_preadv2 ||
		      c->nr == SYS_recvmsg || c->nr == SYS_recvmmsg ||
		      c->nr == SYS_process_vm_readv;
	int err = 0;
	u32 i;

	for (i = 0; i < t->nbuffers && writes == !enter && !err; i++)
		if (t->buffer[i].addr && !(t->buffer[i].addr >> 47))
			err = access_all(t, pc, t->buffer[i].addr,
					 t->buffer[i].size < MOST ? t->buffer[i].size : MOST,
					 writes ? RACE_WRITE : RACE_READ);
	if (!enter)
		t->nbuffers = 0;
	return err;
}

static int one(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc,
	       const struct buffer *b)
{
	u64 n = b->count == RESULT ? c->result : b->count == ONE ? 1 : c->args[b->count];
	u64 address = c->args[b->arg];

	/* With MSG_TRUNC the result is the size of the message, which may exceed the buffer's. */
	if (b->count == RESULT && n > c->args[b->arg + 1])
		n = c->args[b->arg + 1];
	/* Skip NULL and addresses outside of user space. */
	if (!address || address >> 47)
		return 0;
	n = n < MOST / b->size ? n * b->size : MOST;
	return access_all(t, pc, address, n, b->how == READS ? RACE_READ : RACE_WRITE);
}

int sync_buffers(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc, bool enter)
{
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(buffers) / sizeof(buffers[0]) && !err; i++)
		if (buffers[i].nr == c->nr && (buffers[i].how == READS) == enter)
			err = one(t, c, pc, &buffers[i]);
	return err ? err : found(t, c, pc, enter);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Order of threads by system calls.
 *
 * A call that can let another thread continue releases before the call. A call that can have waited
 * acquires after the call, if it succeeded.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "libdep/recover/program/syscall_info.h"
#include "predict_events.h"

#define FUTEX_WAIT		0
#define FUTEX_WAKE		1
#define FUTEX_LOCK_PI		6
#define FUTEX_UNLOCK_PI		7
#define FUTEX_WAIT_BITSET	9
#define FUTEX_CMD_MASK		127

#define F_DUPFD			0
#define F_SETLK			6
#define F_SETLKW		7
#define F_OFD_SETLK		37
#define F_OFD_SETLKW		38
#define F_DUPFD_CLOEXEC		1030

static bool failed(const struct adept_ev_syscall *c)
{
	return (s64)c->result < 0 && (s64)c->result > -4096;
}

static bool waits_for_word(u32 op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI;
}

static int futex(struct sync_thread *t, const struct adept_ev_syscall *c, bool enter)
{
	u32 op = c->args[1] & FUTEX_CMD_MASK;
	u64 word = sync_at(t, c->args[0]);
	bool waits = waits_for_word(op);
	/*
	 * In live analysis, the first pass may get the beginning of a wait that never returns. So
	 * in the first pass the word becomes an object only after the call.
	 */
	bool known = enter != (waits && t->sync->pass == SYNC_FIRST);

	if (t->muted)
		return 0;
	/* Threads wait for the word to change, so it is an object, however it is changed. */
	if (known && !sync_object_get(&t->process->objects, SYNC_WORD, word / 4))
		return -ENOMEM;
	if (enter && op == FUTEX_UNLOCK_PI)
		return sync_release(t, SYNC_WORD, word / 4);
	if (!waits)
		return enter ? sync_release(t, SYNC_FUTEX, word) : 0;
	if (enter)
		return 0;
	/* The kernel itself locks and unlocks PI futexes, by changing the word. */
	if (op == FUTEX_LOCK_PI && !failed(c))
		return sync_acquire(t, SYNC_WORD, word / 4);
	return failed(c) ? 0 : sync_acquire(t, SYNC_FUTEX, word);
}

/* Return: bit 0: the call writes to descriptor *@fd; bit 1: it reads from *@fd. */
static int moves_data(const struct adept_ev_syscall *c, s64 *fd)
{
	*fd = (s32)c->args[0];
	switch (c->nr) {
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_shutdown:
	case SYS_close:
	case SYS_timerfd_settime:
	case SYS_epoll_ctl:
	case SYS_connect:
	case SYS_mq_timedsend:
		return 1;
	case SYS_sendfile:
		return 1;
	case SYS_flock:
		return 3;
	}
	return dep_call_receives(c->nr) ? 2 : 0;
}

/* Release to the signals that a call sends, or that its timer will send. */
static int send_signals(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	switch (c->nr) {
	case SYS_kill:
	case SYS_rt_sigqueueinfo:
		return sync_send(t, (s32)c->args[0], c->args[1]);
	case SYS_tkill:
	case SYS_pidfd_send_signal:
		/* The process that the thread or the descriptor belongs to is unknown. */
		return sync_send(t, 0, c->args[1]);
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		return sync_send(t, (s32)c->args[0], c->args[2]);
	case SYS_alarm:
	case SYS_setitimer:
	case SYS_timer_settime:
		return sync_release(t, SYNC_SIGNAL, sync_signal(t->image, 0));
	}
	return 0;
}

static bool ends_file(const struct adept_ev_syscall *c)
{
	return c->nr == SYS_close || c->nr == SYS_shutdown;
}

static bool waits_for_any(const struct adept_ev_syscall *c)
{
	return c->nr == SYS_epoll_wait || c->nr == SYS_epoll_pwait || c->nr == SYS_epoll_pwait2;
}

/*
 * Is it a call that locks or unlocks a file? The locked range is not recorded, so all file locks
 * count as one.
 */
static bool locks_file(const struct adept_ev_syscall *c)
{
	return c->nr == SYS_flock ||
	       (c->nr == SYS_fcntl && (c->args[1] == F_SETLK || c->args[1] == F_SETLKW ||
				       c->args[1] == F_OFD_SETLK || c->args[1] == F_OFD_SETLKW));
}

/* @fd is a new signalfd. All signalfds count as one file. */
static int signal_file_made(struct sync_thread *t, s64 fd)
{
	struct sync_files *f = &t->image->files;
	int err = 0;

	if (!t->process->signal_file) {
		err = sync_file_new(f, fd, -1);
		t->process->signal_file = sync_file(f, fd);
	}
	return err ? err : sync_file_set(f, fd, t->process->signal_file);
}

static int file_made(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	struct sync_files *f = &t->image->files;
	s64 fd = (s64)c->result;

	switch (c->nr) {
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair:
		return sync_file_new(f, (s32)c->out, (s32)(c->out >> 32));
	case SYS_dup:
		return sync_file_same(f, fd, (s32)c->args[0]);
	case SYS_dup2:
	case SYS_dup3:
		return sync_file_same(f, (s32)c->args[1], (s32)c->args[0]);
	case SYS_fcntl:
		if (c->args[1] == F_DUPFD || c->args[1] == F_DUPFD_CLOEXEC)
			return sync_file_same(f, fd, (s32)c->args[0]);
		return 0;
	case SYS_open:
	case SYS_openat:
	case SYS_creat:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_timerfd_create:
	case SYS_memfd_create:
		return sync_file_new(f, fd, -1);
	case SYS_signalfd:
	case SYS_signalfd4:
		return signal_file_made(t, fd);
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
		return sync_file_socket(f, fd);
	}
	return 0;
}

static int unmap_own(struct sync_thread *t, u64 pc, u64 place, u64 size)
{
	int err = t->sync->nwant ? sync_want_stack(t->sync, t, pc, place, size) : 0;

	if (!err)
		err = sync_flush(t);
	/*
	 * Unmapping counts as a write, but not for stacks that the C library unmaps when it creates
	 * or ends threads: only its internal locks order these, and they do not order the program's
	 * accesses.
	 */
	if (!err && !t->muted && !t->in_library && !t->early &&
	    sync_code(t->sync, t->image, pc) != DEP_CODE_LOADER)
		err = race_access_known(t->process->detector, t->index, pc, place, size,
					RACE_WRITE | RACE_FREE | RACE_SYSCALL);
	if (!err && !t->muted && !t->in_library &&
	    sync_code(t->sync, t->image, pc) != DEP_CODE_LOADER)
		err = sync_predict_access(t, pc, place, size,
					  RACE_WRITE | RACE_FREE | RACE_SYSCALL, true);
	return err ? err : sync_forget(t, place, size);
}

static int map_own(struct sync_thread *t, u64 pc, u64 place, u64 size)
{
	(void)pc;
	return sync_forget(t, place, size);
}

/*
 * Call @f for the private parts of a range. Shared memory is neither gone nor new when one of its
 * images unmaps or maps it.
 */
static int each_own(struct sync_thread *t, u64 pc, u64 address, u64 size,
		    int (*f)(struct sync_thread *t, u64 pc, u64 place, u64 size))
{
	u64 part, place;
	int err = 0;

	for (; size && !err; size -= part, address += part) {
		part = size;
		place = sync_range(t, address, &part);
		if (!t->image->grouped || !(place & SYNC_SHARED))
			err = f(t, pc, place, part);
	}
	return err;
}

/* Unmapping memory counts as a write to it. */
static int unmap(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc)
{
	u64 address = c->args[0], size = c->args[1];

	if (c->nr == SYS_mremap && c->result == address) {
		address += c->args[2];
		size = size > c->args[2] ? size - c->args[2] : 0;
	} else if (c->nr != SYS_munmap && c->nr != SYS_mremap &&
		   !(c->nr == SYS_mmap && c->args[3] & MAP_FIXED)) {
		return 0;
	}
	return each_own(t, pc, address, size, unmap_own);
}

/*
 * May the system call wait without end, and is its beginning independent of its result? At the
 * beginning such a call only accesses memory and descriptors. It uses a descriptor and reads a
 * timeout even if it fails later.
 */
static bool is_foreseen(u32 nr, u64 second)
{
	switch (nr) {
	case SYS_futex:
		return waits_for_word(second & FUTEX_CMD_MASK);
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		return true;
	}
	return false;
}

bool sync_call_foreseen(void *self, uint32_t nr, const uint64_t args[6])
{
	(void)self;
	return is_foreseen(nr, args[1]);
}

int sync_call_enter(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc)
{
	bool counts = !failed(c) || is_foreseen(c->nr, c->args[1]);
	int err, moves;
	s64 fd;

	if (c->nr == SYS_futex)
		return futex(t, c, true);
	if (c->nr == SYS_set_robust_list && !failed(c))
		sync_robust_list(t, c->args[0]);
	err = sync_predict_call(t, c);
	if (!err && counts)
		err = sync_buffers(t, c, pc, true);
	if (!err && counts)
		err = sync_descriptors(t, c, pc, true);
	moves = moves_data(c, &fd);
	if (!err && moves & 1 && !failed(c))
		err = sync_release(t, ends_file(c) ? SYNC_CLOSED : SYNC_FILE,
				   sync_file(&t->image->files, fd));
	/* The data of an epoll set comes from its files: treat the set as the file just added. */
	if (!err && c->nr == SYS_epoll_ctl)
		err = sync_file_same(&t->image->files, (s32)c->args[0], (s32)c->args[2]);
	if (!err)
		err = send_signals(t, c);
	/* Both locking and unlocking a file release. */
	t->image->locks |= locks_file(c);
	if (!err && t->image->grouped &&
	    (locks_file(c) || (c->nr == SYS_close && t->image->locks)))
		err = sync_release(t, SYNC_LOCKS, 0);
	if (!err && !failed(c))
		err = unmap(t, c, pc);
	return err;
}

/*
 * Acquire after a system call that waited. poll() and select() write the ready descriptors to
 * memory, which is not recorded, so they acquire from all files.
 */
static int waited(struct sync_thread *t, const struct adept_ev_syscall *c)
{
	int err;

	switch (c->nr) {
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
		err = c->result ? sync_acquire_all(t, SYNC_FILE) : 0;
		return c->result && !err ? sync_acquire_all(t, SYNC_CLOSED) : err;
	case SYS_rt_sigtimedwait:
		err = sync_acquire(t, SYNC_SIGNAL, sync_signal(t->image, c->result));
		return err ? err : sync_acquire(t, SYNC_SIGNAL, sync_signal(t->image, 0));
	case SYS_signalfd:
	case SYS_signalfd4:
		return sync_acquire_all(t, SYNC_SIGNAL);
	case SYS_read:
		if (sync_file(&t->image->files, (s32)c->args[0]) == t->process->signal_file)
			return sync_acquire_all(t, SYNC_SIGNAL);
		break;
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3:
		return sync_acquire(t, SYNC_CHILD, c->result);
	case SYS_wait4:
		return c->result ? sync_waited(t, (u32)c->result) : 0;
	case SYS_waitid:
		/* waitid() returns the pid in memory, which is not recorded. */
		return sync_waited(t, c->args[0] == P_PID ? (u32)c->args[1] : 0);
	}
	return 0;
}

int sync_call_leave(struct sync_thread *t, const struct adept_ev_syscall *c, u64 pc)
{
	int err = 0, moves;
	s64 fd;

	if (c->nr == SYS_futex)
		return futex(t, c, false);
	if (c->nr == SYS_set_tid_address && t->image->files.attached)
		return sync_tid_address(t, c->args[0]);
	err = sync_wait_call(t, c);
	if (!err)
		err = sync_predict_call(t, c);
	if (err || failed(c))
		return err;
	err = file_made(t, c);
	moves = moves_data(c, &fd);
	if (!err && moves & 2)
		err = sync_acquire(t, SYNC_FILE, sync_file(&t->image->files, fd));
	/* A read of end of file comes after the other end was closed. */
	if (!err && moves & 2 && (!c->result || waits_for_any(c)))
		err = sync_acquire(t, SYNC_CLOSED, sync_file(&t->image->files, fd));
	if (!err)
		err = waited(t, c);
	if (!err && t->image->grouped && locks_file(c))
		err = sync_acquire(t, SYNC_LOCKS, 0);
	if (!err)
		err = sync_buffers(t, c, pc, false);
	if (!err)
		err = sync_descriptors(t, c, pc, false);
	if (!err)
		err = sync_maps_call(t, c);
	if (!err && c->nr == SYS_mmap)
		err = each_own(t, pc, c->result, c->args[1], map_own);
	if (!err && c->nr == SYS_mmap && c->args[3] & MAP_STACK)
		err = sync_stack(t->process, sync_at(t, c->result), c->args[1]);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* The consumer's side of the kernel module's interface, include/uapi/linux/adept.h. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/adept.h"
#include "collect.h"
#include "module_session.h"

#define DEVICE		"/dev/adept"
#define MAX_GIVE	256u
#define MAX_TAKE	256u
/* Without a successor for a dead consumer, programs wait this long before they discard records. */
#define ORPHAN_WAIT_MS	2000

_Static_assert(ADEPT_GUARD_SIZE == ADEPT_RING_GAP, "engine and module have different ring gaps");
_Static_assert(ADEPT_CHUNK_END_AT < ADEPT_RING_RECORD_MAX && ADEPT_CHUNK_END_AT > ADEPT_MAX_RECORD,
	       "ADEPT_CHUNK_END_AT");

struct dep_module {
	int fd, writer;
	u64 id;
	struct io_uring uring;	/* for exchange() if has_uring; io_uring may be forbidden here */
	bool has_uring;
	u32 chunk_size, nchunks;
	u64 chunk_stride, slot_stride, area_size, info_stride, info_size;
	const u8 *data;
	const u8 *info;
	struct adept_give give[MAX_GIVE];
	u32 ngive;
	bool discarding;

	/* The waker thread: wakes the loop when there are filled chunks. */
	pthread_t waker;
	bool has_waker;
	u32 armed;		/* futex; 0: sleep, 1: wait for chunks and wake the loop, 2: end */
	u32 *wakeup;
	int stop[2];		/* pipe: closing the second end ends poll() in the waker */
};

int dep_module_device(void)
{
	struct adept_version v = { 0 };
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC), err = 0;

	if (dev < 0)
		return -errno;
	if (ioctl(dev, ADEPT_IOC_VERSION, &v))
		err = -errno;
	else if (v.version != ADEPT_ABI_VERSION)
		err = -EPROTONOSUPPORT;
	if (!err)
		return dev;
	close(dev);
	return err;
}

/* Create a session. If another consumer may adopt it, keep it after the consumer's death. */
static int create(struct dep_module *m, int dev, const struct adept_session *l, uid_t charge)
{
	u64 give_up_ms = l->give_up_ns / 1000000;
	struct adept_session_create sc = {
		.version = ADEPT_ABI_VERSION,
		.chunk_size = l->chunk_size, .nchunks = l->nchunks, .nslots = l->nthreads,
		.policy = l->flags & ADEPT_S_NULL ? ADEPT_POLICY_DISCARD :
			  l->flags & ADEPT_S_DROP ? ADEPT_POLICY_DROP : ADEPT_POLICY_WAIT,
		.orphan_wait_ms = l->give_up_ns ? give_up_ms : ORPHAN_WAIT_MS,
		.orphan_keep_ms = l->give_up_ns ? UINT32_MAX : 0,
		.label = "depctl record",
	};

	if (charge != DEP_CHARGE_SELF) {
		sc.flags = ADEPT_CREATE_CHARGE_UID;
		sc.charge_uid = charge;
	}
	if (l->give_up_ns)
		strcpy((char *)sc.label, "depd");
	if (give_up_ms > UINT32_MAX)
		sc.orphan_wait_ms = UINT32_MAX;
	m->fd = ioctl(dev, ADEPT_IOC_SESSION_CREATE, &sc);
	return m->fd < 0 ? -errno : 0;
}

static int adopt(struct dep_module *m, int dev, u64 id)
{
	struct adept_session_adopt sa = { .id = id };

	m->fd = ioctl(dev, ADEPT_IOC_SESSION_ADOPT, &sa);
	return m->fd < 0 ? -errno : 0;
}

static const u8 *map(struct dep_module *m, u64 size, u64 off)
{
	const u8 *p = mmap(NULL, size, PROT_READ, MAP_SHARED, m->fd, (off_t)off);

	return p == MAP_FAILED ? NULL : p;
}

static int map_all(struct dep_module *m, const struct adept_session *l)
{
	struct adept_session_info si = { 0 };

	if (ioctl(m->fd, ADEPT_IOC_SESSION_INFO, &si))
		return -errno;
	m->id = si.id;
	if (si.chunk_stride != adept_chunk_stride(l) ||
	    si.slot_stride != l->nchunks * adept_chunk_stride(l) ||
	    si.area_size != l->nthreads * si.slot_stride)
		return -EPROTO;
	m->chunk_size = l->chunk_size;
	m->nchunks = l->nchunks;
	m->chunk_stride = si.chunk_stride;
	m->slot_stride = si.slot_stride;
	m->area_size = si.area_size;
	m->info_stride = si.info_stride;
	m->info_size = si.info_size;
	m->data = map(m, si.area_size, si.data_off);
	m->info = map(m, si.info_size, si.info_off);
	if (!m->data || !m->info)
		return -errno;
	m->writer = ioctl(m->fd, ADEPT_IOC_WRITER_FD, 0);
	return m->writer < 0 ? -errno : 0;
}

static int exchange(struct dep_module *m, struct adept_exchange *x)
{
	struct io_uring_sqe *sqe = m->has_uring ? io_uring_get_sqe(&m->uring) : NULL;
	struct adept_uring_cmd *cmd;
	struct io_uring_cqe *cqe;
	int ret;

	if (!sqe)
		return ioctl(m->fd, ADEPT_IOC_EXCHANGE, x) ? -errno : 0;
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, m->fd, NULL, 0, 0);
	sqe->cmd_op = ADEPT_IOC_EXCHANGE;
	cmd = (struct adept_uring_cmd *)sqe->cmd;
	*cmd = (struct adept_uring_cmd){ .arg = (uintptr_t)x };
	do
		ret = io_uring_submit_and_wait(&m->uring, 1);
	while (ret == -EINTR || ret == -EAGAIN);
	/*
	 * A signal interrupts the wait above. Wait until the command has completed, since it writes
	 * to @x until then.
	 */
	do
		ret = io_uring_wait_cqe(&m->uring, &cqe);
	while (ret == -EINTR || ret == -EAGAIN);
	if (!ret) {
		ret = cqe->res;
		io_uring_cqe_seen(&m->uring, cqe);
	}
	return ret;
}

/* Use io_uring if possible: it may be forbidden, and kernels before 5.19 lack its commands. */
static void try_uring(struct dep_module *m)
{
	struct adept_exchange nothing = { 0 };

	m->has_uring = !io_uring_queue_init(2, &m->uring, 0);
	if (!m->has_uring || !exchange(m, &nothing))
		return;
	io_uring_queue_exit(&m->uring);
	m->has_uring = false;
}

/* Adopt the session @id; if @id is NULL, create a session that is accounted to @charge. */
static int open_module(struct dep_module **out, const struct adept_session *l, const u64 *id,
		       uid_t charge)
{
	struct dep_module *m = calloc(1, sizeof(*m));
	int dev, err;

	if (!m)
		return -ENOMEM;
	m->fd = m->writer = m->stop[0] = m->stop[1] = -1;
	dev = err = dep_module_device();
	if (dev >= 0) {
		err = id ? adopt(m, dev, *id) : create(m, dev, l, charge);
		close(dev);
	}
	if (!err)
		err = map_all(m, l);
	if (!err)
		try_uring(m);
	if (err) {
		dep_module_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int dep_module_open(struct dep_module **out, const struct adept_session *l, uid_t charge)
{
	return open_module(out, l, NULL, charge);
}

int dep_module_adopt(struct dep_module **out, const struct adept_session *l, u64 id)
{
	return open_module(out, l, &id, DEP_CHARGE_SELF);
}

u64 dep_module_id(const struct dep_module *m)
{
	return m->id;
}

int dep_module_fd(const struct dep_module *m)
{
	return m->fd;
}

static void futex(u32 *word, int op, u32 value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

void dep_module_close(struct dep_module *m)
{
	if (m->has_waker) {
		__atomic_store_n(&m->armed, 2, __ATOMIC_SEQ_CST);
		futex(&m->armed, FUTEX_WAKE, 1);
		close(m->stop[1]);
		pthread_join(m->waker, NULL);
		close(m->stop[0]);
	}
	if (m->fd >= 0)
		dep_module_discard(m);
	if (m->has_uring)
		io_uring_queue_exit(&m->uring);
	if (m->data)
		munmap((void *)m->data, m->area_size);
	if (m->info)
		munmap((void *)m->info, m->info_size);
	if (m->writer >= 0)
		close(m->writer);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

int dep_module_writer(const struct dep_module *m)
{
	return m->writer;
}

static void crossing(struct dep_crossing *to, const struct adept_context *c)
{
	to->clock_ns = c->clock_ns;
	memcpy(to->regs, c->regs, sizeof(to->regs));
	to->fs_base = c->fs_base;
	memcpy(to->words, c->gs_words, sizeof(to->words));
	to->record_at = c->record_at;
	to->fault_at = c->fault_at;
	to->valid = c->flags & ADEPT_CTX_VALID && c->flags & ADEPT_CTX_GS_WORDS;
}

static const u8 *body(const struct dep_module *m, u32 slot, u32 index)
{
	return m->data + slot * m->slot_stride + index * m->chunk_stride;
}

static void fill_in(const struct dep_module *m, struct dep_module_chunks *f,
		    const struct adept_desc *d)
{
	const struct adept_chunk_info *i = (const struct adept_chunk_info *)
		(m->info + d->slot * m->info_stride) + d->chunk;

	*f = (struct dep_module_chunks){
		.slot = d->slot, .ring = d->ring, .index = d->chunk, .seq = d->seq, .end = d->end,
		.unfinished = !!(d->flags & ADEPT_CHUNK_UNFINISHED),
		.lost_chunks = i->lost_chunks, .lost_bytes = i->lost_bytes,
		.absent = i->loss_causes == ADEPT_LOSS_NO_CONSUMER,
		.body = body(m, d->slot, d->chunk),
	};
	crossing(&f->head, &i->head);
	crossing(&f->tail, &i->tail);
}

u32 dep_module_take(struct dep_module *m, struct dep_module_chunks *out, u32 n)
{
	struct adept_desc d[MAX_TAKE];
	struct adept_exchange x = {
		.give = (uintptr_t)m->give, .ngive = m->ngive,
		.take = (uintptr_t)d, .ntake = n < MAX_TAKE ? n : MAX_TAKE,
	};
	u32 i;

	if (exchange(m, &x))
		return 0;
	/* Skip a returned chunk that the module rejected, because the chunk's ring was reset. */
	if (x.given < m->ngive)
		x.given++;
	m->ngive -= x.given;
	memmove(m->give, m->give + x.given, m->ngive * sizeof(m->give[0]));
	for (i = 0; i < x.taken; i++)
		fill_in(m, &out[i], &d[i]);
	return x.taken;
}

void dep_module_give(struct dep_module *m, const struct dep_module_chunks *f)
{
	while (m->ngive == MAX_GIVE)
		dep_module_take(m, NULL, 0);
	m->give[m->ngive++] = (struct adept_give){ f->slot, f->ring, f->seq };
}

void dep_module_state(struct dep_module *m, u32 slot, struct dep_ring_state *out)
{
	struct adept_ring_info i = { .slot = slot };

	memset(out, 0, sizeof(*out));
	if (ioctl(m->fd, ADEPT_IOC_RING_INFO, &i) || i.state == ADEPT_RING_NONE)
		return;
	*out = (struct dep_ring_state){
		.there = true, .ended = i.state != ADEPT_RING_LIVE, .ring = i.ring,
		.seq = i.seq, .index = i.chunk, .filled = i.filled,
		.taken = i.taken, .waiting = i.waiting,
		.lost_chunks = i.lost_chunks, .lost_bytes = i.lost_bytes,
	};
}

void dep_module_current(const struct dep_module *m, u32 slot, const struct dep_ring_state *s,
			struct dep_module_chunks *out)
{
	const struct adept_desc d = {
		.slot = slot, .ring = s->ring, .chunk = s->index, .seq = s->seq,
		.flags = ADEPT_CHUNK_UNFINISHED,
	};

	fill_in(m, out, &d);
}

void dep_module_flush(struct dep_module *m, u32 slot, u32 ring)
{
	struct adept_slot_cmd c = { .slot = slot, .ring = ring };

	ioctl(m->fd, ADEPT_IOC_FLUSH, &c);
}

void dep_module_reset(struct dep_module *m, u32 slot, u32 ring)
{
	struct adept_slot_cmd c = { .slot = slot, .ring = ring, .flags = ADEPT_RESET_FORCE };

	while (m->ngive)
		dep_module_take(m, NULL, 0);
	ioctl(m->fd, ADEPT_IOC_RESET, &c);
}

void dep_module_discard(struct dep_module *m)
{
	struct adept_set_policy p = { .policy = ADEPT_POLICY_DISCARD };

	if (!m->discarding)
		ioctl(m->fd, ADEPT_IOC_SET_POLICY, &p);
	m->discarding = true;
}

static void *waker(void *arg)
{
	struct dep_module *m = arg;
	struct pollfd p[2] = { { .fd = m->fd, .events = POLLIN }, { .fd = m->stop[0] } };
	u32 armed;

	for (;;) {
		armed = __atomic_load_n(&m->armed, __ATOMIC_SEQ_CST);
		if (armed == 2)
			return NULL;
		if (!armed) {
			futex(&m->armed, FUTEX_WAIT, 0);
			continue;
		}
		if (poll(p, 2, -1) < 0 || !(p[0].revents & POLLIN))
			continue;
		armed = 1;
		__atomic_compare_exchange_n(&m->armed, &armed, 0, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		__atomic_fetch_add(m->wakeup, 1, __ATOMIC_SEQ_CST);
		futex(m->wakeup, FUTEX_WAKE, 1);
	}
}

void dep_module_wake_on(struct dep_module *m, u32 *wakeup)
{
	u32 not = 0;
	sigset_t all, old;

	if (!m->has_waker) {
		m->wakeup = wakeup;
		if (pipe2(m->stop, O_CLOEXEC))
			return;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		m->has_waker = !pthread_create(&m->waker, NULL, waker, m);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (!m->has_waker) {
			close(m->stop[0]);
			close(m->stop[1]);
			return;
		}
	}
	if (__atomic_compare_exchange_n(&m->armed, &not, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		futex(&m->armed, FUTEX_WAKE, 1);
}

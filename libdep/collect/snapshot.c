// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "snapshot.h"

/* maximum time of claiming a slot; a thread that was killed meanwhile never completes its claim */
#define CLAIM_GRACE_NS	1000000000ull

#define load(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)

struct dep_snapshot {
	int fd;
	const u8 *map;
	size_t size;
	/* checked copy of the first page, whose sizes recorded processes can change later */
	struct adept_session l;
	struct dep_peeked *thread;
	/* for each slot: time when it was first seen CLAIMED; 0: it has another state */
	u64 *claimed_ns;
	u8 *body;
};

static u64 timestamp(void)
{
	u32 low, high;

	__asm__ volatile("mfence\n\tlfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : :
			 "memory");
	return (u64)high << 32 | low;
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static const struct adept_thread *thread(const struct dep_snapshot *p, u32 slot)
{
	return (const struct adept_thread *)(p->map + p->l.thread_off) + slot;
}

/* True if all offsets and sizes in @l are within a file of @size bytes. */
static bool is_sane(const struct adept_session *l, u64 size)
{
	u64 threads = (u64)l->nthreads * sizeof(struct adept_thread), chunks;

	if (l->magic != ADEPT_SESSION_MAGIC || l->version != ADEPT_SESSION_VERSION)
		return false;
	if (!l->nthreads || l->nthreads > ADEPT_MAX_THREADS || l->nchunks < 2 ||
	    l->nchunks > ADEPT_MAX_CHUNKS || !l->chunk_size || l->chunk_size % ADEPT_PAGE ||
	    l->thread_off % ADEPT_PAGE || l->ring_off % ADEPT_PAGE)
		return false;
	chunks = (u64)l->nthreads * l->nchunks;
	return l->thread_off <= size && threads <= size - l->thread_off && l->ring_off <= size &&
	       chunks <= (size - l->ring_off) / adept_chunk_stride(l);
}

int dep_snapshot_open(struct dep_snapshot **out, int fd)
{
	struct dep_snapshot *p = calloc(1, sizeof(*p));
	int err = -EBADMSG, seals;
	struct stat st;
	void *map;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->fd = fd;
	/*
	 * Without this seal another process could truncate the file, which would cause SIGBUS here.
	 */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    st.st_size < (off_t)sizeof(p->l))
		goto out_free;
	p->size = (size_t)st.st_size;
	map = mmap(NULL, p->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED) {
		err = -errno;
		goto out_free;
	}
	p->map = map;
	memcpy(&p->l, p->map, sizeof(p->l));
	err = !is_sane(&p->l, p->size) ? -EBADMSG : p->l.flags & ADEPT_S_MODULE ? -EOPNOTSUPP : 0;
	if (err)
		goto out_close;
	err = -ENOMEM;
	p->thread = calloc(p->l.nthreads, sizeof(*p->thread));
	p->claimed_ns = calloc(p->l.nthreads, sizeof(*p->claimed_ns));
	p->body = malloc(p->l.chunk_size);
	if (!p->thread || !p->claimed_ns || !p->body)
		goto out_close;
	*out = p;
	return 0;

out_close:
	dep_snapshot_close(p);
	return err;
out_free:
	free(p);
	return err;
}

void dep_snapshot_close(struct dep_snapshot *p)
{
	if (!p)
		return;
	munmap((void *)p->map, p->size);
	free(p->thread);
	free(p->claimed_ns);
	free(p->body);
	free(p);
}

/* Find the next slot that has memory. Do not read other slots: that would allocate memory. */
static u32 next_used(const struct dep_snapshot *p, u32 slot)
{
	const u64 each = sizeof(struct adept_thread), at = p->l.thread_off + slot * each;
	off_t data = lseek(p->fd, (off_t)at, SEEK_DATA);
	u64 size;

	if (data < 0)
		return errno == ENXIO ? p->l.nthreads : slot;
	if ((u64)data <= at)
		return slot;
	size = (u64)data - p->l.thread_off;
	if (size >= p->l.nthreads * each)
		return p->l.nthreads;
	/* A slot that begins in a hole is free. */
	return (u32)((size + each - 1) / each);
}

/* True if a thread has been claiming the slot for less than CLAIM_GRACE_NS. */
static bool is_making(struct dep_snapshot *p, u32 slot, u32 state)
{
	if (state != ADEPT_SLOT_CLAIMED) {
		p->claimed_ns[slot] = 0;
		return false;
	}
	if (!p->claimed_ns[slot])
		p->claimed_ns[slot] = now_ns();
	return now_ns() - p->claimed_ns[slot] < CLAIM_GRACE_NS;
}

u32 dep_snapshot_threads(struct dep_snapshot *p, const struct dep_peeked **out, u64 *now,
			 bool *making)
{
	const struct adept_thread *t;
	u32 i, n = 0, state;

	*now = timestamp();
	*making = false;
	for (i = next_used(p, 0); i < p->l.nthreads; i = next_used(p, i + 1)) {
		t = thread(p, i);
		state = load(&t->state);
		*making |= is_making(p, i, state);
		if (state != ADEPT_SLOT_LIVE && state != ADEPT_SLOT_ENDED)
			continue;
		p->thread[n++] = (struct dep_peeked){
			.slot = i, .serial = load(&t->serial), .before = load(&t->call.before),
		};
	}
	*out = p->thread;
	return n;
}

/*
 * Copy a chunk in order of address, so that a copied id has its values. Stop at a page of zeros: a
 * page is longer than any record, so no record follows. Later pages may have no memory, and reading
 * them would allocate it.
 */
static u32 copy_body(struct dep_snapshot *p, const u8 *from)
{
	u64 *to = (u64 *)p->body, any;
	const u64 *src;
	u32 at, i;

	for (at = 0; at < p->l.chunk_size; at += ADEPT_PAGE) {
		src = (const u64 *)(from + at);
		for (any = 0, i = 0; i < ADEPT_PAGE / 8; i++)
			any |= to[at / 8 + i] = load(&src[i]);
		if (!any)
			break;
	}
	return at;
}

bool dep_snapshot_chunk(struct dep_snapshot *p, u32 slot, u32 serial, u64 seq,
			struct dep_snapshot_chunk *out)
{
	const struct adept_thread *t = thread(p, slot);
	const struct adept_chunk *k;
	u64 before;
	u32 head, i;

	if (slot >= p->l.nthreads)
		return false;
	before = load(&t->call.before);
	head = load(&t->head);
	i = head % p->l.nchunks;
	k = &t->chunk[i];
	if (load(&t->state) != ADEPT_SLOT_LIVE || load(&t->serial) != serial ||
	    load(&k->seq) != seq || load(&t->discarding))
		return false;
	out->size = copy_body(p, p->map + adept_chunk_off(&p->l, slot, i));
	out->body = p->body;
	/*
	 * Header and call are complete: a thread writes a chunk's header before the first record,
	 * and the other fields of a call before call.before.
	 */
	memcpy(&out->chunk, k, sizeof(out->chunk));
	memcpy(&out->call, &t->call, sizeof(out->call));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!before || load(&t->call.before) != before)
		out->call.before = 0;
	return load(&t->head) == head && load(&k->seq) == seq && out->chunk.seq == seq &&
	       load(&t->serial) == serial && load(&t->state) == ADEPT_SLOT_LIVE &&
	       !load(&t->discarding);
}

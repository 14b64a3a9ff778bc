/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of adept.ko share.
 *
 * Who owns what.  A session is the private part of an inode, which is its
 * reference count: open files hold the inode, mappings hold files, an orphan is
 * held by its path (session.c).  A session has an array of slots for its whole life.
 * A slot may have a ring, a ring has chunks of pages.  A ring is held by its slot and by
 * each fault that works on it.  Mappings have references to pages of their own.
 *
 * Locks, outermost first:
 *
 *	session.consumer_lock	one consumer's operation at a time (exchange, flush, reset)
 *	mm->mmap_lock		(not ours) held in faults and when mappings go
 *	session.view_lock	read: a page is looked up and mapped into a view; write: a ring is
 *				taken off its slot and out of all mappings
 *	adept_sessions_lock	a spinlock: the list of sessions; who is consumer; orphans
 *	session.lock		a spinlock: slot.ring, slot.spare, ring.core, ring.pages,
 *				ring.info's content, the lists of rings, counters
 *
 * No lock is held while memory of a ring is allocated, or while a writer waits for a chunk.  A
 * chunk that is given back is zeroed under the consumer's lock alone.  So a writer whose memory
 * comes slowly (memory.high, reclaim) delays itself only.  A writer's fault takes spinlocks and
 * nothing else.  The two locks that sleep are taken by one
 * session's consumer, and by what ends a session that has none.
 */
#ifndef ADEPT_H
#define ADEPT_H

#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/path.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "compat.h"
#include "ring_core.h"

/*
 * Offsets of the consumer's areas in the file: above any adept_geo.area_size, which is at most
 * 4 TiB and 4 GiB, and below 16 TiB, for the offset of a 32-bit program's mmap2() is 32 bits of
 * pages.
 */
#define ADEPT_DATA_OFF	BIT_ULL(43)
#define ADEPT_INFO_OFF	(BIT_ULL(43) + BIT_ULL(42) + BIT_ULL(41))

/*
 * How many views a session may have.  Freeing a ring unmaps it from each of them and cannot be
 * interrupted.  A consumer needs two; the rest is for one that cuts them into pieces.
 */
#define ADEPT_VIEWS_MAX	1024

/**
 * struct adept_ring - the ring of one slot
 * @refs: its slot's, and one of each fault that works on it
 * @all: in session.rings
 * @ready: in session.ready while core.filled
 * @core: state
 * @slot: number of its slot
 * @id: struct adept_desc.ring
 * @mm: address space through which it is written; compared, never followed.  NULL once the
 *	mapping there is gone
 * @start: of the mapping there
 * @pid: process that made it; a reference
 * @waiting: its writer is about to sleep, or sleeps
 * @mapped: bit for each chunk: it was mapped as a whole into the writer's mapping
 * @info: array of core.nchunks; pages that can be mapped
 * @pages: of each chunk, NULL before its first use; they stay until the last reference is gone
 */
struct adept_ring {
	refcount_t refs;
	struct list_head all;
	struct list_head ready;
	struct adept_core core;
	u32 slot;
	u32 id;
	struct mm_struct *mm;
	unsigned long start;
	struct pid *pid;
	bool waiting;
	u16 mapped;
	struct adept_chunk_info *info;
	struct page **pages[ADEPT_CHUNKS_MAX];
};

/**
 * struct adept_slot - place of a ring
 * @wq: where its writer sleeps
 * @ring: NULL: none
 * @spare: a ring that nobody uses yet; the memory for the next one
 */
struct adept_slot {
	wait_queue_head_t wq;
	struct adept_ring *ring;
	struct adept_ring *spare;
};

struct adept_user;

/**
 * struct adept_session - a session
 * @node: in the list of all
 * @id: struct adept_session_info.id
 * @inode: whose private part it is
 * @user: whose limits it counts against
 * @creator: who may list and adopt it
 * @geo: where things are
 * @create: as it was created
 * @path: holds the inode while @orphan
 * @orphan: without a consumer, may be adopted; adept_sessions_lock
 * @consumer_lock: see above
 * @view_lock: see above
 * @lock: see above; the fields below
 * @consumer: its file; set under both locks, read under one
 * @given_up: nobody will ever read again
 * @orphan_ns: when the consumer went, CLOCK_MONOTONIC
 * @policy: enum adept_policy
 * @next_ring: number of the next ring
 * @writers: mappings of the writer area
 * @views: the consumer's mappings, at most ADEPT_VIEWS_MAX
 * @rings: all
 * @ready: those with filled chunks, the next one to be served first
 * @unread: sum of adept_core_unread() of all
 * @stats: of the session
 * @wq: consumers that poll
 * @slots: geo.nslots of them
 */
struct adept_session {
	struct list_head node;
	u64 id;
	struct inode *inode;
	struct adept_user *user;
	kuid_t creator;
	struct adept_geo geo;
	struct adept_session_create create;
	struct path path;
	bool orphan;
	struct mutex consumer_lock;	/* see above */
	struct rw_semaphore view_lock;	/* see above */

	spinlock_t lock;		/* see above */
	struct file *consumer;
	bool given_up;
	u64 orphan_ns;
	u32 policy;
	u32 next_ring;
	u32 writers;
	u32 views;
	struct list_head rings;
	struct list_head ready;
	u32 unread;
	struct adept_stats stats;

	wait_queue_head_t wq;
	struct adept_slot *slots;
};

static inline struct adept_session *adept_session_of(const struct file *file)
{
	return file_inode(file)->i_private;
}

/* ---- inodes.c: where sessions' inodes live ---- */

/** adept_fs_file() - a new inode with @s in it, opened; on success @s belongs to it */
struct file *adept_fs_file(struct adept_session *s);
int adept_fs_init(void);
void adept_fs_exit(void);

/* ---- session.c ---- */

extern const struct file_operations adept_session_fops;

/** adept_session_create() - Return: a descriptor or a negative errno */
int adept_session_create(const struct adept_session_create *c);
int adept_session_adopt(const struct adept_session_adopt *a);
int adept_session_list(struct adept_session_list *l);
void adept_session_info(struct adept_session *s, struct adept_session_info *i);
/** adept_session_destroy() - the last reference to its inode is gone */
void adept_session_destroy(struct adept_session *s);
/** adept_session_reap() - have orphans that have nothing left looked after, soon */
void adept_session_reap(void);
/** adept_session_free_dead() - free the rings of a given-up session that nobody writes to */
void adept_session_free_dead(struct adept_session *s);
/** adept_session_consumer_state() - is there a consumer; under s->lock */
enum adept_consumer adept_session_consumer_state(const struct adept_session *s);
void adept_session_exit(void);

/* ---- ring.c: rings and their memory ---- */

/** adept_ring_prepare() - memory for a ring and its first chunk, charged already; sleeps */
struct adept_ring *adept_ring_prepare(struct adept_session *s);
/** adept_ring_install() - make the slot's spare its ring, for this mapping; under s->lock */
struct adept_ring *adept_ring_install(struct adept_session *s, u32 slot,
				      struct vm_area_struct *vma, const struct adept_context *ctx);
/** adept_ring_get() - a slot's ring and a reference to it, or NULL */
struct adept_ring *adept_ring_get(struct adept_session *s, u32 slot);
void adept_ring_put(struct adept_session *s, struct adept_ring *r);
/** adept_ring_free() - take ring @id off its slot, if it is there, and out of all mappings */
void adept_ring_free(struct adept_session *s, u32 slot, u32 id);
/** adept_ring_chunk() - see to it that a chunk has pages; false: no memory; sleeps */
bool adept_ring_chunk(struct adept_session *s, struct adept_ring *r, u32 chunk);
/** adept_ring_move() - copy @len bytes of @from at @off to the beginning of @to */
void adept_ring_move(struct adept_ring *r, u32 from, u32 off, u32 len, u32 to);
/** adept_ring_zero() - zero a chunk from @off on */
void adept_ring_zero(const struct adept_session *s, struct adept_ring *r, u32 chunk, u32 off);
/** adept_ring_end() - to state DEAD or ENDED; under s->lock; true: somebody is to be woken */
bool adept_ring_end(struct adept_session *s, struct adept_ring *r, u32 state);
/** adept_ring_chunk_filled() - one more chunk is FILLED; under s->lock; true: wake the consumer */
bool adept_ring_chunk_filled(struct adept_session *s, struct adept_ring *r);
/**
 * adept_ring_map() - map the pages of a chunk that a mapping has room for, best effort
 * @s: the session
 * @r: ring in it
 * @chunk: which has pages
 * @vma: a mapping of the session's file, of any part of it
 * @off: where in the file, as @vma shows it, the chunk begins
 *
 * A mapping may begin or end within the chunk, so everything is worked out in page numbers of the
 * file: an address minus an offset may be less than 0.
 */
void adept_ring_map(struct adept_session *s, struct adept_ring *r, u32 chunk,
		    struct vm_area_struct *vma, u64 off);

/* ---- writer_regs.c ---- */

/** adept_context_take() - the registers of current, which faulted in user mode; never sleeps */
void adept_context_take(struct adept_context *ctx);
/** adept_context_fault_in() - have the words at its gs base there; sleeps */
void adept_context_fault_in(void);

/* ---- writer.c: the writers' mappings ---- */

int adept_writer_mmap(struct adept_session *s, struct vm_area_struct *vma);
/** adept_ring_wake_writers() - let all who wait decide anew */
void adept_ring_wake_writers(struct adept_session *s);

/* ---- consumer_view.c: the consumer's mappings ---- */

int adept_view_mmap(struct adept_session *s, struct vm_area_struct *vma);

/* ---- consumer.c ---- */

long adept_consumer_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int adept_consumer_uring(struct io_uring_cmd *cmd, unsigned int issue_flags);
__poll_t adept_consumer_poll(struct file *file, poll_table *wait);

/* ---- limits.c ---- */

/**
 * adept_user_self() - whose limits what the caller makes counts against
 *
 * The caller's file system user, which a daemon sets to that of whom it works for.  In a user
 * namespace it is who made the outermost one: its ids are one person's.  If that is root the ids
 * were given out by the administrator, and each is a user of its own.
 */
kuid_t adept_user_self(void);
/** adept_user_get() - user @uid; counts one session.  An ERR_PTR if too many */
struct adept_user *adept_user_get(kuid_t uid);
void adept_user_put(struct adept_user *u);
kuid_t adept_user_uid(const struct adept_user *u);
bool adept_user_orphan(struct adept_user *u);
void adept_user_unorphan(struct adept_user *u);
/** adept_charge() - for a ring, or a session's slots; false: over a limit */
bool adept_charge(struct adept_user *u, u64 bytes);
void adept_uncharge(struct adept_user *u, u64 bytes);
u32 adept_limit_orphan_ms(u32 ms);
void adept_limit_init(void);

/* ---- stats.c: counters of all sessions, in sysfs ---- */

enum adept_counter {
	ADEPT_N_SESSIONS,
	ADEPT_N_ORPHANS,
	ADEPT_N_RINGS,
	ADEPT_N_PAGES,
	ADEPT_N_PUBLISHED,
	ADEPT_N_CONSUMED,
	ADEPT_N_RETURNED,
	ADEPT_N_LOST_CHUNKS,
	ADEPT_N_LOST_BYTES,
	ADEPT_N_WAITS,
	ADEPT_N_REFUSED,
	ADEPT_N_COUNTERS,
};

void adept_count(enum adept_counter which, s64 n);
extern const struct attribute_group *adept_count_groups[];

#endif

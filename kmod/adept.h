/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of adept.ko share.
 *
 * Who owns what.  A session is the private part of an inode, which is its
 * reference count: open files hold the inode, mappings hold files, an orphan is
 * held by its path (session.c).  A session has an array of slots for its whole life.
 * A slot may have a ring, a ring has chunks of pages.  Mappings have references to
 * pages of their own, so a ring's memory can go at any time.
 *
 * Locks, outermost first:
 *
 *	adept_sessions_lock	the list of sessions; who is consumer; orphans
 *	session.consumer_lock	one consumer's operation at a time (exchange, flush, reset)
 *	mm->mmap_lock		(not ours) held in faults and when mappings go
 *	slot.lock		all that the writer's side does to a slot: its ring's making, moving
 *				on, end; ring.pages
 *	session.lock		a spinlock: slot.ring, ring.core, ring.info's content, the
 *				lists of rings, counters
 *
 * A fault that has to wait for a chunk holds none of them, but a reference to
 * its file.
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
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "compat.h"
#include "ring_core.h"

/* Offsets of the consumer's areas in the file; above any adept_geo.area_size. */
#define ADEPT_DATA_OFF	BIT_ULL(44)
#define ADEPT_INFO_OFF	BIT_ULL(45)

/**
 * struct adept_ring - the ring of one slot
 * @all: in session.rings
 * @ready: in session.ready while core.filled
 * @core: state
 * @slot: number of its slot
 * @id: struct adept_desc.ring
 * @mm: address space through which it is written; compared, never followed
 * @start: of the mapping there
 * @pid: process that made it; a reference
 * @waiting: its writer is about to sleep, or sleeps
 * @info: array of core.nchunks; pages that can be mapped
 * @pages: of each chunk, NULL before its first use
 */
struct adept_ring {
	struct list_head all;
	struct list_head ready;
	struct adept_core core;
	u32 slot;
	u32 id;
	struct mm_struct *mm;
	unsigned long start;
	struct pid *pid;
	bool waiting;
	struct adept_chunk_info *info;
	struct page **pages[ADEPT_CHUNKS_MAX];
};

/**
 * struct adept_slot - place of a ring
 * @lock: see above
 * @wq: where its writer sleeps
 * @ring: NULL: none
 */
struct adept_slot {
	struct mutex lock;		/* see above */
	wait_queue_head_t wq;
	struct adept_ring *ring;
};

struct adept_user;

/**
 * struct adept_session - a session
 * @node: in the list of all
 * @id: struct adept_session_info.id
 * @inode: whose private part it is
 * @user: whose limits it counts against
 * @geo: where things are
 * @create: as it was created
 * @path: holds the inode while @orphan
 * @orphan: without a consumer, may be adopted; adept_sessions_lock
 * @consumer_lock: see above
 * @lock: see above; the fields below
 * @consumer: its file; set under both locks, read under one
 * @given_up: nobody will ever read again
 * @orphan_ns: when the consumer went, CLOCK_MONOTONIC
 * @policy: enum adept_policy
 * @next_ring: number of the next ring
 * @writers: mappings of the writer area
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
	struct adept_geo geo;
	struct adept_session_create create;
	struct path path;
	bool orphan;
	struct mutex consumer_lock;	/* see above */

	spinlock_t lock;		/* see above */
	struct file *consumer;
	bool given_up;
	u64 orphan_ns;
	u32 policy;
	u32 next_ring;
	u32 writers;
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

/* ---- fs.c: where sessions' inodes live ---- */

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
/** adept_session_reap() - have given-up sessions and finished orphans looked after, soon */
void adept_session_reap(void);
/** adept_session_who() - is there a consumer; under s->lock */
enum adept_consumer adept_session_who(const struct adept_session *s);
void adept_session_exit(void);

/* ---- ring.c: rings and their memory; under slot.lock ---- */

struct adept_ring *adept_ring_make(struct adept_session *s, u32 slot, struct vm_area_struct *vma,
				   const struct adept_context *ctx);
/** adept_ring_free() - take it off its slot, out of all mappings, and free it */
void adept_ring_free(struct adept_session *s, u32 slot);
/** adept_ring_chunk() - see to it that a chunk has pages; 0 or -ENOMEM */
int adept_ring_chunk(struct adept_session *s, struct adept_ring *r, u32 chunk);
/** adept_ring_move() - copy @len bytes of @from at @off to the beginning of @to */
void adept_ring_move(struct adept_ring *r, u32 from, u32 off, u32 len, u32 to);
/** adept_ring_zero() - zero a chunk from @off on */
void adept_ring_zero(const struct adept_session *s, struct adept_ring *r, u32 chunk, u32 off);
/** adept_ring_end() - to state DEAD or ENDED; under s->lock; true: somebody is to be woken */
bool adept_ring_end(struct adept_session *s, struct adept_ring *r, u32 state);
/** adept_ring_filled() - one more chunk is FILLED; under s->lock; true: wake the consumer */
bool adept_ring_filled(struct adept_session *s, struct adept_ring *r);
/** adept_ring_map() - map what of a chunk is not mapped yet, best effort */
void adept_ring_map(struct adept_session *s, struct adept_ring *r, u32 chunk,
		    struct vm_area_struct *vma, unsigned long addr);

/* ---- context.c ---- */

/** adept_context_take() - the registers of current, which faulted in user mode; never sleeps */
void adept_context_take(struct adept_context *ctx);
/** adept_context_fault_in() - have the words at its gs base there; sleeps */
void adept_context_fault_in(void);

/* ---- fault.c: the writers' mappings ---- */

int adept_writer_mmap(struct adept_session *s, struct vm_area_struct *vma);
/** adept_wake_writers() - let all who wait decide anew */
void adept_wake_writers(struct adept_session *s);

/* ---- view.c: the consumer's mappings ---- */

int adept_view_mmap(struct adept_session *s, struct vm_area_struct *vma);

/* ---- consumer.c ---- */

long adept_consumer_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int adept_consumer_uring(struct io_uring_cmd *cmd, unsigned int issue_flags);
__poll_t adept_consumer_poll(struct file *file, poll_table *wait);

/* ---- limit.c ---- */

/** adept_user_get() - the current user; counts one session.  An ERR_PTR if too many */
struct adept_user *adept_user_get(void);
void adept_user_put(struct adept_user *u);
kuid_t adept_user_uid(const struct adept_user *u);
bool adept_user_orphan(struct adept_user *u);
void adept_user_unorphan(struct adept_user *u);
/** adept_charge() - for a ring; false: over a limit */
bool adept_charge(struct adept_user *u, u64 bytes);
void adept_uncharge(struct adept_user *u, u64 bytes);
u32 adept_limit_orphan_ms(u32 ms);
void adept_limit_init(void);

/* ---- count.c: counters of all sessions, in sysfs ---- */

enum adept_counter {
	ADEPT_N_SESSIONS,
	ADEPT_N_ORPHANS,
	ADEPT_N_RINGS,
	ADEPT_N_PAGES,
	ADEPT_N_PUBLISHED,
	ADEPT_N_TAKEN,
	ADEPT_N_GIVEN,
	ADEPT_N_LOST_CHUNKS,
	ADEPT_N_LOST_BYTES,
	ADEPT_N_WAITS,
	ADEPT_N_REFUSED,
	ADEPT_N_COUNTERS,
};

void adept_count(enum adept_counter which, s64 n);
extern const struct attribute_group *adept_count_groups[];

#endif

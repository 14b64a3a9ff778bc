/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures and functions shared by the files of adept.ko.
 *
 * Ownership.  A session is the private data of an inode and lives as long as the inode: open files
 * reference the inode, mappings reference files, and an orphan (a session without a consumer)
 * references its own path (session.c).  A session has a fixed array of slots.  A slot has a ring or
 * none; a ring has chunks of pages.  A ring is referenced by its slot and by each page fault that
 * uses it.  Mappings have their own references to pages.
 *
 * Locks, outermost first:
 *
 *	session.consumer_lock	a mutex: one command of the consumer (exchange, flush, reset) at a
 *				time
 *	mm->mmap_lock		the kernel's: held in faults and when mappings are removed
 *	session.view_lock	read: look up a page and map it into a view; write: remove a ring
 *				from its slot and from all mappings
 *	adept_sessions_lock	a spinlock: the list of sessions; session.consumer; orphans
 *	session.lock		a spinlock: slot.ring, slot.spare, ring.core, ring.pages, the
 *				content of ring.info, the lists of rings, counters
 *
 * No lock is held while ring memory is allocated, or while a writer waits for a chunk.  So a writer
 * whose allocations are slow (memory.high, reclaim) delays only itself.  A chunk that the consumer
 * gives back is zeroed under consumer_lock only.  A writer's fault takes spinlocks only.  The two
 * sleeping locks are taken by the session's consumer, by faults in its views (view_lock only), and
 * by the code that ends a session without a consumer.
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
 * File offsets of the areas that the consumer maps: chunk data, and struct adept_chunk_info.  They
 * are above the writer area, whose size is at most 4 TiB + 4 GiB.  They end below 16 TiB, because a
 * 32-bit program's mmap2() takes the offset as a 32-bit number of pages.
 */
#define ADEPT_DATA_OFF	BIT_ULL(43)
#define ADEPT_INFO_OFF	(BIT_ULL(43) + BIT_ULL(42) + BIT_ULL(41))

/*
 * Maximum number of views (the consumer's mappings) of a session.  The number is limited because
 * freeing a ring unmaps it from every view and cannot be interrupted.  A consumer needs two views;
 * it can unmap parts of a view, and each part that remains is a view, too.
 */
#define ADEPT_VIEWS_MAX	1024

/**
 * struct adept_ring - the ring of one slot
 * @refs: number of references: from the slot, and from each page fault that uses the ring
 * @all: entry in session.rings
 * @ready: entry in session.ready while core.filled is not 0
 * @core: state of the ring and its chunks
 * @slot: number of the ring's slot
 * @id: id of the ring in the session, as in struct adept_desc
 * @mm: address space of the writer; compared, never dereferenced.  NULL after the writer's mapping
 *	was removed
 * @start: start address of the writer's mapping
 * @pid: process that created the ring; a counted reference
 * @waiting: the writer sleeps until a chunk is free, or is about to sleep
 * @mapped: bit i: chunk i was completely mapped into the writer's mapping
 * @info: array of core.nchunks entries, in pages that the consumer can map
 * @pages: pages of each chunk, NULL before its first use; freed with the last reference to the ring
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
 * struct adept_slot - slot for a ring
 * @wq: wait queue on which the slot's writer sleeps until a chunk is free
 * @ring: the slot's ring, or NULL
 * @spare: a prepared ring that becomes the slot's next ring, or NULL
 */
struct adept_slot {
	wait_queue_head_t wq;
	struct adept_ring *ring;
	struct adept_ring *spare;
};

struct adept_user;

/**
 * struct adept_session - a session
 * @node: entry in the list of all sessions
 * @id: id of the session, as in struct adept_session_info
 * @inode: the inode whose private data is this session
 * @user: the user who is charged for the session's memory
 * @creator: the user who has permission to list and adopt the session
 * @geo: layout of the session's file
 * @create: parameters with which the session was created
 * @path: reference to the session's own file while @orphan is true
 * @orphan: has no consumer and can be adopted; protected by adept_sessions_lock
 * @consumer_lock: one command of the consumer at a time
 * @view_lock: excludes the removal of a ring while a page of it is mapped into a view
 * @lock: protects the fields below
 * @consumer: the consumer's file; written under adept_sessions_lock and @lock, read under either
 * @given_up: the session has no consumer and cannot be adopted any more
 * @orphan_ns: time at which the consumer closed its file, CLOCK_MONOTONIC
 * @policy: enum adept_policy
 * @next_ring: id that the next ring gets
 * @writers: number of mappings of the writer area
 * @views: number of the consumer's mappings, at most ADEPT_VIEWS_MAX
 * @rings: list of all rings
 * @ready: list of rings that have FILLED chunks; the consumer takes from the first one
 * @unread: number of chunks that are FILLED, TAKEN or CLEANING, in all rings
 * @stats: counters of the session
 * @wq: wait queue of a consumer that polls
 * @slots: array of geo.nslots entries
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
	struct mutex consumer_lock;	/* one command of the consumer at a time */
	struct rw_semaphore view_lock;	/* prevents removal of rings during faults in views */

	spinlock_t lock;		/* protects the fields below */
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

/* ---- inodes.c: file system for the inodes of sessions ---- */

/** adept_fs_file() - create and open an inode for @s; on success the inode owns @s */
struct file *adept_fs_file(struct adept_session *s);
/**
 * adept_fs_init() - register the file system
 * @fops: file operations of sessions
 * @destroy: called to free a session when the last reference to its inode is dropped
 */
int adept_fs_init(const struct file_operations *fops, void (*destroy)(struct adept_session *s));
void adept_fs_exit(void);

/* ---- session.c ---- */

/** adept_session_create() - create a session.  Return: its file descriptor or a negative errno */
int adept_session_create(const struct adept_session_create *c);
int adept_session_adopt(const struct adept_session_adopt *a);
int adept_session_list(struct adept_session_list *l);
void adept_session_info(struct adept_session *s, struct adept_session_info *i);
int adept_session_init(void);
void adept_session_exit(void);

/* ---- ring.c: rings and their memory ---- */

/**
 * adept_ring_prepare() - allocate a ring with its first chunk; sleeps
 *
 * The caller has charged the user for the ring.
 *
 * Return: NULL: no memory; the user is uncharged.
 */
struct adept_ring *adept_ring_prepare(struct adept_session *s);
/** adept_ring_install() - use a slot's spare ring for writes through @vma; under s->lock */
struct adept_ring *adept_ring_install(struct adept_session *s, u32 slot,
				      struct vm_area_struct *vma, const struct adept_context *ctx);
/** adept_ring_get() - get the ring of a slot with a new reference; NULL: the slot has no ring */
struct adept_ring *adept_ring_get(struct adept_session *s, u32 slot);
void adept_ring_put(struct adept_session *s, struct adept_ring *r);
/** adept_ring_free() - if @slot has ring @id, remove the ring from the slot and all mappings */
void adept_ring_free(struct adept_session *s, u32 slot, u32 id);
/** adept_ring_chunk() - allocate the pages of a chunk if it has none; sleeps; false: no memory */
bool adept_ring_chunk(struct adept_session *s, struct adept_ring *r, u32 chunk);
/** adept_ring_move() - copy @len bytes at @off in chunk @from to the start of chunk @to */
void adept_ring_move(struct adept_ring *r, u32 from, u32 off, u32 len, u32 to);
/** adept_ring_zero() - zero a chunk from offset @off to its end */
void adept_ring_zero(const struct adept_session *s, struct adept_ring *r, u32 chunk, u32 off);
/** adept_ring_consumer() - does the session have a consumer?  Caller holds s->lock */
enum adept_consumer adept_ring_consumer(const struct adept_session *s);
/** adept_ring_wake_writers() - wake all waiting writers, which then check their state again */
void adept_ring_wake_writers(struct adept_session *s);
/** adept_ring_free_dead() - free all DEAD rings (those whose writer has ended) of a session */
void adept_ring_free_dead(struct adept_session *s);
/** adept_ring_end() - set final state DEAD or ENDED, under s->lock; true: wake the consumer */
bool adept_ring_end(struct adept_session *s, struct adept_ring *r, u32 state);
/** adept_ring_chunk_filled() - count a FILLED chunk, under s->lock; true: wake the consumer */
bool adept_ring_chunk_filled(struct adept_session *s, struct adept_ring *r);
/**
 * adept_ring_map() - map the pages of a chunk into a mapping, as far as possible
 * @s: the session
 * @r: a ring of the session
 * @chunk: index of a chunk that has pages
 * @vma: a mapping of any part of the session's file
 * @off: file offset of the chunk in the area that @vma maps
 *
 * The mapping can begin or end within the chunk: only the pages that it covers are mapped.  All
 * computations are in page numbers of the file, because an address minus an offset could be
 * negative.
 */
void adept_ring_map(struct adept_session *s, struct adept_ring *r, u32 chunk,
		    struct vm_area_struct *vma, u64 off);

/* ---- writer_regs.c ---- */

/** adept_context_take() - read user registers and gs words at the current fault; never sleeps */
void adept_context_take(struct adept_context *ctx);
/** adept_context_fault_in() - read the words at the task's gs base into memory; sleeps */
void adept_context_fault_in(void);

/* ---- writer.c: the writers' mappings ---- */

int adept_writer_mmap(struct adept_session *s, struct vm_area_struct *vma);
/**
 * adept_writer_init() - prepare the writers' mappings
 * @unmapped: callback after a writer's mapping of an orphan was removed; must not sleep
 */
void adept_writer_init(void (*unmapped)(void));

/* ---- consumer_view.c: the consumer's mappings ---- */

int adept_view_mmap(struct adept_session *s, struct vm_area_struct *vma);

/* ---- consumer.c ---- */

long adept_consumer_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int adept_consumer_uring(struct io_uring_cmd *cmd, unsigned int issue_flags);
__poll_t adept_consumer_poll(struct file *file, poll_table *wait);

/* ---- limits.c ---- */

/**
 * adept_user_self() - get the user who is charged for sessions that the caller creates
 *
 * This is the caller's file system uid, which a daemon sets to the user that it works for.  In a
 * user namespace it is the user who created the outermost namespace, since all uids in it belong to
 * that user.  If root created the outermost namespace, the administrator has assigned the uids in
 * it, so each uid is charged separately.
 */
kuid_t adept_user_self(void);
/** adept_user_get() - get user @uid and count one more session.  Return: ERR_PTR: over a limit */
struct adept_user *adept_user_get(kuid_t uid);
void adept_user_put(struct adept_user *u);
kuid_t adept_user_uid(const struct adept_user *u);
bool adept_user_orphan(struct adept_user *u);
void adept_user_unorphan(struct adept_user *u);
/** adept_charge() - charge a user for the memory of a ring or of slots; false: over a limit */
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
	ADEPT_N_WRITER_WAITS,
	ADEPT_N_REFUSED,
	ADEPT_N_COUNTERS,
};

void adept_count(enum adept_counter which, s64 n);
extern const struct attribute_group *adept_count_groups[];

#endif

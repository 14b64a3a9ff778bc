/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recording: selects the values to store (placement.c), emits the stores (value_stores.c), and
 * manages the ring with records and events (ring.c, record_end.c) and the descriptors
 * (descriptors.c).  The translator calls the record_*() functions and does not depend on the code
 * that they emit.
 */
#ifndef ADEPT_ENGINE_RECORD_RECORD_H
#define ADEPT_ENGINE_RECORD_RECORD_H

#include "libdep/engine/base/maps.h"
#include "libdep/engine/emit/build.h"

/* Functions of placement.c. */
/** record_plan() - select the stores of @b and each exit's mask; may shorten the fragment */
void record_plan(struct build *b);
/** record_length() - size in bytes of a record with the first @nst stores, including its id */
u16 record_length(const struct build *b, unsigned int nst);
/** record_useful_regs() - registers that can save a store if recovery knows them at the entry */
u16 record_useful_regs(const struct build *b);

/* Functions of value_stores.c. */
/* emit the stores before instruction n */
void record_emit_before(struct build *b, unsigned int n);
void record_emit_after(struct build *b, unsigned int n);
/** record_emit_tag() - emit the store of exit @x's id and the step to the next record */
void record_emit_tag(struct build *b, unsigned int x, enum state_kind before);

/* Functions of descriptors.c. */
u32 record_alloc_exit_ids(unsigned int n);
/** record_forget_exits() - forget the allocated exit ids, which belong to the parent after fork */
void record_forget_exits(void);
/** record_forget_descriptors() - start with an empty descriptor ring in a new process */
void record_forget_descriptors(void);
/** record_go_on_after() - begin behind the descriptors that the injector has written */
void record_go_on_after(u64 described);
void record_describe(const struct build *b);
/** record_translation() - write the descriptor of @f's cache code, after record_describe() */
void record_translation(const struct build *b, const struct frag *f);
void record_message(const char *text);
/** record_log() - add a line to the engine's log; use LOG() or LOG_LOCKED() */
__attribute__((format(printf, 2, 3)))
void record_log(enum adept_log_area area, const char *fmt, ...);

/* Log a line if DEP_LOG enables the area; formats as in fatal().  The caller holds frag_lock. */
#define LOG_LOCKED(area, ...)							\
	do {									\
		if (unlikely(layout()->flags & ADEPT_S_LOG(area)))		\
			record_log(area, __VA_ARGS__);				\
	} while (0)

/*
 * As LOG_LOCKED(), but takes frag_lock.  Do not use it in the signal handler, which may have
 * interrupted the holder of the lock.
 */
#define LOG(area, ...)								\
	do {									\
		if (unlikely(layout()->flags & ADEPT_S_LOG(area))) {		\
			lock(&frag_lock);					\
			record_log(area, __VA_ARGS__);				\
			unlock(&frag_lock);					\
		}								\
	} while (0)

void record_map(const struct map_line *l);
void record_unmap(u64 start, u64 end);
/** record_removed() - if the collector wants to know: the fragment was removed, or will be */
void record_removed(const struct frag *f);
/** record_forking() - if the collector wants to know: the process forks now; holds frag_lock */
void record_forking(void);

/* Functions of ring.c; t->pp is the record pointer while a thread runs in the engine */
/** ring_init() - allocate the shared scratch chunk of unrecorded threads; 0: no memory */
int ring_init(void);
void ring_thread_start(struct tls *t, u32 tid, u32 parent_serial, u64 created_at);
/** ring_thread_unwanted() - @t begins, but is not to be recorded: it has no ring, and no loss */
void ring_thread_unwanted(struct tls *t);
void ring_thread_end(struct tls *t, u32 status);
/**
 * ring_thread_leave() - end the stream of a thread that will run natively
 *
 * @t is at a safe point, and has called ring_reserve_end(); it can be another thread.  What it
 * writes from now on is discarded.  The caller calls ring_wakeup() when all streams have ended.
 */
void ring_thread_leave(struct tls *t);
/** ring_thread_pause() - the same for a pause: the store says that it is one */
void ring_thread_pause(struct tls *t);
/**
 * ring_next_chunk() - publish the current chunk and begin the next chunk
 * @tail: where the current chunk ends; frag is 0 at a record boundary
 * @head: where the next chunk begins
 * @have: bytes of the unfinished record at t->pp that are stored so far
 *
 * t->regs must have the application's registers at this position.  Sets t->pp.  If @head.frag is
 * set, the unfinished record is copied to the new chunk.
 */
void ring_next_chunk(struct tls *t, const struct adept_position *tail,
		     const struct adept_position *head, u32 have);
/** ring_event() - append an event at a record boundary */
void ring_event(struct tls *t, u32 id, const void *payload, u32 size);
/**
 * ring_close_chunks() - make all rings inaccessible again: each chunk takes two mappings
 *
 * Those of the kernel module stay accessible.
 */
void ring_close_chunks(void);

/** ring_record_context() - append ADEPT_EV_CONTEXT: execution continues at @pc with t->regs */
void ring_record_context(struct tls *t, u64 pc);
/** ring_has_room() - whether the current chunk has room for @bytes more bytes */
int ring_has_room(struct tls *t, u32 bytes);
/** ring_guard_hit() - whether @addr is in the guard after @t's chunk */
int ring_guard_hit(const struct tls *t, u64 addr);
/**
 * ring_call_begin() - publish the system call that the thread will make (struct adept_call)
 *
 * The thread must not write to its ring before ring_call_end().
 */
void ring_call_begin(struct tls *t, u64 nr);
void ring_call_end(struct tls *t);
/** ring_reserve_end() - ensure room in this chunk for a context event and the thread's end event */
void ring_reserve_end(struct tls *t);
/**
 * ring_put_thread_end() - write an end event at @t's record pointer, without moving the pointer
 *
 * @t must be at a safe point; it can be another thread.  If @t writes nothing more, the event ends
 * its stream.  Does nothing if the chunk has no room.
 */
void ring_put_thread_end(struct tls *t, u32 status);
/** ring_remove_thread_end() - undo ring_put_thread_end() */
void ring_remove_thread_end(struct tls *t);
/** ring_wakeup() - wake the collector */
void ring_wakeup(void);
/** ring_thread_vanished() - release the slot of another thread that exited without an end event */
void ring_thread_vanished(struct tls *t);
/** collector_gone() - whether the collector has ended and no new one is expected to continue */
int collector_gone(void);

/* Functions of record_end.c. */
/**
 * ring_end_partial_record() - replace the record at t->pp by ADEPT_EV_PARTIAL
 * @f: fragment that the thread leaves
 * @n: number of instructions executed
 * @nst: number of values stored
 * @post: value of one more store after instruction @n - 1, or NULL
 * @extra: pointer register of the interrupted string instruction @n, or NULL
 */
void ring_end_partial_record(struct tls *t, struct frag *f, unsigned int n, unsigned int nst,
			     const u64 *post, const u64 *extra);
/**
 * ring_end_record() - finish the record at t->pp, whose values are stored, with the id of exit @x
 */
void ring_end_record(struct tls *t, const struct exit *x);
/** record_value_bytes() - size in bytes of the first @nst values of a record of fragment @f */
u32 record_value_bytes(const struct frag *f, unsigned int nst);

/* Functions of module_ring.c: rings with ADEPT_S_MODULE */
/** module_ring() - whether @t's ring belongs to the kernel module */
int module_ring(const struct tls *t);
/** module_find() - set t->chunk_base and t->chunk_end to the chunk of t->pp */
void module_find(struct tls *t);
/** module_next_chunk() - as ring_next_chunk(), but the next chunk begins at a record boundary */
void module_next_chunk(struct tls *t, const struct adept_position *tail, u32 have);
/** module_begin() - begin to use the ring of t->slot; returns 0 if its memory cannot be accessed */
int module_begin(struct tls *t);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rings of the kernel module: the consumer's side of a session of /dev/adept.
 *
 * Functions return 0 or a negative errno unless they say otherwise. All but dep_module_wake_on()
 * are called in the loop's thread.
 */
#ifndef ADEPT_COLLECT_MODULE_SESSION_H
#define ADEPT_COLLECT_MODULE_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"

struct dep_module;

/** struct dep_crossing - state of a thread at the end of a chunk; see struct adept_context */
struct dep_crossing {
	u64 clock_ns;
	u64 regs[16];		/* processor registers, before conversion to the application's */
	u64 fs_base;
	u64 words[8];		/* memory at the thread's gs base: ADEPT_GS_* */
	u32 record_at;		/* offset of the unfinished record in the chunk */
	u32 fault_at;		/* offset in the chunk of the first byte that did not fit */
	bool valid;		/* the module could read all fields */
};

/** struct dep_module_chunks - a filled chunk, owned by the consumer until it is returned */
struct dep_module_chunks {
	u32 slot, ring, index;
	u64 seq;
	u32 end;		/* size of the whole records in bytes */
	bool unfinished;	/* last chunk of the ring: valid up to the first zero id */
	u64 lost_chunks, lost_bytes;	/* chunks and bytes lost directly before this chunk */
	bool absent;			/* the chunks were lost because no consumer existed */
	struct dep_crossing head, tail;
	const u8 *body;		/* chunk_size bytes; they do not change unless @unfinished */
};

/** struct dep_ring_state - state of a ring, from struct adept_ring_info */
struct dep_ring_state {
	bool there;		/* the slot has a ring */
	bool ended;		/* the ring was flushed or unmapped */
	u32 ring;
	u64 seq;		/* number of the chunk being written, or of the last chunk */
	u32 index;
	u32 filled, taken;	/* chunks that can be taken; chunks taken and not returned */
	bool waiting;		/* the thread waits for a free chunk */
	u64 lost_chunks, lost_bytes;
};

/** dep_module_device() - open /dev/adept and check its version; a descriptor or negative errno */
int dep_module_device(void);
/**
 * dep_module_open() - create a session with the chunk sizes and slots of @layout
 * @charge: user whose limits the rings count against, or DEP_CHARGE_SELF
 *
 * Return: 0; -ENOENT, -EACCES, -ENODEV..: cannot open /dev/adept; -EPROTONOSUPPORT: the module has
 * another version; -EDQUOT: a limit of the user is reached; -EPERM: not allowed for user @charge.
 */
int dep_module_open(struct dep_module **m, const struct adept_session *layout, uid_t charge);
/**
 * dep_module_adopt() - take over session @id, whose consumer has ended
 *
 * Chunks that the earlier consumer had not returned can be taken again.
 *
 * Return: 0; -ENOENT: no such session; -EBUSY: the session has a consumer; -EPERM: the session
 * belongs to another user.
 */
int dep_module_adopt(struct dep_module **m, const struct adept_session *layout, u64 id);
/** dep_module_id() - id of the session, for dep_module_adopt() */
u64 dep_module_id(const struct dep_module *m);
/** dep_module_close() - end the session; programs that still run discard their records then */
void dep_module_close(struct dep_module *m);
/** dep_module_writer() - file descriptor that recorded processes reopen to write to rings */
int dep_module_writer(const struct dep_module *m);
/** dep_module_take() - take up to @n filled chunks, each ring's in order; returns their number */
u32 dep_module_take(struct dep_module *m, struct dep_module_chunks *out, u32 n);
/** dep_module_give() - return chunk @f to the module with the next dep_module_take() */
void dep_module_give(struct dep_module *m, const struct dep_module_chunks *f);
/** dep_module_state() - get the current state of the ring in @slot */
void dep_module_state(struct dep_module *m, u32 slot, struct dep_ring_state *out);
/** dep_module_current() - get the chunk that is being written, as unfinished; @s: ring's state */
void dep_module_current(const struct dep_module *m, u32 slot, const struct dep_ring_state *s,
			struct dep_module_chunks *out);
/** dep_module_flush() - the ring's thread has ended: make the current chunk the last one */
void dep_module_flush(struct dep_module *m, u32 slot, u32 ring);
/** dep_module_reset() - free the ring; chunks not taken are lost */
void dep_module_reset(struct dep_module *m, u32 slot, u32 ring);
/** dep_module_discard() - from now on let recorded threads discard their records */
void dep_module_discard(struct dep_module *m);
/** dep_module_fd() - a descriptor that is readable while there are filled chunks */
int dep_module_fd(const struct dep_module *m);
/** dep_module_wake_on() - wake futex @wakeup once, as soon as there are filled chunks */
void dep_module_wake_on(struct dep_module *m, u32 *wakeup);

#endif

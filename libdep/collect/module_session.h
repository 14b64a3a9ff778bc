/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rings of the kernel module: a session of /dev/adept and its only consumer.
 *
 * Functions return 0 or a negative errno unless they say otherwise, and are the loop's
 * but for dep_module_wake_on().
 */
#ifndef ADEPT_COLLECT_MODULE_SESSION_H
#define ADEPT_COLLECT_MODULE_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"

struct dep_module;

/** struct dep_crossing - a writer at the end of a chunk; see struct adept_context */
struct dep_crossing {
	u64 clock_ns;
	u64 regs[16];		/* of the processor, not yet the application's */
	u64 fs_base;
	u64 words[8];		/* at the thread's gs base: ADEPT_GS_* */
	u32 record_at;		/* offset in the chunk of the record begun */
	u32 fault_at;		/* ..of the byte that did not fit any more */
	bool valid;		/* all of it is known */
};

/** struct dep_module_chunks - a filled chunk, ours until it is given back */
struct dep_module_chunks {
	u32 slot, ring, index;
	u64 seq;
	u32 end;		/* bytes of whole records */
	bool unfinished;	/* the ring's last one: up to the first zero id */
	u64 lost_chunks, lost_bytes;	/* directly before it.. */
	bool absent;			/* ..for want of a consumer, and nothing else */
	struct dep_crossing head, tail;
	const u8 *body;		/* of chunk_size bytes; what is not unfinished does not change */
};

/** struct dep_ring_state - see struct adept_ring_info */
struct dep_ring_state {
	bool there;		/* the slot has a ring */
	bool ended;		/* it was flushed, or its mapping is gone */
	u32 ring;
	u64 seq;		/* of the chunk being written, or of the last one */
	u32 index;
	u32 filled, taken;	/* chunks to be taken, and those not given back */
	bool waiting;		/* its writer waits for one */
	u64 lost_chunks, lost_bytes;
};

/** dep_module_device() - open /dev/adept and compare versions: a descriptor, or what follows */
int dep_module_device(void);
/**
 * dep_module_open() - make a session of @layout's geometry
 * @charge: user whose limits it counts against, DEP_CHARGE_SELF: the thread's file system user
 *
 * -ENOENT, -EACCES, ENODEV..: as /dev/adept says; -EPROTONOSUPPORT: another version;
 * -EDQUOT: a limit of the user's is reached; -EPERM: @charge is another user.
 */
int dep_module_open(struct dep_module **m, const struct adept_session *layout, uid_t charge);
/**
 * dep_module_adopt() - take session @id over, which its consumer left
 *
 * What that one had taken and not given back is there to be taken once more.
 * -ENOENT: it is gone; -EBUSY: it has a consumer; -EPERM: it is another user's.
 */
int dep_module_adopt(struct dep_module **m, const struct adept_session *layout, u64 id);
/** dep_module_id() - for dep_module_adopt() */
u64 dep_module_id(const struct dep_module *m);
/** dep_module_close() - programs that still run discard from now on */
void dep_module_close(struct dep_module *m);
/** dep_module_writer() - the descriptor that recorded processes open once more */
int dep_module_writer(const struct dep_module *m);
/** dep_module_take() - up to @n filled chunks, in order for each ring; returns how many */
u32 dep_module_take(struct dep_module *m, struct dep_module_chunks *out, u32 n);
/** dep_module_give() - done with @f; sent with the next dep_module_take() at the latest */
void dep_module_give(struct dep_module *m, const struct dep_module_chunks *f);
/** dep_module_state() - of the ring in @slot, as it is now */
void dep_module_state(struct dep_module *m, u32 slot, struct dep_ring_state *out);
/** dep_module_current() - the chunk that @s says is being written, as an unfinished one */
void dep_module_current(const struct dep_module *m, u32 slot, const struct dep_ring_state *s,
			struct dep_module_chunks *out);
/** dep_module_flush() - its thread has ended: the chunk being written comes as the last */
void dep_module_flush(struct dep_module *m, u32 slot, u32 ring);
/** dep_module_reset() - free the ring; what is unread is lost */
void dep_module_reset(struct dep_module *m, u32 slot, u32 ring);
/** dep_module_discard() - writers keep nothing any more */
void dep_module_discard(struct dep_module *m);
/** dep_module_fd() - readable when there are filled chunks */
int dep_module_fd(const struct dep_module *m);
/** dep_module_wake_on() - ring @wakeup, a futex, once when there are filled chunks */
void dep_module_wake_on(struct dep_module *m, u32 *wakeup);

#endif

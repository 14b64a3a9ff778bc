// SPDX-License-Identifier: LGPL-2.1-or-later
#include "syscall_effects.h"
#include "libdep/engine/record/record.h"

#define K_MAP_KIND	0xfu	/* MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE */
#define K_IPC_STAT	2u

struct vector {
	u64 base, len;
};

struct message {
	u64 name, name_len;	/* name_len: only the lower 32 bits are valid */
	u64 vec, nvec;
	u64 control, control_len;
	u64 flags;
};

/* struct mmsghdr: a message of recvmmsg or sendmmsg */
struct counted {
	struct message m;
	u64 len;		/* only the lower 32 bits are valid */
};

/* Append a buffer event to the ring.  @room: number of buffer events that may still be appended. */
static void note(struct tls *t, u64 addr, u64 size, u32 *room)
{
	struct adept_ev_buffer ev = { addr, size };

	if (!addr || !size || !*room)
		return;
	--*room;
	ring_event(t, ADEPT_EV_BUFFER, &ev, sizeof(ev));
}

/* Append events for the first @left bytes of the @n I/O vectors at @at. */
static void vectors(struct tls *t, u64 at, u64 n, u64 left, u32 *room)
{
	struct vector v;

	for (; n-- && left && *room; at += sizeof(v)) {
		if (rt_copy_in(&v, (void *)at, sizeof(v)) != sizeof(v))
			return;
		if (v.len > left)
			v.len = left;
		note(t, v.base, v.len, room);
		left -= v.len;
	}
}

/*
 * Append events for the buffers of one message.
 *
 * The name of a received message is left out: then name_len is the full length of the name, not the
 * number of bytes stored.
 */
static void message(struct tls *t, const struct message *m, u64 left, int sent, u32 *room)
{
	if (sent)
		note(t, m->name, (u32)m->name_len, room);
	note(t, m->control, m->control_len, room);
	vectors(t, m->vec, m->nvec, left, room);
}

static void one_message(struct tls *t, const struct adept_ev_syscall *c, u32 *room)
{
	struct message m;

	if (rt_copy_in(&m, (void *)c->args[1], sizeof(m)) == sizeof(m))
		message(t, &m, c->result, c->nr == __NR_sendmsg, room);
}

static void messages(struct tls *t, const struct adept_ev_syscall *c, u32 *room)
{
	struct counted m;
	u64 i;

	for (i = 0; i < c->result && *room; i++) {
		if (rt_copy_in(&m, (void *)(c->args[1] + i * sizeof(m)), sizeof(m)) != sizeof(m))
			return;
		message(t, &m.m, (u32)m.len, c->nr == __NR_sendmmsg, room);
	}
}

static void mapped(struct tls *t, const struct adept_ev_syscall *c)
{
	struct { u64 dev, inode, other[4], size, rest[11]; } st;
	u64 kind = c->args[3] & K_MAP_KIND;
	struct adept_ev_shared ev;

	if (kind == K_MAP_PRIVATE || c->args[3] & K_MAP_ANON ||
	    sys2(__NR_fstat, c->args[4], (u64)&st) < 0)
		return;
	ev = (struct adept_ev_shared){ st.dev, st.inode, st.size };
	ring_event(t, ADEPT_EV_SHARED, &ev, sizeof(ev));
}

static void attached(struct tls *t, const struct adept_ev_syscall *c)
{
	struct { u64 perm[6], size, other[8]; } ds;
	struct adept_ev_shared ev = { ADEPT_SHARED_SYSV, c->args[0], 0 };

	if (sys3(__NR_shmctl, c->args[0], K_IPC_STAT, (u64)&ds) >= 0)
		ev.size = ds.size;
	ring_event(t, ADEPT_EV_SHARED, &ev, sizeof(ev));
}

void syscall_effects_record(struct tls *t, const struct adept_ev_syscall *c)
{
	u32 room = ADEPT_BUFFERS;

	if ((s64)c->result <= 0)
		return;
	switch (c->nr) {
	case __NR_readv:
	case __NR_writev:
	case __NR_preadv:
	case __NR_pwritev:
	case __NR_preadv2:
	case __NR_pwritev2:
	case __NR_vmsplice:
	case __NR_process_vm_readv:
	case __NR_process_vm_writev:
		vectors(t, c->args[1], c->args[2], c->result, &room);
		break;
	case __NR_sendmsg:
	case __NR_recvmsg:
		one_message(t, c, &room);
		break;
	case __NR_sendmmsg:
	case __NR_recvmmsg:
		messages(t, c, &room);
		break;
	case __NR_mmap:
		mapped(t, c);
		break;
	case __NR_shmat:
		attached(t, c);
		break;
	}
}

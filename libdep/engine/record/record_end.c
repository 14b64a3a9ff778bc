// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ends records whose exit stores no id: the thread left the fragment in the middle, or takes the
 * exit in the engine.
 */
#include "record.h"

static const struct adept_position boundary;

u32 record_value_bytes(const struct frag *f, unsigned int nst)
{
	if (!nst)
		return 0;
	const u16 *off = heap_at(f->store_off);

	return f->store_off ? off[nst] - 4u : 8 * nst;
}

/*
 * Return 1 if the chunk has room for @bytes.  Otherwise end the chunk and return 0.  The chunk's
 * end then says where in fragment @f the thread is: instructions before @insn are done and @nst
 * values are stored; @extra is the value of one more store, as in struct adept_position.
 */
static int room_or_tail(struct tls *t, u32 bytes, const struct frag *f, unsigned int insn,
			unsigned int nst, const u64 *extra)
{
	struct adept_position tail = {
		.frag = f->first_exit, .insn = (u16)insn, .nvals = (u16)nst,
		.has_extra = extra != NULL, .extra = extra ? *extra : 0,
	};

	if (ring_has_room(t, bytes))
		return 1;
	ring_next_chunk(t, &tail, &boundary, 4 + record_value_bytes(f, nst));
	return 0;
}

/*
 * Whether the kernel module has just moved the unfinished record to a new chunk.  The next event
 * in that chunk must then name the fragment of this record (collect/chunk_end.h).
 */
static int just_moved(struct tls *t)
{
	if (!module_ring(t))
		return 0;
	module_find(t);
	return t->pp == t->chunk_base;
}

void ring_end_partial_record(struct tls *t, struct frag *f, unsigned int n, unsigned int nst,
			     const u64 *post, const u64 *extra)
{
	struct adept_ev_partial p = {
		.frag = f->first_exit,
		.ninsns = (u16)n,
		.has_extra = extra != NULL,
		.val_bytes = record_value_bytes(f, nst),
		.extra = extra ? *extra : 0,
	};
	u8 values[ADEPT_MAX_RECORD + 8];
	u8 *at;

	if (!recording() || (!n && !nst && !extra && !just_moved(t)))
		return;
	if (!room_or_tail(t, 4 + sizeof(p) + p.val_bytes + 8, f, n, nst, extra ? extra : post))
		return;
	memcpy(values, (void *)(t->pp + 4), p.val_bytes);
	if (post) {
		memcpy(values + p.val_bytes, post, 8);
		p.val_bytes += 8;
	}
	at = (u8 *)t->pp;
	memcpy(at + 4, &p, sizeof(p));
	memcpy(at + 4 + sizeof(p), values, p.val_bytes);
	__atomic_store_n((u32 *)at, ADEPT_EV_PARTIAL, __ATOMIC_RELEASE);
	t->pp += 4 + sizeof(p) + p.val_bytes;
}

void ring_end_record(struct tls *t, const struct exit *x)
{
	if (!recording())
		return;
	/* The record pointer may be at the chunk's end, where even the id does not fit. */
	if (!room_or_tail(t, x->reclen, exit_frag(x), x->ninsns, x->nstores, NULL))
		return;
	__atomic_store_n((u32 *)t->pp, exit_frag(x)->first_exit + exit_index(x), __ATOMIC_RELEASE);
	t->pp += x->reclen;
}

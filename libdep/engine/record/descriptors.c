// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Descriptors of fragments and mappings, messages, and the engine's log.  They go to the process's
 * descriptor ring, which is written under frag_lock.  If it is full, the writer waits for the
 * collector.
 */
#include <stdarg.h>
#include "isolate.h"
#include "record.h"
#include "libdep/engine/base/prefault.h"

static u32 next_exit, exits_left;
/* private copy of the slot's desc_head, which other processes could change */
static u64 desc_head;
static u64 desc_ready;	/* pages of the ring below this address are populated */

void record_forget_descriptors(void)
{
	desc_head = desc_ready = 0;
}

void record_go_on_after(u64 described)
{
	desc_head = described;
}

void record_forget_exits(void)
{
	exits_left = 0;
}

u32 record_alloc_exit_ids(unsigned int n)
{
	u32 first;

	/* Without a slot no fragment gets a descriptor, so use none of the session's ids. */
	if (!has_slot())
		return ADEPT_FIRST_EXIT;
	if (exits_left < n) {
		first = __atomic_fetch_add(&session()->next_exit, ADEPT_EXIT_BATCH,
					   __ATOMIC_RELAXED);
		if (!isolate_may_use_exit(first))
			return ADEPT_NO_EXITS;
		next_exit = first;
		exits_left = ADEPT_EXIT_BATCH;
	}
	first = next_exit;
	next_exit += n;
	exits_left -= n;
	return first;
}

/*
 * Wait for @size free bytes in the descriptor ring.  Return: 0 if the collector is gone, or if
 * desc_tail is inconsistent.
 */
static int wait_for_space(struct adept_proc *p, u64 head, u32 size)
{
	static const s64 second[2] = { 1, 0 };
	struct adept_session *s = session();

	for (;;) {
		u32 seen = __atomic_load_n(&p->desc_space, __ATOMIC_SEQ_CST);
		u64 tail = __atomic_load_n(&p->desc_tail, __ATOMIC_ACQUIRE);

		if (head + size - tail <= layout()->desc_size)
			return 1;
		/* The collector never writes such a value: desc_tail was corrupted. */
		if (head - tail > layout()->desc_size)
			return 0;
		if (collector_gone())
			return 0;
		__atomic_store_n(&p->desc_waits, 1, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&s->wakeup, 1, __ATOMIC_SEQ_CST);
		futex_wake(&s->wakeup, 1);
		futex_wait(&p->desc_space, seen, second);
		__atomic_store_n(&p->desc_waits, 0, __ATOMIC_RELAXED);
	}
}

/*
 * Count a descriptor that could not be written to the ring.  Recovery cannot use the records of a
 * fragment without a descriptor.
 */
static void count_lost(void)
{
	__atomic_add_fetch(&session()->lost_descriptors, 1, __ATOMIC_RELAXED);
}

/*
 * Append @size bytes (a multiple of 8) at @data to the ring, contiguously.  If this fails, count
 * the descriptor as lost.
 */
static void append(const void *data, u32 size)
{
	u32 room = layout()->desc_size;
	u8 *ring = (u8 *)(boot.session + layout()->desc_off) + (u64)boot.proc * room;
	struct adept_proc *p = proc_slot();
	u64 head = desc_head;
	u32 at = head & (room - 1);

	/*
	 * Without a slot no thread of the process has a ring, so no record refers to the fragments.
	 */
	if (!has_slot())
		return;
	if (at + size > room) {
		struct adept_desc pad = { room - at, ADEPT_DESC_PAD };

		if (!wait_for_space(p, head, pad.size))
			goto lost;
		memcpy(ring + at, &pad, sizeof(pad));
		head += pad.size;
		desc_head = head;
		__atomic_store_n(&p->desc_head, head, __ATOMIC_RELEASE);
		at = 0;
	}
	if (!wait_for_space(p, head, size))
		goto lost;
	prefault_ahead(&desc_ready, (u64)ring + at, (u64)ring + at + size, (u64)ring + room);
	memcpy(ring + at, data, size);
	desc_head = head + size;
	__atomic_store_n(&p->desc_head, desc_head, __ATOMIC_RELEASE);
	return;

lost:
	count_lost();
}

#define FRAG_DESC_MAX	(sizeof(struct adept_desc_frag) + MAX_RUNS * sizeof(struct adept_run) + \
			 MAX_EXITS * sizeof(struct adept_exit) + \
			 MAX_STORES * sizeof(struct adept_store) + MAX_INSNS * 16 + 4200)
#define CODE_DESC_MAX	(sizeof(struct adept_desc_translation) + \
			 MAX_STATES * sizeof(struct adept_code_place) + 2 * FRAG_MAX + 8)
#define DESC_MAX	(FRAG_DESC_MAX > CODE_DESC_MAX ? FRAG_DESC_MAX : CODE_DESC_MAX)

static u8 buf[DESC_MAX] __attribute__((aligned(8)));

static u8 *put(u8 *at, const void *src, size_t n)
{
	memcpy(at, src, n);
	return at + n;
}

static u32 finish(u8 *end)
{
	u32 size;

	while ((u64)(end - buf) & 7)
		*end++ = 0;
	size = (u32)(end - buf);
	memcpy(buf, &size, 4);
	return size;
}

void record_describe(const struct build *b)
{
	struct adept_desc_frag d = {
		.h.type = ADEPT_DESC_FRAGMENT,
		.first_exit = b->first_exit,
		.nexits = (u16)b->nrecorded,
		.nruns = (u16)(b->n ? b->nruns : 0),
		.ninsns = (u16)b->n,
		.nstores = (u16)b->nstores,
		.entry_mask = b->mask,
	};
	u8 *at = buf + sizeof(d);

	if (b->first_exit >= ADEPT_NO_EXITS) {
		count_lost();
		return;
	}
	for (u32 i = 0; i < d.nruns; i++)
		at = put(at, &b->runs[i], sizeof(b->runs[i]));
	for (u32 i = 0; i < b->nrecorded; i++) {
		const struct build_exit *x = &b->exits[i];
		struct adept_exit e = {
			.ninsns = x->ninsns,
			.nstores = x->nstores,
			.mask = x->mask,
			.kind = x->kind,
			.at_id = x->at_id,
			.target = x->target,
		};

		at = put(at, &e, sizeof(e));
	}
	at = put(at, b->stores, b->nstores * sizeof(b->stores[0]));
	for (u32 i = 0; i < b->n; i++) {
		at = put(at, b->ins[i].raw, b->ins[i].in.len);
		d.code_len = (u16)(d.code_len + b->ins[i].in.len);
	}
	memcpy(buf, &d, sizeof(d));
	append(buf, finish(at));
}

static u8 code_kind(const struct build *b, const struct state_entry *x)
{
	/* Code after the last instruction, as the jumps that exits.c adds after loop and jrcxz. */
	if (x->insn >= b->n && x->kind <= STATE_GS_DONE)
		return ADEPT_CODE_EXIT;
	switch (x->kind) {
	case STATE_RUN:
		return ADEPT_CODE_COPY;
	case STATE_STORE:
	case STATE_FOLLOWING:
	case STATE_MANGLE:
	case STATE_DONE:
	case STATE_DONE_R15:
	case STATE_GS:
	case STATE_GS_DONE:
		return ADEPT_CODE_ADDED;
	case STATE_DATA:
		return ADEPT_CODE_DATA;
	}
	return x->kind >= STATE_ENTRY_CALL ? ADEPT_CODE_ENTRY : ADEPT_CODE_EXIT;
}

/*
 * Convert the state table to @p.  Entries without code are left out; the last entry of the hot part
 * may be such an entry.  Return: the number of places.
 */
static u32 code_places(struct adept_code_place *p, const struct build *b, const struct frag *f)
{
	u32 n = 0;

	for (u32 i = 0; i < b->nstates; i++) {
		const struct state_entry *x = &b->state_entry[i];
		u32 off = x->off < COLD_OFFSET ? x->off : x->off - COLD_OFFSET + f->hot_len;

		if (n && p[n - 1].off == off)
			n--;
		if (off < (u32)f->hot_len + f->cold_len)
			p[n++] = (struct adept_code_place){ (u16)off, x->insn, code_kind(b, x) };
	}
	return n;
}

void record_translation(const struct build *b, const struct frag *f)
{
	struct adept_desc_translation d = {
		.h.type = ADEPT_DESC_TRANSLATION,
		.first_exit = b->first_exit,
		.hot_len = f->hot_len, .cold_len = f->cold_len,
		.hot = (u64)f->start, .cold = (u64)f->cold,
	};
	u8 *at = buf + sizeof(d);

	if (b->first_exit >= ADEPT_NO_EXITS)
		return;
	d.nplaces = code_places((struct adept_code_place *)at, b, f);
	memcpy(buf, &d, sizeof(d));
	at += d.nplaces * sizeof(struct adept_code_place);
	at = put(at, f->start, f->hot_len);
	append(buf, finish(put(at, f->cold, f->cold_len)));
}

void record_message(const char *text)
{
	struct adept_desc h = { .type = ADEPT_DESC_MESSAGE };

	memcpy(buf, &h, sizeof(h));
	append(buf, finish(put(buf + sizeof(h), text, strlen(text) + 1)));
}

void record_log(enum adept_log_area area, const char *fmt, ...)
{
	struct adept_desc_log d = {
		.h.type = ADEPT_DESC_LOG, .time_ns = rt_now(), .tid = tls_self()->tid, .area = area,
	};
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	rt_vformat(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(buf, &d, sizeof(d));
	append(buf, finish(put(buf + sizeof(d), text, strlen(text) + 1)));
}

void record_map(const struct map_line *l)
{
	struct adept_desc_map d = {
		.h.type = ADEPT_DESC_MAP, .start = l->start, .end = l->end, .offset = l->offset,
		.dev = l->dev, .inode = l->inode, .prot = l->prot, .time_ns = rt_now(),
	};

	memcpy(buf, &d, sizeof(d));
	append(buf, finish(put(buf + sizeof(d), l->path, strlen(l->path) + 1)));
}

void record_unmap(u64 start, u64 end)
{
	struct adept_desc_unmap d = {
		.h = { sizeof(d), ADEPT_DESC_UNMAP },
		.start = start, .end = end, .time_ns = rt_now(),
	};

	append(&d, sizeof(d));
}

void record_removed(const struct frag *f)
{
	struct adept_desc_removed d = {
		.h = { sizeof(d), ADEPT_DESC_REMOVED }, .first_exit = f->first_exit,
	};

	if (!layout()->tell_removed || !recording() || f->first_exit >= ADEPT_NO_EXITS)
		return;
	d.time_ns = rt_now();
	append(&d, sizeof(d));
}

void record_forking(void)
{
	struct adept_desc_forked d = { .h = { sizeof(d), ADEPT_DESC_FORKED } };

	if (!layout()->tell_removed || !recording())
		return;
	d.time_ns = rt_now();
	append(&d, sizeof(d));
}

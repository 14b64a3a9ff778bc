// SPDX-License-Identifier: LGPL-2.1-or-later
#include "record.h"
#include "triggers.h"
#include "libdep/engine/emit/build.h"
#include "libdep/engine/hooks/hooks.h"

static const struct adept_triggers *triggers(void)
{
	return &layout()->triggers;
}

static int is_used(u32 number)
{
	return triggers()->of[number].glob[0] != '\0';
}

/* Does @name match @glob, in which * stands for any text and ? for one character? */
static int matches(const char *glob, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*glob == '*') {
			star = ++glob;
			from = name;
		} else if (*glob == *name || *glob == '?') {
			glob++;
			name++;
		} else if (star) {
			glob = star;
			name = ++from;
		} else {
			return 0;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

static void found(void *arg, u64 pc, const char *name)
{
	const struct map_line *l = arg;

	if (pc - l->start >= l->end - l->start)
		return;
	for (u32 i = 0; i < ADEPT_TRIGGERS; i++)
		if (is_used(i) && matches(triggers()->of[i].glob, name)) {
			hook_set_trigger(pc, (u8)i);
			return;
		}
}

/* Watch the functions that the recorder has found in this file. */
static void watch_places(const struct map_line *l)
{
	const struct adept_triggers *g = triggers();
	u64 at;

	if (!l->inode || l->inode != g->inode || l->dev != g->dev)
		return;
	for (u32 i = 0; i < g->nplaces && i < ADEPT_TRIGGER_PLACES; i++) {
		at = g->place[i].offset - l->offset;
		if (at < l->end - l->start && g->place[i].number < ADEPT_TRIGGERS)
			hook_set_trigger(l->start + at, (u8)g->place[i].number);
	}
}

void triggers_scan_module(u64 base, const struct map_line *l)
{
	if (!recording() || !is_used(0))
		return;
	watch_places(l);
	if (base)
		hooks_each_elf(base, found, (void *)l);
}

void triggers_emit_check(struct build *b)
{
	struct build_exit *x = &b->exits[b->nexits++];
	u8 *start = b->e.p;

	*x = (struct build_exit){ .kind = X_WATCH, .target = b->pc, .mask = b->mask };
	emit_state(b, STATE_ENTRY, 0, X86_NONE, X86_NONE, X86_NONE);
	emit8(&b->e, 0xe9);
	emit32(&b->e, 0);
	x->patch = b->e.p - 4;
	b->check = (u8)(b->e.p - start);
}

/* Tell the collector.  A trigger that it has not seen yet is replaced. */
static void pull(struct tls *t, u32 number, u64 ns)
{
	if (!t->ring)
		return;
	__atomic_store_n(&t->ring->trigger, (number + 1) | ns / 1000 << ADEPT_TRIGGER_BITS,
			 __ATOMIC_RELEASE);
	ring_wakeup();
}

/* Publish the innermost call, which may take forever. */
static void publish(struct tls *t)
{
	u64 word = 0;

	if (!t->ring)
		return;
	if (t->nslow)
		word = (t->slow[t->nslow - 1].number + 1) |
		       t->slow[t->nslow - 1].since_ns / 1000 << ADEPT_TRIGGER_BITS;
	__atomic_store_n(&t->ring->calling, word, __ATOMIC_RELEASE);
}

/* Forget calls that have returned, or that longjmp() has left: their frames are below @sp. */
static void drop_below(struct tls *t, u64 sp)
{
	while (t->nslow && t->slow[t->nslow - 1].sp < sp)
		t->nslow--;
}

/* A function of trigger @number has been called.  Return: as triggers_meet(). */
static u64 called(struct tls *t, u32 number)
{
	u64 sp = t->regs[X86_RSP], ret;

	if (!triggers()->of[number].slow_ns) {
		pull(t, number, 0);
		return 0;
	}
	drop_below(t, sp + 1);
	if (rt_copy_in(&ret, (void *)sp, 8) != 8)
		return 0;
	if (t->nslow == SLOW_CALLS) {
		memmove(&t->slow[0], &t->slow[1], sizeof(t->slow[0]) * (SLOW_CALLS - 1));
		t->nslow--;
	}
	t->slow[t->nslow].sp = sp;
	t->slow[t->nslow].since_ns = rt_now();
	t->slow[t->nslow++].number = number;
	publish(t);
	return hook_watch_return(ret) ? ret : 0;
}

static void returned(struct tls *t)
{
	u64 sp = t->regs[X86_RSP], took;
	u32 number;

	drop_below(t, sp - 8);
	if (!t->nslow || t->slow[t->nslow - 1].sp != sp - 8)
		return;
	number = t->slow[--t->nslow].number;
	publish(t);
	took = rt_now() - t->slow[t->nslow].since_ns;
	if (took >= triggers()->of[number].slow_ns)
		pull(t, number, took);
}

u64 triggers_meet(struct tls *t, u64 pc)
{
	u8 number = hook_trigger(pc);

	if (t->nslow)
		returned(t);
	return number ? called(t, number - 1u) : 0;
}

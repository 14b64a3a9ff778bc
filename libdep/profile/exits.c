// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/fold/code.h"
#include "exits.h"

#define RECORDS_MAX	(1u << 31)	/* counters have 32 bits */
#define EXITS_MIN	(1u << 16)	/* rows of exits before the first compaction */

/*
 * struct hot - the counters of an exit
 * @count: successive records use them in turn: a counter can be read again only some cycles after
 *	it was written, and many loops repeat one exit
 */
struct hot {
	u32 count[2];
};

/*
 * What is needed of an exit for each record, in a byte, so that this of all exits stays in the
 * cache: the number of instructions, and INDIRECT.
 */
#define INDIRECT	0x80u
#define INSNS		0x7fu	/* this number or more */

/** struct pair - an indirect exit and the fragment that was executed next */
struct pair {
	u32 exit, fragment;
	u64 count;		/* 0: none */
};

/** struct sequence - the counter of a sequence of exits, and their instructions */
struct sequence {
	u32 count;
	u32 insns : 31;
	u32 indirect : 1;	/* the last exit is */
};

#define AHEAD	16u	/* counters of sequences are loaded so early */

struct dep_exits {
	const struct dep_fragments *code;
	struct dep_store *store;
	struct dep_exits_owner owner;
	u32 records;			/* counted since the last dep_exits_keep() */
	struct hot *hot;		/* by the number of the exit */
	u8 *brief;			/* the same: instructions and INDIRECT */
	u32 *touched;			/* exits whose counters are not zero, each at most twice */
	size_t ntouched;
	struct sequence *sequence;	/* by number */
	u32 (*members)[DEP_FOLD_SEQUENCE];	/* by number: the exits */
	u32 nsequences;			/* known numbers are below this */
	u32 *repeated;			/* numbers of sequences whose counters are not zero */
	u32 nrepeated;
	size_t compact_at;		/* number of rows of exits */
	struct pair pair[DEP_PAIRS];
	u32 used[DEP_PAIRS];		/* indices in @pair of the counters that are not 0 */
	u32 nused;
};

void dep_exits_free(struct dep_exits *x)
{
	if (!x)
		return;
	free(x->hot);
	free(x->brief);
	free(x->touched);
	free(x->sequence);
	free(x->members);
	free(x->repeated);
	free(x);
}

static u8 brief_of(const struct dep_code_exit *e)
{
	return (u8)((e->insns < INSNS ? e->insns : INSNS) | (e->target ? 0 : INDIRECT));
}

struct dep_exits *dep_exits_new(const struct dep_fragments *code)
{
	struct dep_exits *x = calloc(1, sizeof(*x));
	u32 i;

	if (!x)
		return NULL;
	x->code = code;
	x->store = dep_code_made(code)->store;
	x->compact_at = EXITS_MIN;
	x->hot = calloc(code->nexits, sizeof(*x->hot));
	x->brief = malloc(code->nexits);
	x->touched = malloc(2ul * code->nexits * sizeof(*x->touched));
	x->sequence = malloc(DEP_FOLD_SEQUENCES * sizeof(*x->sequence));
	x->members = malloc(DEP_FOLD_SEQUENCES * sizeof(*x->members));
	x->repeated = malloc(DEP_FOLD_SEQUENCES * sizeof(*x->repeated));
	x->nsequences = 1;
	if (!x->hot || !x->brief || !x->touched || !x->sequence || !x->members || !x->repeated) {
		dep_exits_free(x);
		return NULL;
	}
	for (i = 0; i < code->nexits; i++)
		x->brief[i] = brief_of(&code->exit[i]);
	return x;
}

void dep_exits_begin(struct dep_exits *x, const struct dep_exits_owner *o)
{
	x->owner = *o;
}

/* ---- targets of indirect branches ---- */

static int keep_pair(struct dep_exits *x, struct pair *slot)
{
	const struct dep_code_fragment *f = &x->code->fragment[slot->fragment];
	const struct dep_exits_owner *o = &x->owner;
	const struct dep_counter key = {
		.a = f->pc, .b = slot->exit, .c = o->process, .d = slot->fragment, .e = o->interval,
	};
	int err = slot->count ? dep_count_add(&o->all->pairs, &key, slot->count) : 0;

	slot->count = 0;
	return err;
}

/* Fragment @next was executed @count times after the indirect branch of @exit. */
static inline int add_pair(struct dep_exits *x, u32 exit, u32 next, u64 count)
{
	u32 at = (exit * 61u ^ next * 7u) % DEP_PAIRS;
	struct pair *slot = &x->pair[at];
	int err;

	if (slot->exit == exit && slot->fragment == next && slot->count) {
		slot->count += count;
		return 0;
	}
	if (!slot->count)
		x->used[x->nused++] = at;
	err = keep_pair(x, slot);
	*slot = (struct pair){ .exit = exit, .fragment = next, .count = count };
	return err;
}

static int keep_pairs(struct dep_exits *x)
{
	int err = 0;
	u32 i;

	for (i = 0; i < x->nused && !err; i++)
		err = keep_pair(x, &x->pair[x->used[i]]);
	x->nused = 0;
	return err;
}

/* ---- keep ---- */

static void add_to_thread(struct dep_thread_count *t, const struct dep_code_exit *e, u64 count)
{
	t->insns += count * e->insns;
	t->refs += count * e->refs;
	t->records += count;
	if (e->branch == DEP_BRANCH_CALL || e->branch == DEP_BRANCH_CALL_INDIRECT)
		t->calls += count;
	else if (e->branch == DEP_BRANCH_RETURN)
		t->returns += count;
	else if (e->branch == DEP_BRANCH_SYSCALL)
		t->syscalls += count;
}

/* Add @count to the counter of an exit that is in a sequence. */
static void add_to_exit(struct dep_exits *x, u32 exit, u32 count)
{
	struct hot *h = &x->hot[exit];

	if (!h->count[0] && !h->count[1])
		x->touched[x->ntouched++] = exit;
	h->count[0] += count;
}

/* Add the counters of sequences to those of their exits, and to the targets of indirect ones. */
static int keep_sequences(struct dep_exits *x)
{
	const struct dep_code_exit *all = x->code->exit;
	const u32 *exit;
	int err = 0;
	u32 i, k, count;

	for (i = 0; i < x->nrepeated && !err; i++) {
		exit = x->members[x->repeated[i]];
		count = x->sequence[x->repeated[i]].count;
		x->sequence[x->repeated[i]].count = 0;
		for (k = 0; k < DEP_FOLD_SEQUENCE && !err; k++) {
			add_to_exit(x, exit[k], count);
			if (k + 1 < DEP_FOLD_SEQUENCE && !all[exit[k]].target)
				err = add_pair(x, exit[k], all[exit[k + 1]].fragment, count);
		}
	}
	x->nrepeated = 0;
	return err;
}

static int keep_exits(struct dep_exits *x)
{
	const struct dep_exits_owner *o = &x->owner;
	struct dep_table *rows = &o->all->exits;
	struct dep_exit_total *row;
	struct hot *h;
	size_t i;
	u64 count;
	int err;

	for (i = 0; i < x->ntouched; i++) {
		h = &x->hot[x->touched[i]];
		count = (u64)h->count[0] + h->count[1];
		if (!count)
			continue;
		h->count[0] = h->count[1] = 0;
		row = dep_table_add(rows, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->process = o->process;
		row->exit = x->touched[i];
		row->interval = o->interval;
		row->count = count;
		add_to_thread(o->thread, &x->code->exit[row->exit], count);
	}
	x->ntouched = 0;
	x->records = 0;
	if (rows->n < x->compact_at)
		return 0;
	err = dep_counts_compact(o->all, x->store);
	x->compact_at = 2 * rows->n > EXITS_MIN ? 2 * rows->n : EXITS_MIN;
	return err;
}

int dep_exits_keep(struct dep_exits *x, bool pairs)
{
	int err;

	if (!x->owner.all)
		return 0;
	err = keep_sequences(x);
	if (!err)
		err = keep_exits(x);
	if (!err && pairs)
		err = keep_pairs(x);
	return err;
}

int dep_exits_forget(struct dep_exits *x)
{
	x->nsequences = 1;
	return keep_sequences(x);
}

/* ---- count ---- */

/* Count an exit in counter @which; return its number of instructions, at most INSNS. */
static inline u32 count_exit(struct dep_exits *x, struct hot *h, u8 brief, u32 exit, u32 which)
{
	if (!h->count[which]++)
		x->touched[x->ntouched++] = exit;
	return brief & INSNS;
}

/* Count the targets of the indirect exits, and the instructions of exits with INSNS or more. */
static int count_special(struct dep_exits *x, const u32 *exit, const u32 *at, size_t n, u64 *insns)
{
	const struct dep_code_exit *all = x->code->exit, *e;
	int err = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		e = all + exit[at[i]];
		if ((x->brief[exit[at[i]]] & INSNS) == INSNS)
			*insns += e->insns - INSNS;
		if (!e->target)
			err |= add_pair(x, exit[at[i]], all[exit[at[i] + 1]].fragment, 1);
	}
	return err ? -ENOMEM : 0;
}

static int count_exits(struct dep_exits *x, const u32 *exit, size_t n, u64 *insns)
{
	u32 special[DEP_FOLD_BATCH];	/* indices of exits that need more than this loop */
	struct hot *hot = x->hot;
	const u8 *brief = x->brief;
	size_t i, nspecial = 0;
	u64 sum = 0;
	u8 b;

	for (i = 0; i + 1 < n; i++) {
		b = brief[exit[i]];
		sum += count_exit(x, hot + exit[i], b, exit[i], i & 1);
		special[nspecial] = (u32)i;
		nspecial += b >= INSNS;
	}
	b = brief[exit[i]];
	sum += count_exit(x, hot + exit[i], b, exit[i], i & 1);
	if ((b & INSNS) == INSNS)
		sum += x->code->exit[exit[i]].insns - INSNS;
	*insns += sum;
	return count_special(x, exit, special, nspecial, insns);
}

static void learn_sequence(struct dep_exits *x, u32 number, const u32 *exit)
{
	struct sequence *s = &x->sequence[number];
	u32 i, insns = 0;

	for (i = 0; i < DEP_FOLD_SEQUENCE; i++)
		insns += x->code->exit[exit[i]].insns;
	s->count = 0;
	s->insns = insns & INT32_MAX;
	s->indirect = !!(x->brief[exit[i - 1]] & INDIRECT);
	memcpy(x->members[number], exit, sizeof(*x->members));
	x->nsequences++;
}

/*
 * Count sequences up to one without number; *@at is behind them.  The record behind each of them
 * shows where its last branch went.  The batch has @n exits.
 */
static int count_numbered(struct dep_exits *x, const u32 *exit, size_t n, const u32 *sequence,
			  size_t *at, u64 *insns)
{
	const struct dep_code_exit *all = x->code->exit;
	size_t i = *at / DEP_FOLD_SEQUENCE, end = n / DEP_FOLD_SEQUENCE, next;
	struct sequence *s;
	u64 sum = 0;
	int err = 0;

	for (; i < end && sequence[i] && !err; i++) {
		if (i + AHEAD < end)
			__builtin_prefetch(x->sequence + sequence[i + AHEAD]);
		s = &x->sequence[sequence[i]];
		next = (i + 1) * DEP_FOLD_SEQUENCE;
		if (sequence[i] == x->nsequences)
			learn_sequence(x, sequence[i], exit + next - DEP_FOLD_SEQUENCE);
		if (!s->count++)
			x->repeated[x->nrepeated++] = sequence[i];
		sum += s->insns;
		if (s->indirect && next < n)
			err = add_pair(x, exit[next - 1], all[exit[next]].fragment, 1);
	}
	*insns += sum;
	*at = i * DEP_FOLD_SEQUENCE;
	return err;
}

/* Count exits up to a sequence with a number, or all; *@at is behind them. */
static int count_others(struct dep_exits *x, const u32 *exit, size_t n, const u32 *sequence,
			size_t *at, u64 *insns)
{
	size_t i = *at / DEP_FOLD_SEQUENCE, end = n / DEP_FOLD_SEQUENCE, next;
	int err;

	while (i < end && !sequence[i])
		i++;
	next = i < end ? i * DEP_FOLD_SEQUENCE : n;
	err = count_exits(x, exit + *at, next - *at, insns);
	if (!err && next < n && x->brief[exit[next - 1]] & INDIRECT)
		err = add_pair(x, exit[next - 1], x->code->exit[exit[next]].fragment, 1);
	*at = next;
	return err;
}

int dep_exits_count(struct dep_exits *x, const u32 *exit, size_t n, const u32 *sequence,
		    u64 *insns)
{
	size_t at = 0;
	int err = 0;

	while (at < n && !err) {
		err = count_numbered(x, exit, n, sequence, &at, insns);
		if (at < n && !err)
			err = count_others(x, exit, n, sequence, &at, insns);
	}
	x->records += n;
	if (!err && x->records >= RECORDS_MAX - DEP_FOLD_BATCH)
		err = dep_exits_keep(x, false);
	return err;
}

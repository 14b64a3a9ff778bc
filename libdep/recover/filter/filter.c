// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dep/races.h"
#include "libdep/format/file/error.h"
#include "filtered_program.h"
#include "filter.h"

#define CONTROL_BLOCK	4096u	/* size in bytes that is assumed for a thread's control block */
#define WORD_MAX	16u	/* bytes; a larger access is a copy, not a lock operation */

int dep_filter_init(struct dep_filter *s, const struct dep_process_filter *scope, u32 thread)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->scope = scope;
	s->thread = thread;
	s->quiet = DEP_FILTER_QUIET;
	s->unheard = DEP_FILTER_NOTHING;
	s->peeked = ~0ull;
	err = dep_access_set_init(&s->seen);
	dep_filter_new_interval(s);
	return err;
}

int dep_filter_copy(struct dep_filter *to, const struct dep_filter *from)
{
	bool all = from->all, counts = from->counts;
	int err;

	*to = *from;
	to->ahead = NULL;
	to->blocks = (struct dep_heap_sizes){ 0 };
	/* The entries of @from have interval numbers of its access set, which is not copied. */
	memset(to->counted, 0, sizeof(to->counted));
	err = dep_access_set_init(&to->seen);
	dep_filter_new_interval(to);
	to->all = all;
	to->counts = counts;
	to->held = from->held;
	return err;
}

void dep_filter_free(struct dep_filter *s)
{
	dep_access_set_free(&s->seen);
	dep_heap_sizes_free(&s->blocks);
}

/*
 * True if program code runs while a library function is active: the function was left without a
 * return.  Must match sync_functions_left() of the analyzer.
 */
static bool is_outside(const struct dep_filter *s, u8 code)
{
	return code == DEP_CODE_PROGRAM && s->call[s->ncalls - 1].code != DEP_CODE_PROGRAM;
}

static u64 tag_of(const struct dep_filter *s, u8 code)
{
	if (s->muted)
		return is_outside(s, code) ? 0 : dep_access_set_tag(&s->seen, DEP_FILTER_MUTED);
	return s->who[code] & DEP_FILTER_LOOK ? 0 : dep_access_set_tag(&s->seen, s->who[code]);
}

void dep_filter_set_tags(struct dep_filter *s)
{
	u8 i;

	for (i = 0; i < DEP_FILTER_CODES; i++)
		s->tag[i] = tag_of(s, i);
}

/* Set the origins of program code, of the thread runtime (@threads), and of all other code. */
static void set_origin(struct dep_filter *s, u8 others, u8 program, u8 threads)
{
	memset(s->who, others, sizeof(s->who));
	s->who[DEP_CODE_PROGRAM] = program;
	s->who[DEP_CODE_THREADS] = threads;
	dep_filter_set_tags(s);
}

void dep_filter_new_interval(struct dep_filter *s)
{
	dep_access_set_new_interval(&s->seen);
	/* Drop the withheld timestamp: an interrupted locked instruction takes a new one. */
	s->held.pc = 0;
	s->all = s->counts = false;
	s->singly = s->nlast = s->first = 0;
	/* It is unknown which code runs next, so emit the next access of program and runtime. */
	set_origin(s, DEP_FILTER_THREADS, DEP_FILTER_PROGRAM | DEP_FILTER_LOOK,
		   DEP_FILTER_THREADS | DEP_FILTER_LOOK);
}

/*
 * Set the origins after the first access by @code in an interval.  Libraries that the thread
 * runtime calls share its origin.  Otherwise, functions such as memcpy() (DEP_CODE_CALLER) share
 * the origin of the program, and other libraries have an origin of their own.
 */
static void settle(struct dep_filter *s, u8 code)
{
	if (code == DEP_CODE_THREADS) {
		set_origin(s, DEP_FILTER_THREADS, DEP_FILTER_PROGRAM | DEP_FILTER_LOOK,
			   DEP_FILTER_THREADS);
		return;
	}
	set_origin(s, DEP_FILTER_LIBRARY, DEP_FILTER_PROGRAM, DEP_FILTER_THREADS | DEP_FILTER_LOOK);
	s->who[DEP_CODE_CALLER] = DEP_FILTER_PROGRAM;
	dep_filter_set_tags(s);
}

void dep_filter_reset(struct dep_filter *s)
{
	dep_filter_left(s);
	s->unsure = true;
	dep_filter_new_interval(s);
}

bool dep_filter_may_count(const struct dep_filter *s, u32 how)
{
	return how & DEP_TK_COUNTS && !(how & DEP_TK_FENCE) && s->scope->counters &&
	       !s->scope->wanted && !s->scope->singly;
}

bool dep_filter_locks(const struct dep_filter *s, u32 how, u8 code)
{
	/*
	 * Flush before the second timestamp if it begins an interval, because the first one did
	 * not (@s->counts), or if the instruction is an acquire: its first timestamp is not
	 * withheld, and the program uses the old value of the memory operand.
	 */
	if (how & DEP_TK_AFTER)
		return !s->muted && (s->counts || !(how & DEP_TK_UNUSED || s->held.pc));
	return !dep_filter_may_count(s, how) && (!s->muted || is_outside(s, code));
}

bool dep_filter_holds(const struct dep_filter *s, u32 how, u8 code)
{
	return !s->timestamps_stay && dep_filter_may_count(s, how) &&
	       (!s->muted || is_outside(s, code));
}

void dep_filter_timestamp(struct dep_filter *s, u32 how)
{
	if (how & DEP_TK_AFTER) {
		if (s->counts && !s->muted)
			dep_filter_new_interval(s);
		/*
		 * An acquire alone begins no interval: any access that races with a later access of
		 * this thread also races with the earlier one.
		 */
		s->all = s->counts = false;
		s->unheard = DEP_FILTER_NOTHING;
		return;
	}
	/* Reads between locked instructions are no wait loop, so the last reads are not needed. */
	s->nlast = s->first = 0;
	/*
	 * Inside a hooked function that mutes accesses, a locked instruction orders nothing, unless
	 * the function returns before the instruction's reference: keep the timestamp for
	 * dep_filter_event().
	 */
	if (s->muted) {
		s->unheard = how;
		return;
	}
	/* After this first timestamp, the references of the instruction follow. */
	s->fence = how & DEP_TK_FENCE;
	s->counts = dep_filter_may_count(s, how);
	if (!s->counts)
		dep_filter_new_interval(s);
	s->all = true;
}

void dep_filter_event(struct dep_filter *s, u32 unheard)
{
	s->unheard = DEP_FILTER_NOTHING;
	if (unheard != DEP_FILTER_NOTHING)
		dep_filter_timestamp(s, unheard);
}

u8 dep_filter_code(const struct dep_filter *s, u64 pc)
{
	return s->scope->code(s->scope->arg, s->scope->process, pc) % DEP_FILTER_CODES;
}

static int learn(struct dep_filter *s, struct dep_program *p)
{
	u64 base = p->base, pc = 0, at;
	u8 code = 0;
	u32 i;
	int err;

	for (i = 0; i < p->nops; i++) {
		if (p->op[i].code == DEP_O_BASE)
			base = p->wide[p->op[i].imm];
		at = base + (u64)(s64)p->op[i].pc;
		if (at != pc) {
			pc = at;
			code = dep_filter_code(s, pc);
		}
		p->op[i].origin = code;
	}
	err = dep_filtered_make(p);
	if (!err)
		__atomic_store_n(&p->coded, 1, __ATOMIC_RELEASE);
	return err;
}

int dep_filter_learn(struct dep_filter *s, struct dep_program *p)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!p->coded)
		err = learn(s, p);
	pthread_mutex_unlock(&lock);
	return err;
}

static bool is_locked(const struct dep_word_set *p, u64 addr, u32 size)
{
	return (size > 64 || dep_word_set_maybe(p, addr) ||
		dep_word_set_maybe(p, addr + size - 1)) &&
	       dep_word_set_has(p, addr, size);
}

/* True for the thread's control block, which has the list of robust mutexes that it holds. */
static bool in_control_block(const struct dep_filter *s, u64 addr)
{
	return addr - s->fs < CONTROL_BLOCK;
}

static struct dep_filter_access access_of(const struct dep_filter *s, u8 code,
				   const struct dep_ref *r)
{
	return (struct dep_filter_access){ .pc = r->pc, .addr = r->addr, .size = r->size,
					 .who = s->who[code], .write = r->type & DEP_WRITE };
}

/* Can accesses by @code be deferred?  dep_filter_flush() emits only origins program and library. */
static bool may_wait(const struct dep_filter *s, u8 code)
{
	return s->who[code] == DEP_FILTER_PROGRAM ||
	       (s->who[code] == DEP_FILTER_LIBRARY && code == DEP_CODE_LIBRARY);
}

/* True if the access is muted: made inside a hooked function whose accesses are never emitted. */
static bool is_muted(struct dep_filter *s, u8 code, const struct dep_ref *r)
{
	struct dep_filter_access a = access_of(s, code, r);
	u32 unheard = s->unheard;

	if (!s->muted)
		return false;
	if (is_outside(s, code)) {
		dep_filter_left(s);
		dep_filter_event(s, unheard);
		return false;
	}
	a.who = DEP_FILTER_MUTED;
	dep_access_set_add(&s->seen, &a);
	return true;
}

/* Are plain references by @code deferred, or (of the dynamic loader) dropped, in general? */
static bool are_deferred(const struct dep_filter *s, u8 code)
{
	if (s->all || code == DEP_CODE_LOADER)
		return !s->all;
	return s->singly >= DEP_FILTER_SINGLY && !s->scope->singly && may_wait(s, code);
}

bool dep_filter_defer(struct dep_filter *s, u8 code, const struct dep_ref *r)
{
	struct dep_filter_access a;

	if (is_muted(s, code, r))
		return true;
	a = access_of(s, code, r);
	if (!are_deferred(s, code) ||
	    (a.write && a.who != DEP_FILTER_PROGRAM && in_control_block(s, r->addr)) ||
	    is_locked(s->scope->locked, r->addr, r->size))
		return false;
	if (code == DEP_CODE_LOADER) {
		dep_access_set_add(&s->seen, &a);
		return true;
	}
	if (!dep_access_set_defer(&s->seen, &a))
		return false;
	if (r->type == DEP_READ)
		s->last[s->nlast++ % DEP_FILTER_LAST] = *r;
	return true;
}

/* Keep the last reads: the analyzer recognises a waiting thread by them. */
static void keep_reads(struct dep_filter *s, u8 code, u64 pc, u64 addr, u64 bits)
{
	u32 at;

	for (; bits; bits &= bits + 1) {
		at = (u32)__builtin_ctzll(bits);
		s->last[s->nlast++ % DEP_FILTER_LAST] = (struct dep_ref){
			.pc = pc, .addr = addr + at, .size = (u32)__builtin_ctzll(~(bits >> at)),
			.type = DEP_READ, .origin = code + 1,
		};
		bits |= bits - 1;
	}
}

bool dep_filter_defer_near(struct dep_filter *s, u8 code, u64 pc, u64 addr, u64 read, u64 wrote)
{
	const struct dep_word_set *locked = s->scope->locked;
	u64 last = addr + 63 - (u64)__builtin_clzll(read | wrote);
	bool is_loader = code == DEP_CODE_LOADER;

	if (s->muted)
		return !is_outside(s, code) &&
		       dep_access_set_near(&s->seen, s->tag[code], pc, addr, read, wrote, false);
	if (!are_deferred(s, code) || (wrote && in_control_block(s, addr)) ||
	    dep_word_set_maybe(locked, addr) || dep_word_set_maybe(locked, last) ||
	    !dep_access_set_near(&s->seen, s->tag[code], pc, addr, read, wrote, !is_loader))
		return false;
	if (!is_loader)
		keep_reads(s, code, pc, addr, read);
	return true;
}

bool dep_filter_flush(struct dep_filter *s, struct dep_page_accesses *out)
{
	struct dep_access_set_flushed t = { .word = out->word };

	while (dep_access_set_flush(&s->seen, &t)) {
		if (!t.words)
			continue;
		out->pc = t.pc;
		out->addr = t.addr;
		out->words = t.words;
		out->nwords = t.nwords;
		out->origin = 1 + (t.who == DEP_FILTER_PROGRAM ? DEP_CODE_PROGRAM :
							       DEP_CODE_LIBRARY);
		return true;
	}
	return false;
}

bool dep_filter_last(struct dep_filter *s, struct dep_ref *r)
{
	/*
	 * Inside a hooked function that mutes accesses, emit no earlier reads: from a read by
	 * program code the analyzer would conclude that the thread has left the function.
	 */
	if (s->muted || !s->nlast)
		return false;
	if (s->nlast > DEP_FILTER_LAST) {
		/* Older reads were overwritten: begin with the oldest one in the ring. */
		s->first = s->nlast % DEP_FILTER_LAST;
		s->nlast = DEP_FILTER_LAST;
	}
	*r = s->last[s->first++ % DEP_FILTER_LAST];
	if (!--s->nlast)
		s->first = 0;
	return true;
}

static void reads(struct dep_filter *s, const struct dep_ref *r)
{
	if (s->scope->counters && r->type & DEP_READ)
		dep_atomic_counters_read(s->scope->counters, r->addr, r->size, s->thread);
}

/* Was the counter at @addr already incremented in this interval?  Also records this increment. */
static bool was_counted(struct dep_filter *s, u64 addr)
{
	u32 i = addr / 8 % DEP_FILTER_COUNTED;

	if (s->counted[i].addr == addr && s->counted[i].turn == s->seen.turn)
		return true;
	s->counted[i].addr = addr;
	s->counted[i].turn = s->seen.turn;
	return false;
}

/*
 * Decide about a reference of a locked instruction.  It is treated as an increment of an atomic
 * counter only if its origin is settled (may_wait()): an increment begins no interval, which would
 * set the origins anew.
 */
static enum dep_filtered locked(struct dep_filter *s, u8 code, struct dep_ref *r)
{
	if (!s->fence)
		dep_word_set_add(s->scope->locked, r->addr,
				 r->size <= WORD_MAX ? r->size : WORD_MAX);
	if (!s->counts) {
		reads(s, r);
		return DEP_FILTER_EMIT;
	}
	/* If it is not an atomic counter, the instruction's second timestamp begins an interval. */
	if (!may_wait(s, code) ||
	    !dep_atomic_counters_count(s->scope->counters, r->addr, r->size, s->thread))
		return DEP_FILTER_FLUSH_THEN_EMIT;
	s->counts = false;
	r->type |= DEP_REF_COUNTS;
	return was_counted(s, r->addr) ? DEP_FILTER_DROP : DEP_FILTER_EMIT;
}

enum dep_filtered dep_filter_slowly(struct dep_filter *s, u8 code, struct dep_ref *r)
{
	bool look = s->who[code] & DEP_FILTER_LOOK, write = r->type & DEP_WRITE, new;
	struct dep_filter_access a;

	if (is_muted(s, code, r))
		return DEP_FILTER_DROP;
	if (s->all)
		return locked(s, code, r);
	if (look)
		settle(s, code);
	else if (dep_filter_defer(s, code, r))
		return DEP_FILTER_DROP;
	if (is_locked(s->scope->locked, r->addr, r->size)) {
		reads(s, r);
		if (r->type == DEP_WRITE && r->size <= WORD_MAX)
			r->type |= DEP_REF_RELEASES;
		return DEP_FILTER_FLUSH_THEN_EMIT;
	}
	if (write && s->who[code] != DEP_FILTER_PROGRAM && in_control_block(s, r->addr))
		return DEP_FILTER_EMIT;
	a = access_of(s, code, r);
	new = dep_access_set_add(&s->seen, &a);
	if (look)
		return DEP_FILTER_FLUSH_THEN_EMIT;
	s->singly += new;
	return new ? DEP_FILTER_EMIT : DEP_FILTER_DROP;
}

bool dep_filter_wanted(struct dep_filter *s, u8 code, u64 addr, u32 size, u32 type)
{
	if (s->all)
		return true;
	if (s->who[code] & DEP_FILTER_LOOK) {
		settle(s, code);
		return true;
	}
	if (type & DEP_WRITE && s->who[code] != DEP_FILTER_PROGRAM && in_control_block(s, addr))
		return true;
	return dep_word_set_has(s->scope->wanted, addr, size);
}

bool dep_filter_watches(struct dep_filter *s, u32 fragment)
{
	u8 n = ++s->watched[fragment * 0x9e3779b9u >> 24];

	/* True the 1st, 2nd, 4th, 8th, .. time, and every 64th time. */
	return !(n & (n - 1)) || !(n & 63);
}

void dep_filter_spin(struct dep_filter *s, u64 pc, u64 addr, u32 size)
{
	if (s->reads == DEP_FILTER_SPINS + 1)
		s->spin.n = 0;
	if (s->spin.n && s->spin.pc == pc && s->spin.at == addr) {
		if (++s->spin.n == DEP_FILTER_SPINS && size <= 8)
			dep_word_set_add(s->scope->spin_words, addr, size);
		return;
	}
	/* Tolerate a limited number of reads by other instructions: the loop can have several. */
	if (!s->spin.n || s->spin.pc == pc) {
		s->spin.pc = pc;
		s->spin.at = addr;
		s->spin.n = 1;
	} else if (++s->spin.n > 4 * DEP_FILTER_SPINS) {
		s->spin.n = 0;
	}
}

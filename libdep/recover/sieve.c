// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/dep/races.h"
#include "../format/error.h"
#include "lean.h"
#include "sieve.h"

#define CONTROL_BLOCK	4096u	/* bytes of a thread's; what is behind it is the program's */
#define WORD_MAX	16u	/* more bytes are no operation on a lock, but a copy */

int dep_sieve_init(struct dep_sieve *s, const struct dep_scope *scope)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->scope = scope;
	s->quiet = DEP_SIEVE_QUIET;
	err = dep_seen_init(&s->seen);
	dep_sieve_turn(s);
	return err;
}

int dep_sieve_copy(struct dep_sieve *to, const struct dep_sieve *from)
{
	bool all = from->all;
	int err;

	*to = *from;
	to->ahead = NULL;
	err = dep_seen_init(&to->seen);
	dep_sieve_turn(to);
	to->all = all;
	return err;
}

void dep_sieve_free(struct dep_sieve *s)
{
	dep_seen_free(&s->seen);
}

/* Set who is meant by all codes but two. */
static void set_who(struct dep_sieve *s, u8 others, u8 program, u8 threads)
{
	u32 i;

	memset(s->who, others, sizeof(s->who));
	s->who[DEP_CODE_PROGRAM] = program;
	s->who[DEP_CODE_THREADS] = threads;
	for (i = 0; i < DEP_SIEVE_CODES; i++)
		s->tag[i] = s->who[i] & DEP_SIEVE_LOOK ? 0 : dep_seen_tag(&s->seen, s->who[i]);
}

void dep_sieve_turn(struct dep_sieve *s)
{
	dep_seen_turn(&s->seen);
	s->all = false;
	/* Who is at work is not known, nor what the analyzer takes it for. */
	set_who(s, DEP_SIEVE_THREADS, DEP_SIEVE_PROGRAM | DEP_SIEVE_LOOK,
		DEP_SIEVE_THREADS | DEP_SIEVE_LOOK);
}

/* What others do for the code that makes threads is left out by who analyzes. */
static void settle(struct dep_sieve *s, u8 code)
{
	if (code == DEP_CODE_THREADS) {
		set_who(s, DEP_SIEVE_THREADS, DEP_SIEVE_PROGRAM | DEP_SIEVE_LOOK,
			DEP_SIEVE_THREADS);
		return;
	}
	set_who(s, DEP_SIEVE_LIBRARY, DEP_SIEVE_PROGRAM, DEP_SIEVE_THREADS | DEP_SIEVE_LOOK);
	s->who[DEP_CODE_CALLER] = DEP_SIEVE_PROGRAM;
	s->tag[DEP_CODE_CALLER] = s->tag[DEP_CODE_PROGRAM];
}

u8 dep_sieve_code(const struct dep_sieve *s, u64 pc)
{
	return s->scope->code(s->scope->arg, s->scope->process, pc) % DEP_SIEVE_CODES;
}

void dep_sieve_learn(struct dep_sieve *s, struct dep_program *p)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	u64 pc = 0;
	u32 i;
	u8 code = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < p->nops && !p->coded; i++) {
		if (p->op[i].pc != pc) {
			pc = p->op[i].pc;
			code = dep_sieve_code(s, pc);
		}
		p->op[i].whose = code;
	}
	if (!p->coded)
		dep_lean_make(p);
	__atomic_store_n(&p->coded, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static bool is_locked(const struct dep_places *p, u64 addr, u32 size)
{
	return (size > 64 || dep_places_maybe(p, addr) || dep_places_maybe(p, addr + size - 1)) &&
	       dep_places_has(p, addr, size);
}

/* Robust mutexes that it holds are in a list there. */
static bool in_control_block(const struct dep_sieve *s, u64 addr)
{
	return addr - s->fs < CONTROL_BLOCK;
}

bool dep_sieve_slowly(struct dep_sieve *s, u8 code, u64 addr, u32 size, u32 *type)
{
	bool look = s->who[code] & DEP_SIEVE_LOOK, write = *type & DEP_WRITE;

	if (s->all) {
		dep_places_add(s->scope->locked, addr, size <= WORD_MAX ? size : WORD_MAX);
		return true;
	}
	if (look)
		settle(s, code);
	if (is_locked(s->scope->locked, addr, size)) {
		if (*type != DEP_WRITE || size > WORD_MAX)
			return true;
		*type |= DEP_REF_RELEASES;
		dep_sieve_turn(s);
		return true;
	}
	if (write && s->who[code] != DEP_SIEVE_PROGRAM && in_control_block(s, addr))
		return true;
	return dep_seen_note(&s->seen, s->who[code], addr, size, write) || look;
}

bool dep_sieve_wanted(struct dep_sieve *s, u8 code, u64 addr, u32 size, u32 type)
{
	if (s->all)
		return true;
	if (s->who[code] & DEP_SIEVE_LOOK) {
		settle(s, code);
		return true;
	}
	if (type & DEP_WRITE && s->who[code] != DEP_SIEVE_PROGRAM && in_control_block(s, addr))
		return true;
	return dep_places_has(s->scope->wanted, addr, size);
}

bool dep_sieve_watches(struct dep_sieve *s, u32 fragment)
{
	u8 n = ++s->watched[fragment * 0x9e3779b9u >> 24];

	/* The first, the second, the fourth.. and each 64th time. */
	return !(n & (n - 1)) || !(n & 63);
}

void dep_sieve_spin(struct dep_sieve *s, u64 pc, u64 addr, u32 size)
{
	if (s->reads == DEP_SIEVE_SPINS + 1)
		s->spin.n = 0;
	if (s->spin.n && s->spin.pc == pc && s->spin.at == addr) {
		if (++s->spin.n == DEP_SIEVE_SPINS && size <= 8)
			dep_places_add(s->scope->spun, addr, size);
		return;
	}
	/* Others may be read in the same loop. */
	if (!s->spin.n || s->spin.pc == pc) {
		s->spin.pc = pc;
		s->spin.at = addr;
		s->spin.n = 1;
	} else if (++s->spin.n > 4 * DEP_SIEVE_SPINS) {
		s->spin.n = 0;
	}
}

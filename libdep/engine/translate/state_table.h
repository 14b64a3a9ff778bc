/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * State translation table: maps an address in the code cache to the application's pc and registers.
 *
 * The table covers every address at which a thread can be interrupted or can fault.  os/bailout.c
 * derives the exact state by rolling the current sequence of emitted code back or forward.
 */
#ifndef ADEPT_ENGINE_TRANSLATE_STATE_TABLE_H
#define ADEPT_ENGINE_TRANSLATE_STATE_TABLE_H

#include "libdep/engine/emit/fragment.h"
#include "libdep/engine/emit/state.h"

/**
 * struct state_pos - result of state_lookup()
 * @kind: enum state_kind
 * @insn: index of the instruction; with STATE_RUN, of the instruction at the address
 * @nst: number of stores of the current record that are done
 * @arg: exit, or application register spilled to TLS_SPILL0; X86_NONE: none
 * @arg2: application register spilled to TLS_SPILL1; X86_NONE: none
 * @arg3: application register spilled to TLS_SPILL2; X86_NONE: none
 */
struct state_pos {
	struct frag *frag;
	enum state_kind kind;
	u8 insn;
	u8 nst;
	u8 arg, arg2, arg3;
};

/* Maximal size of a packed entry in bytes. */
#define STATE_PACKED	9

/** state_pack() - pack @n state entries to @out; returns the number of bytes */
u32 state_pack(u8 *out, const struct state_entry *v, u32 n);
/** state_lookup() - look up cache address @addr; 0 if it is in no fragment.  Lock-free. */
int state_lookup(u64 addr, struct state_pos *pos);

/** frag_insn_pc() - get the application address of instruction @n of @f; n == ninsns: its end */
u64 frag_insn_pc(struct frag *f, unsigned int n);

#endif

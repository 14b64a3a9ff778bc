/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ADEPT_INSN_GEN_H
#define ADEPT_INSN_GEN_H

#include <Zydis/Zydis.h>

#include "insn_fuzz.h"

#define BIT(n)	(1u << (n))

/**
 * struct gen - state while a sequence is made
 * @s: random state
 * @pointer: bit set of registers that still point into a window
 * @low: those of them whose low 32 bits do
 * @small: registers that still contain a small number
 * @pc: address of the next instruction
 * @c: the case that gets the sequence
 */
struct gen {
	uint64_t s;
	uint16_t pointer, low, small;
	uint64_t pc;
	struct fuzz_case *c;
};

/** below() - a random number below @n */
static inline uint32_t below(struct gen *g, uint32_t n)
{
	return (uint32_t)((fuzz_random(&g->s) >> 16) % n);
}

static inline int percent(struct gen *g, uint32_t n)
{
	return below(g, 100) < n;
}

/**
 * a_window() - choose a window; if @rip, one that rip-relative operands of the case's code reach
 */
enum window a_window(struct gen *g, int rip);
/** in_window() - choose an address in it, usually aligned */
uint64_t in_window(struct gen *g, enum window w);
/** form_bytes() - random but plausible bytes of an instruction; not yet decoded */
void form_bytes(struct gen *g, uint8_t *b);
/** allowed() - may the decoded instruction be part of a sequence? */
int allowed(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op,
	    const uint8_t *b);
/** promising() - does it probably not fault? */
int promising(const struct gen *g, const ZydisDecodedInstruction *in,
	      const ZydisDecodedOperand *op);

#endif

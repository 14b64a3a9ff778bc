/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zydis's view of an instruction, in the decoder's terms: the independent side of test_decode.c. */
#ifndef TESTS_UNIT_X86_ZYDIS_EXPECT_H
#define TESTS_UNIT_X86_ZYDIS_EXPECT_H

#include <Zydis/Zydis.h>

#include "libdep/x86/decode.h"

/**
 * expect_insn() - fill what is to be compared from Zydis
 * @want: len, kind, mem[], nmem, gpr_*, flags_*, base, index, attr, imm as Zydis has them
 * @code: at least 15 readable bytes
 * @avail: bytes that count
 *
 * Return: the length, 0 if invalid.
 */
int expect_insn(struct x86_insn *want, const unsigned char *code, unsigned int avail);

/** expect_text() - name of the instruction that was expected last */
const char *expect_text(void);

#endif

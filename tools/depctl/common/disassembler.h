/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassemble recorded instructions. */
#ifndef DEPCTL_COMMON_DISASSEMBLER_H
#define DEPCTL_COMMON_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#define DISASSEMBLER_TEXT	96u

struct disassembler {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
};

/** disassembler_begin() - false after a message: it cannot be used */
bool disassembler_begin(struct disassembler *d);

/**
 * disassemble() - write the instruction at @pc into @text, of DISASSEMBLER_TEXT bytes
 *
 * Return: its length; 1 if the bytes are no instruction.
 */
unsigned int disassemble(const struct disassembler *d, uint64_t pc, const uint8_t *bytes,
			 size_t avail, char *text);

#endif

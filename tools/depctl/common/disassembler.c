// SPDX-License-Identifier: GPL-2.0-or-later
/* Disassemble recorded instructions. */
#include <stdio.h>

#include "tools/depctl/depctl.h"
#include "disassembler.h"

/* Format numbers as in other output: lower case, without leading zeros. */
static bool begin(struct disassembler *d)
{
	static const ZydisFormatterProperty paddings[] = {
		ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
		ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
		ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING,
	};
	size_t i;

	if (ZYAN_FAILED(ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisFormatterInit(&d->formatter, ZYDIS_FORMATTER_STYLE_INTEL)) ||
	    ZYAN_FAILED(ZydisFormatterSetProperty(&d->formatter,
						  ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, false)))
		return false;
	for (i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++)
		if (ZYAN_FAILED(ZydisFormatterSetProperty(&d->formatter, paddings[i],
							  ZYDIS_PADDING_DISABLED)))
			return false;
	return true;
}

bool disassembler_begin(struct disassembler *d)
{
	if (begin(d))
		return true;
	warn("cannot initialise the disassembler: depctl needs another version of Zydis");
	return false;
}

unsigned int disassemble(const struct disassembler *d, uint64_t pc, const uint8_t *bytes,
			 size_t avail, char *text)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d->decoder, bytes, avail, &in, ops))) {
		snprintf(text, DISASSEMBLER_TEXT, "(bad)");
		return 1;
	}
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&d->formatter, &in, ops,
							in.operand_count_visible, text,
							DISASSEMBLER_TEXT, pc, NULL)))
		snprintf(text, DISASSEMBLER_TEXT, "(bad)");
	return in.length;
}

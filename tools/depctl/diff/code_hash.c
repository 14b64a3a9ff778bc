// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compare the code of functions of different builds.
 *
 * If code in front of a function grows, the function moves, and with it change the distances in
 * its calls, jumps and accesses to static data.  They are left out of the hash.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <Zydis/Zydis.h>

#include "diff.h"

#define CODE_MAX	(1u << 20)	/* bytes of a function; what follows is not compared */

/* Clear the distances in an instruction of @size bytes. */
static void clear_distances(uint8_t *code, const ZydisDecodedInstruction *insn)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (insn->raw.imm[i].is_relative)
			memset(code + insn->raw.imm[i].offset, 0, insn->raw.imm[i].size / 8);
	/* Mode 0 with register 5 is relative to rip. */
	if (insn->attributes & ZYDIS_ATTRIB_HAS_MODRM && !insn->raw.modrm.mod &&
	    insn->raw.modrm.rm == 5)
		memset(code + insn->raw.disp.offset, 0, insn->raw.disp.size / 8);
}

static void clear_all(uint8_t *code, size_t size)
{
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	size_t at = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (at < size) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at,
								size - at, &insn))) {
			at++;
			continue;
		}
		clear_distances(code + at, &insn);
		at += insn.length;
	}
}

bool code_hash(const struct loaded *l, const struct function *f,
	       const struct dep_insn_count *insn, uint64_t hash[2])
{
	const struct dep_module *m;
	size_t size = f->end - f->start, modules = dep_store_modules(l->store, &m);
	XXH128_hash_t h;
	uint8_t *code;

	if (!insn || !insn->image || insn->image > modules || f->end <= f->start)
		return false;
	if (size > CODE_MAX)
		size = CODE_MAX;
	code = malloc(size);
	if (!code)
		return false;
	m += insn->image - 1;
	size = dep_symbols_file_bytes(l->symbols, m->process, insn->pc, m->from_ns, f->start, code,
				      size);
	clear_all(code, size);
	h = XXH3_128bits(code, size);
	hash[0] = h.low64;
	hash[1] = h.high64;
	free(code);
	return size;
}

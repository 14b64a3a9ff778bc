// SPDX-License-Identifier: LGPL-2.1-or-later
/* Instructions by their address, for those who ask of a few. */
#include "../format/desc.h"
#include "../x86/decode.h"
#include "at.h"

/* The instruction at @pc of @d; whether it has one. */
static bool find(const struct adept_desc_frag *d, u64 pc, struct x86_insn *in)
{
	const struct adept_run *run = dep_desc_runs(d), *end = run + d->nruns;
	const u8 *code = dep_desc_code(d), *behind = code + d->code_len;
	bool may = false;
	u64 at;
	u32 n;
	int len;

	for (n = 0; n < d->nruns && !may; n++)
		may = pc - run[n].pc < run[n].ninsns * 15ull;
	for (; run < end && may; run++) {
		at = run->pc;
		for (n = run->ninsns; n--; at += (u32)len, code += len) {
			len = x86_decode(in, code, (unsigned int)(behind - code));
			if (len <= 0)
				return false;
			if (at == pc)
				return true;
		}
	}
	return false;
}

bool dep_insn_at(struct dep_store *s, u32 process, u64 pc, struct x86_insn *in)
{
	size_t i;

	for (i = 0; i < s->model.fragments.n; i++) {
		const struct dep_fragment *f = dep_store_fragment(s, (u32)i);

		if (f->process == process && find(f->d, pc, in))
			return true;
	}
	return false;
}

bool dep_insn_may_drop(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && in->map == 1 && (in->opcode & 0xf0) == 0x40 && in->nmem;
}

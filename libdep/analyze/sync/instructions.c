// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/codec/descriptor.h"
#include "instructions.h"

#define PAGE_BITS	12u
#define INSN_MAX	15u	/* maximum length of an instruction in bytes */

static u64 hash_of(u32 process, u64 page)
{
	return sync_index_mix(sync_index_mix(0, process), page);
}

static int add_page(struct sync_insns *x, u32 process, u64 page, u32 fragment)
{
	u32 room = x->room ? 2 * x->room : 1024;
	void *more;

	if (x->n == x->room) {
		more = realloc(x->v, room * sizeof(*x->v));
		if (!more)
			return -ENOMEM;
		x->v = more;
		x->room = room;
	}
	if (sync_index_add(&x->index, hash_of(process, page), x->n))
		return -ENOMEM;
	x->v[x->n++] = (struct sync_code_page){ page, process, fragment };
	return 0;
}

/*
 * Add the fragment to the index, for all pages that its runs of instructions may reach: the length
 * of a run is known only after decoding.
 */
static int add_fragment(struct sync_insns *x, const struct dep_fragment *f, u32 number)
{
	const struct adept_run *run = dep_desc_runs(f->d);
	u64 page, last, size;
	int err = 0;
	u32 n;

	for (n = 0; n < f->d->nruns && !err; n++) {
		size = run[n].ninsns * (u64)INSN_MAX;
		if (size > f->d->code_len)
			size = f->d->code_len;
		last = (run[n].pc + size) >> PAGE_BITS;
		for (page = run[n].pc >> PAGE_BITS; page <= last && !err; page++)
			err = add_page(x, f->process, page, number);
	}
	return err;
}

/* Decode the instruction at @pc in the fragment @d; false: none. */
static bool find(const struct adept_desc_frag *d, u64 pc, struct x86_insn *in)
{
	const struct adept_run *run = dep_desc_runs(d), *end = run + d->nruns;
	const u8 *code = dep_desc_code(d), *after = code + d->code_len;
	u64 at;
	u32 n;
	int len;

	for (; run < end; run++) {
		at = run->pc;
		for (n = run->ninsns; n--; at += (u32)len, code += len) {
			len = x86_decode(in, code, (unsigned int)(after - code));
			if (len <= 0)
				return false;
			if (at == pc)
				return true;
		}
	}
	return false;
}

/* Search all fragments, without the index. */
static bool walk(struct dep_store *s, u32 process, u64 pc, struct x86_insn *in)
{
	const struct dep_fragment *f;
	size_t i;

	for (i = 0; i < s->model.fragments.n; i++) {
		f = dep_store_fragment(s, (u32)i);
		if (f->process == process && find(f->d, pc, in))
			return true;
	}
	return false;
}

bool sync_insn_at(struct sync_insns *x, struct dep_store *s, u32 process, u64 pc,
		  struct x86_insn *in)
{
	u64 page = pc >> PAGE_BITS;
	u32 i = 0, at;
	int err = 0;

	/* Add the fragments that the store has got since the last call. */
	for (; x->fragments < s->model.fragments.n && !err; x->fragments++)
		err = add_fragment(x, dep_store_fragment(s, x->fragments), x->fragments);
	if (err) {
		sync_insns_free(x);
		return walk(s, process, pc, in);
	}
	while (sync_index_next(&x->index, hash_of(process, page), &i, &at))
		if (x->v[at].process == process && x->v[at].page == page &&
		    find(dep_store_fragment(s, x->v[at].fragment)->d, pc, in))
			return true;
	return false;
}

bool sync_insn_may_drop(const struct x86_insn *in)
{
	return in->enc == X86_LEGACY && in->map == 1 && (in->opcode & 0xf0) == 0x40 && in->nmem;
}

void sync_insns_free(struct sync_insns *x)
{
	free(x->v);
	sync_index_free(&x->index);
	memset(x, 0, sizeof(*x));
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Fragments for users of libdep: their code and their translations. */
#include "dep/fragment.h"
#include "libdep/format/codec/descriptor.h"
#include "store.h"

/* The public structures must have the same layout as those of abi/stream.h. */
_Static_assert(sizeof(struct dep_code_run) == sizeof(struct adept_run) &&
	       offsetof(struct dep_code_run, ninsns) == offsetof(struct adept_run, ninsns) &&
	       offsetof(struct dep_code_run, returns) == offsetof(struct adept_run, returns),
	       "struct dep_code_run differs from struct adept_run");
_Static_assert(sizeof(struct dep_code_place) == sizeof(struct adept_code_place) &&
	       offsetof(struct dep_code_place, insn) == offsetof(struct adept_code_place, insn) &&
	       offsetof(struct dep_code_place, kind) == offsetof(struct adept_code_place, kind),
	       "struct dep_code_place differs from struct adept_code_place");
_Static_assert((int)DEP_CODE_DATA == (int)ADEPT_CODE_DATA &&
	       (int)DEP_CODE_EXIT == (int)ADEPT_CODE_EXIT &&
	       (int)DEP_CODE_ENTRY == (int)ADEPT_CODE_ENTRY &&
	       (int)DEP_CODE_ADDED == (int)ADEPT_CODE_ADDED,
	       "enum dep_code_kind differs from enum adept_code_kind");

void dep_fragment_code(struct dep_store *s, uint64_t n, struct dep_fragment_code *out)
{
	const struct dep_fragment *f = dep_store_fragment(s, (u32)n);
	const struct adept_desc_translation *t = f->code;
	const struct adept_desc_frag *d = f->d;

	*out = (struct dep_fragment_code){
		.process = f->process, .id = d->first_exit, .nexits = d->nexits,
		.nstores = d->nstores, .ninsns = d->ninsns, .nruns = d->nruns,
		.entry_mask = d->entry_mask, .code_len = d->code_len,
		.runs = (const void *)dep_desc_runs(d), .code = dep_desc_code(d),
	};
	if (!t)
		return;
	out->hot = t->hot;
	out->cold = t->cold;
	out->hot_len = t->hot_len;
	out->cold_len = t->cold_len;
	out->nplaces = t->nplaces;
	out->places = (const void *)dep_desc_places(t);
	out->translation = (const u8 *)(dep_desc_places(t) + t->nplaces);
}

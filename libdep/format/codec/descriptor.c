// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checks of descriptors.
 *
 * A fragment is a fixed sequence: for each instruction the stores of values before it, the
 * instruction, and the stores of values after it.  Every exit, and every other way to leave the
 * fragment, is a point of this sequence, given by the numbers of instructions and stores that
 * precede it.  The checks ensure that each exit is such a point.
 */
#include <errno.h>
#include <string.h>

#include "libdep/abi/session_file.h"
#include "libdep/x86/decode.h"
#include "descriptor.h"
#include "libdep/format/file/error.h"
#include "libdep/format/file/wire.h"

size_t dep_desc_next(const void *data, size_t avail)
{
	struct adept_desc h;

	if (avail < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > avail)
		return 0;
	return h.size;
}

static int check_stores(const struct adept_desc_frag *d)
{
	const struct adept_store *st = dep_desc_stores(d), *prev = NULL;
	u32 i, bytes = 4;

	for (i = 0; i < d->nstores; i++, prev = st++) {
		if (st->insn >= d->ninsns || st->held > 16 || !adept_store_bytes(st))
			return dep_fail(-EBADMSG, "fragment %u: description of stored value %u is "
					"malformed", d->first_exit, i);
		if (prev && (prev->insn > st->insn ||
			     (prev->insn == st->insn &&
			      dep_store_is_post(prev) > dep_store_is_post(st))))
			return dep_fail(-EBADMSG, "fragment %u: value store %u is out of order",
					d->first_exit, i);
		switch (st->kind) {
		case ADEPT_ST_REG:
		case ADEPT_ST_CHECK:
		case ADEPT_ST_EXIT_REG:
			if (st->arg >= 16)
				goto bad_arg;
			break;
		case ADEPT_ST_POST:
			if (st->arg != X86_RSI && st->arg != X86_RDI)
				goto bad_arg;
			break;
		case ADEPT_ST_EA:
			if (st->arg >= X86_MAX_MEM)
				goto bad_arg;
			break;
		case ADEPT_ST_KREG:
			if (st->arg >= 8)
				goto bad_arg;
			break;
		}
		bytes += adept_store_bytes(st);
	}
	if (bytes > ADEPT_MAX_RECORD)
		return dep_fail(-EBADMSG, "fragment %u: a record of %u bytes is too large",
				d->first_exit, bytes);
	return 0;
bad_arg:
	return dep_fail(-EBADMSG, "fragment %u: value store %u has invalid argument %u",
			d->first_exit, i, st->arg);
}

static int check_exit(const struct adept_desc_frag *d, const struct adept_exit *x)
{
	const struct adept_store *st = dep_desc_stores(d);

	if (x->ninsns > d->ninsns || x->nstores > d->nstores || x->kind > ADEPT_X_TRAP ||
	    x->at_id & ~ADEPT_XT_ALL || (x->at_id & ADEPT_XT_BEFORE && !x->ninsns))
		return -EBADMSG;
	/* Stores are sorted: checking the last store before the exit and the next is enough. */
	if (x->nstores) {
		st += x->nstores - 1;
		if (st->insn > x->ninsns || (st->insn == x->ninsns && dep_store_is_post(st)))
			return -EBADMSG;
		st++;
	}
	if (x->nstores < d->nstores && st->insn < x->ninsns &&
	    (st->insn + 1 != x->ninsns || st->kind != ADEPT_ST_EXIT_REG))
		return -EBADMSG;
	return 0;
}

static int check_fragment(const struct adept_desc_frag *d)
{
	const struct adept_run *r;
	u64 need, sum = 0;
	u32 i;

	if (d->h.size < sizeof(*d))
		return dep_fail(-EBADMSG, "a fragment descriptor of %u bytes is too short",
				d->h.size);
	need = sizeof(*d) + d->nruns * sizeof(struct adept_run) +
	       d->nexits * sizeof(struct adept_exit) + d->nstores * sizeof(struct adept_store) +
	       d->code_len;
	if (d->h.size != dep_align8(need))
		return dep_fail(-EBADMSG, "fragment %u: descriptor of %u bytes, but its parts "
				"take %llu", d->first_exit, d->h.size,
				(unsigned long long)dep_align8(need));
	if (!d->nexits || d->first_exit < ADEPT_FIRST_EXIT ||
	    (u64)d->first_exit + d->nexits > DEP_EXIT_LIMIT)
		return dep_fail(-EBADMSG, "fragment %u: no exits or invalid exit ids (%u exits)",
				d->first_exit, d->nexits);
	for (i = 0, r = dep_desc_runs(d); i < d->nruns; i++, r++) {
		if (!r->ninsns || r->returns > 1)
			return dep_fail(-EBADMSG, "fragment %u: instruction run %u is malformed",
					d->first_exit, i);
		sum += r->ninsns;
	}
	if (sum != d->ninsns || (!sum && d->code_len))
		return dep_fail(-EBADMSG, "fragment %u: its runs have %llu instructions instead "
				"of %u", d->first_exit, (unsigned long long)sum, d->ninsns);
	if (check_stores(d))
		return -EBADMSG;
	for (i = 0; i < d->nexits; i++)
		if (check_exit(d, dep_desc_exits(d) + i))
			return dep_fail(-EBADMSG, "fragment %u: exit %u is malformed",
					d->first_exit, i);
	return 0;
}

static int check_translation(const struct adept_desc_translation *d)
{
	const struct adept_code_place *p = dep_desc_places(d);
	u32 i, bytes;

	if (d->h.size < sizeof(*d))
		return dep_fail(-EBADMSG, "a translation descriptor of %u bytes is too short",
				d->h.size);
	bytes = d->hot_len + d->cold_len;
	if (!d->nplaces || d->nplaces > bytes ||
	    d->h.size != dep_align8(sizeof(*d) + d->nplaces * sizeof(*p) + bytes))
		return dep_fail(-EBADMSG, "translation of fragment %u: descriptor of %u bytes does "
				"not match its %u places", d->first_exit, d->h.size, d->nplaces);
	for (i = 0; i < d->nplaces; i++)
		if (p[i].kind >= ADEPT_CODE_KINDS || p[i].off >= bytes ||
		    (i ? p[i].off <= p[i - 1].off : p[i].off))
			return dep_fail(-EBADMSG, "translation of fragment %u: place %u is "
					"malformed", d->first_exit, i);
	return 0;
}

/* The two texts behind a file descriptor must both end. */
static int has_two_texts(const struct adept_desc_file *d)
{
	const char *end = (const char *)d + d->h.size, *text = (const char *)(d + 1);

	if (d->h.size <= sizeof(*d))
		return 0;
	text = memchr(text, 0, (size_t)(end - text));
	return text && text + 1 < end && memchr(text + 1, 0, (size_t)(end - text - 1));
}

static int has_nul(const struct adept_desc *h, size_t from)
{
	return h->size > from && memchr((const char *)h + from, 0, h->size - from);
}

int dep_desc_check(const struct adept_desc *h)
{
	switch (h->type) {
	case ADEPT_DESC_FRAGMENT:
		return check_fragment((const struct adept_desc_frag *)h);
	case ADEPT_DESC_TRANSLATION:
		return check_translation((const struct adept_desc_translation *)h);
	case ADEPT_DESC_MAP:
		if (has_nul(h, sizeof(struct adept_desc_map)))
			return 0;
		break;
	case ADEPT_DESC_LOG:
		if (has_nul(h, sizeof(struct adept_desc_log)) &&
		    ((const struct adept_desc_log *)h)->area < ADEPT_LOG_AREAS)
			return 0;
		break;
	case ADEPT_DESC_UNMAP:
		if (h->size >= sizeof(struct adept_desc_unmap))
			return 0;
		break;
	case ADEPT_DESC_REMOVED:
		if (h->size >= sizeof(struct adept_desc_removed))
			return 0;
		break;
	case ADEPT_DESC_FORKED:
		if (h->size >= sizeof(struct adept_desc_forked))
			return 0;
		break;
	case ADEPT_DESC_ATTACH:
		if (h->size >= sizeof(struct adept_desc_attach))
			return 0;
		break;
	case ADEPT_DESC_FILE:
		if (has_two_texts((const struct adept_desc_file *)h))
			return 0;
		break;
	case ADEPT_DESC_MESSAGE:
		if (has_nul(h, sizeof(*h)))
			return 0;
		break;
	case ADEPT_DESC_PAD:
		return 0;
	}
	return dep_fail(-EBADMSG, "descriptor of type %u, %u bytes, is malformed", h->type,
			h->size);
}

/* Check that all stores of an instruction are allowed for it, and required stores present. */
static int check_insn_stores(const struct x86_insn *in, const struct adept_store *st, u32 n)
{
	int post = 0, before = 0, after = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		before += st[i].kind == ADEPT_ST_BEFORE;
		after += st[i].kind == ADEPT_ST_AFTER;
		if (st[i].kind == ADEPT_ST_EA &&
		    (st[i].arg >= in->nmem ||
		     (in->mem[st[i].arg].flags & (X86_M_STRING | X86_M_VSIB))))
			return -EBADMSG;
		if (st[i].kind != ADEPT_ST_POST)
			continue;
		/* A string instruction has one ADEPT_ST_POST, its first store after execution. */
		if (post++ || in->kind != X86_STRING || (i && dep_store_is_post(&st[i - 1])))
			return -EBADMSG;
	}
	if (before > 1 || after > 1 || ((before || after) && in->kind != X86_NORMAL))
		return -EBADMSG;
	return post == (in->kind == X86_STRING) ? 0 : -EBADMSG;
}

int dep_desc_insn(const struct adept_desc_frag *d, struct dep_desc_at *at, struct x86_insn *in)
{
	const struct adept_store *st = dep_desc_stores(d) + at->store;
	int len = x86_decode(in, dep_desc_code(d) + at->code, d->code_len - at->code);
	u32 n, left = d->nstores - at->store;

	if (len <= 0)
		return dep_fail(-EBADMSG, "fragment %u: instruction %u cannot be decoded",
				d->first_exit, at->insn);
	for (n = 0; n < left && st[n].insn == at->insn; n++)
		;
	if (check_insn_stores(in, st, n))
		return dep_fail(-EBADMSG, "fragment %u: invalid value stores of instruction %u",
				d->first_exit, at->insn);
	at->code += (u32)len;
	at->store += n;
	if (++at->insn == d->ninsns && at->code != d->code_len)
		return dep_fail(-EBADMSG, "fragment %u: %u bytes of code, but instructions take %u",
				d->first_exit, d->code_len, at->code);
	return 0;
}

int dep_desc_check_code(const struct adept_desc_frag *d)
{
	struct dep_desc_at at = { 0 };
	struct x86_insn in;
	int err = 0;

	while (at.insn < d->ninsns && !err)
		err = dep_desc_insn(d, &at, &in);
	return err;
}

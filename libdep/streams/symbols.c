// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "symbols.h"

/* The slot of @pc, or the free slot where it belongs. */
static struct stream_pc *find(const struct stream_pcs *p, u64 pc)
{
	u32 mask = (1u << p->bits) - 1, i;

	i = (u32)XXH3_64bits_withSeed(&pc, sizeof(pc), p->seed) & mask;
	while (p->slot[i].number && p->slot[i].pc != pc)
		i = (i + 1) & mask;
	return &p->slot[i];
}

static int enlarge(struct stream_pcs *p)
{
	struct stream_pcs to = { .seed = p->seed, .n = p->n, .bits = p->slot ? p->bits + 1 : 10 };
	u32 i;

	if (!p->slot && getrandom(&to.seed, sizeof(to.seed), 0) != sizeof(to.seed))
		return dep_fail(-errno, "random numbers");
	to.slot = calloc(1u << to.bits, sizeof(*to.slot));
	if (!to.slot)
		return dep_fail(-ENOMEM, "instructions of streams");
	for (i = 0; p->slot && i < 1u << p->bits; i++)
		if (p->slot[i].number)
			*find(&to, p->slot[i].pc) = p->slot[i];
	free(p->slot);
	*p = to;
	return 0;
}

static int number_of(struct stream_pcs *p, u64 pc, u32 *number)
{
	struct stream_pc *s;
	int err;

	if (!p->slot || 2 * (p->n + 1) > 1u << p->bits) {
		err = enlarge(p);
		if (err)
			return err;
	}
	s = find(p, pc);
	if (!s->number) {
		if (p->n == 1u << STREAM_PC_BITS)
			return dep_fail(-ERANGE, "more than %u instructions with references",
					1u << STREAM_PC_BITS);
		*s = (struct stream_pc){ pc, ++p->n };
	}
	*number = s->number - 1;
	return 0;
}

int stream_symbol(struct stream_pcs *pcs, const struct dep_ref *ref, u64 *symbol)
{
	u32 number = 0;
	int err;

	*symbol = ref->addr / DEP_STREAM_WORD;
	if (!pcs)
		return 0;
	if (*symbol >> STREAM_WORD_BITS)
		return dep_fail(-ERANGE, "the address %#llx of a reference is above 2^47",
				(unsigned long long)ref->addr);
	err = number_of(pcs, ref->pc, &number);
	*symbol |= (u64)number << STREAM_WORD_BITS;
	return err;
}

u64 stream_word(const struct stream_pcs *pcs, u64 symbol)
{
	return (pcs ? symbol & ((1ull << STREAM_WORD_BITS) - 1) : symbol) * DEP_STREAM_WORD;
}

void stream_pcs_free(struct stream_pcs *pcs)
{
	free(pcs->slot);
}

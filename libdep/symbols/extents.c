// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sorted lists of address ranges, and the executable sections of a file as such a list. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "file_code.h"

int dep_extents_add(struct dep_extents *t, u64 lo, u64 hi)
{
	struct dep_extent *p;

	if (lo >= hi)
		return 0;
	p = dep_grow(t->at, t->n, &t->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->at = p;
	p[t->n++] = (struct dep_extent){ lo, hi };
	return 0;
}

static int by_address(const void *pa, const void *pb)
{
	const struct dep_extent *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return a->hi < b->hi ? -1 : a->hi > b->hi;
}

void dep_extents_sort(struct dep_extents *t)
{
	size_t i, n = 0;

	if (!t->n)
		return;
	qsort(t->at, t->n, sizeof(*t->at), by_address);
	for (i = 1; i < t->n; i++)
		if (by_address(&t->at[n], &t->at[i]))
			t->at[++n] = t->at[i];
	t->n = n + 1;
}

size_t dep_extents_upto(const struct dep_extents *t, u64 at)
{
	size_t lo = 0, hi = t->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->at[mid].lo <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct dep_extent *dep_extents_find(const struct dep_extents *t, u64 at)
{
	size_t n = dep_extents_upto(t, at);

	return n && at < t->at[n - 1].hi ? &t->at[n - 1] : NULL;
}

/* Make each extent of sorted @t begin where those before it have ended. */
static void remove_overlap(struct dep_extents *t)
{
	size_t i, n = 0;
	u64 end = 0, lo;

	for (i = 0; i < t->n; i++) {
		lo = t->at[i].lo > end ? t->at[i].lo : end;
		if (lo >= t->at[i].hi)
			continue;
		end = t->at[i].hi;
		t->at[n++] = (struct dep_extent){ lo, end };
	}
	t->n = n;
}

static int add_sections(struct dep_image *im, struct dep_extents *out)
{
	const u64 flags = SHF_ALLOC | SHF_EXECINSTR;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(im->main.elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & flags) == flags &&
		    !(sh.sh_addr >> 56) && !(sh.sh_size >> 56) &&
		    dep_image_is_code(im, sh.sh_addr, sh.sh_addr + sh.sh_size))
			err = dep_extents_add(out, sh.sh_addr, sh.sh_addr + sh.sh_size);
	return err;
}

int dep_code_areas(struct dep_image *im, struct dep_extents *out)
{
	const struct dep_load *l;
	int err = add_sections(im, out);
	u32 i;

	for (i = 0; !err && !elf_nextscn(im->main.elf, NULL) && i < im->nloads; i++) {
		l = &im->load[i];
		/* Nothing is at address 0, see dep_image_is_code(). */
		if (l->exec)
			err = dep_extents_add(out, l->vaddr ? l->vaddr : 1, l->vaddr + l->memsz);
	}
	dep_extents_sort(out);
	remove_overlap(out);
	return err;
}

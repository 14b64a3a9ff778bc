// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Find the compilation unit at a code address. The section .debug_aranges would have the same data,
 * but not all compilers write it.
 */
#include <stdlib.h>

#include "libdep/symbols/dwarf/die.h"
#include "internal.h"

#define MAX_RANGES	(1 << 20)	/* maximum number of address ranges of a DWARF entry */

static struct dep_unit *add_unit(struct dep_image *im, size_t *room)
{
	struct dep_unit *p = dep_grow(im->unit, im->nunits, room, sizeof(*p));

	if (!p || im->nunits >= DEP_NO_INDEX - 1)
		return NULL;
	im->unit = p;
	p[im->nunits] = (struct dep_unit){ 0 };
	return &p[im->nunits++];
}

int dep_die_spans(struct dep_image *im, Dwarf_Die *die, struct dep_spans *to, u32 value)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int i, n = 0;

	for (i = 0; i < MAX_RANGES; i++) {
		at = dwarf_ranges(die, at, &base, &lo, &hi);
		if (at <= 0)
			break;
		/*
		 * Skip code that the linker discarded: DWARF still describes it, at address 0 or
		 * outside of all segments.
		 */
		if (dep_image_is_code(im, lo, hi) && !dep_spans_add(to, lo, hi, value))
			n++;
	}
	return n;
}

void dep_image_units(struct dep_image *im)
{
	Dwarf *dw = dep_image_dwarf(im);
	Dwarf_Die die, sub;
	Dwarf_CU *cu = NULL;
	struct dep_unit *u;
	size_t room = 0;
	u8 type;

	if (im->have_units || !dw)
		return;
	im->have_units = true;
	while (!dwarf_get_units(dw, cu, &cu, NULL, &type, &die, &sub)) {
		u = add_unit(im, &room);
		if (!u)
			break;
		u->skeleton = die;
		u->die = type == DW_UT_skeleton && sub.addr ? sub : die;
		dep_die_spans(im, &die, &im->units, im->nunits - 1);
	}
	dep_spans_seal(&im->units);
}

struct dep_unit *dep_image_unit(struct dep_image *im, u64 vaddr)
{
	struct dep_unit *u;
	u32 i;

	dep_image_units(im);
	i = dep_spans_find(&im->units, vaddr);
	if (i == DEP_SPAN_NONE)
		return NULL;
	u = &im->unit[i];
	if (!u->built)
		dep_unit_build(im, u);
	return u;
}

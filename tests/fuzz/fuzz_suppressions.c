// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: files of suppressions.  An accepted file must be within the limits, and is
 * matched with stacks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/races/suppressions.h"

static struct dep_place place[] = {
	{ .function = "inner(int*)", .symbol = "_Z5innerPi", .file = "/src/a*b.cpp", .line = 7,
	  .inlined = true, .module = "/bin/prog", .build_id = "" },
	{ .function = "outer", .file = "a.c", .module = "/bin/prog", .build_id = "ab" },
	{ .module = "[anonymous]", .build_id = "" },
};

static void check(struct suppressions *s)
{
	const struct race_stack stack[2] = {
		{ .place = place, .n = sizeof(place) / sizeof(place[0]), .main = 1 },
		{ .n = 0 },
	};
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct suppression *e = &s->v[i];

		if (!e->line || !e->text || e->nframes > SUPPRESSION_FRAMES ||
		    (e->kind == SUPPRESS_FRAMES) != (e->nframes != 0))
			abort();
	}
	suppressions_match(s, stack, "table[3].next");
	suppressions_match(s, stack, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppressions s = { 0 };
	struct suppressions_error e;

	memset(&e, 0xff, sizeof(e));
	if (!suppressions_parse(&s, "fuzz", (const char *)data, size, &e))
		check(&s);
	else if (!*e.text || !memchr(e.text, 0, sizeof(e.text)) || e.line > size + 1)
		abort();
	suppressions_free(&s);
	return 0;
}

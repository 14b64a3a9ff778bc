// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>

#include "hot.h"

/* Rules have smaller numbers than those that they use, so one pass in this order is enough. */
static void count_uses(const struct sequitur *g, struct hot_use *use)
{
	struct sequitur_symbol s;
	struct sequitur_walk w;
	u32 i, n = sequitur_rules(g);

	memset(use, 0, n * sizeof(*use));
	use[0].uses = 1;
	for (i = 0; i < n; i++) {
		w = sequitur_walk(g, i);
		while (sequitur_next(g, &w, &s))
			if (s.is_rule)
				use[s.value].uses += use[i].uses;
	}
}

static bool is_hot(const struct hot_limits *l, u64 length, u64 cold_uses)
{
	unsigned __int128 heat = (unsigned __int128)length * cold_uses;

	return cold_uses && length >= l->min_length && length <= l->max_length && heat >= l->heat;
}

void hot_find(const struct sequitur *g, const struct hot_limits *limits, struct hot_use *use)
{
	struct sequitur_symbol s;
	struct sequitur_walk w;
	u32 i, n = sequitur_rules(g);
	u64 not_cold;

	count_uses(g, use);
	for (i = 0; i < n; i++)
		use[i].cold_uses = use[i].uses;
	for (i = 0; i < n; i++) {
		use[i].hot = i && is_hot(limits, sequitur_length(g, i), use[i].cold_uses);
		not_cold = use[i].hot ? use[i].uses : use[i].uses - use[i].cold_uses;
		w = sequitur_walk(g, i);
		while (not_cold && sequitur_next(g, &w, &s))
			if (s.is_rule)
				use[s.value].cold_uses -= not_cold;
	}
}

void hot_positions(const struct sequitur *g, const struct hot_use *use, u64 *position)
{
	u32 i, n = sequitur_rules(g);
	struct sequitur_symbol s;
	struct sequitur_walk w;
	u64 at;

	memset(position, 0xff, n * sizeof(*position));
	position[0] = 0;
	for (i = 0; i < n; i++) {
		at = position[i];
		w = sequitur_walk(g, i);
		while (at != UINT64_MAX && !use[i].hot && sequitur_next(g, &w, &s)) {
			if (!s.is_rule) {
				at++;
				continue;
			}
			if (at < position[s.value])
				position[s.value] = at;
			at += sequitur_length(g, (u32)s.value);
		}
	}
	for (i = 0; i < n; i++)
		if (!use[i].hot)
			position[i] = UINT64_MAX;
}

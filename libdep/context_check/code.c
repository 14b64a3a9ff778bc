// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which function is at an address: files can be unmapped, and generated code can be replaced.
 *
 * The generation of a function tells it from others at its address.  In a file it is the image, as
 * each mapping of a file has one of its own.  Elsewhere it is a number of the code's bytes: two
 * fragments have the same code if one begins with all bytes of the other.
 *
 * Functions whose code is gone are retired, so that new encodings have no numbers for them.  The
 * threads are walked one after the other, so a thread may still call what another one has seen
 * unmapped: that function is there again.
 */
#include <stdlib.h>
#include <string.h>

#include "dep/fragment.h"
#include "libdep/context/array.h"
#include "check.h"

#define GENERATED	(1u << 31)	/* a generation that is no image */
#define VERSIONS	64u		/* of code at an address that a fragment is compared with */

/* ---- generations ---- */

static int by_pc(const void *pa, const void *pb, void *arg)
{
	const struct dep_code_fragment *f = arg;
	const struct dep_code_fragment *a = f + *(const u32 *)pa, *b = f + *(const u32 *)pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return *(const u32 *)pa < *(const u32 *)pb ? -1 : *(const u32 *)pa > *(const u32 *)pb;
}

static bool same_code(struct dep_store *store, u32 a, u32 b)
{
	struct dep_fragment_code x, y;

	dep_fragment_code(store, a, &x);
	dep_fragment_code(store, b, &y);
	return !memcmp(x.code, y.code, x.code_len < y.code_len ? x.code_len : y.code_len);
}

/* Fragments at one address, in the order of the log: each is of a version, or begins a new one. */
static void find_versions(struct check *c, const u32 *fragment, size_t n)
{
	u32 version[VERSIONS], k;
	size_t i, nversions = 0;

	for (i = 0; i < n; i++) {
		for (k = 0; k < nversions && k < VERSIONS; k++)
			if (same_code(c->walk->store, version[k], fragment[i]))
				break;
		if (k == nversions || k == VERSIONS) {
			k = nversions++ % VERSIONS;
			version[k] = fragment[i];
		}
		c->generation[fragment[i]] = GENERATED | version[k];
		c->first[fragment[i]] = fragment[0];
	}
}

static int find_generations(struct check *c)
{
	const struct dep_fragments *code = c->walk->code;
	const struct dep_code_fragment *f = code->fragment;
	u32 *generated = calloc(code->nfragments + 1ull, sizeof(*generated)), i, end, n = 0;

	c->generation = calloc(code->nfragments + 1ull, sizeof(*c->generation));
	c->first = calloc(code->nfragments + 1ull, sizeof(*c->first));
	c->version = calloc(code->nfragments + 1ull, sizeof(*c->version));
	if (!generated || !c->generation || !c->first || !c->version) {
		free(generated);
		return -ENOMEM;
	}
	for (i = 0; i < code->nfragments; i++) {
		c->generation[i] = f[i].image;
		if (!f[i].image)
			generated[n++] = i;
	}
	qsort_r(generated, n, sizeof(*generated), by_pc, (void *)f);
	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && f[generated[end]].pc == f[generated[i]].pc &&
		     f[generated[end]].process == f[generated[i]].process; end++)
			;
		find_versions(c, generated + i, end - i);
	}
	free(generated);
	return 0;
}

u32 check_image(const struct check *c, u32 node)
{
	u32 generation = c->encoder.graph.node[node].generation;

	return generation & GENERATED ? 0 : generation;
}

u32 check_generation(const struct check *c, u32 image, s64 fragment, u64 pc)
{
	if (image || !c->generation)
		return image;
	if (fragment < 0)
		fragment = dep_moves_at(c->walk->moves, c->walk->thread->process, pc);
	return fragment < 0 ? 0 : c->generation[fragment];
}

/* ---- files that are unmapped ---- */

static int by_end(const void *pa, const void *pb, void *arg)
{
	const struct dep_module *m = arg, *a = m + *(const u32 *)pa, *b = m + *(const u32 *)pb;

	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return *(const u32 *)pa < *(const u32 *)pb ? -1 : 1;
}

static int find_unmapped(struct check *c)
{
	size_t i;

	c->nmodules = dep_store_modules(c->walk->store, &c->module);
	c->unmapped = calloc(c->nmodules + 1, sizeof(*c->unmapped));
	c->retired = calloc(c->nmodules + 1, sizeof(*c->retired));
	c->newest = calloc(c->nmodules + 2, sizeof(*c->newest));
	if (!c->unmapped || !c->retired || !c->newest)
		return -ENOMEM;
	for (i = 0; i < c->nmodules; i++)
		if (c->module[i].to_ns)
			c->unmapped[c->nunmapped++] = (u32)i;
	qsort_r(c->unmapped, c->nunmapped, sizeof(*c->unmapped), by_end, (void *)c->module);
	return 0;
}

/* ---- calls that were made before ---- */

int check_calls_make(struct check *c)
{
	c->call = calloc(CHECK_CALLS, sizeof(*c->call));
	return c->call ? 0 : -ENOMEM;
}

void check_calls_count(struct check *c)
{
	struct dep_cc_edge *edge = c->encoder.graph.edge;
	u32 i;

	for (i = 0; i < CHECK_CALLS; i++) {
		if (!c->call[i].calls)
			continue;
		edge[c->call[i].edge].calls += c->call[i].calls;
		c->call[i].calls = 0;
	}
}

/* The next call of each function is looked up. */
void check_calls_forget(struct check *c)
{
	c->epoch = (c->epoch + 1) % CHECK_EPOCHS;
	if (c->epoch)
		return;
	check_calls_count(c);
	memset(c->call, 0, CHECK_CALLS * sizeof(*c->call));
}

/* ---- code that is gone ---- */

static void retire(struct check *c, u32 image)
{
	u32 node;

	for (node = c->newest[image]; node; node = c->older[node])
		dep_cc_graph_retire(&c->encoder.graph, node);
	check_calls_forget(c);
}

/* Files of the process that were unmapped up to @now. */
static void retire_until(struct check *c, u64 now)
{
	u32 row, process = c->walk->thread->process;

	for (; c->next_unmapped < c->nunmapped; c->next_unmapped++) {
		row = c->unmapped[c->next_unmapped];
		if (c->module[row].to_ns > now)
			break;
		if (c->module[row].process != process || c->retired[row])
			continue;
		c->retired[row] = true;
		retire(c, row + 1);
	}
}

void check_code_now(struct check *c)
{
	const struct dep_walk *w = c->walk;

	if (c->segment == w->segment)
		return;
	c->segment = w->segment;
	if (c->thread != w->thread) {
		c->next_unmapped = 0;
		/* They lead to contexts of a process. */
		check_calls_forget(c);
	}
	c->thread = w->thread;
	if (w->segment)
		retire_until(c, w->segment->start_ns);
}

/* Another version of generated code was at the address of @node before. */
static void replace(struct check *c, u32 node)
{
	struct dep_cc_graph *g = &c->encoder.graph;
	u32 version = g->node[node].generation & ~GENERATED, *now = c->version + c->first[version];

	if (*now && *now != node) {
		dep_cc_graph_retire(g, *now);
		check_calls_forget(c);
	}
	*now = node;
}

/* Link the node to those of its image. */
static int add_node(struct check *c, u32 node, u32 image)
{
	while (c->nolder <= node) {
		if (dep_cc_room_for(&c->older, c->nolder, &c->older_room, sizeof(*c->older)))
			return -ENOMEM;
		c->older[c->nolder++] = 0;
	}
	c->older[node] = c->newest[image];
	c->newest[image] = node;
	return 0;
}

int check_code_called(struct check *c, u32 node, bool added)
{
	struct dep_cc_node *n = c->encoder.graph.node + node;

	if (!c->generation || !n->generation || (!added && !n->gone))
		return 0;
	n->gone = false;
	if (n->generation & GENERATED) {
		replace(c, node);
		return 0;
	}
	if (n->generation > c->nmodules)
		return 0;
	c->retired[n->generation - 1] = false;
	retire_until(c, c->module[n->generation - 1].from_ns);
	return added ? add_node(c, node, n->generation) : 0;
}

u64 check_code_gone(const struct check *c)
{
	const struct dep_cc_graph *g = &c->encoder.graph;
	u64 gone = 0;
	u32 i;

	for (i = 0; i < g->nnodes; i++)
		gone += g->node[i].gone;
	return gone;
}

/* ---- begin, end ---- */

int check_code_make(struct check *c)
{
	int err = check_calls_make(c);

	if (!err)
		err = find_generations(c);
	return err ? err : find_unmapped(c);
}

void check_code_free(struct check *c)
{
	free(c->generation);
	free(c->first);
	free(c->version);
	free(c->newest);
	free(c->older);
	free(c->unmapped);
	free(c->retired);
	free(c->call);
}

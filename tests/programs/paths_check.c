// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * paths_check STORE [MEMORY]: compare the paths of a recording with its other profile.
 *
 * What the paths execute, block by block, must be what dep_profile counts for each instruction, and
 * the edges of paths those that it counts for each branch.  Prints the number of rows of each kind,
 * or what differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dep/path_profile.h>
#include <dep/store.h>

struct edge {
	uint32_t process, ends;		/* @ends: a path ends here, and no block follows */
	uint64_t from, to, count;
};

static struct edge *edges;
static size_t nedges, room;
static uint64_t *executed;
static unsigned int wrong;

static void *checked(void *p)
{
	if (p)
		return p;
	fputs("out of memory\n", stderr);
	exit(1);
}

static int compare(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->ends != b->ends)
		return a->ends < b->ends ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void add_edge(uint32_t process, uint64_t from, uint64_t to, uint64_t count)
{
	if (nedges == room) {
		room = room ? 2 * room : 4096;
		edges = checked(realloc(edges, room * sizeof(*edges)));
	}
	edges[nedges++] = (struct edge){ process, !to, from, to, count };
}

static void differ(const char *what, uint32_t process, uint64_t pc, uint64_t paths, uint64_t all)
{
	if (wrong++ < 10)
		printf("%s: process %u, %#llx: %llu by paths, %llu in all\n", what, process,
		       (unsigned long long)pc, (unsigned long long)paths, (unsigned long long)all);
}

/* Index of the first instruction of @process at @pc or behind it. */
static size_t insn_at(const struct dep_insn_count **by_pc, size_t n, uint32_t process, uint64_t pc)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (by_pc[mid]->process < process ||
		    (by_pc[mid]->process == process && by_pc[mid]->pc < pc))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int by_pc(const void *pa, const void *pb)
{
	const struct dep_insn_count *a = *(const struct dep_insn_count *const *)pa;
	const struct dep_insn_count *b = *(const struct dep_insn_count *const *)pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

/* Add a block to the instructions that it has: one behind the other from its first one on. */
static void add_block(const struct dep_insn_count **insn, size_t n, uint32_t process,
		      const struct dep_path_code *b, uint64_t count)
{
	size_t i = insn_at(insn, n, process, b->pc);
	uint64_t pc = b->pc;
	uint32_t found = 0;

	for (; i < n && insn[i]->process == process && insn[i]->pc <= b->last; i++) {
		if (insn[i]->pc != pc)
			continue;	/* behind a prefix that a jump goes around */
		executed[i] += count;
		pc += insn[i]->size;
		found++;
	}
	if (found != b->insns)
		differ("instructions of a block", process, b->pc, b->insns, found);
}

static void add_rows(const struct dep_path_profile *p, const struct dep_insn_count **insn, size_t n)
{
	struct dep_path_code *block = NULL;
	const struct dep_path_row *r;
	uint64_t kinds[3] = { 0 };
	size_t i, k, most = 0;

	for (i = 0; i < p->nrows; i++) {
		r = p->row + i;
		if (r->blocks > most) {
			most = r->blocks;
			block = checked(realloc(block, most * sizeof(*block)));
		}
		if (dep_path_profile_blocks(p, i, block, most) != r->blocks)
			differ("blocks of a path", r->process, r->pc, r->number, r->blocks);
		for (k = 0; k < r->blocks; k++) {
			add_block(insn, n, r->process, block + k, r->count);
			add_edge(r->process, block[k].last,
				 k + 1 < r->blocks ? block[k + 1].pc : r->next, r->count);
		}
		kinds[r->kind]++;
	}
	printf("%llu whole, %llu partial, %llu loops\n", (unsigned long long)kinds[0],
	       (unsigned long long)kinds[1], (unsigned long long)kinds[2]);
	free(block);
}

static void add_up(void)
{
	size_t i, n = 0;

	qsort(edges, nedges, sizeof(*edges), compare);
	for (i = 0; i < nedges; i++) {
		if (n && !compare(edges + n - 1, edges + i))
			edges[n - 1].count += edges[i].count;
		else
			edges[n++] = edges[i];
	}
	nedges = n;
}

static const struct edge *find(uint32_t process, uint64_t from, uint64_t to)
{
	struct edge key = { .process = process, .from = from, .to = to, .ends = !to };

	return bsearch(&key, edges, nedges, sizeof(key), compare);
}

static void check_edges(const struct dep_profile *p)
{
	const struct dep_edge_count *e;
	const struct edge *path, *end;
	uint64_t paths, all;
	size_t i, k;

	for (i = 0; i < p->nedges; i = k) {
		e = p->edge + i;
		k = i + 1;
		if (e->kind != DEP_BRANCH_COND && e->kind != DEP_BRANCH_JUMP &&
		    e->kind != DEP_BRANCH_JUMP_INDIRECT && e->kind != DEP_BRANCH_RETURN)
			continue;
		end = find(e->process, e->from, 0);
		paths = end ? end->count : 0;
		all = 0;
		for (k = i; k < p->nedges && p->edge[k].process == e->process &&
		     p->edge[k].image == e->image && p->edge[k].from == e->from &&
		     p->edge[k].kind == e->kind; k++) {
			path = find(e->process, e->from, p->edge[k].to);
			paths += path ? path->count : 0;
			all += p->edge[k].count;
			if ((path ? path->count : 0) > p->edge[k].count ||
			    (!end && e->kind <= DEP_BRANCH_JUMP_INDIRECT &&
			     (path ? path->count : 0) != p->edge[k].count))
				differ("edge", e->process, e->from, path ? path->count : 0,
				       p->edge[k].count);
		}
		if (paths != all)
			differ("branch", e->process, e->from, paths, all);
	}
}

static void check(const struct dep_path_profile *paths, const struct dep_profile *p)
{
	const struct dep_insn_count **insn = checked(calloc(p->ninsns + 1, sizeof(*insn)));
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		insn[i] = p->insn + i;
	qsort(insn, p->ninsns, sizeof(*insn), by_pc);
	executed = checked(calloc(p->ninsns + 1, sizeof(*executed)));
	add_rows(paths, insn, p->ninsns);
	for (i = 0; i < p->ninsns; i++)
		if (executed[i] != insn[i]->count)
			differ("instruction", insn[i]->process, insn[i]->pc, executed[i],
			       insn[i]->count);
	if (paths->insns != p->insns)
		differ("instructions", 0, 0, paths->insns, p->insns);
	add_up();
	check_edges(p);
	free(insn);
}

int main(int argc, char **argv)
{
	struct dep_path_profile_options o = {
		.memory = argc > 2 ? strtoull(argv[2], NULL, 0) : 0,
	};
	struct dep_path_profile *paths = NULL;
	struct dep_fragments *code = NULL;
	struct dep_profile *p = NULL;
	struct dep_store *store;

	if (argc < 2 || dep_store_open(&store, argv[1]) || dep_code_make(store, &code) ||
	    dep_profile_make(store, code, NULL, &p) ||
	    dep_path_profile_make(store, code, &o, &paths)) {
		printf("%s\n", dep_error());
		return 1;
	}
	check(paths, p);
	if (wrong)
		printf("%u wrong\n", wrong);
	if (paths->loss.segments)
		printf("%llu segments cannot be read\n", (unsigned long long)paths->loss.segments);
	if (paths->not_counted)
		printf("%llu not counted\n", (unsigned long long)paths->not_counted);
	dep_path_profile_free(paths);
	dep_profile_free(p);
	dep_code_free(code);
	dep_store_close(store);
	free(edges);
	free(executed);
	return wrong != 0;
}

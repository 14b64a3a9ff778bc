// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * paths_check STORE [MEMORY [ITERATIONS]]: compare the paths of a recording with its other profile.
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

/* An instruction, in all versions of code with the same size and in all files mapped there. */
struct insn {
	uint64_t pc, count;
	uint32_t process;
	uint8_t size;
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
static size_t insn_at(const struct insn *insn, size_t n, uint32_t process, uint64_t pc)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (insn[mid].process < process ||
		    (insn[mid].process == process && insn[mid].pc < pc))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int by_pc(const void *pa, const void *pb)
{
	const struct insn *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* All instructions in order, each once. */
static struct insn *make_insns(const struct dep_profile *p, size_t *n)
{
	struct insn *insn = checked(calloc(p->ninsns + 1, sizeof(*insn)));
	size_t i;

	for (i = 0; i < p->ninsns; i++)
		insn[i] = (struct insn){ p->insn[i].pc, p->insn[i].count, p->insn[i].process,
					 p->insn[i].size };
	qsort(insn, p->ninsns, sizeof(*insn), by_pc);
	for (i = 0, *n = 0; i < p->ninsns; i++) {
		if (*n && !by_pc(insn + *n - 1, insn + i))
			insn[*n - 1].count += insn[i].count;
		else
			insn[(*n)++] = insn[i];
	}
	return insn;
}

/*
 * Add @count to @left instructions from @pc on, of which @last is the last one.  Instructions of
 * several sizes can have been executed at an address: those that lead to @last are meant.
 */
static int add_insns(const struct insn *insn, size_t n, uint32_t process, uint64_t pc,
		     uint32_t left, uint64_t last, uint64_t count)
{
	size_t i;

	for (i = insn_at(insn, n, process, pc);
	     i < n && insn[i].process == process && insn[i].pc == pc; i++) {
		if (left > 1 ? !add_insns(insn, n, process, pc + insn[i].size, left - 1, last,
					  count) : pc != last)
			continue;
		executed[i] += count;
		return 1;
	}
	return 0;
}

static void add_block(const struct insn *insn, size_t n, uint32_t process,
		      const struct dep_path_code *b, uint64_t count)
{
	if (b->insns && !add_insns(insn, n, process, b->pc, b->insns, b->last, count))
		differ("instructions of a block", process, b->pc, b->insns, 0);
}

static void add_rows(const struct dep_path_profile *p, const struct insn *insn, size_t n)
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

static int by_branch(const void *pa, const void *pb)
{
	const struct dep_edge_count *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* All edges of branches that paths have, each once, whatever the files mapped there. */
static struct dep_edge_count *make_edges(const struct dep_profile *p, size_t *n)
{
	struct dep_edge_count *e = checked(calloc(p->nedges + 1, sizeof(*e)));
	size_t i, all = 0;

	for (i = 0; i < p->nedges; i++)
		if (p->edge[i].kind == DEP_BRANCH_COND || p->edge[i].kind == DEP_BRANCH_JUMP ||
		    p->edge[i].kind == DEP_BRANCH_JUMP_INDIRECT ||
		    p->edge[i].kind == DEP_BRANCH_RETURN)
			e[all++] = p->edge[i];
	qsort(e, all, sizeof(*e), by_branch);
	for (i = 0, *n = 0; i < all; i++) {
		if (*n && !by_branch(e + *n - 1, e + i))
			e[*n - 1].count += e[i].count;
		else
			e[(*n)++] = e[i];
	}
	return e;
}

static void check_edges(const struct dep_profile *p)
{
	size_t n, i, k;
	struct dep_edge_count *all_edges = make_edges(p, &n);
	const struct dep_edge_count *e;
	const struct edge *path, *end;
	uint64_t paths, all, count;

	for (i = 0; i < n; i = k) {
		e = all_edges + i;
		end = find(e->process, e->from, 0);
		paths = end ? end->count : 0;
		all = 0;
		for (k = i; k < n && all_edges[k].process == e->process &&
		     all_edges[k].from == e->from && all_edges[k].kind == e->kind; k++) {
			path = find(e->process, e->from, all_edges[k].to);
			count = path ? path->count : 0;
			paths += count;
			all += all_edges[k].count;
			if (count > all_edges[k].count ||
			    (!end && e->kind <= DEP_BRANCH_JUMP_INDIRECT &&
			     count != all_edges[k].count))
				differ("edge", e->process, e->from, count, all_edges[k].count);
		}
		if (paths != all)
			differ("branch", e->process, e->from, paths, all);
	}
	free(all_edges);
}

static void check(const struct dep_path_profile *paths, const struct dep_profile *p)
{
	size_t n, i;
	struct insn *insn = make_insns(p, &n);

	executed = checked(calloc(n + 1, sizeof(*executed)));
	add_rows(paths, insn, n);
	for (i = 0; i < n; i++)
		if (executed[i] != insn[i].count)
			differ("instruction", insn[i].process, insn[i].pc, executed[i],
			       insn[i].count);
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
		.iterations = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 0,
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

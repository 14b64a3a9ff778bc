// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text profile of AutoFDO: executed ranges and branches of one file, each list with its length in
 * front.  The list of single addresses, which other profilers sample, is empty.  A range is a
 * basic block, from its first to its last instruction.
 *
 * The unsymbolized profile of llvm-profgen has the same lists without that of addresses, and
 * addresses are relative to the first page of code.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/depctl/depctl.h"
#include "code_blocks.h"
#include "program.h"

/* An entry of one of the lists. */
struct entry {
	uint64_t from, to, count;
};

struct autofdo {
	struct export *x;
	struct program program;
	bool profgen;
	struct entry *entry;
	size_t n;
};

static void add(struct autofdo *a, uint64_t from, uint64_t to, uint64_t count)
{
	a->entry[a->n++] = (struct entry){ from, to, count };
}

static bool address(struct autofdo *a, uint32_t image, uint64_t pc, uint64_t *out)
{
	if (!program_address(&a->program, image, pc, out))
		return false;
	if (a->profgen)
		*out -= lines_file(&a->program.lines, image)->text;
	return true;
}

static bool chosen(const struct export *x, uint32_t process, uint32_t image, uint64_t pc)
{
	return !x->chosen || export_chosen(x, functions_at(x->l.functions, process, image, pc));
}

static void add_ranges(struct autofdo *a, const struct code_blocks *b)
{
	const struct dep_insn_count *first, *last;
	uint64_t from;
	size_t i;

	for (i = 0; i < b->n; i++) {
		first = &b->p->insn[b->block[i].first];
		last = first + b->block[i].n - 1;
		if (first->count && address(a, first->image, first->pc, &from) &&
		    chosen(a->x, first->process, first->image, first->pc))
			add(a, from, from + (last->pc - first->pc), first->count);
	}
}

static bool is_taken(const struct dep_edge_count *e)
{
	return e->kind == DEP_BRANCH_COND ? e->taken :
	       e->kind >= DEP_BRANCH_JUMP && e->kind <= DEP_BRANCH_RETURN;
}

static void add_branches(struct autofdo *a, const struct dep_profile *p)
{
	const struct dep_edge_count *e;
	uint64_t from, to;
	size_t i;

	for (i = 0; i < p->nedges; i++) {
		e = &p->edge[i];
		if (is_taken(e) && chosen(a->x, e->process, e->image, e->from) &&
		    address(a, e->image, e->from, &from) &&
		    address(a, e->to_image, e->to, &to))
			add(a, from, to, e->count);
	}
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_address(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int order = ORDER(a->from, b->from);

	return order ? order : ORDER(a->to, b->to);
}

/* Write the list, with the counts of all processes added up, and empty it. */
static void put_list(struct autofdo *a, const char *sign)
{
	struct entry *e = a->entry;
	size_t i, n = 0;

	qsort(e, a->n, sizeof(*e), by_address);
	for (i = 0; i < a->n; i++) {
		if (n && !by_address(&e[n - 1], &e[i]))
			e[n - 1].count += e[i].count;
		else
			e[n++] = e[i];
	}
	out_printf(&a->x->out, "%zu\n", n);
	for (i = 0; i < n; i++)
		out_printf(&a->x->out, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n", e[i].from, sign,
			   e[i].to, e[i].count);
	a->n = 0;
}

static int write_lists(struct export *x, bool profgen)
{
	const struct dep_profile *p = x->l.profile;
	struct autofdo a = { .x = x, .profgen = profgen };
	struct code_blocks b = { 0 };
	int ret = 1;

	if (program_find(&a.program, x))
		return 1;
	a.entry = calloc((p->ninsns > p->nedges ? p->ninsns : p->nedges) + 1, sizeof(*a.entry));
	if (!a.entry || code_blocks_make(&b, p)) {
		warn("out of memory");
		goto out;
	}
	add_ranges(&a, &b);
	put_list(&a, "-");
	if (!profgen)
		out_text(&x->out, "0\n");
	add_branches(&a, p);
	put_list(&a, "->");
	ret = 0;
out:
	free(a.entry);
	code_blocks_free(&b);
	program_end(&a.program);
	return ret;
}

int export_autofdo(struct export *x)
{
	return write_lists(x, false);
}

int export_llvm_profgen(struct export *x)
{
	return write_lists(x, true);
}

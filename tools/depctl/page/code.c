// SPDX-License-Identifier: GPL-2.0-or-later
/* Choose the instructions that the page shows: those of the functions that executed most. */
#include <errno.h>
#include <stdlib.h>

#include "model.h"

/** struct chosen - a function with assembly */
struct chosen {
	uint64_t insns;		/* executed */
	uint32_t function, rows;	/* rows: in dep_profile.insn */
};

static int most_insns(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Set of[] to the function of each row, and rows[] to the number of rows of each function. */
static void count_rows(const struct page_input *in, size_t nfunctions, uint32_t *of,
		       struct chosen *f)
{
	const struct dep_profile *p = in->profile;
	size_t i;

	for (i = 0; i < p->ninsns; i++) {
		of[i] = functions_at(in->functions, p->insn[i].process, p->insn[i].image,
				     p->insn[i].pc);
		if (of[i] >= nfunctions)
			continue;
		f[of[i]].rows++;
		f[of[i]].insns += p->insn[i].count;
	}
}

uint64_t page_address(const struct page_input *in, const struct dep_insn_count *row)
{
	struct dep_place place;

	if (!row->image)
		return row->pc;
	dep_symbols_module(in->symbols, row->process, row->pc,
			   in->code->fragment[row->fragment].time_ns, &place);
	return place.linked ? place.linked : place.offset ? place.offset : row->pc;
}

static int by_address(const void *a, const void *b)
{
	const struct page_insn *x = a, *y = b;

	if (x->function != y->function)
		return x->function > y->function ? 1 : -1;
	if (x->address != y->address)
		return x->address > y->address ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool same_insn(const struct dep_profile *p, const struct page_insn *a,
		      const struct page_insn *b)
{
	return a->function == b->function && a->address == b->address &&
	       p->insn[a->row].size == p->insn[b->row].size;
}

/* Sort, and add up the counts of processes that execute the same file. */
static void merge(const struct dep_profile *p, struct page_code *c)
{
	size_t i, n = 0;

	qsort(c->insn, c->n, sizeof(*c->insn), by_address);
	for (i = 0; i < c->n; i++) {
		if (n && same_insn(p, &c->insn[n - 1], &c->insn[i]))
			c->insn[n - 1].count += c->insn[i].count;
		else
			c->insn[n++] = c->insn[i];
	}
	c->n = n;
}

static int collect(const struct page_input *in, const uint32_t *of, const bool *with,
		   size_t nfunctions, size_t room, struct page_code *c)
{
	const struct dep_profile *p = in->profile;
	size_t i;

	c->insn = calloc(room + 1, sizeof(*c->insn));
	if (!c->insn)
		return -ENOMEM;
	for (i = 0; i < p->ninsns; i++)
		if (of[i] < nfunctions && with[of[i]])
			c->insn[c->n++] = (struct page_insn){
				.function = of[i], .row = i, .count = p->insn[i].count,
				.address = page_address(in, &p->insn[i]) };
	merge(p, c);
	return 0;
}

int page_code_make(const struct page_input *in, struct page_code *c)
{
	const struct function *all;
	size_t n = functions_all(in->functions, &all), i, rows = 0, room = in->profile->ninsns;
	struct chosen *f = calloc(n + 1, sizeof(*f));
	uint32_t *of = calloc(room + 1, sizeof(*of));
	bool *with = calloc(n + 1, sizeof(*with));
	int ret = -ENOMEM;

	*c = (struct page_code){ };
	if (!f || !of || !with)
		goto out;
	for (i = 0; i < n; i++)
		f[i].function = i;
	count_rows(in, n, of, f);
	qsort(f, n, sizeof(*f), most_insns);
	for (i = 0; i < n && i < PAGE_CODE && f[i].rows; i++) {
		if (rows + f[i].rows > PAGE_INSNS)
			continue;
		rows += f[i].rows;
		with[f[i].function] = true;
	}
	ret = collect(in, of, with, n, rows, c);
out:
	free(with);
	free(of);
	free(f);
	return ret;
}

void page_code_free(struct page_code *c)
{
	free(c->insn);
	*c = (struct page_code){ };
}

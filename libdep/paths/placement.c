// SPDX-License-Identifier: LGPL-2.1-or-later
/* The placement of instrumentation on arcs. */
#include "placement.h"
#include "weights.h"

/**
 * struct placer - placement at work
 * @in: arcs by target; those of vertex v begin at @in_first[v]
 * @work: vertices that are still to be looked at
 */
struct placer {
	const struct dep_paths *p;
	const struct dep_path_chords *c;
	struct dep_path_placement *t;
	u32 *in, *in_first, *work;
	u32 n;
};

static void list_in_arcs(struct placer *s)
{
	const struct dep_paths *p = s->p;
	u32 i, n = p->exit + 1;

	for (i = 0; i < p->arcs; i++)
		s->in_first[p->arc[i].to + 1]++;
	for (i = 0; i < n; i++)
		s->in_first[i + 1] += s->in_first[i];
	for (i = 0; i < p->arcs; i++)
		s->in[s->in_first[p->arc[i].to]++] = i;
	for (i = n; i; i--)
		s->in_first[i] = s->in_first[i - 1];
	s->in_first[0] = 0;
}

static void set(struct placer *s, u32 arc, enum dep_path_op op, s64 operand)
{
	s->t->op[arc] = (u8)op;
	s->t->operand[arc] = operand;
}

/* Move r = 0 down from ENTRY, as long as only one arc leads to a vertex. */
static void place_starts(struct placer *s)
{
	const struct dep_paths *p = s->p;
	u32 i, v, to;

	s->work[0] = p->entry;
	s->n = 1;
	while (s->n) {
		v = s->work[--s->n];
		for (i = p->first[v]; i < p->first[v + 1]; i++) {
			to = p->arc[i].to;
			if (s->c->chord[i])
				set(s, i, DEP_PATH_SET, s->c->increment[i]);
			else if (s->in_first[to + 1] - s->in_first[to] == 1)
				s->work[s->n++] = to;
			else
				set(s, i, DEP_PATH_SET, 0);
		}
	}
}

/* Move count[r]++ up from EXIT, as long as only one arc leads away from a vertex. */
static void place_counts(struct placer *s)
{
	const struct dep_paths *p = s->p;
	u32 i, arc, from;

	s->work[0] = p->exit;
	s->n = 1;
	while (s->n) {
		u32 v = s->work[--s->n];

		for (i = s->in_first[v]; i < s->in_first[v + 1]; i++) {
			arc = s->in[i];
			from = p->arc[arc].from;
			if (s->c->chord[arc])
				set(s, arc, s->t->op[arc] == DEP_PATH_SET ?
				    DEP_PATH_COUNT_CONSTANT : DEP_PATH_COUNT,
				    s->c->increment[arc]);
			else if (p->first[from + 1] - p->first[from] == 1)
				s->work[s->n++] = from;
			else
				set(s, arc, DEP_PATH_COUNT, 0);
		}
	}
}

/* What is left of the chords. */
static void place_increments(struct placer *s)
{
	u32 i;

	for (i = 0; i < s->p->arcs; i++)
		if (s->c->chord[i] && s->t->op[i] == DEP_PATH_NOTHING && s->c->increment[i])
			set(s, i, DEP_PATH_ADD, s->c->increment[i]);
}

int dep_path_place(struct dep_path_placement *t, const struct dep_path_chords *c)
{
	const struct dep_paths *p = c->paths;
	const struct dep_path_memory *m = p->graph->memory;
	struct placer s = { .p = p, .c = c, .t = t };
	struct dep_path_block temporary = { 0 };
	u32 n = p->exit + 1;
	int err;

	*t = (struct dep_path_placement){ .paths = p };
	err = dep_path_arrays(m, &t->block, (struct dep_path_array[]){
			DEP_PATH_ARRAY(t->op, p->arcs), DEP_PATH_ARRAY(t->operand, p->arcs),
		}, 2);
	if (err)
		return err;
	err = dep_path_arrays(m, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(s.in, p->arcs), DEP_PATH_ARRAY(s.in_first, n + 1),
			DEP_PATH_ARRAY(s.work, n),
		}, 3);
	if (err) {
		dep_path_placement_free(t);
		return err;
	}
	list_in_arcs(&s);
	place_starts(&s);
	place_counts(&s);
	place_increments(&s);
	dep_path_arrays_free(m, &temporary);
	return 0;
}

void dep_path_placement_free(struct dep_path_placement *t)
{
	dep_path_arrays_free(t->paths->graph->memory, &t->block);
}

/* Levels of optimisation, see struct dep_path_cost. */
enum level { VALUES, CHORDS, PLACED };

/**
 * struct counting - operations that are being counted
 * @weight: executions of each arc; NULL: each counts once
 * @count, @entered: executions of each edge, and calls
 */
struct counting {
	const struct dep_path_placement *t;
	const struct dep_path_chords *c;
	const u64 *weight, *count;
	u64 entered;
};

/**
 * ops_of() - the operations of an arc
 * @op: gets up to three of enum dep_path_op
 *
 * Return: their number.
 */
static u32 ops_of(const struct counting *s, enum level level, u32 arc, u8 op[3])
{
	const struct dep_paths *p = s->t->paths;
	bool adds = level == VALUES ? p->arc[arc].value != 0 : s->c->increment[arc] != 0;
	u32 n = 0;

	if (level == PLACED) {
		op[0] = s->t->op[arc];
		return op[0] != DEP_PATH_NOTHING;
	}
	if (p->arc[arc].from == p->entry)
		op[n++] = DEP_PATH_SET;
	if (adds)
		op[n++] = DEP_PATH_ADD;
	if (p->arc[arc].to == p->exit)
		op[n++] = DEP_PATH_COUNT;
	return n;
}

/* Has this edge of the graph instrumentation? */
static bool instrumented(const struct counting *s, enum level level, u32 edge)
{
	const struct dep_paths *p = s->t->paths;
	u32 arc = p->arc_of[edge];
	u8 op[3];

	if (arc == DEP_PATH_NONE)
		return p->class[edge] == DEP_PATH_SELF;
	if (ops_of(s, level, arc, op))
		return true;
	return dep_path_splits(p->class[edge]) &&
	       ops_of(s, level, p->head[p->graph->edge[edge].to], op);
}

static u64 executions(const struct counting *s, u32 edge)
{
	if (!s->weight)
		return 1;
	return s->count ? s->count[edge] : s->t->paths->graph->edge[edge].weight;
}

static void count_ops(const struct counting *s, enum level level, struct dep_path_ops *ops)
{
	const struct dep_paths *p = s->t->paths;
	u32 i, n;
	u8 op[3];

	for (i = 0; i < p->arcs; i++)
		for (n = ops_of(s, level, i, op); n--; )
			ops->op[op[n]] = dep_add_sat(ops->op[op[n]], s->weight ? s->weight[i] : 1);
	if (ops_of(s, level, p->entry_arc, op))
		ops->edges = s->weight ? s->entered : 1;
	for (i = 0; i < p->graph->edges; i++)
		if (instrumented(s, level, i))
			ops->edges = dep_add_sat(ops->edges, executions(s, i));
}

static void count_all(const struct counting *s, struct dep_path_cost *cost)
{
	u32 i;

	*cost = (struct dep_path_cost){ 0 };
	count_ops(s, VALUES, &cost->values);
	count_ops(s, CHORDS, &cost->chords);
	count_ops(s, PLACED, &cost->placed);
	for (i = 0; i < s->t->paths->graph->edges; i++)
		if (s->t->paths->class[i] == DEP_PATH_SELF)
			cost->self_loops = dep_add_sat(cost->self_loops, executions(s, i));
}

int dep_path_cost(const struct dep_path_placement *t, const struct dep_path_chords *c,
		  const u64 *count, u64 entered, struct dep_path_cost *fixed,
		  struct dep_path_cost *executed)
{
	const struct dep_path_memory *m = t->paths->graph->memory;
	struct counting s = { .t = t, .c = c, .count = count, .entered = entered };
	struct dep_path_block temporary = { 0 };
	u64 *weight;
	int err;

	if (fixed)
		count_all(&s, fixed);
	if (!executed)
		return 0;
	err = dep_path_arrays(m, &temporary, (struct dep_path_array[]){
			DEP_PATH_ARRAY(weight, t->paths->arcs),
		}, 1);
	if (err)
		return err;
	dep_path_measured_weights(t->paths, count, entered, weight);
	s.weight = weight;
	count_all(&s, executed);
	dep_path_arrays_free(m, &temporary);
	return 0;
}

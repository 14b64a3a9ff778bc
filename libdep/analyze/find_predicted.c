// SPDX-License-Identifier: LGPL-2.1-or-later
/* Adds predicted races to the races that were found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/format/file/error.h"
#include "libdep/analyze/sync/predict_events.h"
#include "libdep/analyze/predict/predict.h"
#include "find_predicted.h"
#include "race_result.h"

#define WORK	2000000000ull	/* maximum of predict_find()'s work per process: about 30 s */

struct takes {
	struct sync_events *sync;
	struct sync_process *process;
	struct dep_races *out;
	struct sync_stack **want;
};

/* Does @all have a race of @process between the same two code addresses as @f? */
static bool is_there(const struct dep_races *all, u32 process, const struct race_found *f)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		const struct dep_race *r = &all->race[i];
		u64 a = r->access[0].pc, b = r->access[1].pc;

		if (r->process == process && ((a == f->prior.pc && b == f->current.pc) ||
					      (b == f->prior.pc && a == f->current.pc)))
			return true;
	}
	return false;
}

static int make_room(struct takes *t)
{
	struct dep_races *out = t->out;
	void *more = realloc(out->race, (out->n + 1) * sizeof(*out->race));

	if (!more)
		return -ENOMEM;
	out->race = more;
	more = realloc(*t->want, 2 * (out->n + 1) * sizeof(**t->want));
	if (!more)
		return -ENOMEM;
	*t->want = more;
	memset(&out->race[out->n], 0, sizeof(*out->race));
	return 0;
}

static const struct sync_thread *thread_of(const struct takes *t, u32 index)
{
	size_t i;

	for (i = 0; i < t->sync->nthreads; i++)
		if (t->sync->thread[i] && t->sync->thread[i]->process == t->process &&
		    t->sync->thread[i]->index == index)
			return t->sync->thread[i];
	return NULL;
}

static void set_call(const struct takes *t, u64 *call, u32 place)
{
	const struct sync_thread_log *u = t->process->future;

	if (place)
		memcpy(call, u->place[place - 1].pc, sizeof(u->place[0].pc));
}

static void take_step(const struct takes *t, struct dep_step *s, const struct predict_step *from)
{
	const struct sync_thread *thread = thread_of(t, from->thread);
	u32 i;

	s->thread = thread ? thread->serial : 0;
	s->tid = thread ? thread->tid : 0;
	s->end = from->end == PREDICT_ACCESS ? DEP_STEP_ACCESS :
		 from->end == PREDICT_BEFORE ? DEP_STEP_BEFORE : DEP_STEP_AFTER;
	set_call(t, s->call, from->place);
	s->nsections = from->nsections;
	for (i = 0; i < PREDICT_SECTIONS && i < from->nsections; i++) {
		s->section[i].lock = from->section[i].lock;
		s->section[i].reading = from->section[i].reading;
		set_call(t, s->section[i].call, from->section[i].place);
	}
}

static int report(void *arg, const struct predict_race *found)
{
	struct takes *t = arg;
	struct race_found f = found->found;
	struct dep_race *r;
	struct dep_step *step;
	u32 i;

	if (sync_is_runtimes(t->sync, t->process, &f) ||
	    is_there(t->out, t->process->serial, &f))
		return 0;
	if (make_room(t))
		return -ENOMEM;
	step = calloc(found->nsteps + 1, sizeof(*step));
	if (!step)
		return -ENOMEM;
	f.prior.epoch <<= 16;
	f.current.epoch <<= 16;
	r = &t->out->race[t->out->n];
	races_fill(t->sync, t->process, &f, r, *t->want + 2 * t->out->n);
	r->count = 1;
	r->predicted = true;
	r->step = step;
	r->nsteps = found->nsteps;
	r->more_steps = found->more_steps;
	for (i = 0; i < found->nsteps; i++)
		take_step(t, &step[i], &found->step[i]);
	t->out->n++;
	return 0;
}

int races_predict(struct sync_events *f, struct dep_races *out, struct sync_stack **want)
{
	struct takes t = { .sync = f, .out = out, .want = want };
	int ret;

	for (t.process = f->processes; t.process; t.process = t.process->next) {
		if (!t.process->future) {
			out->unpredicted++;
			continue;
		}
		ret = predict_find(t.process->future->predict, WORK, report, &t);
		if (ret < 0)
			return dep_fail(ret, "prediction");
		out->unpredicted += ret || predict_stopped(t.process->future->predict);
	}
	return 0;
}

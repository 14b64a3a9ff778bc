// SPDX-License-Identifier: LGPL-2.1-or-later
/* The processes of a session, and their race detectors. */
#include <stdlib.h>

#include "predict_events.h"

static int watch(void *arg, u64 address, u64 size)
{
	return race_watch(arg, address, size);
}

/* Callback of the first pass: add the bytes of a race to the candidates of the exact passes. */
static void note_raced(void *arg, const struct race_found *found)
{
	struct sync_process *p = arg;

	dep_word_set_add(&p->scope->raced, found->address, found->size);
}

/* Callback in live analysis: as note_raced(), and keep the race to be reported at once. */
static void tell_raced(void *arg, const struct race_found *found)
{
	struct sync_process *p = arg;

	note_raced(p, found);
	race_rows_report(p->rows, found);
}

/*
 * Callback of the first pass: bytes were forgotten that a thread has accessed. The thread's filter
 * may drop its next access to these bytes as redundant, so they are candidates for the exact
 * passes.
 */
static void note_forgotten(void *arg, u64 address, u32 size)
{
	struct sync_process *p = arg;

	dep_word_set_add(&p->scope->raced, address, size);
}

static int make_detector(const struct sync_events *f, struct sync_process *p)
{
	const struct race_options first = {
		.mode = RACE_HB_ONLY | (f->options->found ? 0 : RACE_BYTES),
	};
	const struct race_options watched = { .mode = RACE_ONLY_WATCHED };
	const struct race_ops find = {
		.report = f->options->found ? tell_raced : note_raced,
		.forgotten = note_forgotten, .arg = p,
	};
	const struct race_ops tell = { .report = race_rows_report, .arg = p->rows };
	const struct race_ops predict = { .report = sync_predict_report, .arg = p };
	/*
	 * The first pass had a detector for each image, so its candidates are incomplete for a
	 * group: watch all memory.
	 */
	bool exact = f->pass == SYNC_EXACT && p->serial != SYNC_GROUP;
	int err;

	if (f->pass == SYNC_FIRST)
		return race_detector_create(&p->detector, &find, &first);
	err = race_detector_create(&p->detector, p->future ? &predict : &tell,
				   exact ? &watched : NULL);
	if (!err && p->serial != SYNC_GROUP)
		err = dep_word_set_each(&p->scope->raced, watch, p->detector);
	return err;
}

static int add_known(struct sync_events *f, struct sync_process *p)
{
	size_t i;

	for (i = 0; i < f->nknown; i++)
		if (f->words->v[i].process == p->serial &&
		    !sync_object_get(&p->objects, SYNC_WORD, f->words->v[i].word))
			return sync_no_memory();
	return 0;
}

struct sync_process *sync_process_of(struct sync_events *f, u32 serial)
{
	struct sync_process *p = sync_serials_find(&f->process_by, serial);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->serial = serial;
	p->scope = sync_facts_of(f, serial);
	p->rows = race_rows_create();
	/* There is no race prediction for groups of processes. */
	if (f->predict && serial != SYNC_GROUP)
		p->future = sync_thread_log_of(f, serial);
	if (!p->scope || !p->rows || (f->predict && serial != SYNC_GROUP && !p->future) ||
	    make_detector(f, p) || sync_serials_add(&f->process_by, serial, p)) {
		race_detector_free(p->detector);
		race_rows_free(p->rows);
		free(p);
		return NULL;
	}
	p->next = f->processes;
	f->processes = p;
	return add_known(f, p) ? NULL : p;
}

/*
 * Keep images with races, which the report needs, and all images with prediction, which runs after
 * the pass.
 */
int sync_process_over(struct sync_image *m)
{
	struct sync_process *p = m->process;
	struct sync_events *f = m->sync;
	int err;

	free(m->code);
	m->code = NULL;
	free(m->leap);
	m->leap = NULL;
	if (f->predict || (f->pass != SYNC_FIRST && race_rows_count(p->rows)))
		return 0;
	err = f->pass == SYNC_FIRST ? sync_facts_learn_process(p) : 0;
	sync_heap_free(&m->heap);
	sync_objects_free(&p->objects, p->detector);
	race_detector_free(p->detector);
	p->detector = NULL;
	p->nchildren = p->nstacks = p->nwaiters = 0;
	p->lives++;
	return err;
}

int sync_process_again(struct sync_events *f, struct sync_process *p)
{
	int err = make_detector(f, p);

	return err ? err : add_known(f, p);
}

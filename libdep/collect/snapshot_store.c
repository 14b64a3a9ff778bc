// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "internal.h"
#include "saved_store.h"
#include "snapshot_store.h"

#define NICENESS	10	/* of the thread: the recorded program comes first */

struct dep_snapshot {
	struct dep_save save;
	char *dir;
	struct dep_kept kept;
	struct dep_ending ending;
	struct dep_saved saved;
	struct adept_session *wakeup;
	pthread_t thread;
	bool started;
	/* The thread writes @result, then sets @done. */
	struct dep_save_result result;
	bool done;
};

struct dep_snapshot *dep_snapshot_new(const struct dep_save *save, const struct dep_ending *ending)
{
	struct dep_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->save = *save;
	s->kept = *save->kept;
	s->ending = *ending;
	s->dir = strdup(save->dir);
	if (!s->dir) {
		free(s);
		return NULL;
	}
	return s;
}

static void finish(struct dep_snapshot *s, int err)
{
	struct dep_save_result *r = &s->result;

	r->err = err;
	if (err && !*r->error)
		snprintf(r->error, sizeof(r->error), "%s",
			 err == -ENOMEM || !*dep_error() ? strerror(-err) : dep_error());
	dep_saved_free(&s->saved);
	store(&s->done, true);
	__atomic_fetch_add(&s->wakeup->wakeup, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->wakeup->collector_waits, __ATOMIC_SEQ_CST))
		futex_wake(&s->wakeup->wakeup);
}

static void *run(void *arg)
{
	struct dep_snapshot *s = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	finish(s, dep_saved_store(&s->saved, &(struct dep_save){
		.dir = s->dir, .meta = s->save.meta, .level = s->save.level,
	}, &s->ending, &s->result));
	return NULL;
}

void dep_snapshot_start(struct dep_snapshot *s, const struct dep_saved *saved,
			struct adept_session *wakeup)
{
	int err = saved ? 0 : ENOMEM;

	s->wakeup = wakeup;
	if (saved) {
		s->saved = *saved;
		s->saved.last.kept = s->kept;
		err = pthread_create(&s->thread, NULL, run, s);
		s->started = !err;
	}
	if (err)
		finish(s, -err);
}

bool dep_snapshot_done(struct dep_snapshot *s, struct dep_save_result *result)
{
	if (!load(&s->done))
		return false;
	*result = s->result;
	return true;
}

void dep_snapshot_free(struct dep_snapshot *s)
{
	if (!s)
		return;
	if (s->started)
		pthread_join(s->thread, NULL);
	dep_saved_free(&s->saved);
	free(s->dir);
	free(s);
}

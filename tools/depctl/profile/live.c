// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queries of profiles with --live: follow a recording that is still running.
 *
 * Only files of the store are read, so the recorder and the recorded programs are not disturbed.
 * The recording has ended when no writer holds the lock of the store any more.  The store is opened
 * once, so it can be renamed meanwhile.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <dep/verdict.h>

#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "query.h"

#define NICE	10		/* nice value: the recorded programs have priority */
#define LOOK_NS	500000000ull	/* from one look at the store to the next: each has a fixed cost */
#define POLL_NS	50000000ull	/* from one test for the recording's end to the next */
#define S_NS	1000000000ull

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* A second signal ends the process at once. */
static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

static void release_signals(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * S_NS + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	const uint64_t now = now_ns();
	struct timespec t;

	if (ns <= now || interrupted)
		return;
	t = (struct timespec){ (time_t)((ns - now) / S_NS), (long)((ns - now) % S_NS) };
	nanosleep(&t, NULL);
}

/* ---- which store ---- */

/* The store of depd's session @id. */
static int find_store(struct query *q, uint32_t id)
{
	const struct client_args a = { .socket = q->o.socket };
	struct client c = { .fd = -1 };
	int status = EXIT_FAILURE;
	const cJSON *s;

	if (!ask_depd(&c, &a, client_request("follow", id))) {
		s = cJSON_GetObjectItemCaseSensitive(c.answer, "session");
		snprintf(q->path, sizeof(q->path), "%s", client_string(s, "store"));
		status = *q->path ? 0 : EXIT_FAILURE;
		if (status)
			warn("session %u has no store", id);
	}
	client_close(&c);
	q->o.path = q->path;
	return status;
}

/* A number is that of a session, unless there is a file with that name. */
static int take_path(struct query *q)
{
	unsigned long id;
	struct stat st;
	char *end;

	id = strtoul(q->o.path, &end, 10);
	if (*end || !id || id > UINT32_MAX || !stat(q->o.path, &st))
		return 0;
	return find_store(q, (uint32_t)id);
}

/* ---- looks ---- */

/* Print the rows of what was counted up to now. */
static int print_look(struct query *q, const struct query_kind *kind,
		      struct dep_profile_follow *follow)
{
	struct profile_view *v = &q->v;
	int status, err = dep_profile_follow_rows(follow, &v->own);

	v->p = v->own;
	/* Names can depend on files that are mapped later. */
	if (!err)
		err = dep_symbols_open(&v->symbols, v->store);
	if (!err)
		err = functions_make(v->store, v->symbols, v->p, NULL, &v->f);
	status = err ? profile_failed(v, err) : query_print(q, kind);
	functions_free(v->f);
	dep_symbols_close(v->symbols);
	dep_profile_free(v->own);
	v->f = NULL;
	v->symbols = NULL;
	v->p = v->own = NULL;
	return status;
}

static int print_last(struct query *q, const struct query_kind *kind,
		      struct dep_profile_follow *follow)
{
	int status = profile_select(&q->v, true) ? EXIT_FAILURE : 0;

	q->running = false;
	if (!status)
		status = print_look(q, kind, follow);
	if (dep_store_verdict(q->v.store)->state != DEP_VERDICT_RECORDING)
		return status;
	warn("%s: the recording goes on: another recorder continues it", q->o.path);
	return EXIT_FAILURE;
}

static int print_so_far(struct query *q, const struct query_kind *kind,
			struct dep_profile_follow *follow)
{
	int status;

	q->running = true;
	status = print_look(q, kind, follow);
	if (q->o.form == PROFILE_TEXT && !interrupted)
		out_text(&q->out, "\n");
	out_flush(&q->out);
	return status;
}

/* It cannot be followed: wait until the store is complete. */
static int wait_for_end(const struct query *q)
{
	warn("%s: %s; the rows are printed when the recording ends", q->o.path, dep_error());
	while (dep_store_being_written(q->v.store) && !interrupted)
		wait_until(now_ns() + POLL_NS);
	return interrupted ? EXIT_FAILURE : QUERY_COMPLETE;
}

/* Wait for the next look, or for that at @next, unless the recording ends or a signal comes. */
static void wait_for_look(const struct query *q, uint64_t next)
{
	uint64_t now = now_ns(), look = now + LOOK_NS;

	if (q->o.every_ns && next < look)
		look = next;
	for (; now < look && !interrupted && dep_store_being_written(q->v.store); now = now_ns())
		wait_until(now + POLL_NS < look ? now + POLL_NS : look);
}

static int follow(struct query *q, const struct query_kind *kind, struct dep_profile_follow *f)
{
	uint64_t next = now_ns() + q->o.every_ns;
	bool over, stop;
	int err;

	while (1) {
		stop = interrupted;
		over = !dep_store_being_written(q->v.store);
		err = dep_profile_follow_more(f, over);
		if (err == -EOPNOTSUPP || err == -ESTALE)
			return wait_for_end(q);
		if (err)
			return profile_failed(&q->v, err);
		if (over)
			return print_last(q, kind, f);
		if (stop)
			return print_so_far(q, kind, f);
		if (q->o.every_ns && now_ns() >= next) {
			print_so_far(q, kind, f);
			next = now_ns() + q->o.every_ns;
		}
		wait_for_look(q, next);
	}
}

int query_live(struct query *q, const struct query_kind *kind)
{
	struct dep_profile_follow *f = NULL;
	struct profile_view *v = &q->v;
	int err, status;

	if (kind->needs & (VIEW_CONTEXTS | VIEW_NO_LIVE)) {
		warn("%s cannot be followed: --live is not possible here",
		     kind->needs & VIEW_NO_LIVE ? "paths" : "calling contexts");
		return EXIT_USAGE;
	}
	if (take_path(q))
		return EXIT_FAILURE;
	if (!dep_store_in_use(q->o.path))
		return QUERY_COMPLETE;
	*v = (struct profile_view){ .o = &q->o };
	setpriority(PRIO_PROCESS, 0, NICE);
	catch_signals();
	err = dep_store_open_growing(&v->store, q->o.path);
	if (err)
		return profile_failed(v, err);
	status = profile_select(v, false);
	if (!status) {
		err = dep_profile_follow_new(v->store, &v->fold, &f);
		status = err ? profile_failed(v, err) : follow(q, kind, f);
	}
	dep_profile_follow_free(f);
	dep_store_close(v->store);
	v->store = NULL;
	if (status == QUERY_COMPLETE)
		release_signals();
	return status;
}

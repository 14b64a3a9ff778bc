// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl record --races: search for races during the recording.
 *
 * A child of depctl reads the store while it is written, and prints the report.  Its exit status
 * tells whether it found races.  The recording continues if the child is killed.  If the child was
 * killed or could not be created, depctl analyses the complete store after the recording.  Without
 * -o the store is temporary.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdep/format/file/remove.h"
#include "libdep/format/file/tmpdir.h"
#include "tools/depctl/depctl.h"
#include "record.h"

#define RING_SIZE	(768u << 10)

/* Exit status of the child. */
enum { NONE_FOUND, FOUND, FAILED };

int record_races_begin(struct record_races *r, struct record_options *o)
{
	const char *tmp = getenv("TMPDIR");

	*r = (struct record_races){ .how = &o->how, .live = o->live, .over = -1, .lock = -1 };
	r->report = races_report_begin(r->how);
	if (!r->report)
		return -1;
	o->live_races = r;
	if (o->dir) {
		snprintf(r->store, sizeof(r->store), "%s", o->dir);
		return 0;
	}
	if (!tmp || !*tmp)
		tmp = "/tmp";
	dep_tmpdir_sweep(tmp);
	r->lock = dep_tmpdir_make(tmp, r->tmp, sizeof(r->tmp));
	if (r->lock < 0) {
		warn("%s: %s; choose another place with -o or TMPDIR", r->tmp, strerror(-r->lock));
		*r->tmp = '\0';
		return -1;
	}
	snprintf(r->store, sizeof(r->store), "%s/" DEP_TMPDIR_STORE, r->tmp);
	o->dir = r->store;
	o->temporary = true;
	/*
	 * The analysis is slower than the recording, so the rings are full most of the time.
	 * Larger rings would only use more memory.
	 */
	if (!o->ring_size)
		o->ring_size = RING_SIZE;
	/* Do not print a summary of a temporary store; losses are still reported. */
	o->quiet = true;
	return 0;
}

/* Remove the temporary store, if there is one.  Called in depctl and in its child. */
static void remove_temporary(struct record_races *r)
{
	if (!*r->tmp)
		return;
	if (!access(r->store, F_OK) && dep_store_remove(r->store))
		warn("%s", dep_error());
	else if (rmdir(r->tmp) && errno != ENOENT)
		warn("%s: %s", r->tmp, strerror(errno));
	*r->tmp = '\0';
}

static int report(struct record_races *r, struct dep_store *store, size_t *found)
{
	return store ? races_report(r->report, store, r->store, STDERR_FILENO, found) :
		       EXIT_FAILURE;
}

/* ---- the child, which searches for races ---- */

/* The child ignores signals during the recording: signals to the group are for the command. */
static void ignore_signals(bool ignored)
{
	static bool always[65];
	int sig;

	for (sig = 1; sig <= 64; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || sig == SIGCHLD)
			continue;
		if (ignored)
			always[sig] = dep_signal_ignored(sig);
		dep_signal_set(sig, ignored || always[sig]);
	}
}

static struct record_races *here;	/* used by the callback is_complete() */

static void is_complete(void *arg)
{
	(void)arg;
	/* All files of the store are open, so they stay readable after their removal. */
	remove_temporary(here);
	ignore_signals(false);
}

/*
 * Close all descriptors except @a, @b, the standard descriptors and that of the report.  An
 * inherited descriptor of a locked file would keep the file locked.
 */
static void close_others(const struct record_races *r, int a, int b)
{
	int report = races_report_fd(r->report), fd, max = (int)sysconf(_SC_OPEN_MAX);
	int high = a > b ? a : b;

	if (report > high)
		high = report;
	for (fd = STDERR_FILENO + 1; fd < high; fd++)
		if (fd != a && fd != b && fd != report)
			close(fd);
	if (high < max)
		close_range((unsigned int)high + 1, ~0u, 0);
}

static int look_at_tail(struct record_races *r, int session, int over)
{
	struct races_recorder recorder = { .fd = over };
	struct dep_live_options options = {
		.wait = races_recorder_wait, .complete = is_complete, .arg = &recorder,
		.session = session,
	};
	struct dep_store *store;
	size_t found = 0;
	int failed = dep_store_open_growing(&store, r->store);

	if (failed) {
		warn("%s", dep_error());
	} else {
		races_report_tail(r->report, &options, r->live);
		failed = report(r, store, &found);
	}
	dep_store_close(store);
	if (failed == -EOPNOTSUPP) {
		if (r->live)
			warn("rings of the kernel module cannot be read live: races are reported "
			     "at the end");
		while (!races_recorder_wait(&recorder, 1000))
			;
		races_report_tail(r->report, NULL, false);
		store = open_store(r->store);
		is_complete(NULL);
		failed = report(r, store, &found);
		dep_store_close(store);
	}
	/* Keep the store if the recording has not ended: the recorder still needs it. */
	if (recorder.over)
		remove_temporary(r);
	return failed ? FAILED : found ? FOUND : NONE_FOUND;
}

void record_races_tail(struct record_races *r, int session)
{
	int end[2];

	if (!r || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return;
	fflush(NULL);
	r->child = fork();
	if (!r->child) {
		ignore_signals(true);
		here = r;
		close(end[1]);
		close_others(r, session, end[0]);
		/* _exit(): do not run depctl's exit handlers. */
		_exit(look_at_tail(r, session, end[0]));
	}
	close(end[0]);
	if (r->child > 0) {
		r->over = end[1];
		return;
	}
	r->child = 0;
	close(end[1]);
}

/* Wait for the child.  Return: NONE_FOUND, FOUND or FAILED; -1: the child was killed. */
static int end_of_child(struct record_races *r)
{
	int status;

	/* Inform the child that everything is recorded; no error if it has ended already. */
	send(r->over, "", 1, MSG_NOSIGNAL);
	close(r->over);
	r->over = -1;
	signals_default();
	while (waitpid(r->child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	r->child = 0;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	warn("the search for races was killed by signal %d", WTERMSIG(status));
	return -1;
}

/* ---- at the end ---- */

static int report_here(struct record_races *r)
{
	struct dep_store *store = open_store(r->store);
	size_t found = 0;
	int failed;

	remove_temporary(r);
	signals_default();
	failed = report(r, store, &found);
	dep_store_close(store);
	return failed ? FAILED : found ? FOUND : NONE_FOUND;
}

int record_races_report(struct record_races *r, int status)
{
	int how = r->child ? end_of_child(r) : -1;

	if (how < 0)
		how = report_here(r);
	if (how == FOUND && r->how->exit_code)
		return r->how->exit_code;
	return how == FAILED && !status ? EXIT_FAILURE : status;
}

void record_races_end(struct record_races *r)
{
	/* The child still runs only if nothing was recorded: its report is not needed. */
	if (r->child) {
		kill(r->child, SIGKILL);
		waitpid(r->child, NULL, 0);
		close(r->over);
		r->child = 0;
	}
	remove_temporary(r);
	if (r->lock >= 0)
		close(r->lock);
	races_report_end(r->report);
	free(r->how->suppressions);
}

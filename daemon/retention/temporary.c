// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdep/format/file/tmpdir.h"
#include "daemon/base/log.h"
#include "temporary.h"

#define PLACES_MAX	256u	/* maximum number of remembered directories */
#define USER_PLACES_MAX	8u	/* limit of directories of one user other than root */
#define SOON_NS		500000000ull	/* time for a running depctl to remove its store */
#define AGAIN_NS	60000000000ull
#define LIMIT_S		30u	/* time limit of depd-sweep, since the file system can hang */

/* Exit status of the process depd-sweep. */
enum { NOTHING_LEFT, SOME_LEFT, FAILED };

/** struct place - a directory in which temporary stores of a user were made */
struct place {
	struct place *next;
	struct user owner;
	bool due;
	char dir[];
};

/** struct cleanup - remembered directories, and the process that searches one of them */
struct cleanup {
	struct depd *d;
	struct place *places;
	unsigned int n;
	struct place *at;	/* directory of the running process; NULL: none runs */
	pid_t pid;
	int pidfd;
	struct loop_watch gone;
	struct loop_timer timer;
};

/* ---- the process depd-sweep ---- */

/* Runs between fork and exec: depd has threads, so it must not allocate or take a lock. */
static void become(const char *dir)
{
	char *argv[] = { TEMPORARY_NAME, (char *)dir, NULL }, *envp[] = { NULL };
	int null = open("/dev/null", O_RDWR), i;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (null < 0)
		_exit(FAILED);
	for (i = 0; i < 3; i++)
		dup2(null, i);
	if (!close_range(3, ~0u, 0))
		execve("/proc/self/exe", argv, envp);
	_exit(FAILED);
}

void temporary_main(int argc, char **argv)
{
	int left;

	prctl(PR_SET_NAME, TEMPORARY_NAME);
	/* The alarm ends this process even if depd has ended. */
	signal(SIGALRM, SIG_DFL);
	alarm(LIMIT_S);
	if (argc != 2 || chdir("/"))
		_exit(FAILED);
	left = dep_tmpdir_sweep(argv[1]);
	_exit(!left || left == -ENOENT ? NOTHING_LEFT : left > 0 ? SOME_LEFT : FAILED);
}

/* ---- remembered directories ---- */

static bool is_same(const struct place *p, const struct user *u, const char *dir)
{
	return p->owner.uid == u->uid && !strcmp(p->dir, dir);
}

static void forget(struct cleanup *w, struct place *p)
{
	struct place **at = &w->places;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	w->n--;
	free(p);
}

static bool has_session(const struct cleanup *w, const struct place *p)
{
	char dir[PATH_MAX];
	struct session *s;

	for (s = w->d->sessions; s; s = s->next)
		if (s->state != SESSION_ENDED && dep_tmpdir_parent(s->store, dir, sizeof(dir)) &&
		    is_same(p, &s->owner, dir))
			return true;
	return false;
}

/* ---- start and end of depd-sweep ---- */

static void next(struct cleanup *w);

static void gone(struct loop_watch *watch, short revents)
{
	struct cleanup *w = (struct cleanup *)((char *)watch - offsetof(struct cleanup, gone));
	struct place *p = w->at;
	int status;

	(void)revents;
	if (waitpid(w->pid, &status, WNOHANG) != w->pid)
		return;
	loop_remove(w->d->loop, &w->gone);
	close(w->pidfd);
	w->at = NULL;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == FAILED) {
		log_msg(LOG_WARNING, 0, "cannot look for temporary stores of user %u in %s",
			p->owner.uid, p->dir);
		forget(w, p);
	} else if (WEXITSTATUS(status) == NOTHING_LEFT && !has_session(w, p)) {
		forget(w, p);
	}
	next(w);
}

static int start(struct cleanup *w, struct place *p)
{
	int ret;

	w->pid = fork();
	if (!w->pid)
		become(p->dir);
	if (w->pid < 0)
		return -errno;
	w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	w->gone.ready = gone;
	ret = w->pidfd < 0 ? -errno : loop_watch_add(w->d->loop, &w->gone, w->pidfd, POLLIN);
	if (!ret)
		return 0;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	if (w->pidfd >= 0)
		close(w->pidfd);
	return ret;
}

/* Start the process for the next directory to be searched; if none is left, wait a minute. */
static void next(struct cleanup *w)
{
	struct place *p;
	int ret;

	for (p = w->places; p && !p->due; p = p->next)
		;
	if (!p && w->places)
		loop_timer_set(w->d->loop, &w->timer, AGAIN_NS, 0);
	if (!p)
		return;
	p->due = false;
	ret = start(w, p);
	if (!ret) {
		w->at = p;
		return;
	}
	log_msg(LOG_WARNING, 0, "cannot look for temporary stores: %s", strerror(-ret));
	loop_timer_set(w->d->loop, &w->timer, AGAIN_NS, 0);
}

static void due(struct loop_timer *t)
{
	struct cleanup *w = (struct cleanup *)((char *)t - offsetof(struct cleanup, timer));
	struct place *p;

	for (p = w->places; p; p = p->next)
		p->due = true;
	if (!w->at)
		next(w);
}

/* ---- sessions ---- */

static struct place *find(struct cleanup *w, const struct user *u, const char *dir,
			  unsigned int *own)
{
	struct place *p, *found = NULL;

	*own = 0;
	for (p = w->places; p; p = p->next) {
		*own += p->owner.uid == u->uid;
		if (is_same(p, u, dir))
			found = p;
	}
	return found;
}

static struct cleanup *of(struct depd *d)
{
	struct cleanup *w = d->cleanup ? d->cleanup : calloc(1, sizeof(*w));

	if (w && !d->cleanup) {
		w->d = d;
		w->timer.due = due;
		d->cleanup = w;
	}
	return w;
}

static int remember(struct cleanup *w, const struct session *s, const char *dir)
{
	unsigned int own;
	struct place *p;

	if (!w)
		return -ENOMEM;
	if (find(w, &s->owner, dir, &own))
		return 0;
	if (w->n >= PLACES_MAX || (s->owner.uid && own >= USER_PLACES_MAX))
		return -ENOSPC;
	p = malloc(sizeof(*p) + strlen(dir) + 1);
	if (!p)
		return -ENOMEM;
	*p = (struct place){ .next = w->places, .owner = s->owner };
	strcpy(p->dir, dir);
	w->places = p;
	w->n++;
	return 0;
}

void temporary_session(struct session *s)
{
	char dir[PATH_MAX];
	struct cleanup *w;
	int ret;

	if (!dep_tmpdir_parent(s->store, dir, sizeof(dir)))
		return;
	w = of(s->d);
	ret = remember(w, s, dir);
	if (ret)
		log_msg(LOG_NOTICE, s->id, "if depctl is killed, its temporary store is not "
			"removed: %s",
			ret == -ENOSPC ? "too many directories have temporary stores" :
					 strerror(-ret));
	else if (!w->at && !w->timer.armed)
		loop_timer_set(s->d->loop, &w->timer, AGAIN_NS, 0);
}

void temporary_session_ended(struct session *s)
{
	char dir[PATH_MAX];

	temporary_session(s);
	if (s->d->cleanup && dep_tmpdir_parent(s->store, dir, sizeof(dir)))
		loop_timer_set(s->d->loop, &s->d->cleanup->timer, SOON_NS, 0);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Start the processes of live analyses, and log their messages.
 *
 * An analysis process has the session file, opened read-only, as descriptor 3 and a socket as
 * descriptor 4.  depd sends a byte over the socket when the session has ended.  If the socket is
 * closed without this byte, depd has ended: the process exits, and the depd that adopts the session
 * starts a new analysis.  depd reads messages of the process from a pipe and logs them.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/base/find_depctl.h"
#include "daemon/base/log.h"
#include "live_analysis.h"

#define LINES_MAX	100u	/* limit of log lines of one analysis: programs can cause many */

enum { RING = 3, OVER, FDS };	/* descriptor numbers in the analysis process */

struct live_analysis {
	struct live_analysis *next;
	struct depd *d;
	uint32_t session;
	pid_t pid;
	int over;		/* socket to the analysis process; -1: session's end was sent */
	int pidfd, lines;
	struct loop_watch gone, reports;
	char text[1024];
	size_t n;		/* bytes of an incomplete line in @text */
	unsigned int nlines;
	bool useless;		/* the session was abandoned: do not log how the process ends */
};

/* ---- messages ---- */

static void say_line(struct live_analysis *q, char *line)
{
	static const char name[] = "depctl: ";
	char *c;

	if (!strncmp(line, name, sizeof(name) - 1))
		line += sizeof(name) - 1;
	for (c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (++q->nlines < LINES_MAX)
		log_msg(LOG_WARNING, q->session, "%s", line);
	else if (q->nlines == LINES_MAX)
		log_msg(LOG_WARNING, q->session, "further messages are not logged, see %s in the "
			"store", LIVE_REPORT);
}

/* Log the lines that have arrived; an overlong line is truncated. */
static bool take_lines(struct live_analysis *q)
{
	ssize_t n = read(q->lines, q->text + q->n, sizeof(q->text) - 1 - q->n);
	char *line = q->text, *end;

	if (n <= 0)
		return false;
	q->n += (size_t)n;
	q->text[q->n] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		say_line(q, line);
		line = end + 1;
	}
	q->n = strlen(line);
	memmove(q->text, line, q->n + 1);
	if (q->n == sizeof(q->text) - 1) {
		say_line(q, q->text);
		q->n = 0;
	}
	return true;
}

static void reports(struct loop_watch *w, short revents)
{
	struct live_analysis *q =
		(struct live_analysis *)((char *)w - offsetof(struct live_analysis, reports));

	(void)revents;
	/* The process has closed the pipe: wait only for the end of the process. */
	if (!take_lines(q))
		loop_remove(q->d->loop, w);
}

/* ---- end of an analysis ---- */

static void free_live_analysis(struct live_analysis *q)
{
	struct live_analysis **at = &q->d->analyses;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	q->d->nanalyses--;
	loop_remove(q->d->loop, &q->reports);
	loop_remove(q->d->loop, &q->gone);
	if (q->over >= 0)
		close(q->over);
	close(q->lines);
	close(q->pidfd);
	free(q);
}

static void gone(struct loop_watch *w, short revents)
{
	struct live_analysis *q =
		(struct live_analysis *)((char *)w - offsetof(struct live_analysis, gone));
	int status;

	(void)revents;
	if (waitpid(q->pid, &status, WNOHANG) != q->pid)
		return;
	while (take_lines(q))
		;
	if (q->useless)
		;
	else if (WIFSIGNALED(status))
		log_msg(LOG_WARNING, q->session, "race detection was killed by signal %d",
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_msg(LOG_WARNING, q->session, "race detection has failed");
	free_live_analysis(q);
}

void live_analysis_session_ended(struct session *s)
{
	struct live_analysis *q;

	for (q = s->d->analyses; q; q = q->next) {
		if (q->session != s->id || q->over < 0)
			continue;
		q->useless = s->cause == DEP_CLOSE_ABANDONED;
		if (q->useless)
			kill(q->pid, SIGKILL);
		send(q->over, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(q->over);
		q->over = -1;
	}
}

/* ---- start of an analysis ---- */

static void be_victim(void)
{
	int fd;

	/* Only a dumpable process can write oom_score_adj; execve makes it dumpable anyway. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "500", 3) == 3)
		close(fd);
}

/* Runs between fork and exec: depd has threads, so it must not allocate or take a lock. */
static void become(char *const argv[], int ring, int over, int lines)
{
	char *envp[] = { NULL };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	be_victim();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	ring = fcntl(ring, F_DUPFD, FDS);
	over = fcntl(over, F_DUPFD, FDS);
	lines = fcntl(lines, F_DUPFD, FDS);
	if (null < 0 || ring < 0 || over < 0 || lines < 0)
		_exit(1);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(lines, STDERR_FILENO);
	dup2(ring, RING);
	dup2(over, OVER);
	if (!close_range(FDS, ~0u, 0))
		execve(argv[0], argv, envp);
	_exit(1);
}

static int watch(struct live_analysis *q)
{
	int ret;

	q->pidfd = (int)syscall(SYS_pidfd_open, q->pid, 0);
	if (q->pidfd < 0)
		return -errno;
	q->reports.ready = reports;
	q->gone.ready = gone;
	ret = loop_watch_add(q->d->loop, &q->reports, q->lines, POLLIN);
	return ret ? ret : loop_watch_add(q->d->loop, &q->gone, q->pidfd, POLLIN);
}

static int start(struct live_analysis *q, const struct session *s, int ring)
{
	char depctl[PATH_MAX + 16], report[PATH_MAX + 32];
	char *argv[] = { depctl, "query", "races", "--jobs=1", "--tail-fds=3,4", report, s->store,
			 NULL };
	int over[2], lines[2], ret;

	if (!find_depctl(depctl, sizeof(depctl)))
		return -ENOENT;
	snprintf(report, sizeof(report), "--report=%s/%s", s->store, LIVE_REPORT);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, over))
		return -errno;
	if (pipe2(lines, O_CLOEXEC) || fcntl(lines[0], F_SETFL, O_NONBLOCK)) {
		ret = -errno;
		close(over[0]);
		close(over[1]);
		return ret;
	}
	q->pid = fork();
	if (!q->pid)
		become(argv, ring, over[1], lines[1]);
	ret = q->pid < 0 ? -errno : 0;
	close(over[1]);
	close(lines[1]);
	q->over = over[0];
	q->lines = lines[0];
	if (!ret)
		ret = watch(q);
	/* The process cannot be watched: kill it. */
	if (ret && q->pid > 0) {
		kill(q->pid, SIGKILL);
		waitpid(q->pid, NULL, 0);
	}
	return ret;
}

static int begin(struct session *s)
{
	struct live_analysis *q = calloc(1, sizeof(*q));
	char path[32];
	int ring, ret;

	if (!q)
		return -ENOMEM;
	*q = (struct live_analysis){
		.d = s->d, .session = s->id, .over = -1, .lines = -1, .pidfd = -1,
		.next = s->d->analyses,
	};
	s->d->analyses = q;
	s->d->nanalyses++;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->ring.fd);
	ring = open(path, O_RDONLY | O_CLOEXEC);
	ret = ring < 0 ? -errno : start(q, s, ring);
	if (ring >= 0)
		close(ring);
	if (ret)
		free_live_analysis(q);
	return ret;
}

void live_analysis_begin(struct session *s)
{
	const struct depd_config *c = &s->d->config;
	int ret;

	if (!c->races || !*s->store || s->flags & (ADEPT_S_NULL | ADEPT_S_NO_RECORD))
		return;
	/* A store that may be removed at the end must have no reader that writes a report to it. */
	if (s->keep_if != DEP_KEEP_IF_ALWAYS)
		return;
	if (s->d->nanalyses >= c->races) {
		log_msg(LOG_NOTICE, s->id, "no race detection: it runs for %u sessions already",
			s->d->nanalyses);
		return;
	}
	ret = begin(s);
	if (ret)
		log_msg(LOG_ERR, s->id, "cannot start race detection: %s", strerror(-ret));
}

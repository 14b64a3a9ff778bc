// SPDX-License-Identifier: GPL-2.0-or-later
/* Suite: output.  Interrupted system calls: EINTR without SA_RESTART, restart with it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static volatile int got;
static int fds[2];

static void handler(int sig)
{
	got++;
	/* the second signal ends a restarted read */
	if (sig == SIGALRM && got == 2)
		CHECK(write(fds[1], "x", 1) == 1);
}

static void arm(int flags, int usec, int again)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval it = { { 0, again }, { 0, usec } };

	got = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void disarm(void)
{
	struct itimerval it = { { 0, 0 }, { 0, 0 } };

	setitimer(ITIMER_REAL, &it, NULL);
}

int main(void)
{
	struct timespec ts = { 5, 0 }, left = { 0, 0 };
	struct pollfd pfd;
	sigset_t none;
	char c;
	int i, status;
	pid_t pid;

	CHECK(!pipe(fds));
	pfd = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	sigemptyset(&none);
	for (i = 0; i < 5; i++) {
		arm(0, 3000, 0);
		CHECK(read(fds[0], &c, 1) == -1 && errno == EINTR && got == 1);
		arm(SA_RESTART, 3000, 20000);
		CHECK(read(fds[0], &c, 1) == 1 && c == 'x' && got == 2);
		disarm();
		arm(SA_RESTART, 3000, 0);
		CHECK(poll(&pfd, 1, 5000) == -1 && errno == EINTR);
		arm(SA_RESTART, 3000, 0);
		CHECK(nanosleep(&ts, &left) == -1 && errno == EINTR && left.tv_sec == 4);
		arm(SA_RESTART, 3000, 0);
		CHECK(sigsuspend(&none) == -1 && errno == EINTR);
		arm(SA_RESTART, 3000, 0);
		CHECK(pause() == -1 && errno == EINTR);
		pid = fork();
		if (!pid) {
			usleep(20000);
			_exit(7);
		}
		arm(SA_RESTART, 3000, 0);
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 && got == 1);
		mix(got);
	}
	return finish("signals_restart");
}

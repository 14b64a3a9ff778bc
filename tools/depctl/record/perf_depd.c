// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "perf_depd.h"
#include "perf_events.h"

#define LOOK_MS		20	/* interval between two looks at the counters */

/* ---- the process that counts ---- */

static int watch(struct client *c, const char *socket, uint32_t session)
{
	int ret;

	client_close(c);
	ret = client_open(c, socket);
	return ret ? ret : client_ask(c, client_request("watch", session));
}

/* Tell depd of an event.  Return: 0, or a negative errno: the session has ended, or depd has. */
static int tell(struct client *c, const char *socket, uint32_t session,
		const struct dep_kept *kept)
{
	cJSON *q = client_request("trigger", session);
	int ret;

	cJSON_AddStringToObject(q, "event", kept->what);
	cJSON_AddNumberToObject(q, "count", (double)kept->value);
	ret = client_ask(c, q);
	/* The answer to a request that took too long would be taken for that to the next one. */
	return ret == -ETIMEDOUT ? watch(c, socket, session) : ret;
}

static bool is_ended(const cJSON *event)
{
	return !strcmp(client_string(event, "event"), "ended");
}

/* Count until the session ends. */
static void count(struct perf_counters *p, const char *socket, uint32_t session)
{
	struct client c = { .fd = -1 };
	int ret = watch(&c, socket, session);
	struct dep_kept kept;

	while (!ret) {
		ret = client_event(&c, LOOK_MS);
		if (ret == CLIENT_EVENT && is_ended(c.event))
			break;
		ret = ret >= 0 || ret == -EINTR ? 0 : ret;
		if (!ret && perf_reached(p, &kept))
			ret = tell(&c, socket, session, &kept);
	}
	client_close(&c);
}

/* Keep nothing open that a reader, or the end of the session, waits for. */
static int keep_only(int fd)
{
	fd = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
	if (fd < 0 || dup2(fd, STDERR_FILENO + 1) < 0)
		return -errno;
	close_range(STDERR_FILENO + 2, ~0u, 0);
	return STDERR_FILENO + 1;
}

static void be_quiet(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

__attribute__((noreturn))
static void counter_main(const struct record_options *o, const char *socket, uint32_t session,
			 pid_t pid, int ready)
{
	struct perf_counters p = { .o = o };

	setsid();
	signals_ignore();
	prctl(PR_SET_NAME, "depctl-count");
	ready = keep_only(ready);
	if (ready < 0)
		_exit(EXIT_FAILURE);
	perf_begin(&p, pid);
	be_quiet();
	close(ready);
	if (p.n)
		count(&p, socket, session);
	perf_end(&p);
	_exit(EXIT_SUCCESS);
}

/* ---- depctl ---- */

void perf_begin_depd(const struct record_options *o, const char *socket, uint32_t session,
		     pid_t pid)
{
	int ready[2];
	char byte;
	pid_t child;

	if (!o->nperf)
		return;
	if (pipe2(ready, O_CLOEXEC)) {
		warn("no events are counted: %s", strerror(errno));
		return;
	}
	child = fork();
	if (!child)
		counter_main(o, socket, session, pid, ready[1]);
	if (child < 0)
		warn("no events are counted: %s", strerror(errno));
	close(ready[1]);
	/* The end of the pipe means that the process has printed what it has to say. */
	while (child > 0 && read(ready[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(ready[0]);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl record: run a command and record it and its children until all have ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/profile/report.h"
#include "record.h"

int record_anywhere(const struct record_options *o, const struct dep_caller_state *native,
		    struct recorded *out)
{
	struct client c = { .fd = -1 };
	int ret;

	if (o->alone)
		return record_here(o, native, out);
	ret = client_open(&c, o->socket);
	if (!ret) {
		ret = record_by_depd(o, native, &c, out);
		client_close(&c);
		return ret == RECORD_ELSEWHERE ? record_here(o, native, out) : ret;
	}
	if (o->socket || o->background || ret != -ENOENT) {
		warn("%s%s", c.why, o->socket || o->background ? "" :
		     "; use --alone to record without depd");
		return 1;
	}
	return record_here(o, native, out);
}

/* Compute the exit status of depctl: 128 + the signal if the command was killed by a signal. */
static int exit_status(int ret, const struct recorded *r)
{
	if (ret > 0)
		return r->not_run ? r->not_run : EXIT_FAILURE;
	if (WIFSIGNALED(r->status))
		return 128 + WTERMSIG(r->status);
	if (!WIFEXITED(r->status))
		return EXIT_FAILURE;
	/* If the recording failed, depctl must not exit with 0, even if the command did. */
	if (!WEXITSTATUS(r->status) && (ret || r->failed))
		return EXIT_FAILURE;
	return WEXITSTATUS(r->status);
}

/*
 * Open /dev/null for closed standard descriptors (0 to 2).  Otherwise a file that depctl opens
 * could get such a number, and messages would be written to it.  In the command these descriptors
 * are closed again.
 */
static int fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}

/* Print the report of a recording; return the exit status, given that of the command. */
static int report(const struct record_options *o, const struct recorded *r, int status)
{
	if (r->removed || access(o->dir, F_OK))
		return status;
	return profile_report(o->dir, STDERR_FILENO) && !status ? EXIT_FAILURE : status;
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = { 0 };
	struct record_races races = { 0 };
	struct dep_caller_state native;
	struct recorded r = { 0 };
	char dir[PATH_MAX];
	int ret, status, own;

	ret = dep_caller_state_save(&native);
	if (!ret)
		ret = fill_standard_fds();
	if (ret) {
		warn("cannot determine which files are open: %s%s", strerror(-ret),
		     ret == -ENOENT ? "; /proc must be mounted" :
		     ret == -EMFILE ? "; see `ulimit -n'" : "");
		return EXIT_FAILURE;
	}
	record_options_parse(&o, argc, argv);
	if (o.report && !o.dir) {
		record_dir(&o, dir, sizeof(dir));
		o.dir = dir;
	}
	ret = o.races ? record_races_begin(&races, &o) : triggers_find(&o);
	ret = ret ? 1 : record_anywhere(&o, &native, &r);
	dep_caller_state_free(&native);
	status = own = exit_status(ret, &r);
	if (o.races) {
		if (ret <= 0)
			status = record_races_report(&races, own);
		record_races_end(&races);
	}
	if (o.report && ret <= 0)
		status = report(&o, &r, status);
	signals_end();
	/* End by the signal that killed the command, unless races changed the exit status. */
	if (ret <= 0 && status == own && WIFSIGNALED(r.status))
		signals_die(WTERMSIG(r.status));
	return status;
}

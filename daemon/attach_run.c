// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depd --attach: record one running process, with a depd for only this.
 *
 *	depd --attach PID		depd for one session
 *	new run directory
 *	fork twice ------------------->	setsid, open the control socket
 *	wait <-------------------------	ready
 *	execute depctl attach --socket	until it has neither session nor client: serve
 *					remove the run directory
 *
 * depctl attaches and detaches, so Ctrl-C and the exit status are those of depctl attach.  If it is
 * killed, the other process goes on with the recording until the process ends or is detached from.
 * The directory is new, so no other depd is affected, and no configuration is read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach_run.h"
#include "daemon/base/find_depctl.h"
#include "daemon/base/log.h"
#include "daemon/base/rundir.h"
#include "daemon/core/control_ops.h"
#include "daemon/core/core.h"
#include "daemon/fdstore/listen.h"

#define PATIENCE_MS	1000	/* wait for the lock of the run directory */

/*
 * The directory for the run directory.  No other user may rename what is in it: $XDG_RUNTIME_DIR
 * can be another user's, for example after sudo.  A socket's path has a limited length.
 */
static const char *parent_dir(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!geteuid())
		return "/run";
	if (!run || *run != '/' || strlen(run) > sizeof(((struct sockaddr_un *)0)->sun_path) / 2 ||
	    lstat(run, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return "/tmp";
	return run;
}

static int make_rundir(char *path, size_t size)
{
	snprintf(path, size, "%s/adept-attach-XXXXXX", parent_dir());
	if (mkdtemp(path))
		return 0;
	return core_fail(-errno, path);
}

/* Remove the run directory.  It has no subdirectories. */
static void remove_rundir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

/* ---- the depd for one session ---- */

static int begin(struct depd *d, const struct options *o)
{
	struct control_ops ops = ops_of(d);
	struct fdstore_entry *kept;
	char why[CONTROL_WHY] = "";
	struct timespec t;
	size_t nkept;
	int ret, fd;

	user_self(&d->self);
	clock_gettime(CLOCK_REALTIME, &t);
	d->start_realtime_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	d->start_ns = loop_now();
	d->once = true;
	d->options = o;
	d->rundir_lock = rundir_own(d->rundir, PATIENCE_MS, why, sizeof(why));
	ret = d->rundir_lock < 0 ? d->rundir_lock : options_load(&d->config, o, why, sizeof(why));
	if (ret) {
		log_msg(LOG_ERR, 0, "%s", why);
		return ret;
	}
	/* The only session may keep as much as its user wants. */
	d->config.max_last = UINT64_MAX;
	ret = core_prepare(d, &kept, &nkept);
	if (ret)
		return ret;
	free(kept);
	fd = listen_on(NULL, d->rundir, "control", NULL, "depd.sock", 0600);
	ret = fd < 0 ? fd : control_open(&d->control, d->loop, fd, &ops);
	return ret ? core_fail(ret, "cannot open the control socket") : 0;
}

static int serve(struct depd *d, const struct options *o, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status = EXIT_FAILURE;

	setsid();
	if (!begin(d, o) && null >= 0) {
		/* It may outlive depctl: do not hold the user's output open. */
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		if (write(ready, "", 1) == 1) {
			close(ready);
			status = core_run(d);
		}
	}
	remove_rundir(d->rundir);
	return status;
}

/* Fork twice, so that depctl has no child that it does not know.  Return: 0 in the new process. */
static pid_t fork_away(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pid = fork();
		if (!pid)
			return 0;
		_exit(pid < 0);
	}
	if (pid < 0)
		return core_fail(-errno, "cannot start a process");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? core_fail(-EAGAIN, "cannot start a process") : pid;
}

/* ---- the process that becomes depctl ---- */

static int become_depctl(const char *depctl, const struct depd *d, const struct options *o)
{
	char socket[sizeof(d->rundir) + 16], pid[16];
	const char *argv[15 + 2 * OPTIONS_TRIGGERS] = { "depctl", "attach", "--socket", socket };
	unsigned int i, n = 4;

	snprintf(socket, sizeof(socket), "%s/depd.sock", d->rundir);
	snprintf(pid, sizeof(pid), "%d", o->attach);
	if (o->output) {
		argv[n++] = "-o";
		argv[n++] = o->output;
	}
	if (o->children) {
		argv[n++] = "--children";
		argv[n++] = o->children;
	}
	if (o->transport) {
		argv[n++] = "--transport";
		argv[n++] = o->transport;
	}
	if (o->last) {
		argv[n++] = "--last";
		argv[n++] = o->last;
	}
	if (o->last_on_disk)
		argv[n++] = "--last-on-disk";
	for (i = 0; i < o->ntriggers; i++) {
		argv[n++] = o->trigger[i].option;
		argv[n++] = o->trigger[i].value;
	}
	argv[n++] = pid;
	execv(depctl, (char *const *)argv);
	core_fail(-errno, depctl);
	return EXIT_FAILURE;
}

int attach_run(struct depd *d, const struct options *o)
{
	char depctl[PATH_MAX + 16], byte;
	int ready[2];
	pid_t pid;

	log_open(NULL);
	if (!find_depctl(depctl, sizeof(depctl))) {
		core_fail(-ENOENT, "depctl, which must be installed with depd");
		return EXIT_FAILURE;
	}
	if (make_rundir(d->rundir, sizeof(d->rundir)))
		return EXIT_FAILURE;
	if (pipe2(ready, O_CLOEXEC)) {
		core_fail(-errno, "cannot make a pipe");
		rmdir(d->rundir);
		return EXIT_FAILURE;
	}
	pid = fork_away();
	if (!pid) {
		close(ready[0]);
		return serve(d, o, ready[1]);
	}
	close(ready[1]);
	if (pid < 0)
		rmdir(d->rundir);
	/* If there is no byte, the other process has printed the reason. */
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		return EXIT_FAILURE;
	return become_depctl(depctl, d, o);
}

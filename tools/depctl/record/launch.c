// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Launch the command into a session whose records another process collects, or attach to a process.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "record.h"

static int map_session(struct record_launch *l, int fd, int ring_fd)
{
	struct dep_why why = { "" };
	struct stat st;
	void *p;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(struct adept_session))
		goto bad;
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		goto bad;
	l->map = p;
	l->size = st.st_size;
	if (!dep_target_init(&l->target, l->map, fd, &why)) {
		l->target.ring_fd = ring_fd;
		return 0;
	}
bad:
	warn("cannot use the session file: %s", *why.text ? why.text : strerror(errno));
	return -1;
}

static int launch(struct record_launch *l, const struct record_options *o,
		  const struct dep_caller_state *native)
{
	struct dep_launch how = {
		.argv = o->argv, .caller_state = native,
		.flags = o->no_aslr ? DEP_LAUNCH_NO_ASLR : 0,
	};
	int ret;

	ret = dep_launch(&l->target, &how, &l->child, &l->native);
	if (ret)
		l->not_run = ret == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	if (ret)
		warn("%s cannot be recorded: %s", o->argv[0],
		     *l->native.text ? l->native.text : strerror(-ret));
	else if (l->child.native)
		warn("%s runs unrecorded: %s", o->argv[0], l->native.text);
	return ret;
}

static int attach(struct record_launch *l, const struct record_options *o)
{
	const struct dep_attach_cost *cost = &l->cost;
	int ret;

	ret = dep_attach_running(&l->target, o->pid, &l->child, &l->cost, &l->native);
	if (ret && !strncmp(l->native.text, "privileged: ", 12))
		warn("process %d cannot be attached to: its privileges must be those of depctl "
		     "(%s)", o->pid, l->native.text);
	else if (ret)
		warn("%s", *l->native.text ? l->native.text : strerror(-ret));
	else if (!o->quiet)
		warn("recording process %d: %u thread%s stopped for %.3f ms; %s ends the recording",
		     o->pid, cost->threads, cost->threads == 1 ? "" : "s",
		     (double)cost->stop_ns / 1e6, o->background ? "`depctl detach'" : "Ctrl-C");
	return ret;
}

int record_launch(struct record_launch *l, const struct record_options *o,
		  const struct dep_caller_state *native, int fd, int ring_fd, pid_t ptracer)
{
	int ret;

	memset(l, 0, sizeof(*l));
	ret = map_session(l, fd, ring_fd);
	l->target.ptracer = ptracer;
	if (!ret)
		ret = o->pid ? attach(l, o) : launch(l, o, native);
	if (ret || !o->pid) {
		l->target.fd = fd;
		record_launch_end(l);
	}
	if (ring_fd >= 0)
		close(ring_fd);
	return ret;
}

void record_launch_end(struct record_launch *l)
{
	if (l->map)
		munmap(l->map, l->size);
	if (l->target.fd >= 0)
		close(l->target.fd);
	l->map = NULL;
	l->target.fd = -1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depd's sockets without depd: fake_depd CONTROL METRICS [SESSIONS]
 *
 * Prints a line when it listens, and ends at the end of its input.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/daemon/fake_core.h"

static struct loop *loop;

static void input_ready(struct loop_watch *w, short revents)
{
	char buf[64];

	(void)revents;
	if (read(w->fd, buf, sizeof(buf)) <= 0)
		loop_end(loop);
}

int main(int argc, char **argv)
{
	struct loop_watch input = { .ready = input_ready };
	struct metrics *metrics;
	struct fake_core core;
	struct control_ops ops;
	int i, ret;

	if (argc < 3)
		return 2;
	fake_core_init(&core);
	/* Root may see and stop what belongs to another user. */
	for (i = argc > 3 ? atoi(argv[3]) : 2; i > 0; i--)
		fake_core_session(&core, getuid() ? getuid() : i & 1 ? 0 : 1);
	ops = fake_core_ops(&core);
	ret = loop_create(&loop);
	if (ret) {
		fprintf(stderr, "fake_depd: %s\n", loop_error(ret));
		return 1;
	}
	if (control_open(&core.control, loop, fake_core_listen(argv[1]), &ops) ||
	    metrics_open(&metrics, loop, fake_core_listen(argv[2]), &ops) ||
	    loop_watch_add(loop, &input, STDIN_FILENO, POLLIN))
		return 1;
	puts("ready");
	fflush(stdout);
	ret = loop_run(loop);
	control_close(core.control);
	core.control = NULL;
	metrics_close(metrics);
	loop_free(loop);
	fake_core_free(&core);
	unlink(argv[1]);
	unlink(argv[2]);
	return ret != 0;
}

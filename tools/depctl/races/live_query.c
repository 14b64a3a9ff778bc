// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search for races while a recorder is running.  The recorder is depctl record --races, or depd.
 * It passes the session file, and sends a byte when everything is recorded.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "races.h"

#define NICE	10	/* nice value: the programs and depd have priority */

/* If the socket closes before a byte was received, the recorder was killed. */
int races_recorder_wait(void *arg, unsigned int ms)
{
	struct races_recorder *r = arg;
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	char end;

	if (r->over || poll(&p, 1, (int)ms) <= 0)
		return r->over;
	r->over = true;
	if (recv(r->fd, &end, 1, 0) == 1)
		return 1;
	if (r->goes_on)
		return -ECANCELED;
	warn("the recorder was killed; analysing what is stored");
	return 1;
}

int races_tail(struct races_report *r, const char *path, int session, int over, size_t *found)
{
	struct races_recorder recorder = { .fd = over, .goes_on = true };
	struct dep_live_options options = {
		.wait = races_recorder_wait, .arg = &recorder, .session = session,
	};
	struct dep_store *store;
	int ret, status;

	setpriority(PRIO_PROCESS, 0, NICE);
	if (dep_store_open_growing(&store, path)) {
		warn("%s", dep_error());
		return EXIT_FAILURE;
	}
	/* depd passes --report with a file in the store: give it the access rights of the store. */
	if (races_report_fd(r) >= 0 && share_report(races_report_fd(r), path)) {
		dep_store_close(store);
		return EXIT_FAILURE;
	}
	races_report_tail(r, &options, true);
	status = races_report(r, store, path, STDOUT_FILENO, found);
	dep_store_close(store);
	if (status != -EOPNOTSUPP)
		return status;
	do {
		ret = races_recorder_wait(&recorder, 1000);
	} while (!ret);
	if (ret < 0)
		return EXIT_FAILURE;
	races_report_tail(r, NULL, false);
	store = open_store(path);
	status = store ? races_report(r, store, path, STDOUT_FILENO, found) : EXIT_FAILURE;
	dep_store_close(store);
	return status;
}

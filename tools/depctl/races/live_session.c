// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl query races --live: analyse a session while depd records it.  depd passes a read-only
 * descriptor of the session file and sends an event when the session has ended.  Records that are
 * not stored yet are read from the session file, all others from the store.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "races.h"

#define NICE	10	/* nice value: the programs and depd have priority */

struct live {
	struct client c;
	uint32_t id;
	bool over;
};

static int wait_over(void *arg, unsigned int ms)
{
	struct live *l = arg;
	int ret = l->over ? 0 : client_event(&l->c, (int)ms);

	if (ret < 0) {
		warn("%s; analysing what is stored", l->c.why);
		l->over = true;
	} else if (ret && !strcmp(client_string(l->c.event, "event"), "ended")) {
		l->over = true;
	}
	return l->over;
}

static int open_session(struct live *l, const char *socket, int *fd, char *store, size_t size)
{
	const struct client_args a = { .socket = socket };
	const cJSON *s;

	if (ask_depd(&l->c, &a, client_request("follow", l->id)))
		return -1;
	s = cJSON_GetObjectItemCaseSensitive(l->c.answer, "session");
	snprintf(store, size, "%s", client_string(s, "store"));
	if (!l->c.nfds || !*store) {
		warn("session %u has no store, so its races cannot be analysed", l->id);
		return -1;
	}
	*fd = l->c.fds[0];
	l->c.nfds = 0;
	return 0;
}

/* Wait for the end of the session, then analyse its complete store. */
static int look_afterwards(struct races_report *r, struct live *l, const char *path, size_t *found)
{
	struct dep_store *store;
	int status;

	warn("rings of the kernel module cannot be read live: races are reported at the end");
	while (!wait_over(l, 1000))
		;
	races_report_tail(r, NULL, false);
	store = open_store(path);
	status = store ? races_report(r, store, path, STDOUT_FILENO, found) : EXIT_FAILURE;
	dep_store_close(store);
	return status;
}

int races_live(struct races_report *r, uint32_t id, const char *socket, size_t *found)
{
	struct live l = { .c = { .fd = -1 }, .id = id };
	struct dep_live_options options = { .wait = wait_over, .arg = &l, .session = -1 };
	struct dep_store *store = NULL;
	int status = EXIT_FAILURE;
	char path[PATH_MAX];

	if (open_session(&l, socket, &options.session, path, sizeof(path)))
		goto out;
	setpriority(PRIO_PROCESS, 0, NICE);
	if (dep_store_open_growing(&store, path)) {
		warn("%s", dep_error());
		goto out;
	}
	races_report_tail(r, &options, true);
	status = races_report(r, store, path, STDOUT_FILENO, found);
	if (status == -EOPNOTSUPP)
		status = look_afterwards(r, &l, path, found);
out:
	if (options.session >= 0)
		close(options.session);
	dep_store_close(store);
	client_close(&l.c);
	return status;
}

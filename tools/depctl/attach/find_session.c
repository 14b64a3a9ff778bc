// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "find_session.h"
#include "tools/depctl/daemon/client.h"

int session_by_depd(struct dep_found *f, pid_t pid, uint32_t session, const char *socket,
		    struct dep_why *why)
{
	cJSON *request = client_request("open", session);
	struct client c = { .fd = -1 };
	int ret;

	if (!session)
		cJSON_AddNumberToObject(request, "pid", pid);
	ret = client_open(&c, socket);
	if (ret)
		cJSON_Delete(request);
	else
		ret = client_ask(&c, request);
	if (!ret && c.nfds != 1)
		ret = client_fail(&c, -EPROTO, "%s: depd sent no session file", c.path);
	if (ret) {
		snprintf(why->text, sizeof(why->text), "%.500s", c.why);
	} else {
		c.nfds = 0;
		ret = dep_session_use_file(f, c.fds[0], why);
	}
	client_close(&c);
	return ret;
}

int session_of_process(struct dep_found *f, pid_t pid, const char *socket, struct dep_why *why)
{
	struct dep_why by_depd;
	int err = dep_session_find(f, pid, why);

	if (err != -EPERM || session_by_depd(f, pid, 0, socket, &by_depd))
		return err;
	err = dep_session_process(f, pid, why);
	if (err)
		dep_session_close(f);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/base/strbuf.h"
#include "daemon/control/response.h"
#include "front.h"

void front_refuse(struct front *f, int fd, int err, const char *why)
{
	struct strbuf t = { 0 };

	f->refused++;
	response_refusal(&t, err, why);
	strbuf_put(&t, "\n", 1);
	/* The response fits into an empty socket buffer; an error is ignored. */
	if (!t.failed)
		send(fd, t.s, t.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(strbuf_take(&t));
	close(fd);
}

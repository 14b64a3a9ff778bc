// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl metrics: print depd's metrics for a monitoring system.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "client.h"
#include "tools/depctl/depctl.h"

static const struct argp_option options[] = {
	CLIENT_OPTION_SOCKET,
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct client_args *a = state->input;

	if (key != OPT_SOCKET)
		return ARGP_ERR_UNKNOWN;
	a->socket = arg;
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Print depd's metrics, as OpenMetrics text.\v"
	"The socket is depd's metrics.sock, not the one for requests.",
	NULL, NULL, NULL,
};

static const char mark[] = "# EOF\n";

#define MARK (sizeof(mark) - 1)

/* Keep the end of the received text in @tail, as many bytes as the end mark "# EOF" has. */
static void keep_tail(char *tail, const char *data, size_t n)
{
	size_t keep = n < MARK ? n : MARK;

	memmove(tail, tail + keep, MARK - keep);
	memcpy(tail + MARK - keep, data + n - keep, keep);
}

static int print_all(struct client *c, struct out *o)
{
	uint64_t until = client_now_ms() + CLIENT_TIMEOUT_MS;
	char tail[MARK] = "";
	ssize_t n;

	/* If the client closes its side without a request, depd sends text without HTTP headers. */
	shutdown(c->fd, SHUT_WR);
	do {
		c->in_len = 0;
		n = client_wait(c, POLLIN, until);
		if (!n)
			n = client_receive(c);
		if (n > 0) {
			out_block(o, c->in, n);
			keep_tail(tail, c->in, n);
		}
	} while (n > 0 || n == -EAGAIN || n == -EINTR);
	if (n)
		return client_fail(c, n, "%s: %s", c->path, n == -ETIMEDOUT ?
				   "depd does not answer" : strerror(-n));
	if (memcmp(tail, mark, MARK))
		return client_fail(c, -EPROTO, "%s: the metrics are incomplete: no '# EOF' at the "
				   "end (is this depd's metrics.sock?)", c->path);
	return 0;
}

int cmd_metrics(int argc, char **argv)
{
	struct client c = { .fd = -1 };
	struct client_args a = { 0 };
	struct out out;
	int status = 0;

	parse_args(&argp, argc, argv, 0, &a);
	out_begin(&out);
	if (client_find(&c, a.socket, "metrics.sock", false) || print_all(&c, &out)) {
		warn("%s", c.why);
		status = EXIT_FAILURE;
	}
	client_close(&c);
	return out_end(&out) | status;
}

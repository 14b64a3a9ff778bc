// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One client of the control socket: input, output, timeouts.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "response.h"

/* Limits of one call of client_ready(), so that other events of the loop are not delayed. */
#define READ_ONCE	(64u << 10)
#define LINES_ONCE	64

/* ---- end of a connection ---- */

void client_drop(struct client *cl)
{
	struct control *c = cl->control;

	if (cl->dead)
		return;
	cl->dead = true;
	loop_remove(c->loop, &cl->watch);
	close(cl->fd);
	c->nclients--;
	loop_timer_set(c->loop, &c->reap, 0, 0);
}

static void free_fds(struct client_fds *f)
{
	int i;

	for (i = 0; i < f->n; i++)
		close(f->fd[i]);
	free(f);
}

void client_free(struct client *cl)
{
	struct control *c = cl->control;
	struct client_fds *f;
	uint32_t i;

	while ((f = cl->fds)) {
		cl->fds = f->next;
		free_fds(f);
	}
	/* The client is not in control.clients any more: gone() cannot change cl->made. */
	for (i = 0; i < cl->nmade; i++)
		c->ops.gone(c->ops.arg, cl->made[i]);
	free(cl->made);
	free(cl->watched);
	free(cl->out.s);
	free(cl->in);
	if (cl->peer.pidfd >= 0)
		close(cl->peer.pidfd);
	free(cl);
}

/* ---- output ---- */

static size_t waiting(const struct client *cl)
{
	return cl->out.len - cl->out_at;
}

/* Send up to @size bytes of output.  @f: descriptors to send with the first byte, or NULL. */
static ssize_t send_some(struct client *cl, size_t size, const struct client_fds *f)
{
	union {
		char buf[CMSG_SPACE(CLIENT_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} room = { { 0 } };
	struct iovec iov = { .iov_base = cl->out.s + cl->out_at, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *h;

	if (f) {
		m.msg_control = room.buf;
		m.msg_controllen = CMSG_SPACE(f->n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(f->n * sizeof(int));
		memcpy(CMSG_DATA(h), f->fd, f->n * sizeof(int));
	}
	return sendmsg(cl->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Send output up to the next byte that comes with descriptors.  Return: 0 or a positive errno. */
static int send_part(struct client *cl)
{
	struct client_fds *f = cl->fds;
	size_t size = waiting(cl);
	uint64_t at = cl->out_base + cl->out_at;
	ssize_t n;

	if (f && f->at > at) {
		if (size > f->at - at)
			size = f->at - at;
		f = NULL;
	} else if (f && f->next && size > f->next->at - at) {
		size = f->next->at - at;
	}
	n = send_some(cl, size, f);
	if (n < 0)
		return errno;
	cl->out_at += n;
	cl->out_ns = loop_now();
	if (f && n) {
		cl->fds = f->next;
		if (!cl->fds)
			cl->fds_tail = &cl->fds;
		free_fds(f);
	}
	return 0;
}

/* Remove sent output from the buffer if all is sent, or if it fills half of the buffer. */
static void out_compact(struct client *cl)
{
	if (cl->out_at < cl->out.len && cl->out_at < cl->out.room / 2)
		return;
	cl->out_base += cl->out_at;
	cl->out.len -= cl->out_at;
	if (cl->out.len)
		memmove(cl->out.s, cl->out.s + cl->out_at, cl->out.len);
	cl->out_at = 0;
	if (!cl->out.len && cl->out.room > CLIENT_OUT_HIGH)
		free(strbuf_take(&cl->out));
}

/* Send as much output as the socket accepts; drop the client on an error. */
static void out_flush(struct client *cl)
{
	int err = 0;

	while (!cl->dead && waiting(cl) && !err) {
		err = send_part(cl);
		if (err == EINTR)
			err = 0;
	}
	if (err && err != EAGAIN) {
		client_drop(cl);
		return;
	}
	out_compact(cl);
}

static void want(struct client *cl)
{
	short events = 0;

	if (cl->dead)
		return;
	/* A client that has closed its sending side stays for unsent output and for events. */
	if (!waiting(cl) && (cl->closing || (cl->eof && !cl->in_len && !cl->nwatched))) {
		client_drop(cl);
		return;
	}
	if (!cl->eof && !cl->closing && waiting(cl) < CLIENT_OUT_HIGH)
		events |= POLLIN;
	/* POLLOUT makes the loop call client_ready() again, which handles the remaining lines. */
	if (waiting(cl) || cl->more)
		events |= POLLOUT;
	loop_watch_change(cl->control->loop, &cl->watch, events);
}

void client_send(struct client *cl, struct strbuf *line)
{
	if (cl->dead)
		goto out;
	strbuf_put(line, "\n", 1);
	if (line->failed || waiting(cl) + line->len > CONTROL_OUT_MAX) {
		client_drop(cl);
		goto out;
	}
	if (!waiting(cl))
		cl->out_ns = loop_now();
	strbuf_put(&cl->out, line->s, line->len);
	if (cl->out.failed)
		client_drop(cl);
	else
		out_flush(cl);
	want(cl);
out:
	free(strbuf_take(line));
}

int client_send_fds(struct client *cl, struct strbuf *line, const int *fds, int n)
{
	struct client_fds *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return -ENOMEM;
	for (; f->n < n; f->n++) {
		f->fd[f->n] = fcntl(fds[f->n], F_DUPFD_CLOEXEC, 0);
		if (f->fd[f->n] < 0) {
			ret = -errno;
			free_fds(f);
			return ret;
		}
	}
	f->at = cl->out_base + cl->out.len;
	*cl->fds_tail = f;
	cl->fds_tail = &f->next;
	client_send(cl, line);
	return 0;
}

void client_refuse(struct client *cl, int err, const char *why)
{
	struct strbuf t = { 0 };

	cl->control->refused++;
	response_refusal(&t, err, why);
	client_send(cl, &t);
}

/* ---- input ---- */

/* Handle the next request line.  Return: false: no complete line, or output must be sent first. */
static bool handle_next(struct client *cl)
{
	char *line = cl->in + cl->in_at, *end;

	if (cl->dead || cl->closing || waiting(cl) >= CLIENT_OUT_HIGH)
		return false;
	end = memchr(cl->in + cl->in_seen, '\n', cl->in_len - cl->in_seen);
	if (!end) {
		cl->in_seen = cl->in_len;
		return false;
	}
	cl->control->handle_line(cl, line, end - line);
	cl->in_at = end + 1 - cl->in;
	cl->in_seen = cl->in_at;
	return true;
}

static void in_compact(struct client *cl)
{
	if (!cl->in_at)
		return;
	memmove(cl->in, cl->in + cl->in_at, cl->in_len - cl->in_at);
	cl->in_len -= cl->in_at;
	cl->in_seen -= cl->in_at;
	cl->in_at = 0;
}

/* Handle input without a newline: a line that is too long, or the last line before end of input. */
static void handle_part(struct client *cl)
{
	if (cl->in_len >= DEPD_LINE_MAX) {
		cl->closing = true;
		client_refuse(cl, -EMSGSIZE, "the request line is too long");
	} else if (cl->eof && cl->in_len) {
		/* Take the last line as a request; a line that was cut off is not valid JSON. */
		cl->control->handle_line(cl, cl->in, cl->in_len);
		cl->in_at = cl->in_len;
		cl->in_seen = cl->in_len;
		in_compact(cl);
	}
}

static void handle_some(struct client *cl)
{
	unsigned int n = 0;

	while (n < LINES_ONCE && handle_next(cl))
		n++;
	in_compact(cl);
	cl->more = n == LINES_ONCE;
	if (!cl->dead && !cl->closing && !cl->more && cl->in_seen == cl->in_len)
		handle_part(cl);
}

static void receive(struct client *cl)
{
	size_t room = DEPD_LINE_MAX - cl->in_len;
	ssize_t n;

	/* The buffer is full of lines that must be handled first. */
	if (!room)
		return;
	n = recv(cl->fd, cl->in + cl->in_len, room < READ_ONCE ? room : READ_ONCE, MSG_DONTWAIT);
	if (n > 0) {
		cl->in_len += n;
		cl->in_ns = loop_now();
	} else if (!n) {
		cl->eof = true;
	} else if (errno != EAGAIN && errno != EINTR) {
		client_drop(cl);
	}
}

static void client_ready(struct loop_watch *w, short revents)
{
	struct client *cl = (struct client *)((char *)w - offsetof(struct client, watch));

	if (revents & (POLLOUT | POLLHUP))
		out_flush(cl);
	if (!cl->dead && !cl->closing && !cl->eof && revents & (POLLIN | POLLHUP | POLLERR))
		receive(cl);
	else if (!cl->dead && revents & (POLLHUP | POLLERR | POLLNVAL))
		client_drop(cl);
	handle_some(cl);
	want(cl);
}

/* ---- idle timeout ---- */

void client_idle(struct client *cl, uint64_t now)
{
	uint64_t limit = cl->control->idle_ns;

	if (cl->dead)
		return;
	if (waiting(cl)) {
		if (now > cl->out_ns && now - cl->out_ns > limit)
			client_drop(cl);
	} else if (cl->in_len && !cl->closing && now > cl->in_ns && now - cl->in_ns > limit) {
		cl->closing = true;
		client_refuse(cl, -ETIMEDOUT, "timeout: the request line was not completed");
		want(cl);
	}
}

/* ---- start of a connection ---- */

struct client *client_new(struct control *c, int fd, const struct peer *peer)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl)
		return NULL;
	cl->in = malloc(DEPD_LINE_MAX);
	cl->control = c;
	cl->peer = *peer;
	cl->fd = fd;
	cl->fds_tail = &cl->fds;
	cl->watch.ready = client_ready;
	if (!cl->in || loop_watch_add(c->loop, &cl->watch, fd, POLLIN)) {
		free(cl->in);
		free(cl);
		return NULL;
	}
	cl->next = c->clients;
	c->clients = cl;
	c->nclients++;
	return cl;
}

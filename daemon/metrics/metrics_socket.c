// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The metrics socket: sends the metrics to every connection, over HTTP if it is requested.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics_text.h"
#include "daemon/base/strbuf.h"

#define READERS_MAX	32
#define REQUEST_MAX	8192		/* limit of an HTTP request in bytes */
#define SILENT_NS	100000000ull	/* without a request, send the bare text after this time */
#define READER_NS	5000000000ull	/* timeout for a request, and for reading the response */

/** struct reader - one connection to the metrics socket */
struct reader {
	struct loop_watch watch;
	struct loop_timer timer;
	struct metrics *metrics;
	struct reader *next;
	char in[REQUEST_MAX + 1];
	size_t in_len;
	struct strbuf out;
	size_t out_at;
	bool answered;
};

struct metrics {
	struct loop *loop;
	struct control_ops ops;
	struct loop_watch listen;
	struct loop_timer accept_paused;	/* accept() failed: retry when the timer expires */
	struct reader *readers;
	unsigned int nreaders;
};

static void reader_free(struct reader *r)
{
	struct metrics *m = r->metrics;
	struct reader **p;

	for (p = &m->readers; *p != r; p = &(*p)->next)
		;
	*p = r->next;
	m->nreaders--;
	loop_timer_cancel(m->loop, &r->timer);
	loop_remove(m->loop, &r->watch);
	close(r->watch.fd);
	free(r->out.s);
	free(r);
}

/* ---- response ---- */

/* True if the request's Accept field names Prometheus' older format and not OpenMetrics. */
static bool wants_classic(const char *request)
{
	const char *line = strcasestr(request, "\nAccept:"), *end;
	char accept[512];
	size_t n;

	if (!line)
		return false;
	line++;
	end = strpbrk(line, "\r\n");
	n = end ? (size_t)(end - line) : strlen(line);
	if (n >= sizeof(accept))
		return false;
	memcpy(accept, line, n);
	accept[n] = 0;
	return strcasestr(accept, "text/plain") && !strcasestr(accept, "openmetrics");
}

static void put_http(struct strbuf *t, enum metrics_format format, size_t size)
{
	strbuf_printf(t, "HTTP/1.1 200 OK\r\n"
		      "Content-Type: %s; charset=utf-8\r\n"
		      "Content-Length: %zu\r\n"
		      "Connection: close\r\n\r\n",
		      format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0" :
		      "text/plain; version=0.0.4", size);
}

static void reader_send(struct reader *r)
{
	ssize_t n = 1;

	while (r->out_at < r->out.len && n > 0) {
		n = send(r->watch.fd, r->out.s + r->out_at, r->out.len - r->out_at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			r->out_at += n;
	}
	if (n > 0 || (errno != EAGAIN && errno != EINTR))
		reader_free(r);
	else
		loop_watch_change(r->metrics->loop, &r->watch, POLLOUT);
}

static void reader_answer(struct reader *r, bool http)
{
	enum metrics_format format = http && wants_classic(r->in) ? METRICS_CLASSIC : METRICS_OPEN;
	char *text = metrics_format_text(&r->metrics->ops, format);

	r->answered = true;
	if (text && http)
		put_http(&r->out, format, strlen(text));
	if (text)
		strbuf_str(&r->out, text);
	free(text);
	if (!text || r->out.failed) {
		reader_free(r);
		return;
	}
	loop_timer_set(r->metrics->loop, &r->timer, READER_NS, 0);
	reader_send(r);
}

/* ---- request ---- */

static bool may_be_http(const struct reader *r)
{
	return !strncmp(r->in, "GET ", r->in_len < 4 ? r->in_len : 4);
}

/* True if the head of an HTTP request is complete or the buffer is full. */
static bool is_whole(const struct reader *r)
{
	return strstr(r->in, "\r\n\r\n") || strstr(r->in, "\n\n") || r->in_len == REQUEST_MAX;
}

static void reader_read(struct reader *r)
{
	ssize_t n = recv(r->watch.fd, r->in + r->in_len, REQUEST_MAX - r->in_len, MSG_DONTWAIT);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			reader_free(r);
		return;
	}
	if (!r->in_len)
		loop_timer_set(r->metrics->loop, &r->timer, READER_NS, 0);
	/* String functions stop at the first NUL; an HTTP request has none. */
	r->in_len += n;
	r->in[r->in_len] = 0;
	if (!n || !may_be_http(r))
		reader_answer(r, r->in_len >= 4 && may_be_http(r));
	else if (is_whole(r))
		reader_answer(r, true);
}

static void reader_ready(struct loop_watch *w, short revents)
{
	struct reader *r = (struct reader *)((char *)w - offsetof(struct reader, watch));

	if (r->answered)
		reader_send(r);
	else if (revents & POLLIN)
		reader_read(r);
	else
		reader_free(r);
}

static void reader_due(struct loop_timer *t)
{
	struct reader *r = (struct reader *)((char *)t - offsetof(struct reader, timer));

	if (r->answered || r->in_len)
		reader_free(r);
	else
		reader_answer(r, false);
}

/* ---- all connections ---- */

static int reader_new(struct metrics *m, int fd)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->metrics = m;
	r->watch.ready = reader_ready;
	r->timer.due = reader_due;
	if (loop_watch_add(m->loop, &r->watch, fd, POLLIN)) {
		free(r);
		return -ENOMEM;
	}
	r->next = m->readers;
	m->readers = r;
	m->nreaders++;
	loop_timer_set(m->loop, &r->timer, SILENT_NS, 0);
	return 0;
}

static void metrics_ready(struct loop_watch *w, short revents)
{
	struct metrics *m = (struct metrics *)((char *)w - offsetof(struct metrics, listen));
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)revents;
	if (fd >= 0) {
		if (m->nreaders >= READERS_MAX || reader_new(m, fd))
			close(fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		loop_watch_change(m->loop, w, 0);
		loop_timer_set(m->loop, &m->accept_paused, SILENT_NS, 0);
	}
}

static void metrics_readable(struct loop_timer *t)
{
	struct metrics *m = (struct metrics *)((char *)t - offsetof(struct metrics, accept_paused));

	loop_watch_change(m->loop, &m->listen, POLLIN);
}

int metrics_open(struct metrics **out, struct loop *l, int fd, const struct control_ops *ops)
{
	struct metrics *m = calloc(1, sizeof(*m));
	int ret;

	if (!m)
		return -ENOMEM;
	m->loop = l;
	m->ops = *ops;
	m->listen.ready = metrics_ready;
	m->accept_paused.due = metrics_readable;
	ret = loop_watch_add(l, &m->listen, fd, POLLIN);
	if (ret) {
		free(m);
		return ret;
	}
	*out = m;
	return 0;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	while (m->readers)
		reader_free(m->readers);
	loop_timer_cancel(m->loop, &m->accept_paused);
	loop_remove(m->loop, &m->listen);
	close(m->listen.fd);
	free(m);
}

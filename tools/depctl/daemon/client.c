// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests to depd, its answers and events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "tools/depctl/depctl.h"

#define PROTOCOL	1

/** struct client_event - an event that arrived during the wait for an answer */
struct client_event {
	struct client_event *next;
	cJSON *event;
};

static int no_memory(struct client *c)
{
	return client_fail(c, -ENOMEM, "out of memory");
}

/* ---- messages ---- */

static int no_depd(struct client *c)
{
	return client_fail(c, -EPROTO, "%s: the process that answers is not depd", c->path);
}

static int read_failed(struct client *c, int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return client_fail(c, err, "%s: depd does not answer", c->path);
	case -EPIPE:
		return client_fail(c, err, "%s: depd has closed the connection", c->path);
	case -EPROTO:
		return no_depd(c);
	case -ENOMEM:
		return no_memory(c);
	default:
		return client_fail(c, err, "%s: %s", c->path, strerror(-err));
	}
}

/* Read a message into *@message and check its protocol version. */
static int read_message(struct client *c, uint64_t until, cJSON **message)
{
	int ret = client_read_line(c, until);
	const cJSON *v;
	double number;

	if (ret)
		return ret == -ETIMEDOUT ? ret : read_failed(c, ret);
	*message = cJSON_Parse(c->line);
	v = cJSON_GetObjectItemCaseSensitive(*message, "v");
	if (!cJSON_IsNumber(v)) {
		cJSON_Delete(*message);
		return no_depd(c);
	}
	number = v->valuedouble;
	if (number == PROTOCOL)
		return 0;
	cJSON_Delete(*message);
	return client_fail(c, -EPROTONOSUPPORT, "%s: this depd speaks version %g of the protocol, "
			   "depctl version %d: they must be of one release", c->path, number,
			   PROTOCOL);
}

static int error_of(const char *name)
{
	const char *n;
	int i;

	for (i = 1; i < 200; i++) {
		n = strerrorname_np(i);
		if (n && !strcmp(n, name))
			return -i;
	}
	return -EIO;
}

static int refused(struct client *c, const cJSON *answer)
{
	const char *message = client_string(answer, "message");

	return client_fail(c, error_of(client_string(answer, "error")), "%s",
			   *message ? message : "depd refused the request without a reason");
}

static int keep_event(struct client *c, cJSON *event)
{
	struct client_event *e = malloc(sizeof(*e));

	if (!e) {
		cJSON_Delete(event);
		return no_memory(c);
	}
	*e = (struct client_event){ .event = event };
	*c->events_tail = e;
	c->events_tail = &e->next;
	return 0;
}

static int send_request(struct client *c, cJSON *request, uint64_t until)
{
	char *text = NULL;
	size_t n;
	int ret;

	if (request && cJSON_AddNumberToObject(request, "v", PROTOCOL))
		text = cJSON_PrintUnformatted(request);
	cJSON_Delete(request);
	if (!text)
		return no_memory(c);
	n = strlen(text);
	text[n] = '\n';	/* a request ends with a newline, which replaces the NUL */
	ret = client_send_all(c, text, n + 1, until);
	cJSON_free(text);
	/* EPIPE: depd has closed the connection, but it may have sent the reason: read on. */
	return ret == -EPIPE || !ret ? 0 : read_failed(c, ret);
}

static int take_answer(struct client *c, cJSON *answer)
{
	cJSON_Delete(c->answer);
	c->answer = answer;
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "ok")) ? 0 :
		refused(c, answer);
}

int client_ask(struct client *c, cJSON *request)
{
	uint64_t until = client_now_ms() + CLIENT_TIMEOUT_MS;
	int ret = client_ask_begin(c, request, until);

	return ret ? ret : client_ask_end(c, until);
}

int client_ask_begin(struct client *c, cJSON *request, uint64_t until)
{
	cJSON_Delete(c->answer);
	c->answer = NULL;
	client_drop_fds(c);
	return send_request(c, request, until);
}

int client_ask_end(struct client *c, uint64_t until)
{
	cJSON *m = NULL;
	int ret = 0;

	while (!ret) {
		ret = read_message(c, until, &m);
		if (ret)
			return ret == -ETIMEDOUT ? read_failed(c, ret) : ret;
		if (cJSON_GetObjectItemCaseSensitive(m, "ok")) {
			if (!c->posted)
				break;
			/* Answers come in order: this one belongs to an earlier client_post(). */
			c->posted--;
			cJSON_Delete(m);
		} else if (cJSON_GetObjectItemCaseSensitive(m, "event")) {
			ret = keep_event(c, m);
		} else {
			cJSON_Delete(m);
			ret = no_depd(c);
		}
	}
	if (ret)
		return ret;
	return take_answer(c, m);
}

int client_post(struct client *c, cJSON *request)
{
	int ret = send_request(c, request, client_now_ms());

	c->posted += !ret;
	return ret;
}

/* Move the oldest event from the queue to @c->event. */
static int take_kept(struct client *c)
{
	struct client_event *e = c->events;

	c->event = e->event;
	c->events = e->next;
	if (!c->events)
		c->events_tail = &c->events;
	free(e);
	return CLIENT_EVENT;
}

int client_event(struct client *c, int timeout_ms)
{
	cJSON *m;
	int ret;

	cJSON_Delete(c->event);
	c->event = NULL;
	if (c->events)
		return take_kept(c);
	ret = read_message(c, client_now_ms() + timeout_ms, &m);
	if (ret)
		return ret == -ETIMEDOUT ? CLIENT_NOTHING : ret;
	if (c->posted && cJSON_GetObjectItemCaseSensitive(m, "ok")) {
		c->posted--;
		ret = take_answer(c, m);
		return ret ? ret : CLIENT_ANSWER;
	}
	c->event = m;
	return cJSON_GetObjectItemCaseSensitive(m, "event") ? CLIENT_EVENT : no_depd(c);
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	while (c->events && client_event(c, 0) == CLIENT_EVENT)
		;
	cJSON_Delete(c->answer);
	cJSON_Delete(c->event);
	client_drop_fds(c);
	free(c->line);
	free(c->in);
	*c = (struct client){ .fd = -1 };
}

cJSON *client_request(const char *op, uint32_t session)
{
	cJSON *o = cJSON_CreateObject();

	if (cJSON_AddStringToObject(o, "op", op) &&
	    (!session || cJSON_AddNumberToObject(o, "session", session)))
		return o;
	cJSON_Delete(o);
	return NULL;
}

/* ---- members ---- */

double client_number(const cJSON *o, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

const char *client_string(const cJSON *o, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	return cJSON_IsString(v) ? v->valuestring : "";
}

/* ---- commands ---- */

int ask_depd(struct client *c, const struct client_args *a, cJSON *request)
{
	int ret = 0;

	if (c->fd < 0)
		ret = client_open(c, a->socket);
	if (ret)
		cJSON_Delete(request);
	else
		ret = client_ask(c, request);
	if (ret)
		warn("%s", c->why);
	return ret;
}

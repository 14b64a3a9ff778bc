// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handle requests on the control socket: check permission, call the operation, send the response.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "response.h"
#include "client.h"

/* Send a response without data. */
static void client_request_done(struct client *cl)
{
	struct strbuf t = { 0 };

	response_begin(&t);
	response_end(&t);
	client_send(cl, &t);
}

static bool may_see(const struct client *cl, const struct session_info *s)
{
	return !cl->peer.uid || cl->peer.uid == s->uid;
}

/* ---- requests for status ---- */

static void handle_status(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct depd_info d = { 0 };
	uint64_t chunks, bytes;
	struct session_info s;
	struct strbuf t = { 0 };
	size_t i;

	ops->info(ops->arg, &d);
	chunks = d.lag_chunks;
	bytes = d.lag_bytes;
	for (i = 0; ops->session(ops->arg, i, &s); i++) {
		chunks += s.lag_chunks;
		bytes += s.lag_bytes;
	}
	response_begin(&t);
	response_depd(&t, &d, chunks, bytes);
	response_end(&t);
	client_send(cl, &t);
}

static void handle_sessions(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s;
	struct strbuf t = { 0 };
	size_t i;

	response_begin(&t);
	strbuf_open(&t, "sessions", '[');
	for (i = 0; ops->session(ops->arg, i, &s); i++)
		if (may_see(cl, &s))
			response_session(&t, NULL, &s);
	strbuf_close(&t, ']');
	response_end(&t);
	if (t.len < CONTROL_OUT_MAX - CLIENT_OUT_HIGH) {
		client_send(cl, &t);
	} else {
		free(strbuf_take(&t));
		client_refuse(cl, -EMSGSIZE, "the list of sessions is too long for one response");
	}
}

static void handle_users(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct account_info a;
	struct strbuf t = { 0 };
	size_t i;

	if (cl->peer.uid) {
		client_refuse(cl, -EPERM, "only root may list the accounts of users");
		return;
	}
	response_begin(&t);
	strbuf_open(&t, "users", '[');
	for (i = 0; ops->account && ops->account(ops->arg, i, &a); i++)
		response_account(&t, &a);
	strbuf_close(&t, ']');
	response_end(&t);
	client_send(cl, &t);
}

static void handle_policy(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct depd_info d = { 0 };
	struct strbuf t = { 0 };
	char *rules;

	ops->info(ops->arg, &d);
	rules = ops->policy_text(ops->arg);
	if (!rules) {
		client_refuse(cl, -ENOMEM, NULL);
		return;
	}
	response_begin(&t);
	response_policy(&t, &d, rules);
	response_end(&t);
	free(rules);
	client_send(cl, &t);
}

/* ---- events of sessions ---- */

static struct client_watch *find_watch(struct client *cl, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < cl->nwatched; i++)
		if (cl->watched[i].id == id)
			return &cl->watched[i];
	return NULL;
}

static int add_watch(struct client *cl, uint32_t id)
{
	struct client_watch *w;

	if (find_watch(cl, id))
		return 0;
	if (cl->nwatched == CONTROL_SESSIONS_MAX)
		return -EMFILE;
	w = realloc(cl->watched, (cl->nwatched + 1) * sizeof(*w));
	if (!w)
		return -ENOMEM;
	cl->watched = w;
	w[cl->nwatched++] = (struct client_watch){ .id = id };
	return 0;
}

static void forget_made(struct client *cl, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < cl->nmade; i++)
		if (cl->made[i] == id)
			cl->made[i--] = cl->made[--cl->nmade];
}

void handle_event(struct client *cl, uint32_t id)
{
	const struct control_ops *ops = &cl->control->ops;
	struct client_watch *w = find_watch(cl, id);
	struct session_info s = { 0 };
	const char *event = "state";
	struct strbuf t = { 0 };

	if (!ops->find(ops->arg, id, &s))
		s = (struct session_info){ .id = id, .state = SESSION_ENDED, .exit_status = -1 };
	if (s.state == SESSION_ENDED)
		forget_made(cl, id);
	if (!w)
		return;
	if (s.state == SESSION_ENDED) {
		event = "ended";
		*w = cl->watched[--cl->nwatched];
	} else if (s.error && *s.error && !w->warned_error) {
		event = "error";
		w->warned_error = true;
	}
	response_event(&t, event, &s);
	client_send(cl, &t);
}

static void handle_watch(struct client *cl, uint32_t id)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	struct strbuf t = { 0 };
	int ret;

	if (!ops->find(ops->arg, id, &s) || !may_see(cl, &s)) {
		client_refuse(cl, -ENOENT, "there is no such session, or it is another user's");
		return;
	}
	ret = add_watch(cl, id);
	if (ret) {
		client_refuse(cl, ret, ret == -EMFILE ? "this client watches too many sessions" :
			      NULL);
		return;
	}
	response_begin(&t);
	response_session(&t, "session", &s);
	response_end(&t);
	client_send(cl, &t);
	if (s.state == SESSION_ENDED)
		handle_event(cl, id);
}

/* Send the response @t with @fd, which is closed; or refuse the request if @ret is an error. */
static void respond_with_fd(struct client *cl, struct strbuf *t, int fd, int ret, const char *why)
{
	if (!ret) {
		response_end(t);
		ret = client_send_fds(cl, t, &fd, 1);
	}
	if (fd >= 0)
		close(fd);
	if (!ret)
		return;
	free(strbuf_take(t));
	client_refuse(cl, ret, *why ? why : NULL);
}

static void handle_follow(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	char why[CONTROL_WHY] = "";
	struct strbuf t = { 0 };
	int fd = -1, ret;

	ret = ops->follow(ops->arg, &cl->peer, r, &fd, why);
	if (!ret)
		ret = add_watch(cl, r->session);
	if (!ret && !ops->find(ops->arg, r->session, &s))
		ret = -ENOENT;
	if (!ret) {
		response_begin(&t);
		strbuf_u64(&t, "descriptors", 1);
		response_session(&t, "session", &s);
	}
	respond_with_fd(cl, &t, fd, ret, why);
}

static void handle_open(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	char why[CONTROL_WHY] = "";
	struct strbuf t = { 0 };
	int fd = -1, ret;
	uint32_t id = 0;

	ret = ops->open(ops->arg, &cl->peer, r, &id, &fd, why);
	if (!ret && !ops->find(ops->arg, id, &s))
		ret = -ENOENT;
	if (!ret) {
		response_begin(&t);
		strbuf_u64(&t, "descriptors", 1);
		response_session(&t, "session", &s);
	}
	respond_with_fd(cl, &t, fd, ret, why);
}

/* Begin a snapshot; its result comes later, on the socket in the response. */
static void handle_snapshot(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	char why[CONTROL_WHY] = "";
	const char *store = "";
	struct strbuf t = { 0 };
	int fd = -1, ret;

	ret = ops->snapshot(ops->arg, &cl->peer, r, &fd, &store, why);
	if (!ret) {
		response_begin(&t);
		strbuf_u64(&t, "descriptors", 1);
		strbuf_string(&t, "store", store);
	}
	respond_with_fd(cl, &t, fd, ret, why);
}

/* ---- requests that start recording or change depd ---- */

/* Reserve room for one more entry in cl->made. */
static int reserve_made(struct client *cl)
{
	uint32_t *made;

	if (cl->nmade == CONTROL_SESSIONS_MAX)
		return -EMFILE;
	made = realloc(cl->made, (cl->nmade + 1) * sizeof(*made));
	if (!made)
		return -ENOMEM;
	cl->made = made;
	return 0;
}

static void handle_record(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	char why[CONTROL_WHY] = "";
	int fds[CLIENT_FDS_MAX] = { -1, -1 }, nfds = 0, ret;
	struct strbuf t = { 0 };
	uint32_t id = 0;

	ret = reserve_made(cl);
	if (ret) {
		client_refuse(cl, ret, ret == -EMFILE ?
			      "this client has created too many sessions" : NULL);
		return;
	}
	ret = ops->record(ops->arg, &cl->peer, r, &id, fds, &nfds, why);
	if (ret) {
		client_refuse(cl, ret, why);
		return;
	}
	cl->made[cl->nmade++] = id;
	if (!ops->find(ops->arg, id, &s))
		s = (struct session_info){ .id = id, .uid = cl->peer.uid, .exit_status = -1 };
	response_begin(&t);
	strbuf_u64(&t, "descriptors", nfds);
	response_session(&t, "session", &s);
	response_end(&t);
	ret = client_send_fds(cl, &t, fds, nfds);
	if (!ret)
		return;
	free(strbuf_take(&t));
	forget_made(cl, id);
	ops->gone(ops->arg, id);
	client_refuse(cl, ret, "cannot send the session's descriptors to the client");
}

static int handle_reload(struct client *cl, char *why)
{
	const struct control_ops *ops = &cl->control->ops;

	if (cl->peer.uid && cl->peer.uid != geteuid()) {
		snprintf(why, CONTROL_WHY, "only root and the user who runs this depd may reload "
			 "its configuration");
		return -EPERM;
	}
	return ops->reload(ops->arg, &cl->peer, why);
}

/* ---- dispatch of requests ---- */

/* Handle the requests whose response has no data. */
static int handle_plain(struct client *cl, const struct request *r, char *why)
{
	const struct control_ops *ops = &cl->control->ops;

	switch (r->op) {
	case REQUEST_LAUNCHED:
		return ops->launched(ops->arg, &cl->peer, r, why);
	case REQUEST_ENDED:
		return ops->ended(ops->arg, &cl->peer, r, why);
	case REQUEST_TRIGGER:
		return ops->trigger(ops->arg, &cl->peer, r, why);
	case REQUEST_STOP:
		return ops->stop(ops->arg, &cl->peer, r, why);
	case REQUEST_RELOAD:
		return handle_reload(cl, why);
	default:
		return -EINVAL;
	}
}

static void handle_request(struct client *cl, const struct request *r)
{
	char why[CONTROL_WHY] = "";
	int ret;

	switch (r->op) {
	case REQUEST_STATUS:
		handle_status(cl);
		break;
	case REQUEST_SESSIONS:
		handle_sessions(cl);
		break;
	case REQUEST_USERS:
		handle_users(cl);
		break;
	case REQUEST_POLICY:
		handle_policy(cl);
		break;
	case REQUEST_WATCH:
		handle_watch(cl, r->session);
		break;
	case REQUEST_FOLLOW:
		handle_follow(cl, r);
		break;
	case REQUEST_OPEN:
		handle_open(cl, r);
		break;
	case REQUEST_SNAPSHOT:
		handle_snapshot(cl, r);
		break;
	case REQUEST_RECORD:
		handle_record(cl, r);
		break;
	default:
		ret = handle_plain(cl, r, why);
		if (ret)
			client_refuse(cl, ret, why);
		else
			client_request_done(cl);
	}
}

void client_handle_line(struct client *cl, const char *line, size_t size)
{
	char why[CONTROL_WHY] = "";
	struct request r;
	int ret;

	cl->control->requests++;
	ret = request_parse(&r, line, size, why, sizeof(why));
	if (ret) {
		/* -EPROTO, not this protocol: close after the response, ignore further input. */
		cl->closing = ret == -EPROTO;
		client_refuse(cl, ret, why);
		return;
	}
	handle_request(cl, &r);
	request_free(&r);
}

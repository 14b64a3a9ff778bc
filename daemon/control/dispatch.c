// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of a client: who may do it, doing it, and the answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "response.h"
#include "client.h"

void serve_refuse(struct client *cl, int err, const char *why)
{
	struct text t = { 0 };

	cl->control->refused++;
	answer_refusal(&t, err, why);
	client_send(cl, &t);
}

/* The answer of those that have nothing to tell. */
static void serve_done(struct client *cl)
{
	struct text t = { 0 };

	answer_begin(&t);
	answer_end(&t);
	client_send(cl, &t);
}

static bool may_see(const struct client *cl, const struct session_info *s)
{
	return !cl->peer.uid || cl->peer.uid == s->uid;
}

/* ---- what there is ---- */

static void serve_status(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct depd_info d = { 0 };
	uint64_t chunks, bytes;
	struct session_info s;
	struct text t = { 0 };
	size_t i;

	ops->info(ops->arg, &d);
	chunks = d.lag_chunks;
	bytes = d.lag_bytes;
	for (i = 0; ops->session(ops->arg, i, &s); i++) {
		chunks += s.lag_chunks;
		bytes += s.lag_bytes;
	}
	answer_begin(&t);
	answer_depd(&t, &d, chunks, bytes);
	answer_end(&t);
	client_send(cl, &t);
}

static void serve_sessions(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s;
	struct text t = { 0 };
	size_t i;

	answer_begin(&t);
	text_open(&t, "sessions", '[');
	for (i = 0; ops->session(ops->arg, i, &s); i++)
		if (may_see(cl, &s))
			answer_session(&t, NULL, &s);
	text_close(&t, ']');
	answer_end(&t);
	if (t.len < CONTROL_OUT_MAX - CLIENT_OUT_HIGH) {
		client_send(cl, &t);
	} else {
		free(text_take(&t));
		serve_refuse(cl, -EMSGSIZE, "there are too many sessions for one answer");
	}
}

static void serve_users(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct account_info a;
	struct text t = { 0 };
	size_t i;

	if (cl->peer.uid) {
		serve_refuse(cl, -EPERM, "only root may see what users have");
		return;
	}
	answer_begin(&t);
	text_open(&t, "users", '[');
	for (i = 0; ops->account && ops->account(ops->arg, i, &a); i++)
		answer_account(&t, &a);
	text_close(&t, ']');
	answer_end(&t);
	client_send(cl, &t);
}

static void serve_policy(struct client *cl)
{
	const struct control_ops *ops = &cl->control->ops;
	struct depd_info d = { 0 };
	struct text t = { 0 };
	char *rules;

	ops->info(ops->arg, &d);
	rules = ops->policy_text(ops->arg);
	if (!rules) {
		serve_refuse(cl, -ENOMEM, NULL);
		return;
	}
	answer_begin(&t);
	answer_policy(&t, &d, rules);
	answer_end(&t);
	free(rules);
	client_send(cl, &t);
}

/* ---- watching ---- */

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

void serve_event(struct client *cl, uint32_t id)
{
	const struct control_ops *ops = &cl->control->ops;
	struct client_watch *w = find_watch(cl, id);
	struct session_info s = { 0 };
	const char *event = "state";
	struct text t = { 0 };

	if (!ops->find(ops->arg, id, &s))
		s = (struct session_info){ .id = id, .state = SESSION_ENDED, .exit_status = -1 };
	if (s.state == SESSION_ENDED)
		forget_made(cl, id);
	if (!w)
		return;
	if (s.state == SESSION_ENDED) {
		event = "ended";
		*w = cl->watched[--cl->nwatched];
	} else if (s.error && *s.error && !w->told_error) {
		event = "error";
		w->told_error = true;
	}
	answer_event(&t, event, &s);
	client_send(cl, &t);
}

static void serve_watch(struct client *cl, uint32_t id)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	struct text t = { 0 };
	int ret;

	if (!ops->find(ops->arg, id, &s) || !may_see(cl, &s)) {
		serve_refuse(cl, -ENOENT, "there is no such session, or it is another user's");
		return;
	}
	ret = add_watch(cl, id);
	if (ret) {
		serve_refuse(cl, ret, ret == -EMFILE ? "too many sessions are watched" : NULL);
		return;
	}
	answer_begin(&t);
	answer_session(&t, "session", &s);
	answer_end(&t);
	client_send(cl, &t);
	if (s.state == SESSION_ENDED)
		serve_event(cl, id);
}

static void serve_follow(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	char why[CONTROL_WHY] = "";
	struct text t = { 0 };
	int fd = -1, ret;

	ret = ops->follow(ops->arg, &cl->peer, r, &fd, why);
	if (!ret)
		ret = add_watch(cl, r->session);
	if (!ret && !ops->find(ops->arg, r->session, &s))
		ret = -ENOENT;
	if (ret)
		goto out;
	answer_begin(&t);
	text_u64(&t, "descriptors", 1);
	answer_session(&t, "session", &s);
	answer_end(&t);
	ret = client_send_fds(cl, &t, &fd, 1);
	if (ret)
		free(text_take(&t));
out:
	if (fd >= 0)
		close(fd);
	if (ret)
		serve_refuse(cl, ret, *why ? why : NULL);
}

/* ---- recording ---- */

/* Room for one more in @made. */
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

static void serve_record(struct client *cl, const struct request *r)
{
	const struct control_ops *ops = &cl->control->ops;
	struct session_info s = { 0 };
	char why[CONTROL_WHY] = "";
	int fds[CLIENT_FDS_MAX] = { -1, -1 }, nfds = 0, ret;
	struct text t = { 0 };
	uint32_t id = 0;

	ret = reserve_made(cl);
	if (ret) {
		serve_refuse(cl, ret, ret == -EMFILE ? "one client cannot have more sessions" :
			     NULL);
		return;
	}
	ret = ops->record(ops->arg, &cl->peer, r, &id, fds, &nfds, why);
	if (ret) {
		serve_refuse(cl, ret, why);
		return;
	}
	cl->made[cl->nmade++] = id;
	if (!ops->find(ops->arg, id, &s))
		s = (struct session_info){ .id = id, .uid = cl->peer.uid, .exit_status = -1 };
	answer_begin(&t);
	text_u64(&t, "descriptors", nfds);
	answer_session(&t, "session", &s);
	answer_end(&t);
	ret = client_send_fds(cl, &t, fds, nfds);
	if (!ret)
		return;
	free(text_take(&t));
	forget_made(cl, id);
	ops->gone(ops->arg, id);
	serve_refuse(cl, ret, "the session's descriptors could not be passed");
}

static int serve_reload(struct client *cl, char *why)
{
	const struct control_ops *ops = &cl->control->ops;

	if (cl->peer.uid && cl->peer.uid != geteuid()) {
		snprintf(why, CONTROL_WHY, "only root and the user whose depd this is may do it");
		return -EPERM;
	}
	return ops->reload(ops->arg, &cl->peer, why);
}

/* ---- any ---- */

/* Those that are answered by yes or no. */
static int serve_plain(struct client *cl, const struct request *r, char *why)
{
	const struct control_ops *ops = &cl->control->ops;

	switch (r->op) {
	case REQUEST_LAUNCHED:
		return ops->launched(ops->arg, &cl->peer, r, why);
	case REQUEST_ENDED:
		return ops->ended(ops->arg, &cl->peer, r, why);
	case REQUEST_STOP:
		return ops->stop(ops->arg, &cl->peer, r, why);
	case REQUEST_RELOAD:
		return serve_reload(cl, why);
	default:
		return -EINVAL;
	}
}

static void serve_request(struct client *cl, const struct request *r)
{
	char why[CONTROL_WHY] = "";
	int ret;

	switch (r->op) {
	case REQUEST_STATUS:
		serve_status(cl);
		break;
	case REQUEST_SESSIONS:
		serve_sessions(cl);
		break;
	case REQUEST_USERS:
		serve_users(cl);
		break;
	case REQUEST_POLICY:
		serve_policy(cl);
		break;
	case REQUEST_WATCH:
		serve_watch(cl, r->session);
		break;
	case REQUEST_FOLLOW:
		serve_follow(cl, r);
		break;
	case REQUEST_RECORD:
		serve_record(cl, r);
		break;
	default:
		ret = serve_plain(cl, r, why);
		if (ret)
			serve_refuse(cl, ret, why);
		else
			serve_done(cl);
	}
}

void serve_line(struct client *cl, const char *line, size_t size)
{
	char why[CONTROL_WHY] = "";
	struct request r;
	int ret;

	cl->control->requests++;
	ret = request_parse(&r, line, size, why, sizeof(why));
	if (ret) {
		/* Behind what is no request nothing else is looked for. */
		cl->closing = ret == -EPROTO;
		serve_refuse(cl, ret, why);
		return;
	}
	serve_request(cl, &r);
	request_free(&r);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording that depd collects: depctl launches the command, passes signals on, and
 * tells how it ended.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libdep/inject/inject.h"
#include "client.h"
#include "depctl.h"
#include "record.h"

#define ROUND_MS	50	/* to look after the command and signals */
#define COME_BACK_MS	15000	/* for a depd that was killed, when the command does not run */
#define AGAIN_MS	50

struct remote {
	const struct record_options *o;
	struct client *c;
	char dir[PATH_MAX];
	uint32_t session;
	struct adept_session *map;
	size_t size;
	struct dep_target target;
	struct dep_injected child;
	struct dep_why native;	/* why the child is, if it is */
	int fd, ring_fd;
	bool connected, told_launched, child_ended, ended, told_error;
	int status;
	uint64_t child_ended_ms;
	struct recorded *out;
};

/* ---- making the session ---- */

static cJSON *options_json(const struct record_options *o)
{
	static const char *const transport[] = { "auto", "kmod", "shm" };
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ ADEPT_S_NO_RECORD, "no_record" }, { ADEPT_S_NULL, "null" },
		{ ADEPT_S_DROP, "drop" }, { ADEPT_S_SELF_CHECK, "self_check" },
		{ ADEPT_S_STRICT, "strict" }, { ADEPT_S_NO_FOLLOW, "no_follow" },
		{ ADEPT_S_NO_FUNCTIONS, "no_functions" },
	};
	cJSON *j = cJSON_CreateObject();
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (o->flags & flags[i].flag)
			cJSON_AddTrueToObject(j, flags[i].name);
	if (o->ring_size)
		cJSON_AddNumberToObject(j, "ring_size", (double)o->ring_size);
	if (o->max_size)
		cJSON_AddNumberToObject(j, "max_size", (double)o->max_size);
	if (o->level)
		cJSON_AddNumberToObject(j, "level", o->level);
	cJSON_AddBoolToObject(j, "aslr", !o->no_aslr &&
			      !(personality(0xffffffff) & ADDR_NO_RANDOMIZE));
	cJSON_AddStringToObject(j, "transport", transport[o->transport]);
	return j;
}

static cJSON *record_request(const struct remote *r, const char *cwd)
{
	cJSON *q = client_request("record", 0);
	char store[2 * PATH_MAX];

	cJSON_AddItemToObject(q, "argv", cJSON_CreateStringArray((const char *const *)r->o->argv,
								  r->o->argc));
	cJSON_AddStringToObject(q, "cwd", cwd);
	if (*r->dir) {
		snprintf(store, sizeof(store), "%s%s%s", *r->dir == '/' ? "" : cwd,
			 *r->dir == '/' ? "" : "/", r->dir);
		cJSON_AddStringToObject(q, "store", store);
	}
	cJSON_AddItemToObject(q, "options", options_json(r->o));
	return q;
}

/*
 * If depd is killed before it answers the next one is asked: no program has been started yet.
 * The session that the first one may have begun is given up by the next, and its store is
 * removed, since no client comes back to it; until then that store is in the way.
 */
static int ask_for_session(struct remote *r, const char *cwd)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000l };
	uint64_t until = client_now_ms() + COME_BACK_MS;
	bool killed = false, temporary;
	struct stat st;
	int exists = *r->dir && !lstat(r->dir, &st), ret;

	for (;;) {
		ret = r->c->fd < 0 ? client_open(r->c, r->o->socket) : 0;
		temporary = ret == -ENOENT;
		if (!ret) {
			ret = client_ask(r->c, record_request(r, cwd));
			killed |= ret == -EPIPE;
			temporary = ret == -EPIPE || (ret == -EEXIST && !exists);
		}
		if (!ret || !killed || !temporary || client_now_ms() >= until)
			break;
		client_close(r->c);
		nanosleep(&pause, NULL);
	}
	if (ret)
		warn("%s", r->c->why);
	return ret;
}

static int make_session(struct remote *r)
{
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)))
		snprintf(cwd, sizeof(cwd), "/");
	if (!(r->o->flags & ADEPT_S_NO_RECORD))
		record_dir(r->o, r->dir, sizeof(r->dir));
	if (ask_for_session(r, cwd))
		return -1;
	r->session = (uint32_t)client_number(cJSON_GetObjectItemCaseSensitive(r->c->answer,
									     "session"), "id");
	if (!r->session || !r->c->nfds) {
		warn("depd has not given what it takes to record; --alone does without it");
		return -1;
	}
	r->fd = r->c->fds[0];
	r->ring_fd = r->c->nfds > 1 ? r->c->fds[1] : -1;
	r->c->nfds = 0;
	r->connected = true;
	return 0;
}

static int map_session(struct remote *r)
{
	struct dep_why why = { "" };
	struct stat st;
	void *p;

	if (fstat(r->fd, &st) || st.st_size < (off_t)sizeof(struct adept_session))
		goto bad;
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, r->fd, 0);
	if (p == MAP_FAILED)
		goto bad;
	r->map = p;
	r->size = st.st_size;
	if (!dep_target_init(&r->target, r->map, r->fd, &why)) {
		r->target.ring_fd = r->ring_fd;
		return 0;
	}
bad:
	warn("depd's session cannot be used: %s", *why.text ? why.text : strerror(errno));
	return -1;
}

static int launch(struct remote *r, const struct dep_native *native)
{
	struct dep_launch l = {
		.argv = r->o->argv, .native = native,
		.flags = r->o->no_aslr ? DEP_LAUNCH_NO_ASLR : 0,
	};
	int ret;

	ret = dep_launch(&r->target, &l, &r->child, &r->native);
	if (ret)
		warn("%s cannot be recorded: %s", r->o->argv[0],
		     *r->native.text ? r->native.text : strerror(-ret));
	else if (r->child.native)
		warn("%s runs unrecorded: %s", r->o->argv[0], r->native.text);
	return ret;
}

/* ---- while it runs ---- */

static uint64_t count(const cJSON *o, const char *name)
{
	double v = client_number(o, name);

	return v > 0 ? (uint64_t)v : 0;
}

static void take_session(struct remote *r, const cJSON *s)
{
	const cJSON *l = cJSON_GetObjectItemCaseSensitive(s, "loss");
	const char *error = client_string(s, "error");
	struct recorded *o = r->out;

	*o = (struct recorded){
		.processes = count(s, "processes"), .threads = count(s, "threads"),
		.raw_bytes = count(s, "raw_bytes"), .stored_bytes = count(s, "stored_bytes"),
		.null_bytes = count(s, "null_bytes"),
		.failed = *error, .stopped = !strcmp(client_string(s, "cause"), "max_size"),
		.loss = {
			.dropped_chunks = count(l, "dropped_chunks"),
			.dropped_bytes = count(l, "dropped_bytes"),
			.discarded_bytes = count(l, "discarded_bytes"),
			.lost_threads = count(l, "lost_threads"),
			.lost_processes = count(l, "lost_processes"),
			.native_images = count(l, "native_images"),
			.absent_chunks = count(l, "absent_chunks"),
			.absent_bytes = count(l, "absent_bytes"),
			.unfinished_threads = count(l, "unfinished_threads"),
		},
	};
	if (*error && !r->told_error) {
		r->told_error = true;
		warn("recording has stopped%s: %s", r->child_ended ? "" : ", the command goes on",
		     error);
	}
}

static int tell_launched(struct remote *r)
{
	cJSON *q = client_request("launched", r->session);
	int ret;

	cJSON_AddNumberToObject(q, "pid", r->child.pid);
	if (r->child.native) {
		cJSON_AddTrueToObject(q, "native");
		cJSON_AddStringToObject(q, "why", r->native.text);
	}
	ret = client_ask(r->c, q);
	r->told_launched = ret != -EPIPE && ret != -ETIMEDOUT;
	/* If there is no such session any more, watching it says so. */
	return r->told_launched ? 0 : ret;
}

static int tell_ended(struct remote *r)
{
	cJSON *q = client_request("ended", r->session);

	cJSON_AddNumberToObject(q, "status", r->status);
	return client_ask(r->c, q);
}

/* What becomes of the session is told from now on. */
static int watch(struct remote *r)
{
	int ret = r->told_launched ? 0 : tell_launched(r);

	if (!ret)
		ret = client_ask(r->c, client_request("watch", r->session));
	return !ret && r->child_ended ? tell_ended(r) : ret;
}

/* What a session amounts to that ended while nobody could tell. */
static void read_store(struct remote *r)
{
	const struct dep_segment *seg;
	const struct dep_process *p;
	const struct dep_thread *t;
	struct recorded *o = r->out;
	struct dep_store *s;
	size_t i, n;

	r->ended = true;
	if (!*r->dir)
		return;
	o->failed = dep_store_open(&s, r->dir) != 0;
	if (o->failed)
		return;
	o->processes = (uint32_t)dep_store_processes(s, &p);
	o->threads = (uint32_t)dep_store_threads(s, &t);
	n = dep_store_segments(s, &seg);
	for (i = 0; i < n; i++) {
		o->raw_bytes += seg[i].raw_bytes;
		o->stored_bytes += seg[i].stored_bytes;
	}
	o->loss = *dep_store_loss(s);
	o->failed = o->loss.unclean;
	dep_store_close(s);
}

static void come_back(struct remote *r)
{
	int ret;

	client_close(r->c);
	if (client_open(r->c, r->o->socket))
		return;
	ret = watch(r);
	r->connected = !ret;
	if (!ret)
		return;
	client_close(r->c);
	/* It ended under a depd that has gone since, or none could go on with it. */
	if (ret == -ENOENT && r->child_ended)
		read_store(r);
}

static void take_event(struct remote *r)
{
	const cJSON *e = r->c->event;

	if (count(cJSON_GetObjectItemCaseSensitive(e, "session"), "id") != r->session)
		return;
	take_session(r, cJSON_GetObjectItemCaseSensitive(e, "session"));
	r->ended = !strcmp(client_string(e, "event"), "ended");
}

static void wait_for_event(struct remote *r)
{
	const struct timespec pause = { .tv_nsec = ROUND_MS * 1000000l };
	int ret;

	if (r->ended || !r->connected) {
		nanosleep(&pause, NULL);
		if (!r->ended)
			come_back(r);
		return;
	}
	ret = client_event(r->c, ROUND_MS);
	if (ret > 0)
		take_event(r);
	else if (ret < 0 && ret != -EINTR)
		r->connected = false;
}

static void look_after_child(struct remote *r)
{
	int status;

	if (r->child_ended || waitpid(r->child.pid, &status, WNOHANG) != r->child.pid ||
	    !(WIFEXITED(status) || WIFSIGNALED(status)))
		return;
	r->child_ended = true;
	r->child_ended_ms = client_now_ms();
	r->status = status;
	if (r->connected && !r->ended && tell_ended(r))
		r->connected = false;
}

static int run(struct remote *r)
{
	struct client_args a = { .socket = r->o->socket };

	if (watch(r))
		r->connected = false;
	/* A session may end before the command does: it was stopped. */
	while (!r->ended || !r->child_ended) {
		look_after_child(r);
		if (signals_pass(false, r->child_ended ? 0 : r->child.pid)) {
			if (r->connected && !r->ended)
				ask_depd(r->c, &a, client_request("stop", r->session));
			return 0;
		}
		wait_for_event(r);
		if (r->child_ended && !r->ended && !r->connected &&
		    client_now_ms() - r->child_ended_ms > COME_BACK_MS) {
			/* It may have been killed behind its last work on the session. */
			read_store(r);
			if (!r->out->failed)
				break;
			warn("depd is gone; %s has what was stored until then", r->dir);
			return -1;
		}
	}
	return r->out->failed ? -1 : 0;
}

/* Nothing ran in it: depd removes its store, too. */
static void drop_session(struct remote *r)
{
	uint64_t until = client_now_ms() + CLIENT_TIMEOUT_MS;

	if (client_ask(r->c, client_request("watch", r->session)) ||
	    client_ask(r->c, client_request("stop", r->session)))
		return;
	while (!r->ended && client_now_ms() < until && client_event(r->c, ROUND_MS) >= 0)
		if (r->c->event)
			take_event(r);
}

int record_by_depd(const struct record_options *o, const struct dep_native *native,
		   struct client *c, struct recorded *out)
{
	struct remote *r = calloc(1, sizeof(*r));
	int ret = 1;

	if (!r) {
		warn("out of memory");
		return ret;
	}
	*r = (struct remote){ .o = o, .c = c, .fd = -1, .ring_fd = -1, .status = -1, .out = out };
	if (make_session(r) || map_session(r))
		goto out;
	record_races_beside(o->beside, r->fd);
	signals_catch();
	if (launch(r, native)) {
		drop_session(r);
		goto out;
	}
	ret = run(r);
	out->status = r->status;
	record_summary(o, r->dir, out);

out:
	if (r->map)
		munmap(r->map, r->size);
	if (r->fd >= 0)
		close(r->fd);
	if (r->ring_fd >= 0)
		close(r->ring_fd);
	free(r);
	return ret;
}

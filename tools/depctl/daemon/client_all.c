// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_all.h"
#include "tools/depctl/depctl.h"

#define ONCE		64	/* number of depd instances that are asked at the same time */
#define WAIT_MS		2000	/* maximum wait for the answers of ONCE instances */

/*
 * Beginning and end of an answer to "sessions".  The text between them is copied unchanged, because
 * cJSON stores numbers as doubles, which cannot hold all 64-bit numbers.
 */
static const char head[] = "{\"v\":1,\"ok\":true,\"sessions\":[";
static const char tail[] = "]}";

/** struct other - connection to the instance of user @uid */
struct other {
	struct client c;
	uid_t uid;
};

struct each {
	struct client *own;
	cJSON *(*request)(void *arg);
	/** @one: called when an instance has answered; returns true to skip all other instances */
	bool (*one)(void *arg, struct other *o);
	void *arg;
};

/* ---- finding instances ---- */

static int open_dir(const struct client *c)
{
	const char *slash = strrchr(c->path, '/');
	char path[PATH_MAX];

	if (geteuid() || !slash)
		return -1;
	snprintf(path, sizeof(path), "%.*s/user", (int)(slash - c->path), c->path);
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Open an instance's socket: no symbolic link, and of the same owner as its directory. */
static int open_socket(int dir, const char *name, uid_t *uid)
{
	struct stat st, sock_st;
	int sock = -1, fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st))
		sock = openat(fd, "depd.sock", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	close(fd);
	if (sock < 0)
		return -1;
	*uid = st.st_uid;
	if (!fstat(sock, &sock_st) && S_ISSOCK(sock_st.st_mode) && sock_st.st_uid == st.st_uid)
		return sock;
	close(sock);
	return -1;
}

static int connect_to(struct other *o, int dir, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int sock = open_socket(dir, name, &o->uid);
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);

	o->c = (struct client){ .fd = -1 };
	o->c.events_tail = &o->c.events;
	if (sock < 0)
		return -1;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d", sock);
	snprintf(o->c.path, sizeof(o->c.path), "user/%.80s", name);
	o->c.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/*
	 * Skip the instance if no process listens.  After other errors, such as a full queue of
	 * connections, the instance counts as not answering.
	 */
	if (o->c.fd >= 0 && connect(o->c.fd, (struct sockaddr *)&a, sizeof(a)) &&
	    errno == ECONNREFUSED) {
		close(o->c.fd);
		o->c.fd = -1;
	}
	close(sock);
	if (o->c.fd >= 0 && !getsockopt(o->c.fd, SOL_SOCKET, SO_PEERCRED, &who, &size) &&
	    who.pid && who.uid != o->uid) {
		close(o->c.fd);
		o->c.fd = -1;
	}
	return o->c.fd < 0 ? -1 : 0;
}

/* ---- asking instances ---- */

static bool ask(struct each *e, struct other *o, size_t n)
{
	uint64_t until = client_now_ms() + WAIT_MS;
	bool done = false;
	size_t i;

	for (i = 0; i < n; i++)
		if (client_ask_begin(&o[i].c, e->request(e->arg), until))
			client_fail(&o[i].c, -EIO, "%s: cannot send a request", o[i].c.path);
	for (i = 0; i < n; i++) {
		if (!done && !client_ask_end(&o[i].c, until))
			done = e->one(e->arg, &o[i]);
		else if (!done && !o[i].c.answer)
			warn("the instance of user %u does not answer", o[i].uid);
		client_close(&o[i].c);
	}
	return done;
}

static void ask_all(struct each *e)
{
	struct other *o = calloc(ONCE, sizeof(*o));
	int fd = o ? open_dir(e->own) : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool done = false;
	struct dirent *f;
	size_t n = 0;

	if (!d && fd >= 0)
		close(fd);
	while (!done && d && (f = readdir(d))) {
		/* Skip names with a dot: they are not directories of instances. */
		if (strchr(f->d_name, '.') || connect_to(&o[n], fd, f->d_name))
			continue;
		if (++n == ONCE) {
			done = ask(e, o, n);
			n = 0;
		}
	}
	if (n && !done)
		ask(e, o, n);
	if (d)
		closedir(d);
	free(o);
}

/* ---- sessions ---- */

struct sessions {
	const cJSON *known;	/* sessions of the depd that was asked first */
	char *text;		/* sessions of the other instances: JSON objects and commas */
	size_t len;
	bool failed;
};

static cJSON *request_sessions(void *arg)
{
	(void)arg;
	return client_request("sessions", 0);
}

static bool is_known(const cJSON *known, double id)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, known)
		if (client_number(s, "id") == id)
			return true;
	return false;
}

/*
 * Return the text between the brackets of the answer; NULL if its format differs from depd's, or if
 * a session in it belongs to another user than the instance.
 */
static const char *inner(const struct other *o, size_t *len)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o->c.answer, "sessions"), *s;
	size_t n = strlen(o->c.line);

	if (cJSON_GetArraySize(o->c.answer) != 3 || !cJSON_IsArray(list) ||
	    n < sizeof(head) + sizeof(tail) - 2 || strncmp(o->c.line, head, sizeof(head) - 1) ||
	    strcmp(o->c.line + n - (sizeof(tail) - 1), tail))
		return NULL;
	cJSON_ArrayForEach(s, list)
		if (client_number(s, "uid") != o->uid || client_number(s, "id") < 1)
			return NULL;
	*len = n - (sizeof(head) - 1) - (sizeof(tail) - 1);
	return o->c.line + sizeof(head) - 1;
}

static bool add(void *arg, struct other *o)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o->c.answer, "sessions");
	struct sessions *all = arg;
	size_t n;
	const char *text = inner(o, &n);
	char *more;

	if (!text) {
		warn("depd's instance for user %u sent an invalid answer", o->uid);
		return false;
	}
	/* Root's own instance has been asked already. */
	if (!n || (!o->uid && is_known(all->known, client_number(cJSON_GetArrayItem(list, 0),
								 "id"))))
		return false;
	more = realloc(all->text, all->len + n + 2);
	if (!more) {
		all->failed = true;
		return true;
	}
	all->text = more;
	if (all->len)
		all->text[all->len++] = ',';
	memcpy(all->text + all->len, text, n);
	all->len += n;
	all->text[all->len] = '\0';
	return false;
}

int client_add_others(struct client *c)
{
	struct sessions all = { .known = cJSON_GetObjectItemCaseSensitive(c->answer, "sessions") };
	struct each e = { .own = c, .request = request_sessions, .one = add, .arg = &all };
	cJSON *answer;
	char *line;
	size_t n;

	ask_all(&e);
	if (!all.len || all.failed || !c->line)
		goto out;
	n = strlen(c->line);
	if (n < sizeof(tail) || strcmp(c->line + n - (sizeof(tail) - 1), tail))
		goto out;
	all.failed = true;
	if (asprintf(&line, "%.*s%s%s%s", (int)(n - (sizeof(tail) - 1)), c->line,
		     cJSON_GetArraySize(all.known) ? "," : "", all.text, tail) < 0)
		goto out;
	answer = cJSON_Parse(line);
	if (!answer) {
		free(line);
		goto out;
	}
	cJSON_Delete(c->answer);
	c->answer = answer;
	free(c->line);
	c->line = line;
	all.failed = false;
out:
	free(all.text);
	return all.failed ? -ENOMEM : 0;
}

/* ---- stopping ---- */

struct stop_others {
	uint32_t id;
	bool stopped;
};

static cJSON *request_stop(void *arg)
{
	return client_request("stop", ((struct stop_others *)arg)->id);
}

/* A hostile instance may claim that it stopped the session, so ask all instances. */
static bool stopped(void *arg, struct other *o)
{
	struct stop_others *s = arg;

	(void)o;
	s->stopped = true;
	return false;
}

int client_stop_others(struct client *c, uint32_t id)
{
	struct stop_others s = { .id = id };
	struct each e = { .own = c, .request = request_stop, .one = stopped, .arg = &s };

	ask_all(&e);
	return s.stopped ? 0 : -ENOENT;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl snapshot: store what a recording with --last has now, while it goes on. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdep/attach/session.h"
#include "libdep/collect/window_recover.h"
#include "tools/depctl/common/output.h"
#include "tools/depctl/depctl.h"
#include "snapshot_depd.h"
#include "snapshot_socket.h"

#define NAMES_MAX	1000000u	/* numbers that are tried for the name of a store */

enum { OPT_SESSION = 256, OPT_DEPD };

struct snapshot {
	const char *of;		/* argument: a process id or a store; NULL with @session */
	const char *dir;	/* argument of -o, or NULL */
	uint32_t session;	/* session of depd, or 0 */
	const char *socket;	/* of depd; NULL: the default */
	bool quiet;
};

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", 0, "Create the store in directory DIR (default: the name of the "
	  "recording's store, with the next free number)", 1 },
	{ "session", OPT_SESSION, "ID", 0, "A snapshot of this session of depd", 1 },
	{ "socket", OPT_DEPD, "PATH", 0, "Socket of depd", 1 },
	{ "quiet", 'q', NULL, 0, "Print only errors", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct snapshot *s = state->input;

	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a directory to create");
		s->dir = arg;
		return 0;
	case OPT_SESSION:
		s->session = (uint32_t)parse_number(state, "--session", arg, 1, UINT32_MAX);
		return 0;
	case OPT_DEPD:
		s->socket = arg;
		return 0;
	case 'q':
		s->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (s->of)
			argp_error(state, "only one PID or STORE can be given");
		s->of = arg;
		return 0;
	case ARGP_KEY_END:
		if (s->of && s->session)
			argp_error(state, "--session excludes a PID and a STORE");
		if (!s->of && !s->session)
			argp_error(state, "a snapshot of which process, store or session?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "PID\nSTORE\n--session=ID",
	"Store what a recording with --last has now, while it goes on; or what a recording with "
	"--last-on-disk had when its recorder was killed.\v"
	"PID is a recorded process; STORE is the store of the recording; ID is the number of a "
	"session of depd.",
	NULL, NULL, NULL,
};

static bool is_pid(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/*
 * Connect to a recorder of depctl. *@owner: its user.
 *
 * Return: a descriptor; -1 after a message; -ENOENT: there is none, but depd can have the session.
 */
static int find_recorder(const struct snapshot *s, uid_t *owner)
{
	bool pid = is_pid(s->of);
	char path[32];
	struct dep_why why;
	struct stat st;
	dev_t dev;
	ino_t ino;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.16s", s->of);
	if (stat(pid ? path : s->of, &st)) {
		warn("%s: %s", s->of, pid ? "there is no such process" : strerror(errno));
		return -1;
	}
	*owner = st.st_uid;
	dev = st.st_dev;
	ino = st.st_ino;
	if (pid && dep_session_number((pid_t)atoi(s->of), &dev, &ino, &why)) {
		warn("%s", why.text);
		return -1;
	}
	fd = snapshot_connect(pid ? "session" : "store", dev, ino);
	return fd < 0 ? -ENOENT : fd;
}

/* The recorder has another working directory. */
static int make_absolute(const char *dir, char *path, size_t size)
{
	char cwd[PATH_MAX];
	int n;

	if (*dir != '/' && !getcwd(cwd, sizeof(cwd)))
		return -errno;
	n = snprintf(path, size, "%s%s%s", *dir == '/' ? "" : cwd, *dir == '/' ? "" : "/", dir);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int ask(int fd, const struct snapshot_request *q, struct snapshot_response *r)
{
	ssize_t n;

	if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) != sizeof(*q))
		return -errno;
	do
		n = recv(fd, r, sizeof(*r), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != sizeof(*r))
		return -ECONNRESET;
	r->error[sizeof(r->error) - 1] = r->dir[sizeof(r->dir) - 1] = '\0';
	return 0;
}

/* @left: of a window whose recorder was killed */
static void print(const struct snapshot_response *r, bool left)
{
	char raw[16], stored[16], *dir = quote_command(1, (char *[]){ (char *)r->dir });

	printf("%s: %u thread%s, %s, %s stored", dir ? dir : "?", r->threads,
	       r->threads == 1 ? "" : "s", human_size(r->raw_bytes, raw),
	       human_size(r->stored_bytes, stored));
	if (left)
		printf("; `depctl verify' says what is missing\n");
	else if (r->kept_ns)
		printf("; nothing is missing in the last %.2f s\n", (double)r->kept_ns / 1e9);
	else
		printf("; nothing is missing\n");
	free(dir);
}

/* Ask a collector of depctl. Return: 0, -ENOENT as find_recorder(), or -1 after a message. */
static int ask_recorder(const struct snapshot *s, const struct snapshot_request *q,
			struct snapshot_response *r)
{
	uid_t owner;
	int fd = find_recorder(s, &owner), err;

	if (fd < 0)
		return fd;
	/* The recorder of a process of this user can be root's. */
	if (!snapshot_peer_is(fd, owner) && !snapshot_peer_is(fd, geteuid()))
		err = -EPERM;
	else
		err = ask(fd, q, r);
	close(fd);
	if (err == -ECONNRESET)
		warn("%s: its recorder refuses: it belongs to another user, or the recording has "
		     "ended", s->of);
	else if (err)
		warn("%s: its recorder cannot be asked: %s", s->of, strerror(-err));
	return err ? -1 : 0;
}

/* Choose a name that is free, as a recorder does: STORE.1 and so on. */
static int choose_name(const char *of, char *dir, size_t size)
{
	size_t length = strlen(of);
	struct stat st;
	uint32_t i;

	while (length > 1 && of[length - 1] == '/')
		length--;
	for (i = 1; i < NAMES_MAX; i++) {
		if ((size_t)snprintf(dir, size, "%.*s.%u", (int)length, of, i) >= size)
			return -ENAMETOOLONG;
		if (lstat(dir, &st))
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

/* The recorder is gone, but its window is on the disk. Return: 0, or -1 after a message. */
static int store_left(const struct snapshot *s, const struct snapshot_request *q,
		      struct snapshot_response *r)
{
	struct dep_save_result result;
	int err;

	snprintf(r->dir, sizeof(r->dir), "%s", q->dir);
	err = *r->dir ? 0 : choose_name(s->of, r->dir, sizeof(r->dir));
	if (err) {
		warn("%s: no name for a new store: %s", s->of, strerror(-err));
		return -1;
	}
	dep_window_recover(s->of, r->dir, 0, &result);
	r->err = -result.err;
	snprintf(r->error, sizeof(r->error), "%s", result.error);
	r->threads = result.threads;
	r->raw_bytes = result.raw_bytes;
	r->stored_bytes = result.stored_bytes;
	return 0;
}

/* Ask depd. Return: 0, or -1 after a message. */
static int ask_depd_for(const struct snapshot *s, const struct snapshot_request *q,
			struct snapshot_response *r)
{
	struct snapshot_of_depd of = {
		.session = s->session, .socket = s->socket, .dir = q->dir,
		.quiet = s->quiet,
	};
	char why[SNAPSHOT_WHY];
	int err;

	if (s->of && is_pid(s->of))
		of.pid = (pid_t)atoi(s->of);
	else if (s->of)
		of.store = s->of;
	err = snapshot_by_depd(&of, r, why);
	if (err == -ENOENT && s->of)
		warn("%s: no recording with --last can be reached: %s", s->of, why);
	else if (err)
		warn("%s", why);
	return err ? -1 : 0;
}

int cmd_snapshot(int argc, char **argv)
{
	struct snapshot_request q = { .magic = SNAPSHOT_MAGIC };
	struct snapshot_response r = { 0 };
	struct snapshot s = { 0 };
	bool left;
	int err;

	parse_args(&argp, argc, argv, 0, &s);
	err = s.dir ? make_absolute(s.dir, q.dir, sizeof(q.dir)) : 0;
	if (err) {
		warn("%s: %s", s.dir, strerror(-err));
		return EXIT_FAILURE;
	}
	err = s.session || s.socket ? -ENOENT : ask_recorder(&s, &q, &r);
	left = err == -ENOENT && s.of && !is_pid(s.of) && dep_window_is_left(s.of);
	if (left)
		err = store_left(&s, &q, &r);
	else if (err == -ENOENT)
		err = ask_depd_for(&s, &q, &r);
	if (err)
		return EXIT_FAILURE;
	if (r.err)
		warn("no snapshot was made: %s", *r.error ? r.error : strerror(-r.err));
	else if (!s.quiet)
		print(&r, left);
	return r.err ? EXIT_FAILURE : EXIT_SUCCESS;
}

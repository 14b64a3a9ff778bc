// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose limits a session counts against: those of the person that it is for.
 *
 * Not those of the daemon that makes it, and not those of one of the many ids that a user has in
 * user namespaces.  Who may adopt and list it is another matter: who made it.
 */
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "vm.h"

#define USER	1000
#define SUBUID	100000		/* the first of USER's subordinate ids */
#define NOBODY	65534

static struct adept_session_create config = {
	.version = ADEPT_ABI_VERSION, .chunk_size = 64 * KIB, .nchunks = 2, .nslots = 2,
	.orphan_wait_ms = 60000, .orphan_keep_ms = 60000,
};

static void become(uid_t id)
{
	must(!setresgid(id, id, id) && !setresuid(id, id, id));
}

/* Make one more session and keep it; 0 or the errno. */
static int one_more(void)
{
	struct session s;
	int ret = session_try(&s, &config);

	return ret < 0 ? -ret : 0;
}

static void limit(const char *name, long value, long *old)
{
	*old = param(name);
	set_param(name, value);
}

/* ---- a session's slots ---- */

static int many_slots(void *arg)
{
	struct session s[64];
	int i, n = 0;

	(void)arg;
	become(USER);
	config.nslots = ADEPT_SLOTS_MAX;
	while (n < 64 && session_try(&s[n], &config) >= 0)
		n++;
	if (n == 64)
		return n;
	for (i = 0; i < n; i++)
		session_close(&s[i]);
	/* And when they are gone there is room again. */
	sleep_ms(100);
	return session_try(&s[0], &config) < 0 ? 0 : n;
}

static void slots(void)
{
	long mb;
	int n;

	limit("user_mb", 1, &mb);
	n = wait_for(spawn(many_slots, NULL));
	check(n > 0 && n < 8, "%d sessions of 4096 slots fit into one MiB", n);
	set_param("user_mb", mb);
	must(counter_becomes("sessions", 0));
}

/* ---- a daemon's sessions for a user ---- */

static int one_ring(void *arg)
{
	store_r15((u64)session_enrol(arg), 4, 1);
	return 0;
}

/* With its own limits said, those of @uid. */
static int charging(uid_t uid)
{
	struct adept_session_create c = config;
	struct session s;
	int ret;

	c.flags = ADEPT_CREATE_CHARGE_UID;
	c.charge_uid = uid;
	ret = session_try(&s, &c);
	return ret < 0 ? -ret : s.info.charge_uid == uid ? 0 : -1;
}

/* As depd does for programs that a rule records. */
static int for_stated_user(void *arg)
{
	int bad = 0;

	(void)arg;
	bad |= (charging(USER) != 0) << 0;
	bad |= (charging(USER) != 0) << 1;
	bad |= (charging(USER) != EDQUOT) << 2;
	bad |= (charging(NOBODY) != 0) << 3;
	bad |= (charging(0) != 0) << 4;
	bad |= (charging((uid_t)-1) != EINVAL) << 5;
	become(USER);
	bad |= (one_more() != EDQUOT) << 6;
	return bad;
}

/* Its own limits may be stated by everybody, other ones' not. */
static int by_a_user(void *arg)
{
	struct adept_session_create c = config;
	struct session s;
	int bad = 0;

	(void)arg;
	become(USER);
	bad |= (charging(USER) != 0) << 0;
	bad |= (charging(NOBODY) != EPERM) << 1;
	bad |= (charging(0) != EPERM) << 2;
	c.charge_uid = USER;
	bad |= (session_try(&s, &c) != -EINVAL) << 3;
	c.charge_uid = 0;
	c.flags = 2;
	bad |= (session_try(&s, &c) != -EINVAL) << 4;
	c.flags = 0;
	c.reserved0 = 1;
	bad |= (session_try(&s, &c) != -EINVAL) << 5;
	return bad;
}

/* The memory of rings as well as sessions. */
static int big_rings(void *arg)
{
	struct adept_session_create c = config;
	struct session s;
	int sig;

	c.chunk_size = MIB;
	c.orphan_keep_ms = 0;
	c.flags = ADEPT_CREATE_CHARGE_UID;
	c.charge_uid = *(uid_t *)arg;
	must(session_try(&s, &c) >= 0);
	sig = dies_by(one_ring, &s);
	close(s.fd);
	return sig;
}

/* As depd does: root, with the file system's id of whom the session is for. */
static int for_user(void *arg)
{
	int ret, bad = 0;

	(void)arg;
	setfsuid(USER);
	bad |= (one_more() != 0) << 0;
	bad |= (one_more() != 0) << 1;
	ret = one_more();
	bad |= (ret != EDQUOT) << 2;
	setfsuid(0);
	bad |= (one_more() != 0) << 3;
	setfsuid(NOBODY);
	bad |= (one_more() != 0) << 4;
	return bad;
}

static int as_user(void *arg)
{
	struct adept_session_info i[4];
	struct adept_session_adopt a = { .id = *(u64 *)arg };
	struct adept_session_list l = { .sessions = (u64)i, .room = 4 };

	become(USER);
	return (device_call(ADEPT_IOC_SESSION_ADOPT, &a) != -EPERM) |
	       (device_call(ADEPT_IOC_SESSION_LIST, &l) || l.count) << 1;
}

static void daemons(void)
{
	uid_t user = USER;
	struct adept_session_adopt a;
	struct session s;
	long n;
	int ret;

	limit("user_sessions", 2, &n);
	ret = wait_for(spawn(for_user, NULL));
	check(!ret, "sessions that root makes for a user count as that user's (%#x)", ret);
	must(counter_becomes("sessions", 0));
	ret = wait_for(spawn(for_stated_user, NULL));
	check(!ret, "so do those for which it says so (%#x)", ret);
	must(counter_becomes("sessions", 0));
	set_param("user_sessions", n);
	ret = wait_for(spawn(by_a_user, NULL));
	check(!ret, "nobody else may say whose limits they are (%#x)", ret);
	must(counter_becomes("sessions", 0));
	limit("user_mb", 3, &n);
	check(wait_for(spawn(big_rings, &user)) == 0 && counter_becomes("sessions", 0),
	      "rings within a user's limits");
	set_param("user_mb", 1);
	check(wait_for(spawn(big_rings, &user)) == SIGBUS && counter_becomes("sessions", 0),
	      "and beyond them");
	set_param("user_mb", n);

	setfsuid(USER);
	must(session_try(&s, &config) >= 0);
	setfsuid(0);
	a = (struct adept_session_adopt){ .id = s.info.id };
	check(s.info.uid == 0 && s.info.charge_uid == USER && !wait_for(spawn(one_ring, &s)),
	      "but they are root's");
	session_close(&s);
	ret = wait_for(spawn(as_user, &a.id));
	check(!ret, "the user may neither adopt nor list them (%#x)", ret);
	session_fd(&s, device_call(ADEPT_IOC_SESSION_ADOPT, &a));
	must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring_info(&s, 0).ring, ADEPT_RESET_FORCE));
	session_close(&s);
	must(counter_becomes("sessions", 0));
}

/* ---- user namespaces ---- */

struct space {
	int ready[2], go[2];		/* pipes */
	uid_t owner;
	int (*fn)(void);
};

static void write_map(pid_t pid, const char *what, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int in_space(void *arg)
{
	struct space *p = arg;
	char c;

	become(p->owner);
	prctl(PR_SET_DUMPABLE, 1);
	must(!unshare(CLONE_NEWUSER));
	must(write(p->ready[1], "", 1) == 1 && read(p->go[0], &c, 1) == 1);
	must(!setresgid(0, 0, 0) && !setresuid(0, 0, 0));
	return p->fn();
}

/* Run @fn as root of a user namespace that @owner makes, and that has some more ids. */
static int run_in_space(uid_t owner, int (*fn)(void), uid_t root, uid_t more)
{
	struct space p = { .owner = owner, .fn = fn };
	char map[64], c;
	pid_t pid;

	must(!pipe2(p.ready, O_CLOEXEC) && !pipe2(p.go, O_CLOEXEC));
	pid = spawn(in_space, &p);
	must(read(p.ready[0], &c, 1) == 1);
	/* As newuidmap does. */
	snprintf(map, sizeof(map), "0 %u 1\n1 %u 1000\n", root, more);
	write_map(pid, "uid_map", map);
	write_map(pid, "gid_map", map);
	must(write(p.go[1], "", 1) == 1);
	return wait_for(pid);
}

/* One session each, of ids @first to @first + n - 1; bit k: that of the k-th was refused. */
static int sessions_of(uid_t first, int n)
{
	int pipes[2], i, refused = 0;
	char answer[8];
	pid_t pid[8];

	must(!pipe2(pipes, O_CLOEXEC));
	for (i = 0; i < n; i++) {
		pid[i] = fork();
		must(pid[i] >= 0);
		if (!pid[i]) {
			char ret;

			become(first + i);
			ret = one_more();
			must(write(pipes[1], &ret, 1) == 1);
			pause();
		}
		must(read(pipes[0], &answer[i], 1) == 1);
		refused |= (answer[i] == EDQUOT) << i;
		must(!answer[i] || answer[i] == EDQUOT);
	}
	for (i = 0; i < n; i++) {
		kill(pid[i], SIGKILL);
		wait_for(pid[i]);
	}
	return refused;
}

static int of_many_ids(void)
{
	return sessions_of(0, 4);
}

static int of_many_ids_nested(void)
{
	/* Only this id is there, but it is the owner of one more namespace. */
	must(!unshare(CLONE_NEWUSER));
	return (one_more() != 0) | (one_more() != 0) << 1 | (one_more() != EDQUOT) << 2;
}

/* It has all capabilities in there, CAP_SETUID too. */
static int charge_as_root_of_space(void)
{
	return (charging(0) != 0) | (charging(1) != EPERM) << 1 |
	       (charging(5000) != EINVAL) << 2;
}

static u64 orphan_id;

static int adopt_as_root_of_space(void)
{
	struct adept_session_adopt a = { .id = orphan_id };

	return device_call(ADEPT_IOC_SESSION_ADOPT, &a) != -EPERM;
}

static void namespaces(void)
{
	struct adept_session_adopt a;
	struct session s;
	int ret;
	long n;

	if (access("/proc/self/ns/user", F_OK)) {
		skip("no user namespaces");
		return;
	}
	limit("user_sessions", 2, &n);
	ret = run_in_space(USER, of_many_ids, USER, SUBUID);
	check(ret == 0xc, "4 ids of a user's namespace have the user's 2 sessions together (%#x)",
	      ret);
	must(counter_becomes("sessions", 0));
	ret = run_in_space(USER, of_many_ids_nested, USER, SUBUID);
	check(!ret, "so they have in a namespace in it (%#x)", ret);
	must(counter_becomes("sessions", 0));
	/* The administrator gave these out: a container's users are different people. */
	ret = run_in_space(0, of_many_ids, 2 * SUBUID, 3 * SUBUID);
	check(!ret, "ids of a namespace that root made have their own limits (%#x)", ret);
	must(counter_becomes("sessions", 0));
	set_param("user_sessions", n);

	ret = run_in_space(USER, charge_as_root_of_space, USER, SUBUID);
	check(!ret, "root of a namespace may not say whose limits they are (%#x)", ret);
	must(counter_becomes("sessions", 0));

	must(session_try(&s, &config) >= 0);
	must(!wait_for(spawn(one_ring, &s)));
	a = (struct adept_session_adopt){ .id = s.info.id };
	orphan_id = s.info.id;
	session_close(&s);
	check(!run_in_space(USER, adopt_as_root_of_space, USER, SUBUID),
	      "root of a namespace is not who may adopt other users' sessions");
	session_fd(&s, device_call(ADEPT_IOC_SESSION_ADOPT, &a));
	must(!slot_cmd(&s, ADEPT_IOC_RESET, 0, ring_info(&s, 0).ring, ADEPT_RESET_FORCE));
	session_close(&s);
	must(counter_becomes("sessions", 0));
}

int main(void)
{
	must(!chmod("/dev/adept", 0666));
	slots();
	daemons();
	namespaces();
	must(!chmod("/dev/adept", 0660));
	check(!counter("rings") && !counter("pages"), "nothing is left");
	return finish();
}

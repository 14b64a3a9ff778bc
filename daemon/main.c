// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../libdep/collect/queue.h"
#include "notify.h"
#include "options.h"
#include "rundir.h"
#include "say.h"
#include "session.h"
#include "tracer.h"
#include "upkeep.h"

#define UPKEEP_NS	60000000000ull
#define SHUTDOWN_NS	30000000000ull	/* extended while sessions are being stored */

/* How depd ends for another one to go on at once; systemd takes it for a failure. */
#define EXIT_HAND_OVER	75

static struct depd depd;
static struct loop_watch signal_ready;
static struct options given;
static int exit_status;

static const char *store_of(uint32_t id)
{
	struct session *s = session_find(&depd, id);

	return s ? s->store : NULL;
}

/* ---- the configuration ---- */

static int load_config(struct depd *d, struct depd_config *c, char *why)
{
	struct policy_error e = { 0 };
	int ret = policy_load(c, d->config_path, &e);

	if (!ret) {
		ret = options_override(c, &given);
		if (!ret)
			return 0;
		policy_free(c);
	}
	if (e.line)
		snprintf(why, CONTROL_WHY, "%s:%u:%u: %s", d->config_path, e.line, e.column,
			 e.text);
	else
		snprintf(why, CONTROL_WHY, "%s: %s", d->config_path,
			 *e.text ? e.text : strerror(-ret));
	return ret;
}

int depd_reload(struct depd *d, char *why)
{
	struct depd_config c = { 0 };
	int ret;

	notify_reloading();
	ret = load_config(d, &c, why);
	if (ret) {
		say(LOG_ERR, 0, "the configuration stays as it was: %s", why);
		snprintf(d->policy_trouble, sizeof(d->policy_trouble), "%s", why);
	} else {
		policy_stop(d);
		policy_free(&d->config);
		d->config = c;
		policy_start(d);
		say(LOG_INFO, 0, "the configuration is read: %u rules", c.nrules);
	}
	notify_ready();
	return ret;
}

/* ---- upkeep ---- */

static void upkeep_due(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, upkeep));
	struct upkeep_result r = { 0 };

	if (!d->config.store || (!d->config.max_store && !d->config.max_age_s))
		return;
	if (upkeep_run(d->config.store, d->config.max_store, d->config.max_age_s, &r))
		say(LOG_ERR, 0, "stores in %s cannot be looked after: %s", d->config.store, r.why);
	d->removed += r.removed;
	d->removed_bytes += r.removed_bytes;
	if (r.removed)
		say(LOG_NOTICE, 0, "%llu old stores of %llu bytes are removed",
		    (unsigned long long)r.removed, (unsigned long long)r.removed_bytes);
}

/* ---- signals and the end ---- */

/* What busy times took and malloc() keeps would be a service's for good. */
static void give_back_memory(struct depd *d, uint32_t open)
{
	uint64_t had = d->begun + d->adopted;

	if (open || d->trimmed == had)
		return;
	malloc_trim(0);
	d->trimmed = had;
}

static void alive_due(struct loop_timer *t)
{
	struct depd *d = (struct depd *)((char *)t - offsetof(struct depd, alive));
	uint32_t open = 0;
	struct session *s;

	for (s = d->sessions; s; s = s->next)
		open += s->state != SESSION_ENDED;
	give_back_memory(d, open);
	notify_alive();
	if (!d->shutting_down) {
		notify_status("%u sessions", open);
		return;
	}
	notify_extend(SHUTDOWN_NS);
	if (!open)
		loop_end(d->loop);
}

static void shut_down(struct depd *d)
{
	struct session *s;

	if (d->shutting_down) {
		loop_end(d->loop);
		return;
	}
	d->shutting_down = true;
	notify_stopping();
	policy_stop(d);
	for (s = d->sessions; s; s = s->next)
		session_end(s, CAUSE_SHUTDOWN, NULL);
	loop_timer_set(d->loop, &d->alive, 0, 20000000);
}

static void signal_arrived(struct loop_watch *w, short revents)
{
	struct signalfd_siginfo si;
	char why[CONTROL_WHY] = "";

	(void)revents;
	if (read(w->fd, &si, sizeof(si)) != sizeof(si))
		return;
	switch (si.ssi_signo) {
	case SIGHUP:
		depd_reload(&depd, why);
		break;
	case SIGUSR2:
		say(LOG_NOTICE, 0, "another depd shall go on with the sessions");
		exit_status = EXIT_HAND_OVER;
		depd.shutting_down = true;
		loop_end(depd.loop);
		break;
	default:
		shut_down(&depd);
	}
}

static int catch_signals(struct depd *d)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	signal_ready.ready = signal_arrived;
	return loop_watch_add(d->loop, &signal_ready, fd, POLLIN);
}

/* ---- the start ---- */

static void rang(void *owner)
{
	session_step(owner);
}

static void bells_rang(struct loop_watch *w, short revents)
{
	(void)w;
	(void)revents;
	bells_take(depd.bells, rang);
}

static int fail(int err, const char *what)
{
	say(LOG_ERR, 0, "%s: %s", what, strerror(-err));
	return err;
}

/* What other parts stand on. */
static int prepare(struct depd *d, const char *rundir, struct kept **kept, size_t *n)
{
	char why[CONTROL_WHY] = "";
	struct rlimit files;
	int ret;

	/* A pidfd per process, and a few descriptors per session. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* What programs did is nobody's business but their user's. */
	umask(077);
	d->rundir_lock = rundir_open(d->rundir, sizeof(d->rundir), rundir, why, sizeof(why));
	if (d->rundir_lock < 0) {
		say(LOG_ERR, 0, "%s", why);
		return d->rundir_lock;
	}
	/* The keeper is forked before there are threads. */
	ret = keep_open(&d->keep, d->rundir, kept, n, why, sizeof(why));
	if (ret) {
		say(LOG_ERR, 0, "descriptors cannot be kept: %s", why);
		return ret;
	}
	ret = load_config(d, &d->config, why);
	if (ret) {
		say(LOG_ERR, 0, "%s", why);
		return ret;
	}
	ret = loop_create(&d->loop);
	if (ret)
		return fail(ret, loop_trouble(ret));
	ret = catch_signals(d);
	if (ret)
		return fail(ret, "signals");
	/* What an earlier depd's tracer was about it has finished then. */
	ret = tracer_open(d);
	if (ret)
		return fail(ret, "the tracer");
	ret = bells_open(&d->bells);
	if (ret)
		return fail(ret, "doorbells");
	d->bells_ready.ready = bells_rang;
	ret = loop_watch_add(d->loop, &d->bells_ready, bells_fd(d->bells), POLLIN);
	if (ret)
		return fail(ret, "doorbells");
	d->pool = dep_pool_create(d->config.workers);
	return d->pool ? 0 : fail(-errno, "storing threads");
}

/* The one that was killed may still be about to close its socket; the lock is ours. */
static int listen_patiently(const char *dir, const char *name, mode_t mode)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	int i, fd = -EADDRINUSE;

	for (i = 0; i < 100 && fd == -EADDRINUSE; i++) {
		if (i)
			nanosleep(&pause, NULL);
		fd = rundir_listen(dir, name, mode);
	}
	return fd;
}

static int listen_on(struct depd *d, const char *systemd_name, const char *path, const char *name,
		     mode_t mode)
{
	int fd = keep_listen(d->keep, systemd_name);
	char dir[sizeof(d->rundir)], *slash;

	if (fd != -ENOENT)
		return fd;
	if (!path)
		return listen_patiently(d->rundir, name, mode);
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || !slash[1])
		return -EINVAL;
	*slash = '\0';
	return listen_patiently(*dir ? dir : "/", slash + 1, mode);
}

static int serve(struct depd *d, const struct options *o)
{
	struct control_ops ops = ops_of(d);
	int ret, fd;

	/* Who connects is asked, not kept out. */
	fd = listen_on(d, "control", o->socket, "depd.sock", d->self.uid ? 0600 : 0666);
	ret = fd < 0 ? fd : control_open(&d->control, d->loop, fd, &ops);
	if (ret)
		return fail(ret, "the control socket");
	fd = listen_on(d, "metrics", o->metrics, "metrics.sock", 0660);
	ret = fd < 0 ? fd : metrics_open(&d->metrics, d->loop, fd, &ops);
	return ret ? fail(ret, "the metrics socket") : 0;
}

static void make_store_dir(struct depd *d)
{
	if (d->config.store && mkdir(d->config.store, 0700) && errno != EEXIST)
		say(LOG_WARNING, 0, "%s cannot be made: %m; rules without a store of their own "
		    "will fail", d->config.store);
}

static void tidy_up(struct depd *d)
{
	policy_stop(d);
	if (d->control)
		control_close(d->control);
	d->control = NULL;
	if (d->metrics)
		metrics_close(d->metrics);
	tracer_close(d);
}

int main(int argc, char **argv)
{
	struct depd *d = &depd;
	struct kept *kept;
	struct timespec t;
	uint64_t watchdog;
	size_t nkept;

	if (argc && !strcmp(argv[0], TRACER_NAME))
		tracer_main();
	options_parse(&given, argc, argv);
	d->config_path = given.config_path;
	user_self(&d->self);
	say_open(store_of);
	clock_gettime(CLOCK_REALTIME, &t);
	d->start_realtime_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	d->start_ns = loop_now();
	if (prepare(d, given.rundir, &kept, &nkept))
		return EXIT_FAILURE;
	session_adopt_all(d, kept, nkept);
	free(kept);
	if (serve(d, &given))
		return EXIT_FAILURE;
	make_store_dir(d);
	policy_start(d);
	d->upkeep.due = upkeep_due;
	loop_timer_set(d->loop, &d->upkeep, UPKEEP_NS, UPKEEP_NS);
	d->alive.due = alive_due;
	watchdog = notify_watchdog_ns();
	if (!watchdog || watchdog > 1000000000)
		watchdog = 1000000000;
	loop_timer_set(d->loop, &d->alive, 0, watchdog);
	notify_ready();
	say(LOG_INFO, 0, "depd %s serves %s", ADEPT_VERSION, d->rundir);
	if (loop_run(d->loop))
		exit_status = EXIT_FAILURE;
	tidy_up(d);
	return exit_status;
}

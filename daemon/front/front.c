// SPDX-License-Identifier: GPL-2.0-or-later
/* The front: start, configuration, signals, periodic work, shutdown. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/fdstore/fdstore.h"
#include "daemon/fdstore/listen.h"
#include "daemon/base/sd_notify.h"
#include "daemon/base/rundir.h"
#include "daemon/base/log.h"
#include "daemon/base/signals.h"
#include "front.h"

#define SECOND_NS	1000000000ull
/* Time for shutdown: extended while data is stored, up to SHUTDOWN_MOST_NS in total. */
#define SHUTDOWN_NS	30000000000ull
#define SHUTDOWN_MOST_NS 100000000000ull
#define SILENT_NS	10000000000ull

static struct front front = { .lock = -1, .users = -1, .ids = -1 };
static int exit_status;

/* ---- the configuration ---- */

static int load_config(struct front *f, struct depd_config *c, char *why)
{
	return options_load(c, f->given, why, CONTROL_WHY);
}

int front_reload(struct front *f, char *why)
{
	struct depd_config c = { 0 };
	struct instance *i;
	char *text;
	int ret;

	notify_reloading();
	ret = load_config(f, &c, why);
	text = ret ? NULL : policy_describe(&c);
	if (!ret && !text)
		ret = -ENOMEM;
	if (ret) {
		log_msg(LOG_ERR, 0, "cannot reload, the old configuration stays in effect: %s",
			why);
		snprintf(f->policy_error, sizeof(f->policy_error), "%s", why);
		policy_free(&c);
	} else {
		front_policy_stop(f);
		policy_free(&f->config);
		free(f->rules_text);
		f->config = c;
		f->rules_text = text;
		front_policy_start(f);
		for (i = f->instances; i; i = i->next)
			instance_config(i);
		log_msg(LOG_INFO, 0, "configuration loaded: %u rules", c.nrules);
	}
	report_pages(f);
	notify_ready();
	return ret;
}

/* ---- periodic work ---- */

/* Count the instances that shutdown waits for: those that have sent a report within SILENT_NS. */
static uint32_t running(const struct front *f, uint64_t now)
{
	const struct instance *i;
	uint32_t n = 0;

	for (i = f->instances; i; i = i->next)
		n += i->state != INSTANCE_ENDED && now - i->heard_ns < SILENT_NS;
	return n;
}

static void second_due(struct loop_timer *t)
{
	struct front *f = (struct front *)((char *)t - offsetof(struct front, second));
	uint64_t now = loop_now();
	struct link_counters c;
	struct link_gauges g;
	struct instance *i;

	for (i = f->instances; i; i = i->next)
		instance_second(i, now);
	accept_second(f);
	front_policy_second(f);
	accounts_free_unused(f->accounts, now);
	report_pages(f);
	report_sum(f, &c, &g);
	notify_alive();
	if (!f->shutting_down) {
		notify_status("%llu sessions, %u instances", (unsigned long long)g.open,
			      f->ninstances);
		return;
	}
	notify_extend(SHUTDOWN_NS);
	if (!running(f, now) || now > f->end_ns)
		loop_end(f->loop);
}

static void shut_down(struct front *f)
{
	struct instance *i;

	if (f->shutting_down) {
		loop_end(f->loop);
		return;
	}
	f->shutting_down = true;
	f->end_ns = loop_now() + SHUTDOWN_MOST_NS;
	notify_stopping();
	front_policy_stop(f);
	for (i = f->instances; i; i = i->next)
		instance_end(i);
	loop_timer_set(f->loop, &f->second, 0, 20000000);
}

/* ---- signals ---- */

static void signal_arrived(struct loop_watch *w, short revents)
{
	struct front *f = (struct front *)((char *)w - offsetof(struct front, signals));
	char why[CONTROL_WHY] = "";

	(void)revents;
	switch (signals_next(w)) {
	case 0:
		break;
	case SIGHUP:
		front_reload(f, why);
		break;
	case SIGUSR2:
		log_msg(LOG_NOTICE, 0, "exiting; the next depd resumes the sessions");
		exit_status = EXIT_HAND_OVER;
		loop_end(f->loop);
		break;
	default:
		shut_down(f);
	}
}

/* ---- startup ---- */

static int fail(int err, const char *what)
{
	log_msg(LOG_ERR, 0, "%s: %s", what, strerror(-err));
	return err;
}

/*
 * Drop the capabilities for users' files, so that the front cannot open them even by a mistake.
 * Only root's instance needs them; it gets them back when it executes depd's file.
 */
static int lower_capabilities(void)
{
	const uint32_t unused = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH |
				1u << CAP_FOWNER;
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct c[2];

	if (syscall(SYS_capget, &h, c))
		return -errno;
	c[0].effective &= ~unused;
	return syscall(SYS_capset, &h, c) ? -errno : 0;
}

static int prepare(struct front *f)
{
	char why[CONTROL_WHY] = "";
	struct rlimit files;
	ssize_t n;
	int ret;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	umask(077);
	f->lock = rundir_open(f->rundir, sizeof(f->rundir), f->given->rundir, why, sizeof(why));
	if (f->lock < 0) {
		log_msg(LOG_ERR, 0, "%s", why);
		return f->lock;
	}
	ret = load_config(f, &f->config, why);
	if (ret) {
		log_msg(LOG_ERR, 0, "%s", why);
		return ret;
	}
	n = readlink("/proc/self/exe", f->exe, sizeof(f->exe) - 1);
	f->exe[n > 0 ? n : 0] = '\0';
	f->rules_text = policy_describe(&f->config);
	if (!f->rules_text)
		return fail(-ENOMEM, "cannot describe the rules");
	ret = fdstore_listen_only(&f->fdstore);
	if (ret)
		return fail(ret, "cannot use the descriptors that systemd passed");
	f->users = dir_open(f->rundir);
	if (f->users < 0)
		return fail(f->users, "cannot open the directory `user' in the run directory");
	ret = ids_open(f);
	if (ret)
		return fail(ret, "cannot open the file `next-id' in the run directory");
	ret = accounts_open(&f->accounts);
	if (ret)
		return fail(ret, "cannot set up accounts");
	ret = loop_create(&f->loop);
	if (ret)
		return fail(ret, loop_error(ret));
	f->signals.ready = signal_arrived;
	ret = signals_watch(f->loop, &f->signals);
	if (ret)
		return fail(ret, "cannot set up signals");
	ret = lower_capabilities();
	return ret ? fail(ret, "cannot drop capabilities") : 0;
}

static int serve(struct front *f)
{
	struct control_ops ops = report_ops(f);
	int ret, fd;

	/* Any user may connect; depd serves a client by the credentials of its process. */
	fd = listen_on(f->fdstore, f->rundir, "control", f->given->socket, "depd.sock", 0666);
	ret = fd < 0 ? fd : accept_open(f, fd);
	if (ret)
		return fail(ret, "cannot open the control socket");
	fd = listen_on(f->fdstore, f->rundir, "metrics", f->given->metrics, "metrics.sock", 0660);
	ret = fd < 0 ? fd : metrics_open(&f->metrics, f->loop, fd, &ops);
	return ret ? fail(ret, "cannot open the metrics socket") : 0;
}

static void close_all(struct front *f)
{
	front_policy_stop(f);
	metrics_close(f->metrics);
	while (f->instances)
		instance_close(f->instances);
	loop_remove(f->loop, &f->listen);
	close(f->listen.fd);
	accounts_close(f->accounts);
	policy_free(&f->config);
	free(f->rules_text);
	fdstore_close(f->fdstore);
}

static const struct instance_events events = {
	.attached = front_attached, .lost = front_attaches_lost, .reload = front_reload,
};

int front_run(const struct options *given)
{
	struct front *f = &front;
	uint64_t watchdog = notify_watchdog_ns();
	struct timespec t;

	f->given = given;
	f->events = &events;
	log_open(NULL);
	clock_gettime(CLOCK_REALTIME, &t);
	f->start_realtime_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	f->start_ns = loop_now();
	if (prepare(f) || serve(f))
		return EXIT_FAILURE;
	instance_adopt_all(f);
	front_policy_start(f);
	f->second.due = second_due;
	loop_timer_set(f->loop, &f->second, 0,
		       watchdog && watchdog < SECOND_NS ? watchdog : SECOND_NS);
	notify_ready();
	log_msg(LOG_INFO, 0, "depd %s is ready, its run directory is %s", ADEPT_VERSION, f->rundir);
	if (loop_run(f->loop))
		exit_status = EXIT_FAILURE;
	close_all(f);
	return exit_status;
}

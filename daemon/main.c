// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * main() of depd.  argv[0] selects a helper process or an instance.  Otherwise root gets the front
 * process, any other user a depd of one process, and --attach one for a single session.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/attach_run.h"
#include "daemon/core/auto_record.h"
#include "daemon/core/control_ops.h"
#include "daemon/core/core.h"
#include "daemon/front/front.h"
#include "daemon/instance/instance.h"
#include "daemon/fdstore/holder.h"
#include "daemon/fdstore/listen.h"
#include "daemon/base/sd_notify.h"
#include "daemon/pending/pending.h"
#include "daemon/base/rundir.h"
#include "daemon/base/log.h"
#include "daemon/sessions/session.h"
#include "daemon/retention/temporary.h"
#include "daemon/injector/tracer.h"

static struct depd depd;
static struct options given;

static const char *store_of(uint32_t id)
{
	struct session *s = session_find(&depd, id);

	return s ? s->store : NULL;
}

static int serve(struct depd *d)
{
	struct control_ops ops = ops_of(d);
	int ret, fd;

	fd = listen_on(d->fdstore, d->rundir, "control", given.socket, "depd.sock", 0600);
	ret = fd < 0 ? fd : control_open(&d->control, d->loop, fd, &ops);
	if (ret)
		return core_fail(ret, "cannot open the control socket");
	fd = listen_on(d->fdstore, d->rundir, "metrics", given.metrics, "metrics.sock", 0660);
	ret = fd < 0 ? fd : metrics_open(&d->metrics, d->loop, fd, &ops);
	return ret ? core_fail(ret, "cannot open the metrics socket") : 0;
}

/* Run the depd of a user other than root: one process that accepts clients and records. */
static int own_run(struct depd *d)
{
	char why[CONTROL_WHY] = "";
	struct fdstore_entry *kept;
	struct timespec t;
	size_t nkept;
	int ret;

	d->options = &given;
	user_self(&d->self);
	log_open(store_of);
	clock_gettime(CLOCK_REALTIME, &t);
	d->start_realtime_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	d->start_ns = loop_now();
	d->rundir_lock = rundir_open(d->rundir, sizeof(d->rundir), given.rundir, why, sizeof(why));
	ret = d->rundir_lock < 0 ? d->rundir_lock : options_load(&d->config, &given, why,
								 sizeof(why));
	if (ret) {
		log_msg(LOG_ERR, 0, "%s", why);
		return EXIT_FAILURE;
	}
	if (core_prepare(d, &kept, &nkept))
		return EXIT_FAILURE;
	session_adopt_all(d, kept, nkept);
	free(kept);
	if (serve(d))
		return EXIT_FAILURE;
	rules_folders(d);
	policy_start(d);
	notify_ready();
	log_msg(LOG_INFO, 0, "depd %s is ready, its run directory is %s", ADEPT_VERSION, d->rundir);
	return core_run(d);
}

int main(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], TRACER_NAME))
		tracer_main();
	if (argc && !strcmp(argv[0], HOLDER_NAME))
		holder_main(argc, argv);
	if (argc && !strcmp(argv[0], WATCHDOG_NAME))
		watchdog_main(argc, argv);
	if (argc && !strcmp(argv[0], TEMPORARY_NAME))
		temporary_main(argc, argv);
	if (argc && !strcmp(argv[0], INSTANCE_NAME))
		instance_main();
	options_parse(&given, argc, argv);
	if (given.attach)
		return attach_run(&depd, &given);
	return geteuid() ? own_run(&depd) : front_run(&given);
}

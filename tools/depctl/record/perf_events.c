// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector reads counters of software events of the process in each pass of its loop. A
 * counter includes the threads and processes that are started after it was opened. The threads that
 * exist already get counters of their own.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/depctl/depctl.h"
#include "perf_events.h"

#define THREADS_MAX	4096u

static const struct {
	const char *name;
	uint64_t config;
} events[] = {
	{ "page-faults", PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS },
};

#define NEVENTS	(sizeof(events) / sizeof(events[0]))

void perf_parse(struct record_options *o, const char *arg, struct argp_state *state)
{
	const char *colon = strchr(arg, ':');
	uint32_t i;

	for (i = 0; colon && i < NEVENTS; i++)
		if (strlen(events[i].name) == (size_t)(colon - arg) &&
		    !strncmp(events[i].name, arg, (size_t)(colon - arg)))
			break;
	if (!colon || i == NEVENTS)
		argp_error(state, "--on-perf must be an event and a number, as in "
			   "'page-faults:10000', not '%s'; events: page-faults, minor-faults, "
			   "major-faults, context-switches, cpu-migrations, alignment-faults", arg);
	if (o->nperf == PERF_EVENTS)
		argp_error(state, "--on-perf can be given at most %u times", PERF_EVENTS);
	o->perf[o->nperf].event = i;
	o->perf[o->nperf++].period = parse_number(state, "the number of --on-perf", colon + 1, 1,
						  1ull << 48);
}

static int open_counter(uint64_t config, pid_t tid)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = config, .inherit = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 || (errno != EACCES && errno != EPERM))
		return fd;
	/* Users may count what happens outside the kernel: faults, but not context switches. */
	a.exclude_kernel = 1;
	if (config == PERF_COUNT_SW_CONTEXT_SWITCHES || config == PERF_COUNT_SW_CPU_MIGRATIONS)
		return -1;
	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Open counter @event of thread @tid. Return: false if it cannot be counted. */
static bool add_counter(struct perf_counters *p, uint32_t event, pid_t tid)
{
	struct perf_counter *more = realloc(p->counter, (p->n + 1) * sizeof(*more));
	int fd;

	if (!more)
		return false;
	p->counter = more;
	fd = open_counter(events[p->o->perf[event].event].config, tid);
	if (fd < 0)
		return errno == ESRCH;
	p->counter[p->n++] = (struct perf_counter){ event, fd };
	return true;
}

void perf_begin(struct perf_counters *p, pid_t pid)
{
	uint32_t i, threads = 0;
	struct dirent *e;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	for (i = 0; i < p->o->nperf; i++) {
		dir = opendir(path);
		while (dir && (e = readdir(dir)) && threads < THREADS_MAX) {
			if (!isdigit((unsigned char)*e->d_name))
				continue;
			threads++;
			if (add_counter(p, i, (pid_t)atoi(e->d_name)))
				continue;
			warn("%s cannot be counted: %s; see /proc/sys/kernel/perf_event_paranoid",
			     events[p->o->perf[i].event].name, strerror(errno));
			break;
		}
		if (dir)
			closedir(dir);
	}
}

static uint64_t total(const struct perf_counters *p, uint32_t event)
{
	uint64_t sum = 0, n;
	uint32_t i;

	for (i = 0; i < p->n; i++)
		if (p->counter[i].event == event &&
		    read(p->counter[i].fd, &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum;
}

bool perf_reached(struct perf_counters *p, struct dep_kept *kept)
{
	uint64_t sum, times;
	uint32_t i;

	for (i = 0; i < p->o->nperf; i++) {
		sum = total(p, i);
		times = sum / p->o->perf[i].period;
		if (times <= p->reached[i])
			continue;
		p->reached[i] = times;
		*kept = (struct dep_kept){ .reason = DEP_KEEP_PERF, .value = sum };
		snprintf(kept->what, sizeof(kept->what), "%s", events[p->o->perf[i].event].name);
		return true;
	}
	return false;
}

void perf_end(struct perf_counters *p)
{
	while (p->n)
		close(p->counter[--p->n].fd);
	free(p->counter);
	p->counter = NULL;
}

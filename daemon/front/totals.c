// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports of instances (depd processes of users) to the front: check them, sum them up, and publish
 * the sums.
 *
 * A report is untrusted.  The check only ensures that sums cannot overflow.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

#define WHOLE_MAX	((1ull << 53) - 1)
#define COUNT(type)	(sizeof(struct type) / sizeof(uint64_t))

_Static_assert(sizeof(struct link_counters) % sizeof(uint64_t) == 0, "all members are u64");
_Static_assert(sizeof(struct link_gauges) % sizeof(uint64_t) == 0, "all members are u64");

static bool is_whole(const void *p, size_t n)
{
	const uint64_t *v = p;
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i] > WHOLE_MAX)
			return false;
	return true;
}

static void add(void *to, const void *from, size_t n)
{
	const uint64_t *v = from;
	uint64_t *sum = to;
	size_t i;

	for (i = 0; i < n; i++)
		sum[i] = sum[i] + v[i] < sum[i] ? UINT64_MAX : sum[i] + v[i];
}

static void subtract(void *from, const void *what, size_t n)
{
	const uint64_t *v = what;
	uint64_t *sum = from;
	size_t i;

	for (i = 0; i < n; i++)
		sum[i] -= v[i] < sum[i] ? v[i] : sum[i];
}

/* Get the resident memory of a process in bytes. */
static uint64_t resident(pid_t pid)
{
	unsigned long long size, pages = 0;
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void charge(struct instance *i, const struct link_gauges *was, const struct link_gauges *is)
{
	account_report(i->account, ACCOUNT_SESSIONS, was->open, is->open);
	account_report(i->account, ACCOUNT_CLIENTS, was->clients, is->clients);
	account_report(i->account, ACCOUNT_MEMORY, was->memory_bytes, is->memory_bytes);
	account_report(i->account, ACCOUNT_FDS, was->fds, is->fds);
	account_report(i->account, ACCOUNT_QUEUED, was->lag_bytes, is->lag_bytes);
}

int report_attach(struct instance *i, const struct link_report *r)
{
	struct link_gauges was = i->report.gauges;
	uint64_t stored = i->report.counters.stored_bytes;
	uint32_t k;

	if (!is_whole(&r->counters, COUNT(link_counters)) ||
	    !is_whole(&r->gauges, COUNT(link_gauges)) ||
	    r->gauges.open > FRONT_SESSIONS_MAX || r->gauges.clients > CONTROL_CLIENTS_MAX ||
	    r->nrules > POLICY_RULES_MAX)
		return -ERANGE;
	for (k = 0; k < r->nrules; k++)
		if (r->rule[k].open > FRONT_SESSIONS_MAX)
			return -ERANGE;
	i->report = *r;
	i->report.gauges.memory_bytes = i->memory;
	charge(i, &was, &i->report.gauges);
	if (r->counters.stored_bytes > stored)
		account_report(i->account, ACCOUNT_STORED, 0, r->counters.stored_bytes - stored);
	return 0;
}

void report_measure(struct instance *i)
{
	struct link_gauges was = i->report.gauges;
	uint64_t now = cpu_of(i->pid);

	if (now > i->cpu_ns) {
		account_report(i->account, ACCOUNT_CPU, 0, now - i->cpu_ns);
		i->cpu_ns = now;
	}
	i->memory = resident(i->pid);
	i->report.gauges.memory_bytes = i->memory;
	charge(i, &was, &i->report.gauges);
}

void report_end(struct instance *i)
{
	struct link_gauges none = { 0 };

	charge(i, &i->report.gauges, &none);
	add(&i->front->past, &i->report.counters, COUNT(link_counters));
	i->report = (struct link_report){ 0 };
	i->memory = 0;
}

void report_sum(const struct front *f, struct link_counters *c, struct link_gauges *g)
{
	const struct instance *i;

	*c = f->past;
	*g = (struct link_gauges){ 0 };
	for (i = f->instances; i; i = i->next) {
		add(c, &i->report.counters, COUNT(link_counters));
		add(g, &i->report.gauges, COUNT(link_gauges));
	}
}

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
}

/* Add the front's own numbers to the sums. */
static void add_self(const struct front *f, struct link_counters *c, struct link_gauges *g)
{
	c->cpu_ns += cpu_ns();
	c->refused += f->refused;
	g->memory_bytes += resident(getpid());
	g->clients += f->nwaiting;
}

static uint32_t sessions_most(const struct front *f, const struct instance *i, uint64_t all)
{
	uint64_t most = f->config.max_sessions ? f->config.max_sessions : FRONT_SESSIONS_MAX;
	uint64_t left = all < most ? most - all : 0;

	if (account_left(i->account, ACCOUNT_SESSIONS) < left)
		left = account_left(i->account, ACCOUNT_SESSIONS);
	return (uint32_t)(left + i->report.gauges.open);
}

static void info_of(const struct front *f, struct link_info *out)
{
	*out = (struct link_info){
		.pid = getpid(), .policy_active = !!f->watch,
		.start_ns = f->start_ns, .start_realtime_ns = f->start_realtime_ns,
		.rules = f->config.nrules, .matches = f->matches,
		.missed = f->missed + (f->watch ? exec_watch_missed(f->watch) : 0),
	};
	memcpy(out->policy_error, f->policy_error, sizeof(out->policy_error));
}

void report_pages(struct front *f)
{
	static struct account_info account[LINK_ACCOUNTS_MAX];
	struct link_counters all;
	struct link_gauges now;
	struct link_info info;
	struct instance *i;
	size_t n = accounts_list(f->accounts, account, LINK_ACCOUNTS_MAX);

	info_of(f, &info);
	report_sum(f, &all, &now);
	for (i = f->instances; i; i = i->next) {
		if (!i->page)
			continue;
		info.sessions_most = sessions_most(f, i, now.open);
		info.counters = all;
		info.gauges = now;
		subtract(&info.counters, &i->report.counters, COUNT(link_counters));
		subtract(&info.gauges, &i->report.gauges, COUNT(link_gauges));
		add_self(f, &info.counters, &info.gauges);
		page_write(i->page, &info);
		page_write_accounts(i->page, account, (uint32_t)n);
	}
}

/* ---- operations for the metrics socket ---- */

static void info(void *arg, struct depd_info *out)
{
	struct front *f = arg;
	struct link_counters c;
	struct link_gauges g;
	struct link_info li;

	info_of(f, &li);
	report_sum(f, &c, &g);
	add_self(f, &c, &g);
	*out = (struct depd_info){
		.version = ADEPT_VERSION, .pid = getpid(),
		.start_realtime_ns = f->start_realtime_ns, .uptime_ns = loop_now() - f->start_ns,
		.policy_active = li.policy_active, .policy_error = f->policy_error,
		.rules = li.rules, .policy_matches = li.matches, .policy_missed = li.missed,
	};
	link_add_info(out, &c, &g);
}

static bool nth_session(void *arg, size_t n, struct session_info *out)
{
	(void)arg;
	(void)n;
	(void)out;
	return false;
}

static bool nth_account(void *arg, size_t n, struct account_info *out)
{
	struct front *f = arg;
	static struct account_info account[LINK_ACCOUNTS_MAX];
	static size_t have;

	/* Callers count @n up from 0: make the list when @n is 0. */
	if (!n)
		have = accounts_list(f->accounts, account, LINK_ACCOUNTS_MAX);
	if (n >= have)
		return false;
	*out = account[n];
	return true;
}

struct control_ops report_ops(struct front *f)
{
	return (struct control_ops){
		.info = info, .session = nth_session, .account = nth_account, .arg = f,
	};
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages, numbers, and opening of stores.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dep/verdict.h>

#include "daemon/base/utf8.h"
#include "tools/depctl/depctl.h"
#include "terminal.h"

#define MAX_SECONDS	1000000ull	/* of a time in the command line */

/* Names in a message can come from a hostile program, so control characters are replaced. */
void warn(const char *fmt, ...)
{
	const char *begin = color_on(STDERR_FILENO) ? COLOR_ERROR "depctl:" COLOR_END : "depctl:";
	char text[4 * PATH_MAX], *s;
	unsigned int n;
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (s = text; *s; s += n ? n : 1) {
		n = utf8_printable(s);
		if (!n && *s != '\n')
			*s = '?';
	}
	fprintf(stderr, "%s %s\n", begin, text);
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void parse_args(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	error_t err = argp_parse(argp, argc, argv, flags, NULL, input);

	if (err) {
		warn("%s", strerror(err));
		exit(EXIT_USAGE);
	}
}

uint64_t parse_number(struct argp_state *state, const char *what, const char *s, uint64_t min,
		      uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end || errno || n < min || n > max)
		argp_error(state, "%s must be a number from %llu to %llu, not '%s'", what,
			   (unsigned long long)min, (unsigned long long)max, s);
	return n;
}

error_t parse_pid(int key, char *arg, struct argp_state *state, pid_t *pid)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*pid)
			argp_error(state, "only one PID can be given");
		*pid = (pid_t)parse_number(state, "PID", arg, 1, INT_MAX);
		return 0;
	case ARGP_KEY_END:
		if (!*pid)
			argp_error(state, "which process?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t parse_store(int key, char *arg, struct argp_state *state, const char **path, bool *json,
		    unsigned int *jobs)
{
	switch (key) {
	case OPT_JSON:
		*json = true;
		return 0;
	case 'j':
		*jobs = parse_number(state, "--jobs", arg, 1, 1024);
		return 0;
	case ARGP_KEY_ARG:
		if (*path)
			argp_error(state, "one store at a time");
		*path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*path)
			argp_error(state, "which store?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

bool parse_time(const char *s, const char **end, uint64_t *ns)
{
	static const struct { const char *name; uint64_t ns; } units[] = {
		{ "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 },
		{ "h", 3600000000000 },
	};
	unsigned long long n;
	size_t i, len;
	char *unit;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &unit, 10);
	for (len = 0; isalpha((unsigned char)unit[len]); len++)
		;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && !strncmp(unit, units[i].name, len))
			break;
	if (errno || i == sizeof(units) / sizeof(units[0]) || !n ||
	    n > MAX_SECONDS * 1000000000 / units[i].ns || (!end && unit[len]))
		return false;
	*ns = n * units[i].ns;
	if (end)
		*end = unit + len;
	return true;
}

bool parse_size(const char *s, uint64_t *out)
{
	static const char units[] = "KMGT";
	unsigned long long n;
	const char *unit;
	unsigned int shift = 0;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno)
		return false;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit)
			return false;
		shift = 10 * (unit - units + 1);
		end++;
		if (!strcmp(end, "iB") || !strcmp(end, "B"))
			end += strlen(end);
	}
	if (*end || n > UINT64_MAX >> shift)
		return false;
	*out = n << shift;
	return true;
}

const char *human_size(uint64_t n, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int u = 0;
	double d = n;

	while (d >= 1000 && u < 6) {
		d /= 1024;
		u++;
	}
	if (!u)
		snprintf(buf, 16, "%u B", (unsigned int)n);
	else
		snprintf(buf, 16, d < 9.995 ? "%.2f %s" : d < 99.95 ? "%.1f %s" : "%.0f %s", d,
			 units[u]);
	return buf;
}

struct dep_store *open_store(const char *dir)
{
	char path[PATH_MAX];
	struct dep_store *s;
	struct stat st;
	int ret;

	if (stat(dir, &st)) {
		if (errno == ENOENT)
			warn("there is no store %s; `depctl ls' lists the stores of a directory",
			     dir);
		else
			warn("%s: %s", dir, strerror(errno));
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/manifest.json", dir);
	if (!S_ISDIR(st.st_mode) || (access(path, F_OK) && errno == ENOENT)) {
		warn("%s is no DEP store: it is not a directory with a manifest.json; give the "
		     "directory that depctl record made", dir);
		return NULL;
	}
	ret = dep_store_open(&s, dir);
	if (ret) {
		warn("%s cannot be read: %s", dir, *dep_error() ? dep_error() : strerror(-ret));
		return NULL;
	}
	return s;
}

/*
 * Callers ask for threads and processes mostly in the order of the table, so both searches begin
 * where the last one ended.  That is an index: the table of a growing store is reallocated.
 */
const struct dep_process *process_of(struct dep_store *s, uint32_t serial)
{
	static size_t last;
	const struct dep_process *p;
	size_t n = dep_store_processes(s, &p), at = last < n ? last : 0, i;

	for (i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		if (p[at].serial != serial)
			continue;
		last = at;
		return &p[at];
	}
	return NULL;
}

const struct dep_thread *thread_of(struct dep_store *s, uint32_t serial)
{
	static size_t last;
	const struct dep_thread *t;
	size_t n = dep_store_threads(s, &t), at = last < n ? last : 0, i;

	for (i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		if (t[at].serial != serial)
			continue;
		last = at;
		return &t[at];
	}
	return NULL;
}

bool is_lossy(struct dep_store *s)
{
	const struct dep_loss *l = dep_store_loss(s);

	return dep_store_verdict(s)->state == DEP_VERDICT_INCOMPLETE || l->dropped_bytes ||
	       l->dropped_chunks || l->discarded_bytes || l->native_images;
}

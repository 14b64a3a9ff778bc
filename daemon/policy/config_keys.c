// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys of depd.conf(5) and the values that they accept.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/collect/collect.h"
#include "conf.h"

#define LAST_SECONDS_MAX 1000000000ull
#define COMM_MAX 15	/* the kernel truncates process names to this length */

struct value {
	struct conf *p;
	const char *key, *text;
	size_t column;
	void *to;		/* field to set */
};

struct key {
	const char *name;
	int (*set)(const struct value *v, const struct key *k);
	size_t off;
	uint64_t min, max;
	uint32_t flag;		/* for a yes/no key: the bit that `yes` sets */
	bool clears;		/* `yes` clears the bit, `no` sets it */
};

static int refuse(const struct value *v, const char *what)
{
	return conf_error(v->p, v->column, "%s must be %s, not `%.60s'", v->key, what, v->text);
}

static int set_text(const struct value *v, const struct key *k)
{
	char **to = v->to;

	(void)k;
	*to = strdup(v->text);
	return *to ? 0 : -ENOMEM;
}

static int set_comm(const struct value *v, const struct key *k)
{
	if (strlen(v->text) > COMM_MAX && !strpbrk(v->text, "*?[\\"))
		return conf_error(v->p, v->column + COMM_MAX, "comm is compared with process names "
				  "of at most %d bytes: shorten it, or use path", COMM_MAX);
	return set_text(v, k);
}

/* Set a pattern for absolute paths.  A pattern without / or wildcard at its start never matches. */
static int set_rooted(const struct value *v, const struct key *k)
{
	if (!strchr("/*?[\\", *v->text))
		return conf_error(v->p, v->column, "%s is compared with the whole path, which "
				  "begins with `/': write `*/%.60s' for any directory", v->key,
				  v->text);
	return set_text(v, k);
}

static int set_folder(const struct value *v, const struct key *k)
{
	if (*v->text != '/')
		return conf_error(v->p, v->column, "%s must be an absolute path, which begins "
				  "with `/'", v->key);
	if (strlen(v->text) >= PATH_MAX)
		return conf_error(v->p, v->column, "%s is too long for a path", v->key);
	return set_text(v, k);
}

/* Parse a number with an optional unit: a character of @units, with the multiplier in @factor. */
static bool number(const char *s, const char *units, const uint64_t *factor, uint64_t *out)
{
	unsigned long long n;
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &end, 10);
	if (errno)
		return false;
	*out = n;
	if (!*end)
		return true;
	unit = strchr(units, *end);
	return unit && !end[1] && !__builtin_mul_overflow(n, factor[unit - units], out);
}

static int out_of_range(const struct value *v, const struct key *k, const char *what)
{
	if (k->max == UINT64_MAX)
		return refuse(v, what);
	return conf_error(v->p, v->column, "%s must be from %llu to %llu, not `%.60s'", v->key,
			  (unsigned long long)k->min, (unsigned long long)k->max, v->text);
}

static int set_size(const struct value *v, const struct key *k)
{
	static const uint64_t factor[] = { 1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40,
					   1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40 };
	uint64_t n;

	if (!number(v->text, "KMGTkmgt", factor, &n))
		return refuse(v, "a size such as 4M or 10G");
	if (n < k->min || n > k->max)
		return out_of_range(v, k, "greater than 0");
	*(uint64_t *)v->to = n;
	return 0;
}

static int duration(const struct value *v, uint64_t per_second, uint64_t *out)
{
	static const uint64_t factor[] = { 1, 60, 3600, 86400 };
	uint64_t n;

	if (!number(v->text, "smhd", factor, &n) || n > (1ull << 40))
		return refuse(v, "a time such as 30s, 10m, 12h or 7d");
	*out = n * per_second;
	return 0;
}

static int set_seconds(const struct value *v, const struct key *k)
{
	(void)k;
	return duration(v, 1, v->to);
}

static int set_milliseconds(const struct value *v, const struct key *k)
{
	(void)k;
	return duration(v, 1000, v->to);
}

/* Set a size, a time, or both as in "5m,2G"; with a time alone the default size. */
static int set_last(const struct value *v, const struct key *k)
{
	static const uint64_t size[] = { 1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40 };
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	struct policy_rule *r = conf_rule(v->p);
	char *text = strdup(v->text), *save = NULL, *part;
	bool good = true, any = false;
	uint64_t n;

	(void)k;
	if (!text)
		return -ENOMEM;
	for (part = strtok_r(text, ",", &save); part && good; part = strtok_r(NULL, ",", &save)) {
		any = true;
		good = false;
		if (isdigit((unsigned char)part[strlen(part) - 1])) {
			good = !r->last_bytes && number(part, "", NULL, &r->last_bytes) &&
			       r->last_bytes;
		} else if (number(part, "smhd", seconds, &n)) {
			good = !r->last_ns && n && n <= LAST_SECONDS_MAX;
			r->last_ns = n * 1000000000;
		} else if (number(part, "KMGT", size, &n)) {
			good = !r->last_bytes && n;
			r->last_bytes = n;
		}
	}
	free(text);
	if (!any || !good)
		return refuse(v, "a size such as 64M, a time such as 30s or 5m, or both as in "
			      "5m,2G");
	if (!r->last_bytes)
		r->last_bytes = REQUEST_LAST;
	return 0;
}

static int set_u32(const struct value *v, const struct key *k)
{
	uint64_t n;

	if (!number(v->text, "", NULL, &n))
		return refuse(v, "a number");
	if (n < k->min || n > k->max)
		return out_of_range(v, k, "a number");
	*(uint32_t *)v->to = (uint32_t)n;
	return 0;
}

static int read_bool(const struct value *v, bool *yes)
{
	*yes = !strcmp(v->text, "yes");
	return *yes || !strcmp(v->text, "no") ? 0 : refuse(v, "yes or no");
}

static int set_bool(const struct value *v, const struct key *k)
{
	(void)k;
	return read_bool(v, v->to);
}

static int set_flag(const struct value *v, const struct key *k)
{
	uint32_t *flags = v->to;
	bool yes;
	int err = read_bool(v, &yes);

	if (err)
		return err;
	if (yes != k->clears)
		*flags |= k->flag;
	else
		*flags &= ~k->flag;
	return 0;
}

static int set_on_full(const struct value *v, const struct key *k)
{
	uint32_t *flags = v->to;

	(void)k;
	if (!strcmp(v->text, "drop"))
		*flags |= ADEPT_S_DROP;
	else if (!strcmp(v->text, "wait"))
		*flags &= ~ADEPT_S_DROP;
	else
		return refuse(v, "wait or drop");
	return 0;
}

static int set_keep_if(const struct value *v, const struct key *k)
{
	enum dep_keep_if *to = v->to;

	(void)k;
	if (!strcmp(v->text, "always"))
		*to = DEP_KEEP_IF_ALWAYS;
	else if (!strcmp(v->text, "failure"))
		*to = DEP_KEEP_IF_FAILURE;
	else if (!strcmp(v->text, "crash"))
		*to = DEP_KEEP_IF_CRASH;
	else
		return refuse(v, "always, failure or crash");
	return 0;
}

static int set_transport(const struct value *v, const struct key *k)
{
	static const char *const names[] = { "auto", "kmod", "shm" };
	enum request_transport *to = v->to;

	(void)k;
	for (int i = 0; i < 3; i++) {
		if (strcmp(v->text, names[i]))
			continue;
		*to = (enum request_transport)i;
		return 0;
	}
	return refuse(v, "auto, kmod or shm");
}

/* The fuzzer must not look up names in system databases. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define LOOK_UP	0
#else
#define LOOK_UP	1
#endif

static bool find_user(const char *name, uint32_t *id)
{
	struct passwd *pw = LOOK_UP ? getpwnam(name) : NULL;

	if (pw)
		*id = pw->pw_uid;
	return pw;
}

static bool find_group(const char *name, uint32_t *id)
{
	struct group *g = LOOK_UP ? getgrnam(name) : NULL;

	if (g)
		*id = g->gr_gid;
	return g;
}

/* Parse a user or group, given as a number or by name; 4294967295 is refused. */
static int set_id(const struct value *v, const char *what, bool (*find)(const char *, uint32_t *),
		  uint32_t *id)
{
	uint64_t n;

	if (number(v->text, "", NULL, &n)) {
		if (n >= UINT32_MAX)
			return refuse(v, "less than 4294967295");
		*id = (uint32_t)n;
		return 0;
	}
	if (find(v->text, id))
		return 0;
	return conf_error(v->p, v->column, "there is no %s %.60s: give a name or a number", what,
			  v->text);
}

static int set_uid(const struct value *v, const struct key *k)
{
	struct policy_rule *r = conf_rule(v->p);
	int err = set_id(v, "user", find_user, &r->uid);

	(void)k;
	r->has_uid = !err;
	return err;
}

static int set_share(const struct value *v, const struct key *k)
{
	struct policy_rule *r = conf_rule(v->p);
	int err = set_id(v, "group", find_group, &r->group);

	(void)k;
	r->shared = !err;
	return err;
}

#define DEPD(field)	offsetof(struct depd_config, field)
#define RULE(field)	offsetof(struct policy_rule, field)

static const struct key depd_keys[] = {
	{ "store", set_folder, DEPD(store), 0, 0, 0, 0 },
	{ "max-store", set_size, DEPD(max_store), 0, UINT64_MAX, 0, 0 },
	{ "max-age", set_seconds, DEPD(max_age_s), 0, 0, 0, 0 },
	{ "give-up", set_milliseconds, DEPD(give_up_ms), 0, 0, 0, 0 },
	{ "workers", set_u32, DEPD(workers), 0, 1024, 0, 0 },
	{ "max-sessions", set_u32, DEPD(max_sessions), 0, POLICY_SESSIONS_MAX, 0, 0 },
	{ "races", set_u32, DEPD(races), 0, 1024, 0, 0 },
	{ "max-last", set_size, DEPD(max_last), 1, UINT64_MAX, 0, 0 },
	{ 0 }
};

static const struct key rule_keys[] = {
	{ "comm", set_comm, RULE(comm), 0, 0, 0, 0 },
	{ "path", set_rooted, RULE(path), 0, 0, 0, 0 },
	{ "cgroup", set_rooted, RULE(cgroup), 0, 0, 0, 0 },
	{ "argv", set_text, RULE(argv), 0, 0, 0, 0 },
	{ "uid", set_uid, RULE(uid), 0, 0, 0, 0 },
	{ "every", set_u32, RULE(every), 1, 1000000000, 0, 0 },
	{ "at-once", set_u32, RULE(at_once), 0, 65536, 0, 0 },
	{ "terminal", set_bool, RULE(terminal), 0, 0, 0, 0 },
	{ "ring-size", set_size, RULE(ring_size), DEP_RING_MIN, DEP_RING_MAX, 0, 0 },
	{ "on-full", set_on_full, RULE(flags), 0, 0, 0, 0 },
	{ "max-size", set_size, RULE(max_size), 1, UINT64_MAX, 0, 0 },
	{ "last", set_last, RULE(last_bytes), 0, 0, 0, 0 },
	{ "last-on-disk", set_bool, RULE(last_on_disk), 0, 0, 0, 0 },
	{ "keep-if", set_keep_if, RULE(keep_if), 0, 0, 0, 0 },
	{ "level", set_u32, RULE(level), 1, 19, 0, 0 },
	{ "transport", set_transport, RULE(transport), 0, 0, 0, 0 },
	{ "follow", set_flag, RULE(flags), 0, 0, ADEPT_S_NO_FOLLOW, true },
	{ "self-check", set_flag, RULE(flags), 0, 0, ADEPT_S_SELF_CHECK, false },
	{ "null", set_flag, RULE(flags), 0, 0, ADEPT_S_NULL, false },
	{ "store", set_folder, RULE(store), 0, 0, 0, 0 },
	{ "share", set_share, RULE(group), 0, 0, 0, 0 },
	{ 0 }
};

_Static_assert(sizeof(int) == sizeof(uint32_t), "level is set by set_u32()");

/* Edit distance of two names, to suggest a key for a misspelt one. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32], n = (unsigned int)strlen(b), i, diagonal, up, best;

	if (n >= 32)
		return UINT_MAX;
	for (i = 0; i <= n; i++)
		row[i] = i;
	for (; *a; a++) {
		diagonal = row[0]++;
		for (i = 1; i <= n; i++) {
			up = row[i];
			best = diagonal + (*a != b[i - 1]);
			if (up + 1 < best)
				best = up + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
			diagonal = up;
		}
	}
	return row[n];
}

static const char *nearest(const struct key *keys, const char *name)
{
	const char *found = keys->name;
	unsigned int best = UINT_MAX, d;

	for (; keys->name; keys++) {
		d = distance(name, keys->name);
		if (d < best) {
			best = d;
			found = keys->name;
		}
	}
	return found;
}

int conf_key(struct conf *p, const char *name, size_t key_at, const char *value, size_t value_at)
{
	const struct key *keys = p->section == CONF_DEPD ? depd_keys : rule_keys, *k;
	struct value v = { p, name, value, value_at, NULL };
	uint64_t bit;

	for (k = keys; k->name && strcmp(k->name, name); k++)
		;
	if (!k->name)
		return conf_error(p, key_at, "there is no key `%.40s' in a section [%s]; did you "
				  "mean `%s'?", name, p->section == CONF_DEPD ? "depd" : "rule",
				  nearest(keys, name));
	bit = 1ull << (k - keys);
	if (p->given & bit)
		return conf_error(p, key_at, "%s is set in this section already: remove one line",
				  name);
	if (!*value)
		return conf_error(p, value_at, "%s has no value: give a value or remove the line",
				  name);
	p->given |= bit;
	if (p->section == CONF_DEPD && !strcmp(name, "store")) {
		free(p->c->store);
		p->c->store = NULL;
	}
	v.to = (p->section == CONF_DEPD ? (char *)p->c : (char *)conf_rule(p)) + k->off;
	return k->set(&v, k);
}

bool conf_has_condition(const struct policy_rule *r)
{
	return r->comm || r->path || r->cgroup || r->argv || r->has_uid;
}

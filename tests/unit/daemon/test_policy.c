// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depd.conf: accepted and refused values, with positions; matching of processes; the conditions
 * that the kernel checks.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/policy/policy.h"
#include "daemon/pending/kernel_rules.h"
#include "libdep/abi/session_file.h"

#define TEST_SIZE ((1u << 20) + 1)

static struct depd_config conf;
static struct policy_error error;

static int read_bytes(const char *text, size_t n)
{
	FILE *f = n ? fmemopen((void *)(uintptr_t)text, n, "r") : fopen("/dev/null", "r");
	int err;

	assert_non_null(f);
	err = policy_read(&conf, f, &error);
	fclose(f);
	return err;
}

static void good(const char *text)
{
	policy_free(&conf);
	if (read_bytes(text, strlen(text)))
		fail_msg("%u:%u: %s", error.line, error.column, error.text);
}

static void bad_bytes(const char *text, size_t n, unsigned int line, unsigned int column,
		      const char *why)
{
	policy_free(&conf);
	assert_int_equal(read_bytes(text, n), -EINVAL);
	if (error.line != line || error.column != column || !strstr(error.text, why))
		fail_msg("%u:%u: \"%s\", not %u:%u: \"%s\"", error.line, error.column, error.text,
			 line, column, why);
	assert_null(conf.rule);
	assert_null(conf.store);
}

static void bad(const char *text, unsigned int line, unsigned int column, const char *why)
{
	bad_bytes(text, strlen(text), line, column, why);
}

static void test_defaults(void **state)
{
	(void)state;
	good("");
	assert_string_equal(conf.store, POLICY_STORE_DEFAULT);
	assert_int_equal(conf.max_store, 10ull << 30);
	assert_int_equal(conf.max_age_s, 30 * 86400);
	assert_int_equal(conf.give_up_ms, 30000);
	assert_int_equal(conf.races, 0);
	assert_int_equal(conf.nrules, 0);
	policy_free(&conf);
	assert_int_equal(policy_load(&conf, "/no/such/file", true, &error), -EINVAL);
	assert_non_null(strstr(error.text, "No such file"));
	assert_int_equal(policy_load(&conf, "/no/such/file", false, &error), 0);
	assert_string_equal(conf.store, POLICY_STORE_DEFAULT);
	policy_free(&conf);
	assert_int_equal(policy_load(&conf, "/", false, &error), -EINVAL);
	assert_non_null(strstr(error.text, "cannot be read"));
	good("[rule a]\ncomm=x\n");
	assert_int_equal(conf.rule[0].every, 1);
	assert_int_equal(conf.rule[0].flags, 0);
	assert_int_equal(conf.rule[0].ring_size, 0);
	assert_false(conf.rule[0].terminal);
	assert_false(conf.rule[0].has_uid);
}

static void test_depd(void **state)
{
	(void)state;
	good("# first\r\n; second\n\n  [ depd ]\n store=/var/x y \nmax-store = 3T\nmax-age=2h\n"
	     "give-up\t=\t5m\nworkers=3\nmax-sessions = 7\nraces=5");
	assert_string_equal(conf.store, "/var/x y");
	assert_int_equal(conf.max_store, 3ull << 40);
	assert_int_equal(conf.max_age_s, 7200);
	assert_int_equal(conf.give_up_ms, 300000);
	assert_int_equal(conf.workers, 3);
	assert_int_equal(conf.max_sessions, 7);
	assert_int_equal(conf.races, 5);
	good("[depd]\nmax-store = 0\nmax-age = 1d\ngive-up = 9\n");
	assert_int_equal(conf.max_store, 0);
	assert_int_equal(conf.max_age_s, 86400);
	assert_int_equal(conf.give_up_ms, 9000);
}

static void test_rule(void **state)
{
	const struct policy_rule *r;

	(void)state;
	good("[rule web-1]\ncomm = gz*\npath = */bin/x # y\ncgroup = /a/*\nargv = * -9 =*\n"
	     "uid = root\nevery = 10\nat-once = 2\nterminal = yes\nring-size = 64K\n"
	     "on-full = drop\nmax-size = 10G\nlevel = 19\ntransport = kmod\nfollow = no\n"
	     "self-check = yes\nnull = yes\nstore = /s\n"
	     "share = root\n"
	     "[rule b]\nuid=65534\nfollow=yes\non-full=wait\ntransport=shm\n"
	     "share = 4294967294\n[depd]\nworkers=1\n"
	     "[rule c]\npath = *\ntransport = auto\nnull = no");
	assert_int_equal(conf.nrules, 3);
	r = &conf.rule[0];
	assert_string_equal(r->name, "web-1");
	assert_string_equal(r->comm, "gz*");
	assert_string_equal(r->path, "*/bin/x # y");
	assert_string_equal(r->cgroup, "/a/*");
	assert_string_equal(r->argv, "* -9 =*");
	assert_true(r->has_uid && !r->uid);
	assert_int_equal(r->every, 10);
	assert_int_equal(r->at_once, 2);
	assert_true(r->terminal);
	assert_int_equal(r->ring_size, 65536);
	assert_int_equal(r->max_size, 10ull << 30);
	assert_int_equal(r->level, 19);
	assert_int_equal(r->transport, REQUEST_KMOD);
	assert_int_equal(r->flags, ADEPT_S_DROP | ADEPT_S_NO_FOLLOW | ADEPT_S_SELF_CHECK |
			 ADEPT_S_NULL);
	assert_string_equal(r->store, "/s");
	assert_true(r->shared && !r->group);
	r = &conf.rule[1];
	assert_true(r->has_uid);
	assert_int_equal(r->uid, 65534);
	assert_int_equal(r->flags, 0);
	assert_int_equal(r->transport, REQUEST_SHM);
	assert_true(r->shared && r->group == 4294967294u);
	assert_false(conf.rule[2].shared);
	assert_string_equal(conf.rule[2].path, "*");
	assert_int_equal(conf.rule[2].transport, REQUEST_AUTO);
}

static void test_last(void **state)
{
	const struct policy_rule *r;

	(void)state;
	good("[rule a]\ncomm=x\nlast = 5m,2G\nlast-on-disk = yes\nkeep-if = crash\n"
	     "[rule b]\ncomm=x\nkeep-if = failure\nlast = 30s\nlast-on-disk = no\n"
	     "[rule c]\ncomm=x\nkeep-if = always\n"
	     "[rule d]\ncomm=x\nlast-on-disk=yes\nstore = /s\nlast=1T\n");
	r = conf.rule;
	assert_int_equal(r->last_bytes, 2ull << 30);
	assert_int_equal(r->last_ns, 300000000000);
	assert_true(r->last_on_disk);
	assert_int_equal(r->keep_if, DEP_KEEP_IF_CRASH);
	r++;
	assert_int_equal(r->last_bytes, REQUEST_LAST);
	assert_false(r->last_on_disk);
	assert_int_equal(r->keep_if, DEP_KEEP_IF_FAILURE);
	r++;
	assert_false(r->last_bytes || r->last_on_disk);
	assert_int_equal(r->keep_if, DEP_KEEP_IF_ALWAYS);
	assert_true(r[1].last_on_disk);

	bad("[rule a]\nlast-on-disk = yes\ncomm = x\n", 1, 1, "which needs last");
	bad("[rule a]\ncomm = x\nlast = 4M\nmax-size = 1G\n", 1, 1, "excludes max-size");
	/* The default of max-store is 10 GiB. */
	bad("[rule a]\ncomm = x\nlast = 11G\nlast-on-disk = yes\n", 1, 1, "max-store");
	bad("[rule b]\ncomm=b\n[rule a]\ncomm = x\nlast = 2M\nring-size = 1M\n"
	    "last-on-disk = yes\n[depd]\nmax-store = 1M\n", 3, 1, "rule a: with last-on-disk");
	good("[rule a]\ncomm = x\nlast = 11G\nlast-on-disk = yes\n[depd]\nmax-store = 0\n");
	good("[rule a]\ncomm = x\nlast = 11G\n");
}

static void test_lines(void **state)
{
	(void)state;
	bad("x", 1, 1, "no section, no comment");
	bad("\n\n  x = 1\n", 3, 3, "section must begin");
	bad("[depd]\n = 1\n", 2, 2, "key is missing");
	bad("[depd]\nworkers\n", 2, 1, "KEY = VALUE");
	bad("[depd\n", 1, 6, "`]' is missing");
	bad("[depd] # x\n", 1, 7, "lines of their own");
	bad("\n[other]\n", 2, 2, "no section [other]");
	bad("[]\n", 1, 2, "sections are");
	bad("[ruler]\n", 1, 2, "sections are");
	bad("[depd]\n[depd]\n", 2, 1, "already");
	bad("[rule]\n", 1, 6, "no name");
	bad("[rule  ]\n", 1, 6, "no name");
	bad("[rule a b]\n", 1, 8, "letters");
	bad("[rule \xc3\xa4]\n", 1, 7, "letters");
	bad("[rule a]\ncomm=x\n\n[rule a]\n", 4, 7, "a already, in line 1");
	bad("[rule a]\nevery=2\n[rule b]\ncomm=x\n", 1, 1, "no condition");
	bad("[rule b]\ncomm=x\n[rule a]\n", 3, 1, "path = *");
	bad("[rule aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]",
	    1, 71, "at most 64");
}

static void test_keys(void **state)
{
	(void)state;
	bad("[depd]\nworker = 3\n", 2, 1, "did you mean `workers'");
	bad("[depd]\n  max_store = 3\n", 2, 3, "did you mean `max-store'");
	bad("[depd]\ncomm = 3\n", 2, 1, "no key `comm' in a section [depd]");
	bad("[rule a]\nringsize = 3\n", 2, 1, "did you mean `ring-size'");
	bad("[rule a]\ncom = x\n", 2, 1, "did you mean `comm'");
	bad("[rule a]\ncomm = x\ncomm = y\n", 3, 1, "already");
	bad("[rule a]\ncomm = \n", 2, 7, "no value");
	bad("[rule a]\ncomm =\n", 2, 7, "no value");
}

static void test_values(void **state)
{
	static const struct { const char *line, *why; } of_rule[] = {
		{ "comm = abcdefghijklmnop", "at most 15" },
		{ "path = bin/x", "write `*/bin/x'" },
		{ "cgroup = a.service", "write `*/a.service'" },
		{ "uid = nobody-of-that-name", "no user" },
		{ "uid = 4294967295", "less than" },
		{ "uid = 0x10", "no user" },
		{ "every = 0", "from 1 to" },
		{ "every = -1", "a number" },
		{ "every = 1K", "a number" },
		{ "every = 99999999999999999999999", "a number" },
		{ "at-once = 65537", "from 0 to 65536" },
		{ "terminal = true", "yes or no" },
		{ "ring-size = 4X", "a size" },
		{ "ring-size = 4MM", "a size" },
		{ "ring-size = 1K", "from 65536 to" },
		{ "ring-size = 2G", "from 65536 to" },
		{ "max-size = 0", "greater than 0" },
		{ "max-size = 99999999999T", "a size" },
		{ "on-full = block", "wait or drop" },
		{ "level = 20", "from 1 to 19" },
		{ "transport = pigeon", "auto, kmod or shm" },
		{ "last = 5x", "a size such as" },
		{ "last = 1M,2M", "a size such as" },
		{ "last = 0", "a size such as" },
		{ "last-on-disk = 1", "yes or no" },
		{ "keep-if = never", "always, failure or crash" },
		{ "follow = maybe", "yes or no" },
		{ "self-check = 1", "yes or no" },
		{ "null = # no", "yes or no" },
		{ "store = here", "absolute" },
		{ "share = nogroup-of-that-name", "no group" },
		{ "share = 4294967295", "less than" },
		{ "share = -1", "no group" },
	}, of_depd[] = {
		{ "store = here", "absolute" },
		{ "max-store = much", "a size" },
		{ "max-age = 3w", "a time" },
		{ "max-age = 99999999999999d", "a time" },
		{ "give-up = -3", "a time" },
		{ "workers = 2000", "from 0 to 1024" },
		{ "max-sessions = all", "a number" },
		{ "max-sessions = 1025", "from 0 to 1024" },
	};
	char text[256];
	unsigned int column;

	(void)state;
	for (size_t i = 0; i < sizeof(of_rule) / sizeof(of_rule[0]); i++) {
		snprintf(text, sizeof(text), "[rule a]\n%s\n", of_rule[i].line);
		column = (unsigned int)(strchr(of_rule[i].line, '=') - of_rule[i].line) + 3;
		bad(text, 2, i ? column : column + 15, of_rule[i].why);
	}
	for (size_t i = 0; i < sizeof(of_depd) / sizeof(of_depd[0]); i++) {
		snprintf(text, sizeof(text), "[depd]\n\n%s", of_depd[i].line);
		column = (unsigned int)(strchr(of_depd[i].line, '=') - of_depd[i].line) + 3;
		bad(text, 3, column, of_depd[i].why);
	}
}

static void test_hostile(void **state)
{
	char *big = malloc(TEST_SIZE);
	size_t n;

	(void)state;
	assert_non_null(big);
	bad_bytes("[depd]\n# \0\n", 11, 2, 3, "zero byte");
	bad("[depd]\n# \xff\n", 2, 3, "not UTF-8");
	bad("# \xc0\x80\n", 1, 3, "not UTF-8");
	bad("# \xed\xa0\x80\n", 1, 3, "not UTF-8");
	bad("# \xc3", 1, 3, "not UTF-8");
	bad("# \x1b[2J\n", 1, 3, "control character (0x1b)");
	good("# \xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa7\n");
	memset(big, '#', TEST_SIZE);
	big[4096] = '\n';
	bad_bytes(big, 4200 + 4097, 2, 4097, "longer than 4096");
	good("");
	for (n = 80; n < TEST_SIZE; n += 81)
		big[n] = '\n';
	bad_bytes(big, TEST_SIZE, 0, 0, "larger than 1 MiB");
	policy_free(&conf);
	assert_int_equal(read_bytes(big, 1 << 20), 0);
	for (n = 0; n < 65; n++)
		sprintf(big + n * 19, "[rule %04zu]\ncomm=x\n", n);
	bad_bytes(big, 65 * 19, 129, 1, "more than 64 rules");
	free(big);
}

static int match(const char *comm, const char *path, const char *exe, uid_t uid, bool foreground)
{
	const struct policy_process p = {
		.uid = uid, .comm = comm, .path = path, .exe = exe, .cgroup = "/user.slice/x",
		.argv = "prog -a b", .foreground = foreground,
	};

	return policy_match(&conf, &p);
}

static void test_match(void **state)
{
	(void)state;
	good("[rule 0]\ncomm = gzip\nuid = 7\n[rule 1]\npath = /opt/*/bin/?c\n"
	     "[rule 2]\npath = *\ncomm = [a-c]*\nterminal = yes\n[rule 3]\nargv = *-a b\n"
	     "cgroup = /user.slice/*\ncomm = z\n");
	assert_int_equal(match("gzip", "/x", "/x", 7, false), 0);
	assert_int_equal(match("gzip", "/x", "/x", 8, false), -1);
	assert_int_equal(match("gzip", "/x", "/x", 7, true), -1);
	assert_int_equal(match("x", "/opt/a/b/bin/cc", "/x", 7, false), 1);
	assert_int_equal(match("x", "./cc", "/opt/a/bin/gc", 7, false), 1);
	assert_int_equal(match("x", "/opt/bin/cc", NULL, 7, false), -1);
	assert_int_equal(match("c", "/x", NULL, 7, true), 2);
	assert_int_equal(match("c", NULL, NULL, 7, true), -1);
	assert_int_equal(match("z", NULL, NULL, 7, false), 3);
	good("");
	assert_int_equal(match("z", NULL, NULL, 7, false), -1);
}

static void test_describe(void **state)
{
	char *text;

	(void)state;
	good("");
	text = policy_describe(&conf);
	assert_string_equal(text, "[]");
	free(text);
	good("[rule a]\ncomm = \"x\"\nlevel = 3\nuid=5\n");
	text = policy_describe(&conf);
	assert_string_equal(text, "[{\"name\":\"a\",\"comm\":\"\\\"x\\\"\",\"uid\":5,\"every\":1,"
			    "\"at_once\":0,\"terminal\":false,\"on_full\":\"wait\","
			    "\"keep_if\":\"always\",\"level\":3,"
			    "\"transport\":\"auto\",\"follow\":true,\"self_check\":false,"
			    "\"discarded\":false}]");
	free(text);
}

/* As exec.bpf.c compares. */
static bool may_fit(const struct exec_pattern *p, const char *text)
{
	size_t n = strlen(text);
	u64 head[EXEC_WORDS] = { 0 }, tail[EXEC_WORDS] = { 0 }, diff = 0;
	size_t part = n < sizeof(head) ? n : sizeof(head);

	if (n < p->min || n > p->max)
		return false;
	memcpy(head, text, part);
	memcpy((char *)tail + sizeof(tail) - part, text + n - part, part);
	for (int i = 0; i < EXEC_WORDS; i++)
		diff |= ((head[i] ^ p->head[i]) & p->head_mask[i]) |
			((tail[i] ^ p->tail[i]) & p->tail_mask[i]);
	return !diff;
}

static bool path_may_fit(const char *pattern, const char *text)
{
	const struct policy_rule r = { .path = (char *)(uintptr_t)pattern };
	struct exec_rule k;

	exec_rule_compile(&k, &r);
	assert_int_equal(k.flags, EXEC_RULE_PATH);
	return may_fit(&k.path, text);
}

static void test_compile(void **state)
{
	char longer[200] = "/", pattern[200];
	struct policy_rule r = { .comm = (char *)"gzip", .has_uid = true, .uid = 3,
				 .terminal = true };
	struct exec_rule k;

	(void)state;
	exec_rule_compile(&k, &r);
	assert_int_equal(k.flags, EXEC_RULE_COMM | EXEC_RULE_UID | EXEC_RULE_TERMINAL);
	assert_int_equal(k.uid, 3);
	assert_int_equal(k.comm_mask[0], 0xffffffffffull);
	assert_int_equal(k.comm_mask[1], 0);
	assert_memory_equal(k.comm, "gzip", 5);
	r.comm = (char *)"gz\\*";
	exec_rule_compile(&k, &r);
	assert_int_equal(k.comm_mask[0], 0xffff);
	assert_true(path_may_fit("/bin/x", "/bin/x"));
	assert_false(path_may_fit("/bin/x", "/bin/xx"));
	assert_false(path_may_fit("/bin/x", "/bin/y"));
	assert_true(path_may_fit("*", ""));
	assert_true(path_may_fit("/a*/b", "/aaa/b"));
	assert_false(path_may_fit("/a*/b", "/aaa/c"));
	assert_false(path_may_fit("/a*/b", "/baa/b"));
	assert_true(path_may_fit("/a[bc]d", "/abd"));
	assert_true(path_may_fit("/a[]]d", "/a]d"));
	assert_true(path_may_fit("/a\\*", "/a*"));
	assert_true(path_may_fit("/a\\\\", "/a\\"));
	memset(longer + 1, 'x', 150);
	strcpy(pattern, longer);
	assert_true(path_may_fit(pattern, longer));
	longer[150] = 'y';
	assert_false(path_may_fit(pattern, longer));
}

/* The conditions of the kernel must accept every process that matches. */
static void test_compile_random(void **state)
{
	static const char letters[] = "ab*?[]\\/";
	const char *seed = getenv("ADEPT_TEST_SEED");
	char pattern[12], text[12];
	unsigned int fitted = 0;

	(void)state;
	srandom(seed ? (unsigned int)atoi(seed) : 1);
	for (int i = 0; i < 2000000; i++) {
		struct policy_process p = { .path = text };
		struct policy_rule r = { .path = pattern, .every = 1 };
		struct depd_config c = { .rule = &r, .nrules = 1 };
		int n = 1 + (int)(random() % 6), m = (int)(random() % 7);

		for (int k = 0; k < n; k++)
			pattern[k] = letters[random() % 8];
		for (int k = 0; k < m; k++)
			text[k] = letters[random() % 8];
		pattern[n] = text[m] = '\0';
		if (policy_match(&c, &p))
			continue;
		fitted++;
		if (!path_may_fit(pattern, text))
			fail_msg("%s does not fit %s in the kernel", text, pattern);
	}
	assert_true(fitted > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_depd),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_last),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_compile),
		cmocka_unit_test(test_compile_random),
	};
	int failed = cmocka_run_group_tests_name("policy", tests, NULL, NULL);

	policy_free(&conf);
	return failed;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests of the control socket: which are accepted or refused, and the messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/control/request.h"
#include "libdep/abi/session_file.h"

static struct request r;
static char why[512];

/* From a buffer of exactly this size, so that a read beyond it is detected. */
static int parse(const char *line, size_t size)
{
	char *copy = malloc(size ? size : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, line, size);
	*why = 0;
	ret = request_parse(&r, copy, size, why, sizeof(why));
	free(copy);
	return ret;
}

static void good(const char *line)
{
	int ret = parse(line, strlen(line));

	if (ret)
		fail_msg("%s: %d, %s", line, ret, why);
}

static void refused(int err, const char *what, const char *line)
{
	int ret = parse(line, strlen(line));

	if (ret != err || !strstr(why, what))
		fail_msg("%s: %d, '%s' and not %d, '%s'", line, ret, why, err, what);
}

static void test_plain(void **state)
{
	static const char *const ops[] = { "status", "sessions", "policy", "reload" };
	static const enum request_op op[] = {
		REQUEST_STATUS, REQUEST_SESSIONS, REQUEST_POLICY, REQUEST_RELOAD,
	};
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		snprintf(line, sizeof(line), "{\"v\":1,\"op\":\"%s\"}", ops[i]);
		good(line);
		assert_int_equal(r.op, op[i]);
		assert_string_equal(request_op_name(r.op), ops[i]);
		request_free(&r);
	}
	good(" { \"op\" : \"stop\" ,\t\"session\":4294967295, \"v\": 1 } \r");
	assert_int_equal(r.op, REQUEST_STOP);
	assert_int_equal(r.session, 4294967295u);
	request_free(&r);
}

static void test_record(void **state)
{
	(void)state;
	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"ls\",\"\",\"\\u00e4\\\"\xff\"],"
	     "\"cwd\":\"/\",\"store\":\"/tmp/x.dep\"}");
	assert_int_equal(r.argc, 3);
	assert_string_equal(r.argv[0], "ls");
	assert_string_equal(r.argv[1], "");
	assert_string_equal(r.argv[2], "\xc3\xa4\"\xff");
	assert_null(r.argv[3]);
	assert_string_equal(r.cwd, "/");
	assert_string_equal(r.store, "/tmp/x.dep");
	assert_true(r.aslr);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.level, 0);
	assert_false(r.shared);
	request_free(&r);

	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"/x\","
	     "\"options\":{\"share\":4294967294}}");
	assert_true(r.shared && r.group == 4294967294u);
	request_free(&r);
	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"/x\","
	     "\"options\":{\"share\":0}}");
	assert_true(r.shared && !r.group);
	request_free(&r);

	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"],\"cwd\":\"/\",\"options\":{"
	     "\"null\":true,\"drop\":true,\"self_check\":true,\"strict\":true,\"no_follow\":true,"
	     "\"no_functions\":true,\"keep_translations\":true,\"log_translate\":true,"
	     "\"log_signal\":true,\"log_thread\":true,\"log_exec\":true,\"log_memory\":true,"
	     "\"no_record\":false,\"ring_size\":65536,\"max_size\":9007199254740991,"
	     "\"level\":19,\"aslr\":false,\"transport\":\"shm\"}}");
	assert_int_equal(r.flags, ADEPT_S_NULL | ADEPT_S_DROP | ADEPT_S_SELF_CHECK |
			 ADEPT_S_STRICT | ADEPT_S_NO_FOLLOW | ADEPT_S_NO_FUNCTIONS |
			 ADEPT_S_KEEP_TRANSLATIONS | ADEPT_S_LOG_ALL);
	assert_int_equal(r.ring_size, 65536);
	assert_int_equal(r.max_size, 9007199254740991);
	assert_int_equal(r.level, 19);
	assert_false(r.aslr);
	assert_int_equal(r.transport, REQUEST_SHM);
	assert_null(r.store);
	request_free(&r);

	good("{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":4194304,\"native\":true,"
	     "\"why\":\"set-uid\"}");
	assert_int_equal(r.pid, 4194304);
	assert_true(r.native);
	assert_string_equal(r.why, "set-uid");
	request_free(&r);
	good("{\"v\":1,\"op\":\"ended\",\"session\":1,\"status\":0}");
	request_free(&r);
}

static void test_attach(void **state)
{
	(void)state;
	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"/x\","
	     "\"attach\":true}");
	assert_true(r.attach);
	request_free(&r);
	good("{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":7,\"stop_ns\":8500000,"
	     "\"threads\":3}");
	assert_int_equal(r.stop_ns, 8500000);
	assert_int_equal(r.threads, 3);
	request_free(&r);
	good("{\"v\":1,\"op\":\"open\",\"pid\":7}");
	assert_int_equal(r.pid, 7);
	request_free(&r);
	good("{\"v\":1,\"op\":\"open\",\"session\":7}");
	assert_int_equal(r.session, 7);
	request_free(&r);
	refused(-EINVAL, "either the field session or", "{\"v\":1,\"op\":\"open\"}");
	refused(-EINVAL, "either the field session or",
		"{\"v\":1,\"op\":\"open\",\"session\":7,\"pid\":7}");
	good("{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"/x\","
	     "\"attach\":true,\"options\":{\"transport\":\"kmod\"}}");
	assert_true(r.attach);
	assert_int_equal(r.transport, REQUEST_KMOD);
	request_free(&r);
	refused(-EINVAL, "stop_ns must be", "{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":7,"
		"\"stop_ns\":-1}");
}

static void test_no_json(void **state)
{
	(void)state;
	refused(-EPROTO, "JSON object", "");
	refused(-EPROTO, "JSON object", "status");
	refused(-EPROTO, "JSON object", "[1]");
	refused(-EPROTO, "JSON object", "\xef\xbb\xbf{\"v\":1}");
	refused(-EPROTO, "no end", "{\"v\":1,\"op\":\"status\"");
	refused(-EPROTO, "a string has no end", "{\"v\":1,\"op\":\"status}");
	refused(-EPROTO, "a string has no end", "{\"v\":1,\"op\":\"status\\");
	refused(-EPROTO, "this is not", "{\"v\":1,\"op\":\"status\",}");
	refused(-EPROTO, "this is not", "{\"v\":1 \"op\":\"status\"}");
	refused(-EPROTO, "this is not", "{\"v\":1,'op':\"status\"}");
	refused(-EPROTO, "this is not", "{\"v\":1,\"op\":\"status\"]");
	refused(-EPROTO, "this is not", "{\"v\":1,\"op\":\"\\ud800\"}");
	refused(-EPROTO, "this is not", "{\"v\":1,\"op\":\"\\x\"}");
	refused(-EPROTO, "this is not", "{\"v\":1,\"op\":truely}");
	refused(-EPROTO, "after", "{\"v\":1,\"op\":\"status\"} {}");
	refused(-EPROTO, "after", "{\"v\":1,\"op\":\"status\"}}");
	refused(-EPROTO, "NUL", "{\"v\":1,\"op\":\"stat\\u0000us\"}");
	refused(-EPROTO, "control character", "{\"v\":1,\"op\":\"stat\tus\"}");
	refused(-EPROTO, "nested", "{\"v\":[[[[[[[[1]]]]]]]]}");
	refused(-EPROTO, "version 1", "{\"op\":\"status\"}");
	refused(-EPROTO, "version 1", "{\"v\":2,\"op\":\"status\"}");
	refused(-EPROTO, "version 1", "{\"v\":\"1\",\"op\":\"status\"}");
	refused(-EPROTO, "version 1", "{\"V\":1,\"op\":\"status\"}");
	assert_int_equal(parse("{\"v\":1,\"op\":\"sta\0tus\"}", 23), -EPROTO);
	assert_non_null(strstr(why, "control character"));
	/* A backslash that does not begin \u0000. */
	refused(-EINVAL, "must be one of", "{\"v\":1,\"op\":\"\\\\u0000\"}");
}

static void test_fields(void **state)
{
	(void)state;
	refused(-EINVAL, "the field op is missing", "{\"v\":1}");
	refused(-EINVAL, "the field op is missing", "{\"v\":1,\"op\":7}");
	refused(-EINVAL, "must be one of status,", "{\"v\":1,\"op\":\"STATUS\"}");
	refused(-EINVAL, "no field session in status", "{\"v\":1,\"op\":\"status\",\"session\":1}");
	refused(-EINVAL, "no field x?y in status", "{\"v\":1,\"op\":\"status\",\"x\\ny\":1}");
	refused(-EINVAL, "no field Session in stop",
		"{\"v\":1,\"op\":\"stop\",\"Session\":1}");
	refused(-EINVAL, "session is missing in stop", "{\"v\":1,\"op\":\"stop\"}");
	refused(-EINVAL, "session is repeated",
		"{\"v\":1,\"op\":\"stop\",\"session\":1,\"session\":1}");
	refused(-EINVAL, "v is repeated", "{\"v\":1,\"op\":\"status\",\"v\":1}");
	refused(-EINVAL, "op is repeated", "{\"v\":1,\"op\":\"status\",\"op\":\"stop\"}");
	refused(-EINVAL, "status is missing", "{\"v\":1,\"op\":\"ended\",\"session\":1}");
	refused(-EINVAL, "pid is missing", "{\"v\":1,\"op\":\"launched\",\"session\":1}");
	refused(-EINVAL, "argv is missing", "{\"v\":1,\"op\":\"record\",\"cwd\":\"/\"}");
	refused(-EINVAL, "cwd is missing", "{\"v\":1,\"op\":\"record\",\"argv\":[\"a\"]}");
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {
		"0", "-1", "4294967296", "1e3", "1.5", "1.0", "\"1\"", "true", "null", "[1]",
		"01", "-", "99999999999999999999", "123456789012345678901", "1E400",
	};
	char line[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "{\"v\":1,\"op\":\"stop\",\"session\":%s}", bad[i]);
		refused(-EINVAL, "session", line);
	}
	refused(-EINVAL, "session must be a whole number from 1 to 4294967295",
		"{\"v\":1,\"op\":\"stop\",\"session\":0}");
	refused(-EINVAL, "session: a number must be whole",
		"{\"v\":1,\"op\":\"stop\",\"session\":1.5}");
	refused(-EINVAL, "from 1 to 4194304",
		"{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":4194305}");
	refused(-EINVAL, "from 0 to 65535",
		"{\"v\":1,\"op\":\"ended\",\"session\":1,\"status\":65536}");
}

#define RECORD(rest) "{\"v\":1,\"op\":\"record\"," rest "}"
#define OPTIONS(rest) RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"/s\",\"options\":" rest)

static void test_record_refused(void **state)
{
	(void)state;
	refused(-EINVAL, "argv must be an array", RECORD("\"argv\":[],\"cwd\":\"/\""));
	refused(-EINVAL, "argv must be an array", RECORD("\"argv\":\"a\",\"cwd\":\"/\""));
	refused(-EINVAL, "argv must be an array that contains only strings",
		RECORD("\"argv\":[\"a\",1],\"cwd\":\"/\""));
	refused(-EINVAL, "first string", RECORD("\"argv\":[\"\"],\"cwd\":\"/\""));
	refused(-EINVAL, "cwd must be an absolute path",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"x\""));
	refused(-EINVAL, "cwd must be an absolute path",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"\""));
	refused(-EINVAL, "store must be an absolute path",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":\"x.dep\""));
	refused(-EINVAL, "store must be a string",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":null"));
	refused(-EINVAL, "'store' is missing", RECORD("\"argv\":[\"a\"],\"cwd\":\"/\""));
	refused(-EINVAL, "options must be an object", OPTIONS("[]"));
	refused(-EINVAL, "no field fast in options", OPTIONS("{\"fast\":true}"));
	refused(-EINVAL, "drop is repeated", OPTIONS("{\"drop\":true,\"drop\":false}"));
	refused(-EINVAL, "drop must be true or false", OPTIONS("{\"drop\":1}"));
	refused(-EINVAL, "aslr must be true or false", OPTIONS("{\"aslr\":\"no\"}"));
	refused(-EINVAL, "ring_size must be a whole number from 65536",
		OPTIONS("{\"ring_size\":65535}"));
	refused(-EINVAL, "to 9007199254740991", OPTIONS("{\"max_size\":9007199254740992}"));
	refused(-EINVAL, "level must be", OPTIONS("{\"level\":20}"));
	refused(-EINVAL, "share must be a whole number from 0 to 4294967294",
		OPTIONS("{\"share\":4294967295}"));
	refused(-EINVAL, "share must be", OPTIONS("{\"share\":-1}"));
	refused(-EINVAL, "must be whole", OPTIONS("{\"share\":0.5}"));
	refused(-EINVAL, "share must be", OPTIONS("{\"share\":\"adm\"}"));
	refused(-EINVAL, "share must be", OPTIONS("{\"share\":true}"));
	refused(-EINVAL, "transport must be \"auto\"", OPTIONS("{\"transport\":\"tcp\"}"));
	refused(-EINVAL, "transport must be \"auto\"", OPTIONS("{\"transport\":0}"));
	refused(-EINVAL, "no_record stores nothing", OPTIONS("{\"no_record\":true}"));
	refused(-EINVAL, "no_record stores nothing",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"options\":{\"no_record\":true,"
		       "\"log_exec\":true}"));
	refused(-EINVAL, "share needs a store",
		RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"options\":{\"null\":true,\"share\":0}"));
	refused(-EINVAL, "why is allowed only if",
		"{\"v\":1,\"op\":\"launched\",\"session\":1,\"pid\":1,\"why\":\"x\"}");
}

/* A record request with @n arguments of @size bytes each. */
static int parse_long(size_t n, size_t size)
{
	char *line = malloc(n * (size + 3) + 128), *p = line;
	size_t i;
	int ret;

	assert_non_null(line);
	p += sprintf(p, "{\"v\":1,\"op\":\"record\",\"cwd\":\"/\",\"store\":\"/s\",\"argv\":[");
	for (i = 0; i < n; i++) {
		*p++ = '"';
		memset(p, 'x', size);
		p += size;
		p += sprintf(p, i + 1 < n ? "\"," : "\"");
	}
	p += sprintf(p, "]}");
	ret = parse(line, p - line);
	free(line);
	return ret;
}

#define TRIGGERS(rest) OPTIONS("{\"last_bytes\":4194304,\"triggers\":" rest "}")
#define FILE_OF(rest) OPTIONS("{\"last_bytes\":4194304,\"triggers\":[{\"glob\":\"f\"," \
			      "\"offsets\":[1]}],\"trigger_file\":" rest "}")

static void test_on_disk(void **state)
{
	(void)state;
	good(OPTIONS("{\"last_on_disk\":true,\"last_bytes\":4194304}"));
	assert_true(r.last_on_disk);
	request_free(&r);
	good(OPTIONS("{\"last_on_disk\":true,\"last_ns\":5}"));
	assert_true(r.last_on_disk);
	assert_int_equal(r.last_bytes, REQUEST_LAST);
	request_free(&r);
	good(OPTIONS("{\"last_on_disk\":false}"));
	assert_false(r.last_on_disk);
	request_free(&r);
	refused(-EINVAL, "last_on_disk needs last_bytes", OPTIONS("{\"last_on_disk\":true}"));
	refused(-EINVAL, "true or false",
		OPTIONS("{\"last_on_disk\":1,\"last_bytes\":4194304}"));
}

static void test_triggers(void **state)
{
	(void)state;
	good(OPTIONS("{\"last_ns\":5,\"snapshots\":1000000,\"trigger_file\":{\"major\":8,"
		     "\"minor\":4294967295,\"inode\":\"18446744073709551615\"},\"triggers\":["
		     "{\"glob\":\"f?*\"},{\"slow_ns\":9007199254740991,\"glob\":\"g\","
		     "\"offsets\":[0,9007199254740991]}]}"));
	assert_int_equal(r.snapshots, 1000000);
	assert_string_equal(r.triggers.of[0].glob, "f?*");
	assert_int_equal(r.triggers.of[0].slow_ns, 0);
	assert_string_equal(r.triggers.of[1].glob, "g");
	assert_int_equal(r.triggers.of[1].slow_ns, 9007199254740991);
	assert_string_equal(r.triggers.of[2].glob, "");
	assert_int_equal(r.triggers.dev, 8ull << 32 | 4294967295u);
	assert_int_equal(r.triggers.inode, UINT64_MAX);
	assert_int_equal(r.triggers.nplaces, 2);
	assert_int_equal(r.triggers.place[0].offset, 0);
	assert_int_equal(r.triggers.place[1].offset, 9007199254740991);
	assert_int_equal(r.triggers.place[1].number, 1);
	request_free(&r);
	good(OPTIONS("{\"last_bytes\":4194304}"));
	assert_int_equal(r.snapshots, REQUEST_SNAPSHOTS);
	request_free(&r);
	good(OPTIONS("{}"));
	assert_int_equal(r.snapshots, 0);
	request_free(&r);

	refused(-EINVAL, "need last_bytes", OPTIONS("{\"triggers\":[{\"glob\":\"f\"}]}"));
	refused(-EINVAL, "need last_bytes", OPTIONS("{\"snapshots\":1}"));
	refused(-EINVAL, "from 1 to 1000000",
		OPTIONS("{\"last_bytes\":4194304,\"snapshots\":0}"));
	refused(-EINVAL, "1 to 8 triggers", TRIGGERS("[]"));
	refused(-EINVAL, "1 to 8 triggers", TRIGGERS("{\"glob\":\"f\"}"));
	refused(-EINVAL, "1 to 8 triggers", TRIGGERS("[1,2,3,4,5,6,7,8,9]"));
	refused(-EINVAL, "must be an object", TRIGGERS("[\"f\"]"));
	refused(-EINVAL, "must be an object", TRIGGERS("[{\"glob\":\"f\",\"name\":\"f\"}]"));
	refused(-EINVAL, "must be an object", TRIGGERS("[{\"glob\":\"f\",\"glob\":\"f\"}]"));
	refused(-EINVAL, "1 to 55 bytes", TRIGGERS("[{}]"));
	refused(-EINVAL, "1 to 55 bytes", TRIGGERS("[{\"glob\":7}]"));
	refused(-EINVAL, "1 to 55 bytes", TRIGGERS("[{\"glob\":\"a\\\\b\"}]"));
	refused(-EINVAL, "1 to 55 bytes", TRIGGERS("[{\"glob\":\"0123456789012345678901234567890"
		"1234567890123456789012345\"}]"));
	refused(-EINVAL, "slow_ns", TRIGGERS("[{\"glob\":\"f\",\"slow_ns\":0}]"));
	refused(-EINVAL, "slow_ns", TRIGGERS("[{\"glob\":\"f\",\"slow_ns\":9007199254740992}]"));
	refused(-EINVAL, "offsets", TRIGGERS("[{\"glob\":\"f\",\"offsets\":1}]"));
	refused(-EINVAL, "offsets", TRIGGERS("[{\"glob\":\"f\",\"offsets\":[-1]}]"));
	refused(-EINVAL, "more than 32", TRIGGERS("[{\"glob\":\"f\",\"offsets\":[1,1,1,1,1,1,1,1,"
		"1,1,1,1,1,1,1,1]},{\"glob\":\"f\",\"offsets\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
		"1]}]"));
	refused(-EINVAL, "need each other", TRIGGERS("[{\"glob\":\"f\",\"offsets\":[1]}]"));
	refused(-EINVAL, "need each other", OPTIONS("{\"last_bytes\":4194304,\"trigger_file\":"
		"{\"major\":1,\"minor\":1,\"inode\":\"1\"}}"));
	refused(-EINVAL, "string of digits", FILE_OF("[]"));
	refused(-EINVAL, "string of digits", FILE_OF("{\"major\":1,\"minor\":1}"));
	refused(-EINVAL, "string of digits",
		FILE_OF("{\"major\":1,\"minor\":1,\"inode\":1}"));
	refused(-EINVAL, "string of digits",
		FILE_OF("{\"major\":1,\"minor\":1,\"inode\":\"0\"}"));
	refused(-EINVAL, "string of digits",
		FILE_OF("{\"major\":1,\"minor\":1,\"inode\":\"18446744073709551616\"}"));
	refused(-EINVAL, "string of digits",
		FILE_OF("{\"major\":4294967296,\"minor\":1,\"inode\":\"1\"}"));
}

static void test_keep_if(void **state)
{
	(void)state;
	good(OPTIONS("{\"keep_if\":\"crash\"}"));
	assert_int_equal(r.keep_if, DEP_KEEP_IF_CRASH);
	request_free(&r);
	good(OPTIONS("{\"keep_if\":\"failure\",\"last_ns\":1}"));
	assert_int_equal(r.keep_if, DEP_KEEP_IF_FAILURE);
	request_free(&r);
	good(OPTIONS("{}"));
	assert_int_equal(r.keep_if, DEP_KEEP_IF_ALWAYS);
	request_free(&r);
	refused(-EINVAL, "\"always\", \"failure\" or", OPTIONS("{\"keep_if\":\"never\"}"));
	refused(-EINVAL, "\"always\", \"failure\" or", OPTIONS("{\"keep_if\":1}"));
	refused(-EINVAL, "excludes attach", RECORD("\"argv\":[\"a\"],\"cwd\":\"/\",\"store\":"
		"\"/s\",\"attach\":true,\"options\":{\"keep_if\":\"crash\"}"));
	refused(-EINVAL, "keep_if needs a store", RECORD("\"argv\":[\"a\"],\"cwd\":\"/\","
		"\"options\":{\"no_record\":true,\"keep_if\":\"crash\"}"));
}

static void test_trigger(void **state)
{
	(void)state;
	good("{\"v\":1,\"op\":\"trigger\",\"session\":3,\"event\":\"page-faults\",\"count\":7}");
	assert_int_equal(r.op, REQUEST_TRIGGER);
	assert_string_equal(r.event, "page-faults");
	assert_int_equal(r.count, 7);
	request_free(&r);
	refused(-EINVAL, "event is missing",
		"{\"v\":1,\"op\":\"trigger\",\"session\":3,\"count\":7}");
	refused(-EINVAL, "small letters", "{\"v\":1,\"op\":\"trigger\",\"session\":3,\"count\":7,"
		"\"event\":\"A\"}");
	refused(-EINVAL, "small letters", "{\"v\":1,\"op\":\"trigger\",\"session\":3,\"count\":7,"
		"\"event\":\"\"}");
	refused(-EINVAL, "shorter than 64", "{\"v\":1,\"op\":\"trigger\",\"session\":3,\"count\":7,"
		"\"event\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
	refused(-EINVAL, "count must be", "{\"v\":1,\"op\":\"trigger\",\"session\":3,\"count\":0,"
		"\"event\":\"a\"}");
}

static void test_limits(void **state)
{
	char line[8192];
	int n;

	(void)state;
	assert_int_equal(parse_long(REQUEST_ARGC_MAX, 10), 0);
	assert_int_equal(r.argc, REQUEST_ARGC_MAX);
	request_free(&r);
	assert_int_equal(parse_long(REQUEST_ARGC_MAX + 1, 10), -EINVAL);
	assert_int_equal(parse_long(1, DEPD_LINE_MAX - 100), 0);
	request_free(&r);
	assert_int_equal(parse_long(1, DEPD_LINE_MAX), -EMSGSIZE);
	assert_non_null(strstr(why, "262144 bytes"));
	for (n = 4095; n <= 4096; n++) {
		snprintf(line, sizeof(line), RECORD("\"argv\":[\"a\"],\"cwd\":\"/%0*d\","
			 "\"store\":\"/s\""), n - 1, 0);
		if (n == 4095) {
			good(line);
			request_free(&r);
		} else {
			refused(-EINVAL, "cwd must be shorter than 4096", line);
		}
	}
}

static void test_short_why(void **state)
{
	char small[8];

	(void)state;
	assert_int_equal(request_parse(&r, "{\"v\":1.5}", 9, small, sizeof(small)), -EINVAL);
	assert_true(strlen(small) < sizeof(small));
}

/* Valid lines with one wrong byte: no crash and no leak. */
static void test_random(void **state)
{
	static const char base[] = OPTIONS("{\"drop\":true,\"level\":3,\"transport\":\"kmod\"}");
	static const char bytes[] = "\"\\{}[]:,0-e.tfnu \x01\xff";
	const char *seed = getenv("ADEPT_TEST_SEED");
	char line[sizeof(base)];
	unsigned int i, k;

	(void)state;
	srand(seed ? atoi(seed) : 1);
	for (i = 0; i < 200000; i++) {
		memcpy(line, base, sizeof(base));
		for (k = rand() % 3 + 1; k; k--)
			line[rand() % (sizeof(base) - 1)] = bytes[rand() % (sizeof(bytes) - 1)];
		if (!parse(line, sizeof(base) - 1))
			request_free(&r);
		else
			assert_true(*why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain), cmocka_unit_test(test_record),
		cmocka_unit_test(test_attach), cmocka_unit_test(test_no_json),
		cmocka_unit_test(test_fields), cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_keep_if), cmocka_unit_test(test_on_disk),
		cmocka_unit_test(test_trigger), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_record_refused),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_short_why),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}

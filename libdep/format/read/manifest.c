// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include "libdep/format/file/error.h"
#include "manifest.h"

/* 64-bit numbers are decimal strings: most JSON parsers convert numbers to doubles. */

#define MAX_SIZE	(64u << 20)	/* maximum size of the file in bytes */
#define MAX_ARGS	100000
/* Limit against forged files: a value can have two bytes, but cJSON needs 112 bytes for it. */
#define MAX_VALUES	(1u << 20)

/* Names of the members of struct dep_loss in the manifest. */
static const struct {
	const char *name;
	size_t off;
} loss_member[] = {
	{ "dropped_chunks", offsetof(struct dep_loss, dropped_chunks) },
	{ "dropped_bytes", offsetof(struct dep_loss, dropped_bytes) },
	{ "discarded_bytes", offsetof(struct dep_loss, discarded_bytes) },
	{ "lost_threads", offsetof(struct dep_loss, lost_threads) },
	{ "lost_processes", offsetof(struct dep_loss, lost_processes) },
	{ "native_images", offsetof(struct dep_loss, native_images) },
	{ "native_privileged", offsetof(struct dep_loss, native_privileged) },
	{ "unfinished_threads", offsetof(struct dep_loss, unfinished_threads) },
	{ "absent_chunks", offsetof(struct dep_loss, absent_chunks) },
	{ "absent_bytes", offsetof(struct dep_loss, absent_bytes) },
	{ "untaken_threads", offsetof(struct dep_loss, untaken_threads) },
	{ "lost_descriptors", offsetof(struct dep_loss, lost_descriptors) },
	{ "unwanted_children", offsetof(struct dep_loss, unwanted_children) },
	{ "corrupt", offsetof(struct dep_loss, corrupt) },
};

#define NLOSS (sizeof(loss_member) / sizeof(loss_member[0]))

static void put_u64(cJSON *o, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	cJSON_AddStringToObject(o, name, text);
}

static uint64_t get_u64(const cJSON *o, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	return cJSON_IsString(v) ? strtoull(v->valuestring, NULL, 10) : 0;
}

static uint32_t get_u32(const cJSON *o, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= UINT32_MAX ?
		       (uint32_t)v->valuedouble : 0;
}

static int get_int(const cJSON *o, const char *name, int otherwise)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);

	return cJSON_IsNumber(v) ? v->valueint : otherwise;
}

/* Get "model name" of the first processor in /proc/cpuinfo. */
static void cpu_name(char *name, size_t size)
{
	char line[256], *s;
	FILE *f;

	name[0] = 0;
	f = fopen("/proc/cpuinfo", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10))
			continue;
		s = strchr(line, ':');
		if (s) {
			s[strcspn(s, "\n")] = 0;
			snprintf(name, size, "%s", s + 1 + strspn(s + 1, " "));
		}
		break;
	}
	fclose(f);
}

/* Does the kernel regard the time stamp counters of all processors as one clock? */
static bool tsc_trusted(void)
{
	char line[256] = "", *at = line, *word;
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	while ((word = strsep(&at, " \n")))
		if (!strcmp(word, "tsc"))
			return true;
	return false;
}

static void put_host(cJSON *o)
{
	struct utsname u;
	char cpu[128];

	if (!uname(&u)) {
		cJSON_AddStringToObject(o, "host", u.nodename);
		cJSON_AddStringToObject(o, "kernel", u.release);
	}
	cpu_name(cpu, sizeof(cpu));
	cJSON_AddStringToObject(o, "cpu", cpu);
	cJSON_AddStringToObject(o, "clock", "CLOCK_MONOTONIC");
	cJSON_AddBoolToObject(o, "tsc_trusted", tsc_trusted());
}

/* ---- the recording process ---- */

/* Start of a process in clock ticks since boot: field 22 of /proc/PID/stat; 0 on failure. */
static u64 start_of(int pid)
{
	char path[40], text[1024], *at;
	u64 start = 0;
	size_t n;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* Field 2, the name in parentheses, can contain anything: begin after the last ')'. */
	at = strrchr(text, ')');
	for (i = 2; at && i < 22; i++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at + 1, NULL, 10);
	return start;
}

static void read_boot_id(char *id, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(id, (int)size, f))
		id[0] = '\0';
	if (f)
		fclose(f);
	id[strcspn(id, "\n")] = '\0';
}

void dep_recorder_self(struct dep_recorder *r)
{
	r->pid = getpid();
	r->start = start_of(r->pid);
	read_boot_id(r->boot_id, sizeof(r->boot_id));
}

bool dep_recorder_lives(const struct dep_recorder *r)
{
	char boot_id[40];

	read_boot_id(boot_id, sizeof(boot_id));
	if (!r->pid || !*boot_id || strcmp(boot_id, r->boot_id))
		return false;
	if (r->start)
		return start_of(r->pid) == r->start;
	return !kill(r->pid, 0) || errno == EPERM;
}

/* ---- writing ---- */

static void put_id(cJSON *o, const struct dep_format *fmt)
{
	char text[2 * DEP_ID_SIZE + 1];
	size_t i;

	for (i = 0; i < DEP_ID_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", fmt->id[i]);
	cJSON_AddStringToObject(o, "id", text);
}

void dep_manifest_recorder(void *tree)
{
	struct dep_recorder r;
	cJSON *o;

	dep_recorder_self(&r);
	cJSON_DeleteItemFromObjectCaseSensitive(tree, "recorder");
	o = cJSON_AddObjectToObject(tree, "recorder");
	cJSON_AddNumberToObject(o, "pid", r.pid);
	put_u64(o, "start", r.start);
	cJSON_AddStringToObject(o, "boot_id", r.boot_id);
}

void *dep_manifest_new(const struct dep_format *fmt, const struct dep_meta *meta)
{
	cJSON *o = cJSON_CreateObject(), *a;
	int k;

	if (!o)
		return NULL;
	cJSON_AddStringToObject(o, "format", "DEP");
	cJSON_AddNumberToObject(o, "version", fmt->version);
	put_id(o, fmt);
	cJSON_AddStringToObject(o, "state", "recording");
	dep_manifest_recorder(o);
	a = cJSON_AddArrayToObject(o, "command");
	for (k = 0; k < meta->argc; k++)
		cJSON_AddItemToArray(a, cJSON_CreateString(meta->argv[k]));
	cJSON_AddStringToObject(o, "cwd", meta->cwd ? meta->cwd : "");
	cJSON_AddNumberToObject(o, "session_flags", meta->session_flags);
	cJSON_AddNumberToObject(o, "chunk_size", meta->chunk_size);
	cJSON_AddNumberToObject(o, "nchunks", meta->nchunks);
	put_u64(o, "max_size", meta->max_size);
	cJSON_AddBoolToObject(o, "aslr", meta->aslr);
	put_u64(o, "start_ns", meta->start_ns);
	put_u64(o, "start_realtime_ns", meta->start_realtime_ns);
	put_host(o);
	return o;
}

void dep_manifest_end(void *tree, const struct dep_ending *e, u64 end_at, u64 end_check)
{
	static const char *const replaced[] = {
		"state", "cause", "error", "live", "exit_status", "end", "loss",
	};
	char check[17];
	cJSON *o;
	size_t i;

	for (i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(tree, replaced[i]);
	cJSON_AddStringToObject(tree, "state", "closed");
	cJSON_AddStringToObject(tree, "cause", dep_close_cause_name(e->cause));
	cJSON_AddNumberToObject(tree, "error", e->error);
	cJSON_AddNumberToObject(tree, "live", e->live);
	cJSON_AddNumberToObject(tree, "exit_status", e->exit_status);
	o = cJSON_AddObjectToObject(tree, "end");
	put_u64(o, "offset", end_at);
	snprintf(check, sizeof(check), "%016" PRIx64, end_check);
	cJSON_AddStringToObject(o, "check", check);
	o = cJSON_AddObjectToObject(tree, "loss");
	for (i = 0; i < NLOSS; i++)
		put_u64(o, loss_member[i].name,
			*(const uint64_t *)((const char *)&e->loss + loss_member[i].off));
}

/* The manifest ends with these texts around the checksum of the text before CHECK_BEFORE. */
#define CHECK_BEFORE	",\n\t\"check\":\t\""
#define CHECK_AFTER	"\"\n}\n"

int dep_manifest_write(int dirfd, const struct dep_access *access, void *tree, bool durable)
{
	char *text, *all;
	size_t n, room;
	int err;

	cJSON_DeleteItemFromObjectCaseSensitive(tree, "check");
	text = cJSON_Print(tree);
	if (!text)
		return dep_fail(-ENOMEM, "manifest");
	n = strlen(text) - strlen("\n}");
	room = n + sizeof(CHECK_BEFORE) + 16 + sizeof(CHECK_AFTER);
	all = malloc(room);
	if (!all) {
		cJSON_free(text);
		return dep_fail(-ENOMEM, "manifest");
	}
	n = (size_t)snprintf(all, room, "%.*s" CHECK_BEFORE "%016" PRIx64 CHECK_AFTER, (int)n,
			     text, (uint64_t)XXH3_64bits(text, n));
	err = dep_write_whole(dirfd, DEP_MANIFEST_NAME, all, n, access, durable);
	cJSON_free(text);
	free(all);
	return err;
}

void dep_manifest_drop(void *tree)
{
	cJSON_Delete(tree);
}

/* ---- reading ---- */

/* An upper bound for the number of values in the text; invalid JSON is not rejected here. */
static size_t count_values(const char *text, size_t size)
{
	bool string = false;
	size_t i, n = 1;

	for (i = 0; i < size; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		else if (!string)
			n += text[i] == ',' || text[i] == '[' || text[i] == '{';
	}
	return n;
}

/* Does the text end with its own checksum?  @text ends with a NUL byte. */
static bool is_unchanged(const char *text, size_t size)
{
	const size_t tail = strlen(CHECK_BEFORE) + 16 + strlen(CHECK_AFTER);
	char expect[80];

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	return true;
#endif
	if (size < tail)
		return false;
	snprintf(expect, sizeof(expect), CHECK_BEFORE "%016" PRIx64 CHECK_AFTER,
		 (uint64_t)XXH3_64bits(text, size - tail));
	return !memcmp(text + size - tail, expect, tail);
}

static bool read_id(struct dep_format *fmt, const cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "id");
	unsigned int byte;
	size_t i;

	if (!cJSON_IsString(v) || strlen(v->valuestring) != 2 * DEP_ID_SIZE)
		return false;
	for (i = 0; i < DEP_ID_SIZE; i++) {
		if (sscanf(v->valuestring + 2 * i, "%2x", &byte) != 1)
			return false;
		fmt->id[i] = (u8)byte;
	}
	dep_format_seed(fmt);
	return true;
}

/* Check that @o, parsed from @text, is an unchanged manifest of a supported version. */
static int check_tree(struct dep_manifest *m, const cJSON *o, const char *text, size_t size)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "format");

	if (!cJSON_IsString(v) || strcmp(v->valuestring, "DEP"))
		return dep_fail(-EBADMSG, "%s is not the manifest of a DEP store",
				DEP_MANIFEST_NAME);
	m->fmt.version = get_u32(o, "version");
	if (m->fmt.version < DEP_FORMAT_OLD || m->fmt.version > DEP_FORMAT_VERSION)
		return dep_fail(-EPROTONOSUPPORT,
				"unsupported format version %u; this program reads %u to %u",
				m->fmt.version, DEP_FORMAT_OLD, DEP_FORMAT_VERSION);
	if (m->fmt.version == DEP_FORMAT_OLD)
		return 0;
	if (!is_unchanged(text, size))
		return dep_fail(-EBADMSG, "%s was changed: its checksum is wrong",
				DEP_MANIFEST_NAME);
	if (!read_id(&m->fmt, o))
		return dep_fail(-EBADMSG, "%s has no store id", DEP_MANIFEST_NAME);
	return 0;
}

static void read_recorder(struct dep_recorder *r, const cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "boot_id");

	r->pid = get_int(o, "pid", 0);
	r->start = get_u64(o, "start");
	snprintf(r->boot_id, sizeof(r->boot_id), "%s", cJSON_IsString(v) ? v->valuestring : "");
}

static void read_end(struct dep_manifest *m, const cJSON *o)
{
	const cJSON *v, *end = cJSON_GetObjectItemCaseSensitive(o, "end");
	const cJSON *loss = cJSON_GetObjectItemCaseSensitive(o, "loss");
	int cause;
	size_t i;

	v = cJSON_GetObjectItemCaseSensitive(o, "cause");
	for (cause = DEP_CLOSE_CAUSES - 1; cause > DEP_CLOSE_UNKNOWN; cause--)
		if (cJSON_IsString(v) && !strcmp(v->valuestring, dep_close_cause_name(cause)))
			break;
	m->ending.cause = cause;
	m->ending.error = get_int(o, "error", 0);
	m->ending.live = get_u32(o, "live");
	m->ending.exit_status = get_int(o, "exit_status", -1);
	m->end_at = get_u64(end, "offset");
	v = cJSON_GetObjectItemCaseSensitive(end, "check");
	m->end_check = cJSON_IsString(v) ? strtoull(v->valuestring, NULL, 16) : 0;
	for (i = 0; i < NLOSS; i++)
		*(uint64_t *)((char *)&m->ending.loss + loss_member[i].off) =
			get_u64(loss, loss_member[i].name);
}

static int read_argv(struct dep_manifest *m, const cJSON *o)
{
	const cJSON *a = cJSON_GetObjectItemCaseSensitive(o, "command"), *s;
	int n = cJSON_GetArraySize(a);

	if (!cJSON_IsArray(a) || n > MAX_ARGS)
		n = 0;
	m->argv = calloc((size_t)n + 1, sizeof(*m->argv));
	if (!m->argv)
		return dep_fail(-ENOMEM, "manifest");
	m->meta.argc = 0;
	if (n)
		cJSON_ArrayForEach(s, a)
			m->argv[m->meta.argc++] = cJSON_IsString(s) ? s->valuestring : (char *)"";
	m->meta.argv = m->argv;
	return 0;
}

static void read_meta(struct dep_meta *meta, const cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "cwd");

	meta->cwd = cJSON_IsString(v) ? v->valuestring : "";
	meta->session_flags = get_u32(o, "session_flags");
	meta->chunk_size = get_u32(o, "chunk_size");
	meta->nchunks = get_u32(o, "nchunks");
	meta->max_size = get_u64(o, "max_size");
	meta->aslr = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "aslr"));
	meta->start_ns = get_u64(o, "start_ns");
	meta->start_realtime_ns = get_u64(o, "start_realtime_ns");
	meta->tsc_trusted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "tsc_trusted"));
}

int dep_manifest_read(int dirfd, struct dep_manifest *m)
{
	const cJSON *v;
	size_t size;
	void *text;
	cJSON *o;
	int err;

	memset(m, 0, sizeof(*m));
	m->ending.exit_status = -1;
	err = dep_read_all(dirfd, DEP_MANIFEST_NAME, MAX_SIZE, &text, &size);
	if (err)
		return err;
	if (count_values(text, size) > MAX_VALUES) {
		free(text);
		return dep_fail(-EFBIG, "%s has more than %u values", DEP_MANIFEST_NAME,
				MAX_VALUES);
	}
	o = cJSON_ParseWithLength(text, size);
	if (!o) {
		free(text);
		return dep_fail(-EBADMSG, "%s does not parse", DEP_MANIFEST_NAME);
	}
	err = check_tree(m, o, text, size);
	free(text);
	if (!err)
		err = read_argv(m, o);
	if (err) {
		cJSON_Delete(o);
		memset(m, 0, sizeof(*m));
		return err;
	}
	m->tree = o;
	read_meta(&m->meta, o);
	read_recorder(&m->recorder, cJSON_GetObjectItemCaseSensitive(o, "recorder"));
	v = cJSON_GetObjectItemCaseSensitive(o, "state");
	m->closed = cJSON_IsString(v) && (!strcmp(v->valuestring, "closed") ||
					  !strcmp(v->valuestring, "complete"));
	if (m->closed)
		read_end(m, o);
	return 0;
}

void dep_manifest_free(struct dep_manifest *m)
{
	cJSON_Delete(m->tree);
	free(m->argv);
	memset(m, 0, sizeof(*m));
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * 64-bit numbers are decimal strings: JSON's numbers are doubles to most readers.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "error.h"
#include "file.h"
#include "manifest.h"

#define MAX_ARGS	100000

/* Names of struct dep_loss's members, in its order. */
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
	{ "unfinished_threads", offsetof(struct dep_loss, unfinished_threads) },
	{ "absent_chunks", offsetof(struct dep_loss, absent_chunks) },
	{ "absent_bytes", offsetof(struct dep_loss, absent_bytes) },
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

/* "model name" of the first processor. */
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

/* Does the kernel take the processors' time stamp counters, which tickets are, for one clock? */
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

static cJSON *build(const struct dep_meta *meta, const struct dep_loss *loss, int exit_status)
{
	cJSON *o = cJSON_CreateObject(), *a;
	size_t i;
	int k;

	if (!o)
		return NULL;
	cJSON_AddStringToObject(o, "format", "DEP");
	cJSON_AddNumberToObject(o, "version", DEP_FORMAT_VERSION);
	cJSON_AddStringToObject(o, "state", loss ? "complete" : "recording");
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
	if (loss) {
		cJSON_AddNumberToObject(o, "exit_status", exit_status);
		a = cJSON_AddObjectToObject(o, "loss");
		for (i = 0; i < NLOSS; i++)
			put_u64(a, loss_member[i].name,
				*(const uint64_t *)((const char *)loss + loss_member[i].off));
	}
	return o;
}

int dep_manifest_write(int dirfd, const struct dep_meta *meta, const struct dep_loss *loss,
		       int exit_status)
{
	cJSON *o = build(meta, loss, exit_status);
	char *text = o ? cJSON_Print(o) : NULL;
	size_t n;
	int err;

	cJSON_Delete(o);
	if (!text)
		return dep_fail(-ENOMEM, "manifest");
	n = strlen(text);
	text[n] = '\n';		/* in place of the NUL */
	err = dep_write_whole(dirfd, DEP_MANIFEST_NAME, text, n + 1);
	cJSON_free(text);
	return err;
}

static int read_argv(struct dep_manifest *m, const cJSON *o)
{
	const cJSON *a = cJSON_GetObjectItemCaseSensitive(o, "command"), *s;
	int n = cJSON_GetArraySize(a);

	if (!cJSON_IsArray(a) || n > MAX_ARGS)
		n = 0;
	m->argv = calloc((size_t)n + 1, sizeof(*m->argv));
	if (!m->argv)
		return -ENOMEM;
	m->meta.argc = 0;
	if (n)
		cJSON_ArrayForEach(s, a)
			m->argv[m->meta.argc++] = cJSON_IsString(s) ? s->valuestring : (char *)"";
	m->meta.argv = m->argv;
	return 0;
}

int dep_manifest_read(int dirfd, struct dep_manifest *m)
{
	const cJSON *v, *loss;
	size_t size, i;
	void *text;
	cJSON *o;
	int err;

	memset(m, 0, sizeof(*m));
	m->exit_status = -1;
	err = dep_read_all(dirfd, DEP_MANIFEST_NAME, &text, &size);
	if (err)
		return err;
	o = cJSON_ParseWithLength(text, size);
	free(text);
	if (!o)
		return dep_fail(-EBADMSG, "%s does not parse", DEP_MANIFEST_NAME);
	v = cJSON_GetObjectItemCaseSensitive(o, "format");
	if (!cJSON_IsString(v) || strcmp(v->valuestring, "DEP") ||
	    get_u32(o, "version") != DEP_FORMAT_VERSION) {
		cJSON_Delete(o);
		return dep_fail(-EBADMSG, "%s is not of a DEP store of version %u",
				DEP_MANIFEST_NAME, DEP_FORMAT_VERSION);
	}
	err = read_argv(m, o);
	if (err) {
		cJSON_Delete(o);
		return dep_fail(err, "manifest");
	}
	m->tree = o;
	v = cJSON_GetObjectItemCaseSensitive(o, "cwd");
	m->meta.cwd = cJSON_IsString(v) ? v->valuestring : "";
	m->meta.session_flags = get_u32(o, "session_flags");
	m->meta.chunk_size = get_u32(o, "chunk_size");
	m->meta.nchunks = get_u32(o, "nchunks");
	m->meta.max_size = get_u64(o, "max_size");
	m->meta.aslr = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "aslr"));
	m->meta.start_ns = get_u64(o, "start_ns");
	m->meta.start_realtime_ns = get_u64(o, "start_realtime_ns");
	m->meta.tsc_trusted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "tsc_trusted"));
	m->exit_status = get_int(o, "exit_status", -1);
	v = cJSON_GetObjectItemCaseSensitive(o, "state");
	m->closed = cJSON_IsString(v) && !strcmp(v->valuestring, "complete");
	loss = cJSON_GetObjectItemCaseSensitive(o, "loss");
	for (i = 0; i < NLOSS; i++)
		*(uint64_t *)((char *)&m->loss + loss_member[i].off) =
			get_u64(loss, loss_member[i].name);
	return 0;
}

void dep_manifest_free(struct dep_manifest *m)
{
	cJSON_Delete(m->tree);
	free(m->argv);
	memset(m, 0, sizeof(*m));
}

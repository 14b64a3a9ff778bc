// SPDX-License-Identifier: GPL-2.0-or-later
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "libdep/format/file/wire.h"
#include "old_store.h"

#define OLD_FILE_HEADER	offsetof(struct dep_file_header, id)
#define OLD_FRAME	(offsetof(struct dep_frame, prev) + sizeof(u64))

/* Read the whole file and add a NUL byte; NULL on failure. */
static u8 *load(const char *dir, const char *name, size_t *size)
{
	char path[512];
	struct stat st;
	u8 *data;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	if (fstat(fileno(f), &st))
		st.st_size = 0;
	data = calloc(1, (size_t)st.st_size + 1);
	*size = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	return data;
}

static int save(const char *dir, const char *name, const void *data, size_t size)
{
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		return -1;
	n = fwrite(data, 1, size, f);
	return fclose(f) || n != size ? -1 : 0;
}

static void put_file_header(u8 *out, const u8 *in)
{
	const u32 version = DEP_FORMAT_OLD;

	memcpy(out, in, OLD_FILE_HEADER);
	memcpy(out + offsetof(struct dep_file_header, version), &version, sizeof(version));
}

/* ---- the log ---- */

/* Size of a frame's payload in format 3, which is a prefix of that in format 4. */
static u32 payload_size(const struct dep_frame *fr, bool oldest)
{
	switch (fr->type) {
	case DEP_F_PROCESS_END:
		return oldest ? offsetof(struct dep_wire_process_end, built) : fr->size;
	case DEP_F_THREAD:
	case DEP_F_THREAD_END:
		return oldest ? offsetof(struct dep_wire_thread, end) :
				offsetof(struct dep_wire_thread, segments);
	case DEP_F_END:
		return oldest ? offsetof(struct dep_wire_end, unfinished_threads) :
				offsetof(struct dep_wire_end, untaken_threads);
	default:
		return fr->size;
	}
}

static size_t put_frame(u8 *out, const struct dep_frame *fr, bool oldest)
{
	const u32 size = payload_size(fr, oldest), none = 0;
	u64 check;

	memcpy(out, fr, offsetof(struct dep_frame, prev));
	memcpy(out + offsetof(struct dep_frame, size), &size, sizeof(size));
	memcpy(out + OLD_FRAME, fr + 1, size);
	if (fr->type == DEP_F_END)
		memcpy(out + OLD_FRAME + offsetof(struct dep_wire_end, fixed), &none, sizeof(none));
	check = XXH3_64bits(out, offsetof(struct dep_frame, prev));
	check = XXH3_64bits_withSeed(out + OLD_FRAME, size, check);
	memcpy(out + offsetof(struct dep_frame, prev), &check, sizeof(check));
	return dep_align8(OLD_FRAME + size);
}

static int convert_log(const char *dir, bool oldest)
{
	size_t size, at, to = OLD_FILE_HEADER;
	u8 *in = load(dir, DEP_LOG_NAME, &size), *out;
	const struct dep_frame *fr;
	int err = -1;

	out = in ? calloc(1, size + 8) : NULL;
	if (!out)
		goto out_free;
	put_file_header(out, in);
	for (at = sizeof(struct dep_file_header); at + sizeof(*fr) <= size;
	     at += dep_align8(sizeof(*fr) + (u64)fr->size)) {
		fr = (const void *)(in + at);
		if (fr->type < DEP_F_MARK)
			to += put_frame(out + to, fr, oldest);
	}
	err = save(dir, DEP_LOG_NAME, out, to);

out_free:
	free(out);
	free(in);
	return err;
}

/* ---- the segments ---- */

static size_t put_segment(u8 *out, const u8 *in)
{
	const size_t head = offsetof(struct dep_seg_header, index);
	struct dep_seg_header h;
	const u8 *columns = in + sizeof(h);
	u64 check;

	memcpy(&h, in, sizeof(h));
	h.version = DEP_FORMAT_OLD;
	h.size = DEP_SEG_HEADER_OLD;
	h.control_check = XXH3_64bits(columns, h.control_stored);
	h.value_check = XXH3_64bits(columns + h.control_stored, h.value_stored);
	check = XXH3_64bits(&h, head);
	memcpy(out, &h, head);
	memcpy(out + head, &check, sizeof(check));
	memcpy(out + h.size, columns, (size_t)h.control_stored + h.value_stored);
	return dep_seg_bytes(&h);
}

static int convert_segments(const char *dir)
{
	size_t size, at, to = OLD_FILE_HEADER;
	u8 *in = load(dir, "segments.000", &size), *out;
	int err = -1;

	out = in ? calloc(1, size + 8) : NULL;
	if (!out)
		goto out_free;
	put_file_header(out, in);
	for (at = sizeof(struct dep_file_header); at + sizeof(struct dep_seg_header) <= size;
	     at += dep_seg_bytes((const void *)(in + at)))
		to += put_segment(out + to, in + at);
	err = save(dir, "segments.000", out, to);

out_free:
	free(out);
	free(in);
	return err;
}

/* ---- the manifest ---- */

static int convert_manifest(const char *dir)
{
	static const char *const newer[] = {
		"id", "check", "recorder", "cause", "error", "live", "end",
	};
	size_t size, i;
	char *text = (char *)load(dir, "manifest.json", &size);
	cJSON *o = text ? cJSON_Parse(text) : NULL;
	const cJSON *state = cJSON_GetObjectItemCaseSensitive(o, "state");
	int err = -1;

	free(text);
	if (!state)
		goto out_free;
	for (i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(o, newer[i]);
	cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(o, "version"), DEP_FORMAT_OLD);
	if (!strcmp(state->valuestring, "closed"))
		cJSON_ReplaceItemInObjectCaseSensitive(o, "state", cJSON_CreateString("complete"));
	text = cJSON_Print(o);
	if (text)
		err = save(dir, "manifest.json", text, strlen(text));
	cJSON_free(text);

out_free:
	cJSON_Delete(o);
	return err;
}

int old_store(const char *dir, bool oldest)
{
	if (convert_log(dir, oldest) || convert_segments(dir))
		return -1;
	return convert_manifest(dir);
}

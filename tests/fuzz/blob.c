// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "tests/unit/lib/scratch.h"
#include "blob.h"

const char *const blob_names[BLOB_FILES] = {
	"manifest.json", "fragments", "catalog.db", "segments.000", "segments.001",
};

static char dir[128];
static int dirfd_of_store = -1;

static void cleanup(void)
{
	scratch_remove(dir);
}

const char *blob_dir(void)
{
	char text[] = "/dev/shm/adept-fuzz-XXXXXX";

	if (dirfd_of_store >= 0)
		return dir;
	if (!mkdtemp(text))
		abort();
	strcpy(dir, text);
	dirfd_of_store = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd_of_store < 0)
		abort();
	atexit(cleanup);
	return dir;
}

static void put(const char *name, const uint8_t *p, size_t size)
{
	int fd = openat(dirfd_of_store, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, p, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void remove_all(void)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		abort();
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd_of_store, e->d_name, 0);
	closedir(d);
}

void blob_put(const uint8_t *data, size_t size)
{
	uint32_t len;
	int i;

	blob_dir();
	remove_all();
	for (i = 0; i < BLOB_FILES && size >= sizeof(len); i++) {
		memcpy(&len, data, sizeof(len));
		data += sizeof(len);
		size -= sizeof(len);
		if (len == UINT32_MAX)
			continue;
		if (len > size)
			len = (uint32_t)size;
		put(blob_names[i], data, len);
		data += len;
		size -= len;
	}
}

/* It ends with:  ,\n\t"check":\t"0123456789abcdef"\n}\n */
void blob_seal_manifest(uint8_t *text, size_t size)
{
	static const char before[] = ",\n\t\"check\":\t\"";
	const size_t tail = sizeof(before) - 1 + 16 + 4;
	char check[17];

	if (size < tail || memcmp(text + size - tail, before, sizeof(before) - 1))
		return;
	snprintf(check, sizeof(check), "%016llx",
		 (unsigned long long)XXH3_64bits(text, size - tail));
	memcpy(text + size - 20, check, 16);
}

static void unclose(uint8_t *text, size_t size)
{
	uint8_t *at = memmem(text, size, "\"closed\"", 8);

	if (at)
		memcpy(at, "\"opened\"", 8);
	blob_seal_manifest(text, size);
}

void blob_pack(const char *from, bool unclosed)
{
	static uint8_t buf[1 << 24];
	char path[512];
	uint32_t size;
	FILE *f;
	int i;

	for (i = 0; i < BLOB_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", from, blob_names[i]);
		f = fopen(path, "rb");
		size = f ? (uint32_t)fread(buf, 1, sizeof(buf), f) : UINT32_MAX;
		if (f && i == BLOB_MANIFEST && unclosed)
			unclose(buf, size);
		fwrite(&size, sizeof(size), 1, stdout);
		if (f)
			fwrite(buf, 1, size, stdout);
		if (f)
			fclose(f);
	}
	fflush(stdout);
}

uint64_t blob_hash(const uint8_t *data, size_t size)
{
	return XXH3_64bits(data, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *how = *argc == 3 ? (*argv)[1] : "";

	if (!strcmp(how, "-pack") || !strcmp(how, "-unclosed")) {
		blob_pack((*argv)[2], !strcmp(how, "-unclosed"));
		_exit(0);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * set_manifest STORE KEY true|false: change a member of a store's manifest.json, which ends with a
 * checksum of its text.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "libdep/format/read/manifest.h"

int main(int argc, char **argv)
{
	const struct dep_access access = { 0 };
	struct dep_manifest m;
	int dirfd;

	if (argc != 4)
		return 2;
	dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0 || dep_manifest_read(dirfd, &m)) {
		fprintf(stderr, "set_manifest: %s: %s\n", argv[1], dep_error());
		return 1;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(m.tree, argv[2]);
	cJSON_AddBoolToObject(m.tree, argv[2], !strcmp(argv[3], "true"));
	return dep_manifest_write(dirfd, &access, m.tree, false) ? 1 : 0;
}

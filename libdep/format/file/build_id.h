/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_FILE_BUILD_ID_H
#define ADEPT_FORMAT_FILE_BUILD_ID_H

#include "libdep/abi/types.h"

/**
 * dep_build_id() - get the build-id of the ELF file at @path
 * @dev: expected device, major << 32 | minor; 0: any
 * @inode: expected inode number; 0: any
 * @hex: receives lower-case hexadecimal; "" if the file is another one or has no build-id
 *
 * The recorded process chose the path, so only regular files are opened.
 */
void dep_build_id(const char *path, u64 dev, u64 inode, char *hex, size_t size);

#endif

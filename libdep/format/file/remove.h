/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_FORMAT_FILE_REMOVE_H
#define ADEPT_FORMAT_FILE_REMOVE_H

/** dep_store_remove() - delete @dir and all files in it; the caller checks that it is not in use */
int dep_store_remove(const char *dir);

#endif

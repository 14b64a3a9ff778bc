/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retention: removal of old stores.
 */
#ifndef DEPD_RETENTION_RETENTION_H
#define DEPD_RETENTION_RETENTION_H

#include <stdint.h>

#define RETENTION_WHY	512

/** struct retention_result - numbers of stores and bytes */
struct retention_result {
	uint64_t removed, removed_bytes;
	uint64_t kept, kept_bytes;	/* remaining stores, including in_use and failed */
	uint64_t in_use;
	uint64_t failed;		/* stores that could not be removed */
	char why[RETENTION_WHY];	/* error of the first failed store; "": none */
};

/**
 * retention_run() - remove stores in @dir until the rest is within the limits
 * @max_bytes: limit of all stores on disk, including those in use; 0: no limit
 * @max_age_s: limit of the time since the last write to a store; 0: no limit
 *
 * Removes the oldest first and never a store in use.  A store is a directory NAME.dep in @dir with
 * a manifest.json and a log.  Other directories, links, and stores with files that do not belong to
 * a store are not touched.  Waits for the disk.
 *
 * Return: 0, or a negative errno if @dir cannot be read; @out is valid in any case.
 */
int retention_run(const char *dir, uint64_t max_bytes, uint64_t max_age_s,
		  struct retention_result *out);

#endif

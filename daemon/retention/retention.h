/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room for new stores: old ones are removed.
 */
#ifndef DEPD_RETENTION_RETENTION_H
#define DEPD_RETENTION_RETENTION_H

#include <stdint.h>

#define RETENTION_WHY	512

/** struct retention_result - what became of the stores */
struct retention_result {
	uint64_t removed, removed_bytes;
	uint64_t kept, kept_bytes;	/* the rest; in_use and failed are among them */
	uint64_t in_use;
	uint64_t failed;		/* would have been removed */
	char why[RETENTION_WHY];		/* the first of these; "" = none */
};

/**
 * retention_run() - remove stores below @dir until the rest is within the limits
 * @max_bytes: of all of them on disk, those in use included; 0 = no limit
 * @max_age_s: since something was written to one; 0 = no limit
 *
 * Oldest first, and never one in use.  A store is a directory NAME.dep in @dir with a
 * manifest.json and a log; others, links, and stores with anything in them that does not
 * belong to a store are left alone.  All of this waits for the disk.
 *
 * Return: 0, or a negative errno if @dir cannot be read; @out is valid in any case.
 */
int retention_run(const char *dir, uint64_t max_bytes, uint64_t max_age_s,
		  struct retention_result *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manifest.json: what was recorded, where, by whom, and how it ended.
 *
 * It is written when a store is made and replaced when it is closed.  From format 4 on it ends
 * with a checksum of its text.  Whether a store is complete is proved by the log's END frame, not
 * by the manifest: a collector that is killed between the two leaves a complete store.
 */
#ifndef ADEPT_FORMAT_READ_MANIFEST_H
#define ADEPT_FORMAT_READ_MANIFEST_H

#include "libdep/format/file/ending.h"
#include "libdep/format/file/append_file.h"

#define DEP_MANIFEST_NAME "manifest.json"

/** struct dep_recorder - identifies the process that writes a store */
struct dep_recorder {
	int pid;
	u64 start;		/* start of the process, in clock ticks since boot */
	char boot_id[40];
};

/** dep_recorder_self() - this process */
void dep_recorder_self(struct dep_recorder *r);
/** dep_recorder_lives() - does the process still exist? */
bool dep_recorder_lives(const struct dep_recorder *r);

/** struct dep_manifest - a manifest that was read */
struct dep_manifest {
	struct dep_meta meta;
	struct dep_format fmt;	/* version and id */
	struct dep_recorder recorder;
	bool closed;		/* it is the final manifest, and has the following fields */
	struct dep_ending ending;
	u64 end_at, end_check;	/* offset and checksum of the END frame; format 4 */
	void *tree;		/* owns the strings (cJSON) */
	char **argv;
};

/** dep_manifest_new() - make the manifest of a new store: a cJSON tree, NULL without memory */
void *dep_manifest_new(const struct dep_format *fmt, const struct dep_meta *meta);

/** dep_manifest_recorder() - set this process as the writer of the store */
void dep_manifest_recorder(void *tree);

/**
 * dep_manifest_end() - make it the final manifest
 * @end_at: offset of the END frame
 * @end_check: its checksum
 */
void dep_manifest_end(void *tree, const struct dep_ending *e, u64 end_at, u64 end_check);

/** dep_manifest_write() - replace the file; @durable: also wait until the disk has it */
int dep_manifest_write(int dirfd, const struct dep_access *access, void *tree, bool durable);

/** dep_manifest_free() - free a tree of dep_manifest_new() */
void dep_manifest_drop(void *tree);

/**
 * dep_manifest_read() - read and check the manifest
 *
 * Return: 0, or a negative errno; then *@m is all zero.  -EBADMSG: it does not parse or its
 * checksum is wrong; -EPROTONOSUPPORT: another version.
 */
int dep_manifest_read(int dirfd, struct dep_manifest *m);
void dep_manifest_free(struct dep_manifest *m);

#endif

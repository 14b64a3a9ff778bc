/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manifest.json: what was recorded, where, by which process, and how the recording ended.
 *
 * The manifest is written when a store is created and replaced when the store is closed.  From
 * format 4 on it ends with a checksum of its text.  The log's END frame proves that a store is
 * complete, not the manifest: a store is complete even if the collector was killed after it wrote
 * END and before it wrote the final manifest.
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

/** dep_recorder_self() - fill in @r for the calling process */
void dep_recorder_self(struct dep_recorder *r);
/** dep_recorder_lives() - true if the recorder's process still exists */
bool dep_recorder_lives(const struct dep_recorder *r);

/** struct dep_manifest - a manifest that was read */
struct dep_manifest {
	struct dep_meta meta;
	struct dep_format fmt;	/* version and id */
	struct dep_recorder recorder;
	bool closed;		/* this is the final manifest: ending and end_* are valid */
	struct dep_ending ending;
	u64 end_at, end_check;	/* offset and checksum of the END frame; format 4 */
	void *tree;		/* parsed cJSON tree; owns the strings of the other fields */
	char **argv;
};

/** dep_manifest_new() - make the manifest of a new store: a cJSON tree, NULL without memory */
void *dep_manifest_new(const struct dep_format *fmt, const struct dep_meta *meta);

/** dep_manifest_recorder() - set this process as the writer of the store */
void dep_manifest_recorder(void *tree);

/**
 * dep_manifest_end() - turn @tree into the final manifest
 * @end_at: offset of the END frame
 * @end_check: checksum of the END frame
 */
void dep_manifest_end(void *tree, const struct dep_ending *e, u64 end_at, u64 end_check);

/** dep_manifest_write() - replace manifest.json; @durable: wait until it is on the disk */
int dep_manifest_write(int dirfd, const struct dep_access *access, void *tree, bool durable);

/** dep_manifest_drop() - free a tree of dep_manifest_new() */
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

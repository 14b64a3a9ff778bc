/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of test_verdict share. */
#ifndef TESTS_UNIT_FORMAT_TEST_VERDICT_H
#define TESTS_UNIT_FORMAT_TEST_VERDICT_H

#include "parts.h"

/** struct victim - a closed store that a test damages and puts back as it was */
struct victim {
	struct stream stream;
	char dir[128];
	struct parts parts;
	struct parts other;	/* of another store that was given the same */
};

/** judge() - the verdict's state, or the negative errno with which it could not be opened */
int judge(const char *dir);

/** expect_bad() - it must be refused with a message, or be incomplete; @what.. for the message */
void expect_bad(const char *dir, const char *what, size_t i, size_t j);

/** expect_missing() - the segments in @set must be named, and nothing but INCOMPLETE said */
void expect_missing(const char *dir, u32 set, const char *what);

/** expect_defect() - INCOMPLETE, and a defect of @kind whose text has @text */
void expect_defect(const char *dir, enum dep_defect_kind kind, const char *text);

/* test_verdict_damage.c; the state is a struct victim */
void files_removed(void **state);
void segments_cut_out(void **state);
void segments_doubled(void **state);
void segments_exchanged(void **state);
void threads_forged(void **state);
void parts_of_another_store(void **state);
void frames_damaged(void **state);
void files_cut(void **state);
void files_extended(void **state);
void bytes_changed(void **state);

/* test_verdict_manifest.c; the state is a struct victim */
void manifest_refused(void **state);
void manifest_bytes_changed(void **state);

#endif

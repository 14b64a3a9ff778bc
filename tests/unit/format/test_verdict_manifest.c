// SPDX-License-Identifier: GPL-2.0-or-later
/* Manifests that are none, or of another store: the store must be refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/lib/store_util.h"
#include "test_verdict.h"

#define NAME "manifest.json"

static void expect_refused(const char *dir, int err, const char *text)
{
	int ret = judge(dir);

	if (ret != err || !strstr(dep_error(), text))
		print_error("%d \"%s\" instead of %d \"%s\"\n", ret, dep_error(), err, text);
	assert_int_equal(ret, err);
	assert_non_null(strstr(dep_error(), text));
}

static void put_text(const char *dir, const char *text)
{
	spew(dir, NAME, (const u8 *)text, strlen(text));
}

void manifest_refused(void **state)
{
	struct victim *vi = *state;
	char path[160];

	snprintf(path, sizeof(path), "%s/" NAME, vi->dir);
	assert_int_equal(unlink(path), 0);
	expect_refused(vi->dir, -ENOENT, NAME);
	put_text(vi->dir, "");
	expect_refused(vi->dir, -EBADMSG, "does not parse");
	put_text(vi->dir, "\xff\x01 no manifest");
	expect_refused(vi->dir, -EBADMSG, "does not parse");
	put_text(vi->dir, "{ \"format\": \"other\", \"version\": 4 }");
	expect_refused(vi->dir, -EBADMSG, "not the manifest of a DEP store");
	put_text(vi->dir, "{ \"format\": \"DEP\", \"version\": 99 }");
	expect_refused(vi->dir, -EPROTONOSUPPORT, "99");
	put_text(vi->dir, "{ \"format\": \"DEP\", \"version\": 3 }");
	expect_refused(vi->dir, -EBADMSG, "not of the same store");
	put_text(vi->dir, "{ \"format\": \"DEP\", \"version\": 4, \"state\": \"closed\" }");
	expect_refused(vi->dir, -EBADMSG, "changed");
	spew(vi->dir, NAME, vi->other.manifest, vi->other.manifest_size);
	expect_refused(vi->dir, -EBADMSG, "not of the same store");
	parts_put(&vi->parts, vi->dir);
	assert_int_equal(judge(vi->dir), DEP_VERDICT_COMPLETE);
}

void manifest_bytes_changed(void **state)
{
	struct victim *vi = *state;
	struct parts *p = &vi->parts;
	size_t i;
	int bit;

	for (i = 0; i < p->manifest_size; i++)
		for (bit = 0; bit < 8; bit++) {
			p->manifest[i] ^= 1 << bit;
			spew(vi->dir, NAME, p->manifest, p->manifest_size);
			p->manifest[i] ^= 1 << bit;
			if (judge(vi->dir) >= 0 || !*dep_error())
				fail_msg("byte %zu, bit %d", i, bit);
		}
	for (i = 0; i < p->manifest_size; i++) {
		spew(vi->dir, NAME, p->manifest, i);
		if (judge(vi->dir) >= 0 || !*dep_error())
			fail_msg("cut to %zu bytes", i);
	}
	parts_put(p, vi->dir);
}

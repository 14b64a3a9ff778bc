// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may read a store: its owner, or a group too, whatever umask and the parent folder say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "libdep/format/write/resume.h"
#include "libdep/format/write/writer.h"
#include "tests/unit/lib/close_writer.h"
#include "tests/unit/lib/store_util.h"

#define NO_GROUP	((gid_t)-1)
#define OTHER		4711u	/* a user and a group that nobody has */

static char parent[160], dir[192];

static void make_parent(void)
{
	char name[128];

	scratch_name(name, sizeof(name));
	snprintf(parent, sizeof(parent), "%s", name);
	snprintf(dir, sizeof(dir), "%s/a.dep", parent);
	assert_int_equal(mkdir(parent, 0700), 0);
	assert_int_equal(chmod(parent, 0755), 0);
}

static void remove_parent(void)
{
	scratch_remove(dir);
	assert_int_equal(rmdir(parent), 0);
}

/* A group that is not the first one, if there is any. */
static gid_t some_group(void)
{
	gid_t group[256];
	int i, n = getgroups(256, group);

	if (!geteuid())
		return OTHER;
	for (i = 0; i < n; i++)
		if (group[i] != getegid())
			return group[i];
	return getegid();
}

static void write_shared(gid_t group, mode_t mask)
{
	struct dep_meta m = meta;
	struct dep_writer *w;
	struct stream s;
	size_t i;

	m.shared = group != NO_GROUP;
	m.group = m.shared ? group : 0;
	make_stream(&s);
	mask = umask(mask);
	assert_int_equal(dep_writer_create(&w, dir, &m, 0), 0);
	w->roll = 16;
	assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
	for (i = 0; i < s.nchunks; i++)
		assert_int_equal(dep_writer_segment(w, 1, &s.chunk[i].c, s.chunk[i].body), 0);
	assert_int_equal(close_writer(w, NULL, 0), 0);
	umask(mask);
	stream_free(&s);
}

/* Also of what has been made since: each file that is there. */
static void check_access(gid_t group, uid_t owner)
{
	const bool shared = group != NO_GROUP;
	struct dirent *e;
	struct stat st;
	int files = 0;
	DIR *d;

	assert_int_equal(lstat(dir, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | (shared ? 0750 : 0700));
	assert_true(!shared || st.st_gid == group);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (st.st_mode != (S_IFREG | (shared ? 0640 : 0600)) || st.st_uid != owner ||
		    (shared && st.st_gid != group))
			fail_msg("%s has mode %o, owner %u and group %u", e->d_name, st.st_mode,
				 st.st_uid, st.st_gid);
		files++;
	}
	closedir(d);
	/* The log, the manifest, the catalog and several files of segments. */
	assert_true(files > 4);
}

static void modes(void **state)
{
	static const mode_t mask[] = { 0, 022, 077, 0777 };
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		make_parent();
		write_shared(NO_GROUP, mask[i]);
		check_access(NO_GROUP, geteuid());
		remove_parent();

		make_parent();
		write_shared(some_group(), mask[i]);
		check_access(some_group(), geteuid());
		remove_parent();
	}
}

/* In a folder with the set-group-ID bit new files have another group. */
static void set_gid_folder(void **state)
{
	(void)state;
	make_parent();
	assert_int_equal(chown(parent, (uid_t)-1, some_group()), 0);
	assert_int_equal(chmod(parent, 02777), 0);
	write_shared(getegid(), 0);
	check_access(getegid(), geteuid());
	remove_parent();
}

/*
 * A folder whose default ACL lets user OTHER in and keeps the owning group out.  With an ACL the
 * group's bits of the mode are the most that its entries may give, and no longer the group's.
 */
static void default_acl(void **state)
{
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} e[5];
	} acl = { 2, { { 0x01, 7, ~0u }, { 0x02, 7, OTHER }, { 0x04, 0, ~0u }, { 0x10, 7, ~0u },
		       { 0x20, 0, ~0u } } };
	struct dirent *e;
	char path[512];
	DIR *d;

	(void)state;
	make_parent();
	if (setxattr(parent, "system.posix_acl_default", &acl, sizeof(acl), 0)) {
		assert_int_equal(errno, EOPNOTSUPP);
		remove_parent();
		skip();
	}
	write_shared(some_group(), 0);
	check_access(some_group(), geteuid());
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (getxattr(path, "system.posix_acl_access", NULL, 0) >= 0)
			fail_msg("%s has an ACL", e->d_name);
	}
	closedir(d);
	remove_parent();
}

/* What another writer and a rebuild add is as the log is. */
static void made_later(void **state)
{
	const gid_t group[] = { NO_GROUP, some_group() };
	struct dep_meta m = meta;
	struct dep_resume resume;
	struct dep_writer *w;
	struct stream s;
	char path[256];
	size_t i;

	(void)state;
	make_stream(&s);
	for (i = 0; i < 2; i++) {
		make_parent();
		m.shared = group[i] != NO_GROUP;
		m.group = m.shared ? group[i] : 0;
		assert_int_equal(dep_writer_create(&w, dir, &m, 0), 0);
		assert_int_equal(dep_writer_descriptors(w, 1, s.desc, s.desc_size), 0);
		dep_writer_free(w);
		assert_int_equal(dep_writer_resume(&w, dir, 0, NULL, NULL, &resume), 0);
		dep_resume_free(&resume);
		w->roll = 16;
		assert_int_equal(dep_writer_segment(w, 1, &s.chunk[0].c, s.chunk[0].body), 0);
		assert_int_equal(dep_writer_segment(w, 1, &s.chunk[1].c, s.chunk[1].body), 0);
		assert_int_equal(close_writer(w, NULL, 0), 0);
		check_access(group[i], geteuid());
		snprintf(path, sizeof(path), "%s/catalog.db", dir);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(dep_store_rebuild(dir), 0);
		check_access(group[i], geteuid());
		remove_parent();
	}
	stream_free(&s);
}

/* What root makes in a user's store is the user's, who could not read it otherwise. */
static void made_by_root(void **state)
{
	struct dirent *e;
	char path[256];
	DIR *d;

	(void)state;
	if (geteuid())
		skip();
	make_parent();
	write_shared(NO_GROUP, 0);
	assert_int_equal(chown(dir, OTHER, OTHER), 0);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			assert_int_equal(fchownat(dirfd(d), e->d_name, OTHER, OTHER, 0), 0);
	closedir(d);
	snprintf(path, sizeof(path), "%s/catalog.db", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(dep_store_rebuild(dir), 0);
	check_access(NO_GROUP, OTHER);
	remove_parent();
}

/* Nothing is left of a store that cannot be shared as it should. */
static void refused(void **state)
{
	struct dep_meta m = meta;
	struct dep_writer *w;

	(void)state;
	make_parent();
	m.shared = true;
	m.group = getegid();
	m.temporary = true;
	assert_int_equal(dep_writer_create(&w, dir, &m, 0), -EINVAL);
	assert_non_null(strstr(dep_error(), "temporary"));
	assert_int_equal(access(dir, F_OK), -1);
	m.temporary = false;
	/* No group has this number, not even for root. */
	m.group = UINT32_MAX;
	assert_int_equal(dep_writer_create(&w, dir, &m, 0), -EINVAL);
	assert_int_equal(access(dir, F_OK), -1);
	if (geteuid()) {
		m.group = 0;
		assert_int_equal(dep_writer_create(&w, dir, &m, 0), -EPERM);
		assert_non_null(strstr(dep_error(), "group 0"));
		assert_int_equal(access(dir, F_OK), -1);
	}
	assert_int_equal(rmdir(parent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(set_gid_folder),
		cmocka_unit_test(default_acl),
		cmocka_unit_test(made_later),
		cmocka_unit_test(made_by_root),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

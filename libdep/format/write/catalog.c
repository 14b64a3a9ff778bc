// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * catalog.db: the store's tables for SQL.
 *
 * When a store is closed, catalog.db is replaced as a whole, so that the file is complete or does
 * not exist.  When it is rebuilt, tables that other programs added are kept.
 *
 * The database is made in memory.  SQLite itself would open files and journals by name, wait for
 * FIFOs and write through hard links, and a user may put anything under these names.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libdep/format/file/budget.h"
#include "libdep/format/file/error.h"
#include "libdep/format/read/store.h"

#define DEP_CATALOG_NAME "catalog.db"
#define CATALOG_MAX	(1u << 30)	/* limit of SQLite for databases in memory */

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS processes; DROP TABLE IF EXISTS threads;"
	"DROP TABLE IF EXISTS modules; DROP TABLE IF EXISTS segments;"
	"DROP TABLE IF EXISTS notes; DROP TABLE IF EXISTS loss;"
	"DROP TABLE IF EXISTS verdict; DROP TABLE IF EXISTS defects;"
	"DROP TABLE IF EXISTS last; DROP TABLE IF EXISTS last_threads;"
	"CREATE TABLE processes(serial INTEGER, pid INTEGER, parent INTEGER, cause INTEGER,"
	" start_ns INTEGER, end_ns INTEGER, exe TEXT, built INTEGER, translate_ns INTEGER);"
	"CREATE TABLE threads(serial INTEGER, tid INTEGER, process INTEGER, parent INTEGER,"
	" start_ns INTEGER, end_ns INTEGER, flushes INTEGER, null_bytes INTEGER,"
	" ended INTEGER);"
	"CREATE TABLE modules(process INTEGER, start INTEGER, \"end\" INTEGER, offset INTEGER,"
	" from_ns INTEGER, to_ns INTEGER, path TEXT, build_id TEXT);"
	"CREATE TABLE segments(thread INTEGER, seq INTEGER, raw_bytes INTEGER,"
	" stored_bytes INTEGER, control_bytes INTEGER, value_bytes INTEGER, file INTEGER,"
	" offset INTEGER);"
	"CREATE TABLE notes(text TEXT);"
	"CREATE TABLE loss(dropped_chunks INTEGER, dropped_bytes INTEGER,"
	" discarded_bytes INTEGER, lost_threads INTEGER, lost_processes INTEGER,"
	" native_images INTEGER, torn_segments INTEGER, unclean INTEGER,"
	" unfinished_threads INTEGER, absent_chunks INTEGER, absent_bytes INTEGER,"
	" untaken_threads INTEGER, corrupt INTEGER, native_privileged INTEGER,"
	" lost_descriptors INTEGER, unwanted_children INTEGER);"
	"CREATE TABLE verdict(state TEXT, proof INTEGER, cause TEXT);"
	"CREATE TABLE defects(kind TEXT, thread INTEGER, first INTEGER, count INTEGER,"
	" since_ns INTEGER, text TEXT);"
	"CREATE TABLE last(max_bytes INTEGER, max_ns INTEGER, from_ns INTEGER,"
	" from_timestamp INTEGER, chunks INTEGER, bytes INTEGER, processes INTEGER,"
	" threads INTEGER, kept_ns INTEGER, kept_realtime_ns INTEGER, reason TEXT,"
	" value INTEGER, tid INTEGER, what TEXT);"
	"CREATE TABLE last_threads(thread INTEGER, first INTEGER, chunks INTEGER,"
	" bytes INTEGER);";

/* A statement whose columns are bound from left to right; keeps the first error. */
struct insert {
	sqlite3_stmt *st;
	int col, err;
};

static void number(struct insert *in, u64 v)
{
	if (!in->err)
		in->err = sqlite3_bind_int64(in->st, ++in->col, (sqlite3_int64)v);
}

static void text(struct insert *in, const char *s)
{
	if (!in->err)
		in->err = sqlite3_bind_text(in->st, ++in->col, s, -1, SQLITE_STATIC);
}

static void row_done(struct insert *in)
{
	if (!in->err && sqlite3_step(in->st) != SQLITE_DONE)
		in->err = SQLITE_ERROR;
	sqlite3_reset(in->st);
	in->col = 0;
}

static void put_processes(struct insert *in, struct dep_store *s)
{
	const struct dep_process *p;
	size_t n = dep_store_processes(s, &p);

	for (; n--; p++) {
		number(in, p->serial);
		number(in, p->pid);
		number(in, p->parent);
		number(in, p->cause);
		number(in, p->start_ns);
		number(in, p->end_ns);
		text(in, p->exe);
		number(in, p->built);
		number(in, p->translate_ns);
		row_done(in);
	}
}

static void put_threads(struct insert *in, struct dep_store *s)
{
	const struct dep_thread *t;
	size_t n = dep_store_threads(s, &t);

	for (; n--; t++) {
		number(in, t->serial);
		number(in, t->tid);
		number(in, t->process);
		number(in, t->parent);
		number(in, t->start_ns);
		number(in, t->end_ns);
		number(in, t->flushes);
		number(in, t->null_bytes);
		number(in, t->end);
		row_done(in);
	}
}

static void put_modules(struct insert *in, struct dep_store *s)
{
	const struct dep_module *m;
	size_t n = dep_store_modules(s, &m);

	for (; n--; m++) {
		number(in, m->process);
		number(in, m->start);
		number(in, m->end);
		number(in, m->offset);
		number(in, m->from_ns);
		number(in, m->to_ns);
		text(in, m->path);
		text(in, m->build_id);
		row_done(in);
	}
}

static void put_segments(struct insert *in, struct dep_store *s)
{
	const struct dep_segment *g;
	size_t n = dep_store_segments(s, &g);

	for (; n--; g++) {
		number(in, g->thread);
		number(in, g->seq);
		number(in, g->raw_bytes);
		number(in, g->stored_bytes);
		number(in, g->control_bytes);
		number(in, g->value_bytes);
		number(in, g->file);
		number(in, g->offset);
		row_done(in);
	}
}

static void put_messages(struct insert *in, struct dep_store *s)
{
	const char *const *note;
	size_t n = dep_store_messages(s, &note);

	for (; n--; note++) {
		text(in, *note);
		row_done(in);
	}
}

static void put_loss(struct insert *in, struct dep_store *s)
{
	const struct dep_loss *l = dep_store_loss(s);

	number(in, l->dropped_chunks);
	number(in, l->dropped_bytes);
	number(in, l->discarded_bytes);
	number(in, l->lost_threads);
	number(in, l->lost_processes);
	number(in, l->native_images);
	number(in, l->torn_segments);
	number(in, l->unclean);
	number(in, l->unfinished_threads);
	number(in, l->absent_chunks);
	number(in, l->absent_bytes);
	number(in, l->untaken_threads);
	number(in, l->corrupt);
	number(in, l->native_privileged);
	number(in, l->lost_descriptors);
	number(in, l->unwanted_children);
	row_done(in);
}

static void put_verdict(struct insert *in, struct dep_store *s)
{
	const struct dep_verdict *v = dep_store_verdict(s);

	text(in, dep_verdict_name(v->state));
	number(in, v->proof);
	text(in, dep_close_cause_name(v->cause));
	row_done(in);
}

static void put_defects(struct insert *in, struct dep_store *s)
{
	const struct dep_verdict *v = dep_store_verdict(s);
	size_t i;

	for (i = 0; i < v->ndefects; i++) {
		text(in, dep_defect_name(v->defect[i].kind));
		number(in, v->defect[i].thread);
		number(in, v->defect[i].first);
		number(in, v->defect[i].count);
		number(in, v->defect[i].since_ns);
		text(in, v->defect[i].text);
		row_done(in);
	}
}

/* A row only if the store was recorded with --last. */
static void put_last(struct insert *in, struct dep_store *s)
{
	struct dep_last l;

	if (!dep_store_last(s, &l))
		return;
	number(in, l.max_bytes);
	number(in, l.max_ns);
	number(in, l.from_ns);
	number(in, l.from_timestamp);
	number(in, l.chunks);
	number(in, l.bytes);
	number(in, l.processes);
	number(in, l.threads);
	number(in, l.kept.at_ns);
	number(in, l.kept.realtime_ns);
	text(in, dep_keep_name(l.kept.reason));
	number(in, l.kept.value);
	number(in, l.kept.tid);
	text(in, l.kept.what);
	row_done(in);
}

static void put_last_threads(struct insert *in, struct dep_store *s)
{
	struct dep_last l;
	size_t i;

	dep_store_last(s, &l);
	for (i = 0; i < l.nthreads; i++) {
		number(in, l.thread[i].thread);
		number(in, l.thread[i].first);
		number(in, l.thread[i].chunks);
		number(in, l.thread[i].bytes);
		row_done(in);
	}
}

static const struct {
	const char *sql;
	void (*put)(struct insert *in, struct dep_store *s);
} tables[] = {
	{ "INSERT INTO processes VALUES(?,?,?,?,?,?,?,?,?)", put_processes },
	{ "INSERT INTO threads VALUES(?,?,?,?,?,?,?,?,?)", put_threads },
	{ "INSERT INTO modules VALUES(?,?,?,?,?,?,?,?)", put_modules },
	{ "INSERT INTO segments VALUES(?,?,?,?,?,?,?,?)", put_segments },
	{ "INSERT INTO notes VALUES(?)", put_messages },
	{ "INSERT INTO loss VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", put_loss },
	{ "INSERT INTO verdict VALUES(?,?,?)", put_verdict },
	{ "INSERT INTO defects VALUES(?,?,?,?,?,?)", put_defects },
	{ "INSERT INTO last VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", put_last },
	{ "INSERT INTO last_threads VALUES(?,?,?,?)", put_last_threads },
};

static int fill(sqlite3 *db, struct dep_store *s)
{
	struct insert in;
	size_t i;

	if (sqlite3_exec(db, schema, NULL, NULL, NULL))
		return -1;
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		in = (struct insert){ 0 };
		in.err = sqlite3_prepare_v2(db, tables[i].sql, -1, &in.st, NULL);
		if (!in.err)
			tables[i].put(&in, s);
		sqlite3_finalize(in.st);
		if (in.err)
			return -1;
	}
	return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) ? -1 : 0;
}

static int db_error(sqlite3 *db, const char *path)
{
	return dep_fail(-EBADMSG, "%s: %s", path, db ? sqlite3_errmsg(db) : "no memory");
}

/* Fill the in-memory database @db, and replace catalog.db by its contents. */
static int replace(struct dep_store *s, sqlite3 *db)
{
	const struct dep_access access = dep_access_read(s->log_fd);
	unsigned char *image;
	sqlite3_int64 size = 0;
	int err;

	if (fill(db, s))
		return db_error(db, DEP_CATALOG_NAME);
	image = sqlite3_serialize(db, "main", &size, 0);
	err = image ? dep_write_whole(s->dirfd, DEP_CATALOG_NAME, (char *)image, (size_t)size,
				      &access, true) :
		      dep_fail(-ENOMEM, DEP_CATALOG_NAME);
	sqlite3_free(image);
	return err;
}

static int write_new(struct dep_store *s)
{
	sqlite3 *db = NULL;
	int err = sqlite3_open(":memory:", &db) ? db_error(db, DEP_CATALOG_NAME) : replace(s, db);

	sqlite3_close(db);
	return err;
}

/* Fail if journal @name is not empty: it has contents of the catalog that catalog.db lacks. */
static int check_journal(struct dep_store *s, const char *name)
{
	struct stat st;

	if (fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISREG(st.st_mode) && !st.st_size)
		return 0;
	return dep_fail(-EBUSY, "%s exists: another program uses " DEP_CATALOG_NAME
			", or it must be opened once with sqlite3 to recover", name);
}

/* SQLite cannot open an image in WAL mode.  There is no WAL file, so clear the mode. */
static void leave_wal_mode(unsigned char *image, size_t size)
{
	if (size >= 20 && image[18] == 2 && image[19] == 2)
		image[18] = image[19] = 1;
}

/* Replace our tables in the catalog @image, and free @image.  Return: 1 if it is no database. */
static int write_image(struct dep_store *s, unsigned char *image, size_t size)
{
	sqlite3 *db = NULL;
	int err, code;

	/* SQLite frees the image, also on failure. */
	if (sqlite3_open(":memory:", &db) ||
	    sqlite3_deserialize(db, "main", image, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)) {
		err = db_error(db, DEP_CATALOG_NAME);
	} else {
		err = replace(s, db);
		code = sqlite3_errcode(db);
		if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
			err = 1;
		if (code == SQLITE_NOMEM)
			err = dep_fail(-EFBIG, "%s takes too much memory for its %zu KiB: remove "
				       "the file", DEP_CATALOG_NAME, size >> 10);
	}
	sqlite3_close(db);
	return err;
}

/*
 * Call write_image() with a memory limit, because SQLite parses each table and view of the catalog,
 * which may be forged.  The limit applies to the whole program, so a lower limit that is set
 * already is kept.
 */
static int write_limited(struct dep_store *s, unsigned char *image, size_t size)
{
	const u64 input = dep_store_input(s, UINT64_MAX) + size;
	sqlite3_int64 most = (sqlite3_int64)dep_budget_catalog(input) + sqlite3_memory_used();
	sqlite3_int64 before = sqlite3_hard_heap_limit64(-1);
	int err;

	if (before > 0 && before < most)
		return write_image(s, image, size);
	sqlite3_hard_heap_limit64(most);
	err = write_image(s, image, size);
	sqlite3_hard_heap_limit64(before);
	return err;
}

/* Replace our tables in the existing catalog.db.  Return: 1 if the file is no database. */
static int write_into(struct dep_store *s)
{
	unsigned char *image;
	size_t size = 0;
	void *data;
	int err;

	err = check_journal(s, DEP_CATALOG_NAME "-journal");
	if (!err)
		err = check_journal(s, DEP_CATALOG_NAME "-wal");
	if (!err)
		err = dep_read_all(s->dirfd, DEP_CATALOG_NAME, CATALOG_MAX, &data, &size);
	if (err)
		return err;
	image = sqlite3_malloc64(size ? size : 1);
	if (image)
		memcpy(image, data, size);
	free(data);
	if (!image)
		return dep_fail(-ENOMEM, DEP_CATALOG_NAME);
	leave_wal_mode(image, size);
	return write_limited(s, image, size);
}

int dep_catalog_write(struct dep_store *s, bool keep_others)
{
	struct stat st;
	int err;

	if (!keep_others || fstatat(s->dirfd, DEP_CATALOG_NAME, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || !st.st_size)
		return write_new(s);
	err = write_into(s);
	return err > 0 ? write_new(s) : err;
}

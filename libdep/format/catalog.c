// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * catalog.db: the store's tables for SQL.  Written anew as a whole, in one
 * transaction; tables that others put there stay.
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"
#include "store.h"

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS processes; DROP TABLE IF EXISTS threads;"
	"DROP TABLE IF EXISTS modules; DROP TABLE IF EXISTS segments;"
	"DROP TABLE IF EXISTS notes; DROP TABLE IF EXISTS loss;"
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
	" unfinished_threads INTEGER, absent_chunks INTEGER, absent_bytes INTEGER);";

/* A statement whose columns are being bound from the left; the first error stays. */
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

static void put_notes(struct insert *in, struct dep_store *s)
{
	const char *const *note;
	size_t n = dep_store_notes(s, &note);

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
	row_done(in);
}

static const struct {
	const char *sql;
	void (*put)(struct insert *in, struct dep_store *s);
} tables[] = {
	{ "INSERT INTO processes VALUES(?,?,?,?,?,?,?,?,?)", put_processes },
	{ "INSERT INTO threads VALUES(?,?,?,?,?,?,?,?,?)", put_threads },
	{ "INSERT INTO modules VALUES(?,?,?,?,?,?,?,?)", put_modules },
	{ "INSERT INTO segments VALUES(?,?,?,?,?,?,?,?)", put_segments },
	{ "INSERT INTO notes VALUES(?)", put_notes },
	{ "INSERT INTO loss VALUES(?,?,?,?,?,?,?,?,?,?,?)", put_loss },
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

static int try_write(struct dep_store *s, const char *path, int *damaged)
{
	sqlite3 *db = NULL;
	int err;

	err = sqlite3_open(path, &db) || fill(db, s) ? -EIO : 0;
	*damaged = 0;
	if (err) {
		*damaged = sqlite3_errcode(db) == SQLITE_NOTADB ||
			   sqlite3_errcode(db) == SQLITE_CORRUPT;
		dep_fail(-EBADMSG, "%s: %s", path, db ? sqlite3_errmsg(db) : "no memory");
	}
	sqlite3_close(db);
	return err;
}

int dep_catalog_write(struct dep_store *s, const char *dir)
{
	char path[PATH_MAX];
	int err, damaged;

	if (snprintf(path, sizeof(path), "%s/catalog.db", dir) >= (int)sizeof(path))
		return dep_fail(-ENAMETOOLONG, "%s/catalog.db", dir);
	err = try_write(s, path, &damaged);
	if (err && damaged && !unlink(path))
		err = try_write(s, path, &damaged);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqlite_threads FILE: four threads use one data base, two of them over one connection that
 * they share, two over connections with a shared cache; each in its own table.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS	4
#define ROWS	60

static const char *file;
static sqlite3 *shared;

static void failed(const char *what, sqlite3 *db)
{
	fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

/** run() - execute SQL, and repeat it while another connection holds a lock */
static void run(sqlite3 *db, const char *sql)
{
	int err;

	do {
		err = sqlite3_exec(db, sql, NULL, NULL, NULL);
	} while (err == SQLITE_BUSY || err == SQLITE_LOCKED);
	if (err)
		failed(sql, db);
}

static sqlite3 *opened(void)
{
	sqlite3 *db;

	if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			    SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_SHAREDCACHE, NULL))
		failed(file, db);
	sqlite3_busy_timeout(db, 20000);
	run(db, "pragma synchronous = off");
	return db;
}

static void *work(void *arg)
{
	long me = (long)arg;
	sqlite3 *db = me & 1 ? opened() : shared;
	char sql[160];
	int i;

	for (i = 0; i < ROWS; i++) {
		snprintf(sql, sizeof(sql), "insert into t%ld values(%d, 'row %d')", me, i, i * 7);
		run(db, sql);
	}
	snprintf(sql, sizeof(sql), "update t%ld set b = b || a where a %% 3 = 0", me);
	run(db, sql);
	snprintf(sql, sizeof(sql), "insert into sums select %ld, sum(length(b)) from t%ld", me, me);
	run(db, sql);
	if (db != shared)
		sqlite3_close(db);
	return NULL;
}

static int print(void *arg, int columns, char **values, char **names)
{
	(void)arg, (void)columns, (void)names;
	return puts(values[0]) < 0;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	char sql[80];
	long i;

	if (argc != 2)
		return 2;
	file = argv[1];
	shared = opened();
	run(shared, "create table sums(thread, length)");
	for (i = 0; i < THREADS; i++) {
		snprintf(sql, sizeof(sql), "create table t%ld(a integer primary key, b)", i);
		run(shared, sql);
	}
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (sqlite3_exec(shared, "select sum(length) from sums", print, NULL, NULL))
		failed("sums", shared);
	sqlite3_close(shared);
	return 0;
}

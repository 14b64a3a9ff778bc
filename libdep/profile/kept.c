// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "kept.h"
#include "kept_check.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/read/lock.h"
#include "libdep/format/read/segment_index.h"

_Static_assert(sizeof(struct dep_wire_counts) == 88, "header of the counters");
_Static_assert(sizeof(struct dep_exit_total) == 24 && sizeof(struct dep_counter) == 40 &&
	       sizeof(struct dep_thread_count) == 64 && sizeof(struct dep_time_count) == 32,
	       "rows that are kept: increase DEP_COUNTS_VERSION");

static const size_t row_bytes[DEP_KEPT_KINDS] = {
	[DEP_KEPT_EXITS] = sizeof(struct dep_exit_total),
	[DEP_KEPT_PIECES] = sizeof(struct dep_counter),
	[DEP_KEPT_PAIRS] = sizeof(struct dep_counter),
	[DEP_KEPT_INTERRUPTIONS] = sizeof(struct dep_counter),
	[DEP_KEPT_THREADS] = sizeof(struct dep_thread_count),
	[DEP_KEPT_TIMES] = sizeof(struct dep_time_count),
};

/* ---- what a file was made for ---- */

/* Hash sizes and times of change.  False: a file is missing. */
static bool hash_files(const struct dep_store *s, u64 *out)
{
	XXH3_state_t *hash = XXH3_createState();
	struct stat st;
	bool ok = hash != NULL;
	u64 row[3];
	u32 i;

	if (ok)
		XXH3_64bits_reset_withSeed(hash, s->fmt.seed);
	for (i = 0; ok && i <= s->nfds; i++) {
		/* The files in front of the first one were dropped. */
		if (i < s->model.end.first_file)
			continue;
		ok = !fstat(i < s->nfds ? s->fds[i] : s->log_fd, &st);
		row[0] = (u64)st.st_size;
		row[1] = (u64)st.st_mtim.tv_sec;
		row[2] = (u64)st.st_mtim.tv_nsec;
		if (ok)
			XXH3_64bits_update(hash, row, sizeof(row));
	}
	*out = ok ? XXH3_64bits_digest(hash) : 0;
	XXH3_freeState(hash);
	return ok;
}

/* Hash what exits mean.  Another version of this program may decode the code in another way. */
static bool hash_code(const struct dep_store *s, const struct dep_fragments *code, u64 *out)
{
	XXH3_state_t *hash = XXH3_createState();
	const struct dep_code_exit *x;
	u64 row[128][3];
	u32 i, n = 0;

	if (!hash)
		return false;
	XXH3_64bits_reset_withSeed(hash, s->fmt.seed);
	for (i = 1; i < code->nexits; i++) {
		x = &code->exit[i];
		row[n][0] = x->fragment | (u64)x->nsteps << 32 | (u64)x->insns << 48;
		row[n][1] = x->refs | (u64)x->branch << 16 | (u64)x->taken << 24;
		row[n][2] = x->target;
		if (++n < sizeof(row) / sizeof(*row) && i + 1 < code->nexits)
			continue;
		XXH3_64bits_update(hash, row, n * sizeof(*row));
		n = 0;
	}
	*out = XXH3_64bits_digest(hash);
	XXH3_freeState(hash);
	return true;
}

static bool selects_all(const struct dep_fold_options *o)
{
	return !o || (!o->process && !o->thread && !o->from_ns && !o->to_ns && !o->select);
}

bool dep_kept_key(struct dep_kept_key *key, const struct dep_store *store,
		  const struct dep_fragments *code, const struct dep_fold_options *options)
{
	if (!selects_all(options) || store->growth || store->segs.torn ||
	    !dep_seg_files_final(store))
		return false;
	key->end_check = store->model.end_check;
	return hash_files(store, &key->files) && hash_code(store, code, &key->code);
}

static u64 header_check(const struct dep_store *s, const struct dep_wire_counts *h)
{
	return XXH3_64bits_withSeed(h, offsetof(struct dep_wire_counts, check), s->fmt.seed);
}

/* ---- reading ---- */

/* True if nobody but this user, the store's owner and root could have written the file. */
static bool is_trusted(const struct dep_store *s, const struct stat *st)
{
	struct stat dir;

	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return !st->st_uid || st->st_uid == geteuid() ||
	       (!fstat(s->dirfd, &dir) && st->st_uid == dir.st_uid);
}

static bool header_matches(struct dep_store *s, const struct dep_wire_counts *h,
			   const struct dep_kept_key *key, u64 size)
{
	u64 need = sizeof(*h);
	u32 i;

	for (i = 0; i < DEP_KEPT_KINDS; i++)
		need += h->n[i] * row_bytes[i];
	return !memcmp(h->magic, DEP_COUNTS_MAGIC, sizeof(h->magic)) &&
	       h->version == DEP_COUNTS_VERSION && h->check == header_check(s, h) &&
	       h->end_check == key->end_check && h->files == key->files && h->code == key->code &&
	       size == need && !dep_profile_check(s, size);
}

static bool read_rows(const struct dep_store *s, int fd, const struct dep_wire_counts *h,
		      void **row)
{
	XXH3_state_t *hash = XXH3_createState();
	u64 at = sizeof(*h);
	bool ok = hash != NULL;
	size_t size;
	u32 i;

	if (ok)
		XXH3_64bits_reset_withSeed(hash, s->fmt.seed);
	for (i = 0; ok && i < DEP_KEPT_KINDS; i++) {
		size = h->n[i] * row_bytes[i];
		row[i] = malloc(size + row_bytes[i]);
		ok = row[i] && dep_read_at(fd, row[i], size, at) == (ssize_t)size;
		if (ok)
			XXH3_64bits_update(hash, row[i], size);
		at += size;
	}
	ok = ok && XXH3_64bits_digest(hash) == h->rows_check;
	XXH3_freeState(hash);
	return ok;
}

static struct dep_table table_of(void *row, u32 n)
{
	return (struct dep_table){ .row = row, .n = n, .room = n };
}

static void give(struct dep_kept_counts *out, const struct dep_wire_counts *h, void *const *row)
{
	*out = (struct dep_kept_counts){
		.counted = {
			.exit = row[DEP_KEPT_EXITS], .nexits = h->n[DEP_KEPT_EXITS],
			.piece = row[DEP_KEPT_PIECES], .npieces = h->n[DEP_KEPT_PIECES],
			.pair = row[DEP_KEPT_PAIRS], .npairs = h->n[DEP_KEPT_PAIRS],
			.interruption = row[DEP_KEPT_INTERRUPTIONS],
			.ninterruptions = h->n[DEP_KEPT_INTERRUPTIONS],
		},
		.threads = table_of(row[DEP_KEPT_THREADS], h->n[DEP_KEPT_THREADS]),
		.times = table_of(row[DEP_KEPT_TIMES], h->n[DEP_KEPT_TIMES]),
		.gaps = h->gaps,
	};
}

bool dep_kept_read(struct dep_kept_counts *out, struct dep_store *store,
		   const struct dep_fragments *code, const struct dep_kept_key *key)
{
	void *row[DEP_KEPT_KINDS] = { 0 };
	struct dep_wire_counts h;
	struct stat st;
	int fd = dep_open_read(store->dirfd, DEP_COUNTS_NAME);
	bool ok;
	u32 i;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && is_trusted(store, &st) &&
	     dep_read_at(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
	     header_matches(store, &h, key, (u64)st.st_size) && read_rows(store, fd, &h, row);
	close(fd);
	if (ok) {
		give(out, &h, row);
		ok = dep_kept_fits(out, store, code);
	}
	for (i = 0; !ok && i < DEP_KEPT_KINDS; i++)
		free(row[i]);
	return ok;
}

/* ---- writing ---- */

/* The owner may keep files in a store, unless a process is writing or removing it. */
static bool may_write(const struct dep_store *s)
{
	struct stat st;

	return !fstat(s->dirfd, &st) && st.st_uid == geteuid() && dep_lock_held(s->log_fd) <= 0;
}

/* Another process has removed the store meanwhile: the file must not be left behind. */
static void check_removed(const struct dep_store *s)
{
	struct stat st;

	if (!fstat(s->log_fd, &st) && !st.st_nlink)
		unlinkat(s->dirfd, DEP_COUNTS_NAME, 0);
}

static u64 rows_check(const struct dep_store *s, const struct iovec *part, u32 n, bool *ok)
{
	XXH3_state_t *hash = XXH3_createState();
	u64 check = 0;
	u32 i;

	*ok = hash != NULL;
	if (*ok) {
		XXH3_64bits_reset_withSeed(hash, s->fmt.seed);
		for (i = 0; i < n; i++)
			XXH3_64bits_update(hash, part[i].iov_base, part[i].iov_len);
		check = XXH3_64bits_digest(hash);
	}
	XXH3_freeState(hash);
	return check;
}

void dep_kept_write(const struct dep_kept_counts *k, struct dep_store *store,
		    const struct dep_fragments *code, const struct dep_kept_key *key)
{
	const struct dep_access access = dep_access_read(store->log_fd);
	const struct dep_counted *c = &k->counted;
	void *const row[] = { c->exit, c->piece, c->pair, c->interruption, k->threads.row,
			      k->times.row };
	const size_t n[] = { c->nexits, c->npieces, c->npairs, c->ninterruptions, k->threads.n,
			     k->times.n };
	struct dep_wire_counts h = {
		.version = DEP_COUNTS_VERSION, .end_check = key->end_check, .files = key->files,
		.code = key->code, .gaps = k->gaps,
	};
	struct iovec part[1 + DEP_KEPT_KINDS] = { { &h, sizeof(h) } };
	u64 size = sizeof(h), files;
	bool ok;
	u32 i;

	for (i = 0; i < DEP_KEPT_KINDS; i++) {
		part[1 + i] = (struct iovec){ row[i] ? row[i] : &h, n[i] * row_bytes[i] };
		h.n[i] = (u32)n[i];
		size += part[1 + i].iov_len;
		if (n[i] > UINT32_MAX)
			return;
	}
	if (!may_write(store) || dep_profile_check(store, size) || !dep_kept_fits(k, store, code))
		return;
	memcpy(h.magic, DEP_COUNTS_MAGIC, sizeof(h.magic));
	h.rows_check = rows_check(store, part + 1, DEP_KEPT_KINDS, &ok);
	h.check = header_check(store, &h);
	if (!ok || !hash_files(store, &files) || files != key->files)
		return;
	if (!dep_write_parts(store->dirfd, DEP_COUNTS_NAME, part, 1 + DEP_KEPT_KINDS, &access,
			     false))
		check_removed(store);
}

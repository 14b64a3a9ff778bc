// SPDX-License-Identifier: LGPL-2.1-or-later
/* Read and write files that keep the result of a pass. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "kept_file.h"
#include "libdep/format/file/append_file.h"
#include "libdep/format/file/budget.h"
#include "lock.h"
#include "segment_index.h"

_Static_assert(sizeof(struct dep_wire_kept) == 152, "header of a kept file");

const char *dep_kept_library = ADEPT_VERSION;

/* ---- what a file was made for ---- */

/** struct hash - a seeded XXH3-64 of words */
struct hash {
	XXH3_state_t *state;
	u64 word[256];
	u32 n;
};

static bool hash_begin(struct hash *h, const struct dep_store *s)
{
	h->n = 0;
	h->state = XXH3_createState();
	if (h->state)
		XXH3_64bits_reset_withSeed(h->state, s->fmt.seed);
	return h->state;
}

static void hash_flush(struct hash *h)
{
	XXH3_64bits_update(h->state, h->word, h->n * sizeof(*h->word));
	h->n = 0;
}

static void hash_add(struct hash *h, u64 word)
{
	h->word[h->n++] = word;
	if (h->n == sizeof(h->word) / sizeof(*h->word))
		hash_flush(h);
}

static u64 hash_end(struct hash *h)
{
	u64 hash;

	hash_flush(h);
	hash = XXH3_64bits_digest(h->state);
	XXH3_freeState(h->state);
	return hash;
}

/* Hash sizes and times of change.  False: a file is missing. */
static bool hash_files(const struct dep_store *s, u64 *out)
{
	struct hash h;
	struct stat st;
	bool ok = true;
	u32 i;

	if (!hash_begin(&h, s))
		return false;
	/* The files in front of the first one were dropped. */
	for (i = s->model.end.first_file; ok && i <= s->nfds; i++) {
		ok = !fstat(i < s->nfds ? s->fds[i] : s->log_fd, &st);
		if (!ok)
			break;
		hash_add(&h, (u64)st.st_size);
		hash_add(&h, (u64)st.st_mtim.tv_sec);
		hash_add(&h, (u64)st.st_mtim.tv_nsec);
	}
	*out = hash_end(&h);
	return ok;
}

/*
 * Hash what exits mean, and the version of this library.  Another version may decode the code in
 * another way, or have another result with the same meaning of all exits.
 */
static bool hash_code(const struct dep_store *s, const struct dep_fragments *code, u64 *out)
{
	const struct dep_code_fragment *f;
	const struct dep_code_exit *x;
	struct hash h;
	u32 i;

	if (!hash_begin(&h, s))
		return false;
	hash_add(&h, XXH3_64bits(dep_kept_library, strlen(dep_kept_library)));
	for (i = 1; i < code->nexits; i++) {
		x = &code->exit[i];
		hash_add(&h, x->fragment | (u64)x->nsteps << 32 | (u64)x->insns << 48);
		hash_add(&h, x->refs | (u64)x->branch << 16 | (u64)x->taken << 24);
		hash_add(&h, x->target);
	}
	for (i = 0; i < code->nfragments; i++) {
		f = &code->fragment[i];
		hash_add(&h, f->pc);
		hash_add(&h, f->process | (u64)f->image << 32);
	}
	*out = hash_end(&h);
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

static u64 header_check(const struct dep_store *s, const struct dep_wire_kept *h)
{
	return XXH3_64bits_withSeed(h, offsetof(struct dep_wire_kept, check), s->fmt.seed);
}

static u64 table_bytes(const struct dep_kept_kind *kind, const struct dep_wire_kept *h, u32 table)
{
	return (u64)h->n[table] * kind->row_bytes[table];
}

/* Is a file of this size plausible for the store? */
static bool within_budget(const struct dep_store *s, u64 size)
{
	return size <= dep_budget_profile(dep_store_input(s, size));
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

static bool header_fits(const struct dep_kept_file *f, const struct dep_kept_key *key, u64 size)
{
	const struct dep_wire_kept *h = &f->h;
	u64 need = sizeof(*h);
	u32 i;

	if (memcmp(h->magic, f->kind->magic, sizeof(h->magic)) ||
	    h->version != f->kind->version || h->tables != f->kind->tables ||
	    h->check != header_check(f->store, h))
		return false;
	for (i = 0; i < f->kind->tables; i++)
		need += table_bytes(f->kind, h, i);
	return h->end_check == key->end_check && h->files == key->files && h->code == key->code &&
	       size == need && within_budget(f->store, size);
}

bool dep_kept_open(struct dep_kept_file *f, const struct dep_kept_kind *kind,
		   const struct dep_store *store, const struct dep_kept_key *key)
{
	struct stat st;

	f->store = store;
	f->kind = kind;
	f->fd = dep_open_read(store->dirfd, kind->name);
	if (f->fd < 0)
		return false;
	if (!fstat(f->fd, &st) && is_trusted(store, &st) &&
	    dep_read_at(f->fd, &f->h, sizeof(f->h), 0) == (ssize_t)sizeof(f->h) &&
	    header_fits(f, key, (u64)st.st_size))
		return true;
	dep_kept_close(f);
	return false;
}

void *dep_kept_rows(const struct dep_kept_file *f, u32 table)
{
	const size_t size = table_bytes(f->kind, &f->h, table);
	void *row = malloc(size + f->kind->row_bytes[table]);
	u64 at = sizeof(f->h);
	u32 i;

	for (i = 0; i < table; i++)
		at += table_bytes(f->kind, &f->h, i);
	if (row && dep_read_at(f->fd, row, size, at) == (ssize_t)size &&
	    XXH3_64bits_withSeed(row, size, f->store->fmt.seed) == f->h.rows[table])
		return row;
	free(row);
	return NULL;
}

void dep_kept_close(struct dep_kept_file *f)
{
	close(f->fd);
	f->fd = -1;
}

/* ---- writing ---- */

/* The owner may keep files in a store, unless a process is writing or removing it. */
static bool may_write(const struct dep_store *s)
{
	struct stat st;

	return !fstat(s->dirfd, &st) && st.st_uid == geteuid() && dep_lock_held(s->log_fd) <= 0;
}

/* Another process has removed the store meanwhile: the file must not be left behind. */
static void check_removed(const struct dep_store *s, const char *name)
{
	struct stat st;

	if (!fstat(s->log_fd, &st) && !st.st_nlink)
		unlinkat(s->dirfd, name, 0);
}

void dep_kept_write(const struct dep_kept_kind *kind, const struct dep_store *store,
		    const struct dep_kept_key *key, const struct dep_kept_tables *t)
{
	const struct dep_access access = dep_access_read(store->log_fd);
	struct dep_wire_kept h = {
		.version = kind->version, .tables = kind->tables, .end_check = key->end_check,
		.files = key->files, .code = key->code,
	};
	struct iovec part[1 + DEP_KEPT_TABLES] = { { &h, sizeof(h) } };
	u64 size = sizeof(h), files;
	u32 i;

	for (i = 0; i < kind->tables; i++) {
		if (t->n[i] > UINT32_MAX)
			return;
		h.n[i] = (u32)t->n[i];
		part[1 + i].iov_base = t->n[i] ? (void *)t->row[i] : &h;
		part[1 + i].iov_len = table_bytes(kind, &h, i);
		size += part[1 + i].iov_len;
	}
	if (!may_write(store) || !within_budget(store, size))
		return;
	for (i = 0; i < kind->tables; i++)
		h.rows[i] = XXH3_64bits_withSeed(part[1 + i].iov_base, part[1 + i].iov_len,
						 store->fmt.seed);
	memcpy(h.magic, kind->magic, sizeof(h.magic));
	memcpy(h.word, t->word, sizeof(h.word));
	h.check = header_check(store, &h);
	if (!hash_files(store, &files) || files != key->files)
		return;
	if (!dep_write_parts(store->dirfd, kind->name, part, 1 + (int)kind->tables, &access, false))
		check_removed(store, kind->name);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Damaged and forged files of a window on the disk whose collector was killed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <xxhash.h>

#include "libdep/format/file/log.h"
#include "libdep/format/write/store_dir.h"
#include "tests/unit/lib/random.h"
#include "tests/unit/lib/store_util.h"
#include "window_fixture.h"

static u32 below(u32 n)
{
	return n ? (u32)(rnd() % n) : 0;
}

/* Make a store of @dir if that is possible; it must then be one. */
static void recover_any(void)
{
	struct dep_save_result r;
	struct dep_loss loss;
	int err = dep_window_recover(window_dir, window_to, 0, &r);

	if (err)
		assert_true(*r.error);
	else
		assert_true(recover_what_is_there(window_to, &loss) >= 0);
	scratch_remove(window_to);
}

/* The name of one of the files with chunks, by chance. */
static void choose_chunks(char *name, size_t size)
{
	struct dirent *e;
	DIR *d = opendir(window_dir);
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, "window.", 7) && strcmp(e->d_name, "window.log") &&
		    !below(++n))
			snprintf(name, size, "%.255s", e->d_name);
	closedir(d);
	assert_true(n > 3);
}

static void odd_number(u8 *at, size_t size)
{
	static const u64 odd[] = {
		0,	  1,	      7,	  8,	      64,	  4096,	 1u << 28,
		1u << 30, 0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull,
	};
	u64 v = odd[below(sizeof(odd) / sizeof(odd[0]))];
	u32 wide = below(2) && size >= 8 ? 8 : 4;

	if (size >= wide)
		memcpy(at + below((u32)((size - wide) / 4 + 1)) * 4, &v, wide);
}

/* Change one frame of window.log, and write all frames with correct checksums. */
static void forge_log(const u8 *log, size_t size)
{
	struct dep_store_dir at = {.dirfd = open(window_dir, O_RDONLY | O_DIRECTORY)};
	const struct dep_log_entry *fr;
	struct dep_file_header h;
	struct dep_log_scan s;
	struct dep_log to_log;
	u64 n = 0, which;
	u8 *payload;
	u32 type;

	assert_int_equal(dep_log_open(&s, log, size), 0);
	at.fmt = s.fmt;
	while (dep_log_next(&s))
		n++;
	which = below((u32)n);
	assert_int_equal(unlinkat(at.dirfd, "window.log", 0), 0);
	assert_int_equal(dep_file_create(&to_log.file, at.dirfd, "window.log", DEP_LOG_MAGIC, 0,
					 &at.fmt, &at.access),
			 0);
	dep_file_header(&h, &at.fmt, DEP_LOG_MAGIC, 0);
	to_log.seed = at.fmt.seed;
	to_log.prev = h.check;
	assert_int_equal(dep_log_open(&s, log, size), 0);
	for (n = 0; (fr = dep_log_next(&s)); n++) {
		payload = malloc(fr->size + 16);
		memcpy(payload, fr->payload, fr->size);
		type = fr->type;
		if (n == which && !below(4))
			type = 1 + below(15);
		else if (n == which)
			odd_number(payload, fr->size);
		assert_int_equal(dep_log_append(&to_log,
						&(struct dep_new_frame){
							.type = type,
							.process = fr->process,
							.data = payload,
							.size = n == which && !below(4)
									? below(fr->size + 16)
									: fr->size,
						}),
				 0);
		free(payload);
	}
	close(to_log.file.fd);
	close(at.dirfd);
}

/* Change the header of one chunk, and correct its checksum. */
static void forge_chunks(u8 *file, size_t size, u64 of)
{
	struct dep_wire_window_chunk h;
	size_t at, from = below((u32)size);

	for (at = sizeof(struct dep_file_header); at + sizeof(h) < size;
	     at += dep_align8(sizeof(h) + (u64)h.chunk.fill)) {
		memcpy(&h, file + at, sizeof(h));
		if (at < from)
			continue;
		odd_number((u8 *)&h + 8, sizeof(h) - 8);
		h.check = XXH3_64bits_withSeed(&h, offsetof(typeof(h), check), of);
		memcpy(file + at, &h, sizeof(h));
		return;
	}
}

static void damaged(void **state)
{
	size_t log_size, size;
	u64 of;
	u8 *log, *file, *copy;
	const u64 count = from_env("ADEPT_TEST_COUNT", 150);
	char name[256] = "";
	u32 i;

	(void)state;
	window_kill();
	log = slurp(window_dir, "window.log", &log_size);
	of = XXH3_64bits(((struct dep_file_header *)log)->id, DEP_ID_SIZE);
	for (i = 0; i < count; i++) {
		choose_chunks(name, sizeof(name));
		file = slurp(window_dir, name, &size);
		copy = slurp(window_dir, name, &size);
		if (i % 3 == 1)
			forge_log(log, log_size);
		else if (i % 3 == 2)
			forge_chunks(copy, size, of);
		else
			copy[below((u32)size)] ^= 1u << below(8);
		spew(window_dir, name, copy, below(4) ? size : below((u32)size));
		recover_any();
		spew(window_dir, name, file, size);
		spew(window_dir, "window.log", log, log_size);
		free(file);
		free(copy);
	}
	for (i = 0; i < 40; i++) {
		spew(window_dir, "window.log", log, below((u32)log_size));
		recover_any();
	}
	free(log);
	scratch_remove(window_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged),
	};

	rnd_state = from_env("ADEPT_TEST_SEED", 1);
	return cmocka_run_group_tests(tests, window_fixture_make, window_fixture_free);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors of translations, of the engine's log and of an attach: which ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libdep/abi/session_file.h"
#include "libdep/format/codec/descriptor.h"
#include "libdep/format/file/wire.h"

#define HOT	10u
#define COLD	6u

struct translation {
	struct adept_desc_translation d;
	struct adept_code_place place[3];
	u8 code[HOT + COLD + 4];
};

static struct translation good(void)
{
	struct translation t = {
		.d = {
			.h = { .type = ADEPT_DESC_TRANSLATION }, .first_exit = 5000,
			.hot_len = HOT, .cold_len = COLD, .nplaces = 3,
		},
		.place = { { 0, 0, ADEPT_CODE_ENTRY }, { 5, 0, ADEPT_CODE_COPY },
			   { HOT, 1, ADEPT_CODE_DATA } },
	};

	t.d.h.size = dep_align8(sizeof(t.d) + sizeof(t.place) + HOT + COLD);
	return t;
}

static void refused(struct translation t)
{
	assert_int_not_equal(dep_desc_check(&t.d.h), 0);
}

static void translations(void **state)
{
	struct translation t = good();

	(void)state;
	assert_true(sizeof(t) >= t.d.h.size);
	assert_int_equal(dep_desc_check(&t.d.h), 0);
	t.d.h.size -= 8;
	refused(t);
	t = good();
	t.d.h.size = sizeof(t.d) - 8;
	refused(t);
	t = good();
	t.d.nplaces = 0;
	refused(t);
	t = good();
	t.d.nplaces = UINT32_MAX;
	refused(t);
	t = good();
	t.d.cold_len += 8;
	refused(t);
}

static void places(void **state)
{
	struct translation t = good();

	(void)state;
	t.place[0].off = 1;	/* code that belongs to nothing */
	refused(t);
	t = good();
	t.place[1].off = 0;
	refused(t);
	t = good();
	t.place[2].off = HOT + COLD;
	refused(t);
	t = good();
	t.place[1].kind = ADEPT_CODE_KINDS;
	refused(t);
}

static void log_lines(void **state)
{
	struct {
		struct adept_desc_log d;
		char text[8];
	} l = {
		.d = { .h = { sizeof(l), ADEPT_DESC_LOG }, .area = ADEPT_LOG_AREAS - 1 },
		.text = "1234567",
	};

	(void)state;
	assert_int_equal(dep_desc_check(&l.d.h), 0);
	l.text[7] = '8';
	assert_int_not_equal(dep_desc_check(&l.d.h), 0);
	l.text[7] = 0;
	l.d.area = ADEPT_LOG_AREAS;
	assert_int_not_equal(dep_desc_check(&l.d.h), 0);
	l.d.area = 0;
	l.d.h.size = sizeof(l.d);
	assert_int_not_equal(dep_desc_check(&l.d.h), 0);
}

static void attaches(void **state)
{
	struct {
		struct adept_desc_file d;
		char text[8];
	} f = { .d = { .h = { sizeof(f), ADEPT_DESC_FILE } }, .text = "/a\0tcp" };
	struct adept_desc_attach a = { .h = { sizeof(a), ADEPT_DESC_ATTACH } };

	(void)state;
	assert_int_equal(dep_desc_check(&f.d.h), 0);
	/* Both texts must end within the descriptor. */
	memcpy(f.text, "/a\0tcp 1", sizeof(f.text));
	assert_int_not_equal(dep_desc_check(&f.d.h), 0);
	memcpy(f.text, "/a/tcp1", sizeof(f.text));
	assert_int_not_equal(dep_desc_check(&f.d.h), 0);
	memset(f.text, 0, sizeof(f.text));
	assert_int_equal(dep_desc_check(&f.d.h), 0);
	f.d.h.size = sizeof(f.d);
	assert_int_not_equal(dep_desc_check(&f.d.h), 0);
	assert_int_equal(dep_desc_check(&a.h), 0);
	a.h.size -= 8;
	assert_int_not_equal(dep_desc_check(&a.h), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(translations), cmocka_unit_test(places),
		cmocka_unit_test(log_lines), cmocka_unit_test(attaches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

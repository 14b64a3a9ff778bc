// SPDX-License-Identifier: GPL-2.0-or-later
/* The data of depctl report's page: whatever is joined, no instruction is lost or counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "fake_profile.h"
#include "tests/unit/lib/random.h"
#include "tools/depctl/page/model.h"

static char *text;	/* what page_data_write() wrote last */

/* Make the data of a profile. */
static cJSON *data_of(const struct page_input *in)
{
	FILE *f = tmpfile();
	struct out o;
	cJSON *data;
	long size;

	assert_non_null(f);
	out_begin(&o);
	o.fd = fileno(f);
	assert_int_equal(page_data_write(in, &o), 0);
	out_flush(&o);
	assert_int_equal(o.error, 0);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	free(text);
	text = calloc(1, size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, size, f), size);
	fclose(f);
	data = cJSON_Parse(text);
	assert_non_null(data);
	return data;
}

static cJSON *column(cJSON *data, const char *table, const char *key)
{
	cJSON *c = cJSON_GetObjectItem(cJSON_GetObjectItem(data, table), key);

	assert_true(cJSON_IsArray(c));
	return c;
}

static double sum(const cJSON *array)
{
	const cJSON *x;
	double n = 0;

	cJSON_ArrayForEach(x, array)
		n += x->valuedouble;
	return n;
}

static double member(cJSON *data, const char *key)
{
	cJSON *x = cJSON_GetObjectItem(data, key);

	assert_true(cJSON_IsNumber(x));
	return x->valuedouble;
}

/* What holds for all profiles. */
static void check_sums(cJSON *data, const struct page_input *in, bool with_times)
{
	cJSON *parent = column(data, "nodes", "parent"), *x;
	double left = member(cJSON_GetObjectItem(data, "left_out"), "insns");
	int i = 0;

	assert_true(member(data, "insns") == (double)in->profile->insns);
	assert_true(sum(column(data, "nodes", "self")) == (double)in->profile->insns);
	assert_true(sum(column(data, "functions", "self")) + left == (double)in->profile->insns);
	if (with_times)
		assert_true(sum(column(data, "rows", "insns")) == (double)in->profile->insns);
	assert_true(cJSON_GetArraySize(parent) <= 2 * (int)PAGE_NODES);
	assert_true(cJSON_GetArraySize(column(data, "rows", "node")) <= (int)PAGE_ROWS + 1);
	cJSON_ArrayForEach(x, parent) {
		assert_true(x->valuedouble < i || !i);
		i++;
	}
	assert_null(strchr(text, '<'));
}

static void named(void **state)
{
	const char *const names[] = { "big", "hostile", "deep", "empty" };
	const struct page_input *in;
	cJSON *data;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(fake_named(names[i]));
		in = fake_input();
		data = data_of(in);
		/* The made-up times of "big" and "deep" leave some contexts out. */
		check_sums(data, in, !strcmp(names[i], "hostile"));
		cJSON_Delete(data);
	}
}

/* A node is joined with others if and only if it has too few instructions. */
static void small_nodes(void **state)
{
	const struct page_input *in;
	uint32_t f, main, a, b;
	cJSON *data, *kind, *self, *joined, *calls;

	(void)state;
	fake_begin(1, 1);
	f = fake_function("main", "p");
	main = fake_context(0, f, 1, 1, 40000 - 9 - 5 - 3 - 2 - 10);
	f = fake_function("large", "p");
	fake_context(main, f, 1, 7, 10);
	f = fake_function("small", "p");
	a = fake_context(main, f, 1, 20, 3);
	f = fake_function("below", "p");
	fake_context(a, f, 1, 100, 5);
	f = fake_function("other", "p");
	fake_context(main, f, 1, 30, 9);
	f = fake_function("alone", "p");
	b = fake_context(main + 1, f, 1, 40, 2);
	assert_int_equal(b, 6);
	in = fake_input();
	assert_int_equal(in->profile->insns, 40000);
	data = data_of(in);
	check_sums(data, in, false);
	kind = column(data, "nodes", "kind");
	self = column(data, "nodes", "self");
	joined = column(data, "nodes", "joined");
	calls = column(data, "nodes", "calls");
	/* all, main, large, (3 smaller), alone */
	assert_int_equal(cJSON_GetArraySize(kind), 5);
	assert_int_equal(cJSON_GetArrayItem(self, 2)->valueint, 10);
	assert_int_equal(cJSON_GetArrayItem(kind, 3)->valueint, PAGE_SMALLER);
	assert_int_equal(cJSON_GetArrayItem(self, 3)->valueint, 3 + 5 + 9);
	assert_int_equal(cJSON_GetArrayItem(joined, 3)->valueint, 3);
	assert_int_equal(cJSON_GetArrayItem(calls, 3)->valueint, 20 + 30);
	assert_int_equal(cJSON_GetArrayItem(kind, 4)->valueint, DEP_CONTEXT_CALL);
	assert_int_equal(cJSON_GetArrayItem(self, 4)->valueint, 2);
	cJSON_Delete(data);
}

/* In a recursion, the instructions of a pair count once. */
static void recursion(void **state)
{
	cJSON *data, *insns, *calls, *caller, *callee;
	uint32_t f, g, at, i;

	(void)state;
	fake_begin(1, 1);
	f = fake_function("f", "p");
	g = fake_function("g", "p");
	at = fake_context(0, f, 1, 1, 100);
	for (i = 0; i < 3; i++)
		at = fake_context(fake_context(at, g, 1, 2, 1000), f, 1, 4, 10);
	data = data_of(fake_input());
	insns = column(data, "pairs", "insns");
	calls = column(data, "pairs", "calls");
	caller = column(data, "pairs", "caller");
	callee = column(data, "pairs", "callee");
	assert_int_equal(cJSON_GetArraySize(insns), 3);
	for (i = 0; i < 3; i++) {
		bool from_f = cJSON_GetArrayItem(callee, i)->valueint !=
			      cJSON_GetArrayItem(callee, 0)->valueint;

		if (cJSON_GetArrayItem(caller, i)->valueint < 0)
			assert_int_equal(cJSON_GetArrayItem(insns, i)->valueint, 3130);
		else
			assert_int_equal(cJSON_GetArrayItem(insns, i)->valueint,
					 from_f ? 3030 : 2030);
		if (cJSON_GetArrayItem(caller, i)->valueint >= 0)
			assert_int_equal(cJSON_GetArrayItem(calls, i)->valueint, from_f ? 6 : 12);
	}
	cJSON_Delete(data);
}

/* Trees and times at random: the sums of each node by time are those of the node. */
static void random_times(void **state)
{
	unsigned int round, i, n, k, nthreads;
	const struct page_input *in;
	uint64_t insns, part;
	uint32_t context, thread;
	double *node;
	cJSON *data, *x, *y;

	(void)state;
	for (round = 0; round < 60; round++) {
		nthreads = 1 + rnd() % 80;
		fake_begin(1 + rnd() % 3, nthreads);
		for (i = 0; i < 50; i++)
			fake_function("f", i % 2 ? "p" : "libc.so.6");
		n = 1 + rnd() % 2000;
		for (i = 1; i <= n; i++) {
			insns = rnd() % (1ull << rnd() % 30);
			thread = 1 + rnd() % nthreads;
			context = fake_context(rnd() % i, rnd() % 50, thread, 1, insns);
			for (k = rnd() % 3; k < 4; k++) {
				part = k == 3 ? insns : rnd() % (insns + 1);
				insns -= part;
				fake_time(rnd() % 1000000 * 100 + context, rnd() % 100000000,
					  thread, context, part);
			}
		}
		in = fake_input();
		data = data_of(in);
		check_sums(data, in, true);
		node = calloc(cJSON_GetArraySize(column(data, "nodes", "self")), sizeof(*node));
		assert_non_null(node);
		y = column(data, "rows", "insns")->child;
		cJSON_ArrayForEach(x, column(data, "rows", "node")) {
			node[x->valueint] += y->valuedouble;
			y = y->next;
		}
		i = 0;
		cJSON_ArrayForEach(x, column(data, "nodes", "self")) {
			assert_true(node[i] == x->valuedouble);
			i++;
		}
		free(node);
		cJSON_Delete(data);
	}
}

/* A store can name any times: a thread that ran until the end of time, and one after it. */
static void largest_times(void **state)
{
	uint32_t a, b;
	cJSON *data;

	(void)state;
	fake_begin(1, 2);
	a = fake_context(0, fake_function("a", "program"), 1, 1, 1000);
	b = fake_context(0, fake_function("b", "program"), 2, 1, 5);
	fake_time(0, UINT64_MAX, 1, a, 1000);
	fake_time(UINT64_MAX, 0, 2, b, 5);
	data = data_of(fake_input());
	assert_true(sum(column(data, "rows", "insns")) == 1005);
	cJSON_Delete(data);
}

/* The tree does not grow with depth. */
static void depth(void **state)
{
	cJSON *data;

	(void)state;
	assert_true(fake_named("deep"));
	data = data_of(fake_input());
	assert_int_equal(cJSON_GetArraySize(column(data, "nodes", "self")), PAGE_DEPTH + 2);
	cJSON_Delete(data);
}

/* Names come back as they were, except bytes that are no UTF-8. */
static void names(void **state)
{
	const struct function *f;
	cJSON *data, *name;
	size_t n, i, k;

	(void)state;
	assert_true(fake_named("hostile"));
	data = data_of(fake_input());
	n = functions_all(NULL, &f);
	name = column(data, "functions", "name");
	assert_int_equal(cJSON_GetArraySize(name), n);
	for (i = 0; i + 1 < n; i++) {
		for (k = 0; k < n; k++)
			if (!strcmp(cJSON_GetArrayItem(name, k)->valuestring, f[i].name))
				break;
		assert_true(k < n);
	}
	cJSON_Delete(data);
}

/* Check that @key of @object is the @n numbers of @want. */
static void check_numbers(cJSON *object, const char *key, const double *want, int n)
{
	cJSON *array = cJSON_GetObjectItem(object, key);
	int i;

	assert_int_equal(cJSON_GetArraySize(array), n);
	for (i = 0; i < n; i++)
		assert_true(cJSON_GetArrayItem(array, i)->valuedouble == want[i]);
}

#define BLOCK(from, to, n)	{ .pc = from, .last = to, .insns = n }

/* Blocks become ranges of instructions; those without instructions on the page are left out. */
static void paths(void **state)
{
	const struct dep_path_code block[] = {
		BLOCK(0x102, 0x104, 3), BLOCK(0x106, 0x107, 2),	/* instructions 2-4 and 6-7 of f */
		BLOCK(0x200, 0x201, 2),				/* the first ones of main */
		BLOCK(0x900, 0x901, 2), BLOCK(0x107, 0x106, 1),	/* none; backwards */
		BLOCK(0x106, 0x900, 1), BLOCK(0x104, 0x104, 1),
		BLOCK(0x100, 0x100, 1),
	};
	struct page_path path[] = {
		{ .count = 7, .insns = 5, .offset = 2, .block = block, .nblocks = 2, .process = 1,
		  .image = 1, .function = 1, .blocks = 2, .round = true },
		{ .count = 3, .insns = 9, .offset = -16, .block = block + 2, .nblocks = 5,
		  .process = 1, .image = 1, .function = NO_FUNCTION, .blocks = 5 },
		/* Of another process, and without blocks. */
		{ .count = 2, .insns = 1, .block = block + 7, .nblocks = 1, .process = 0,
		  .image = 1, .function = 0, .blocks = 1 },
		{ .count = 1, .insns = 4, .process = 1, .image = 1, .function = 0, .blocks = 9 },
	};
	const struct page_loop loop[] = {
		{ .entered = 1, .iterations = 8, .insns = 40, .offset = 2, .function = 1,
		  .path = 0, .line = 12 },
		{ .entered = 2, .iterations = 5, .insns = 30, .function = 0, .path = NO_FUNCTION },
		{ .entered = 2, .iterations = 5, .insns = 30, .function = 0, .path = 4 },
	};
	const struct page_paths made = {
		.path = path, .loop = loop, .n = 4, .nloops = 3, .loops_left_out = 1,
		.left_out = 5, .left_insns = 6, .partial = 2, .partial_insns = 20, .truncated = 1,
	};
	cJSON *data, *p, *code, *loops;
	struct page_input in;
	uint32_t f, main, i;

	(void)state;
	fake_begin(1, 1);
	main = fake_function("main", "program");
	f = fake_function("f", "program");
	fake_context(0, NO_FUNCTION, 0, 0, 0);
	fake_context(0, main, 1, 1, 20);
	fake_context(1, f, 1, 1, 80);
	for (i = 0; i < 8; i++)
		fake_insn(f, 0x100 + i, 10, NULL, 0);
	for (i = 0; i < 2; i++)
		fake_insn(main, 0x200 + i, 10, NULL, 0);
	in = *fake_input();
	data = data_of(&in);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(data, "paths")));
	cJSON_Delete(data);
	in.paths = &made;
	data = data_of(&in);
	p = cJSON_GetObjectItem(data, "paths");
	code = cJSON_GetObjectItem(p, "code");
	loops = cJSON_GetObjectItem(p, "loops");
	/* On the page, f has number 1 or 0, by the instructions of both. */
	i = !strcmp(cJSON_GetArrayItem(column(data, "functions", "name"), 1)->valuestring, "f");
	check_numbers(p, "function", (double[]){ i, -1, !i, !i }, 4);
	check_numbers(p, "offset", (double[]){ 2, -16, 0, 0 }, 4);
	check_numbers(p, "count", (double[]){ 7, 3, 2, 1 }, 4);
	check_numbers(p, "insns", (double[]){ 5, 9, 1, 4 }, 4);
	check_numbers(p, "blocks", (double[]){ 2, 5, 1, 9 }, 4);
	check_numbers(p, "round", (double[]){ 1, 0, 0, 0 }, 4);
	check_numbers(p, "first", (double[]){ 0, 2, 4, 4, 4 }, 5);
	check_numbers(code, "function", (double[]){ i, i, !i, i }, 4);
	check_numbers(code, "from", (double[]){ 2, 6, 0, 4 }, 4);
	check_numbers(code, "to", (double[]){ 4, 7, 1, 4 }, 4);
	check_numbers(loops, "path", (double[]){ 0, -1, -1 }, 3);
	check_numbers(loops, "iterations", (double[]){ 8, 5, 5 }, 3);
	check_numbers(loops, "line", (double[]){ 12, 0, 0 }, 3);
	assert_true(member(p, "left_insns") == 6);
	assert_true(member(p, "partial_insns") == 20);
	assert_true(member(p, "loops_left_out") == 1);
	cJSON_Delete(data);
}

static void file(void **state)
{
	char folder[] = "/tmp/adept-page.XXXXXX", path[64], other[64];
	const struct page_input *in;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/page.html", folder);
	snprintf(other, sizeof(other), "%s/none/page.html", folder);
	assert_true(fake_named("hostile"));
	in = fake_input();
	assert_int_equal(page_write(in, other), 1);
	assert_int_equal(page_write(in, folder), 1);
	/* A link to a file that does not exist is not followed. */
	assert_int_equal(symlink("target", path), 0);
	assert_int_equal(page_write(in, path), 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(page_write(in, path), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(page_write(in, path), 0);
	assert_int_equal(unlink(path), 0);
	/* Nothing else is left. */
	assert_int_equal(rmdir(folder), 0);
}

static int end(void **state)
{
	(void)state;
	free(text);
	fake_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named),
		cmocka_unit_test(small_nodes),
		cmocka_unit_test(recursion),
		cmocka_unit_test(random_times),
		cmocka_unit_test(largest_times),
		cmocka_unit_test(depth),
		cmocka_unit_test(names),
		cmocka_unit_test(paths),
		cmocka_unit_test(file),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}

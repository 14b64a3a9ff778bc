// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect_fixture.h"

void collect_begin(struct collect_fixture *f, u32 flags, u64 ring, u64 max_size)
{
	struct dep_collect_setup setup = { .max_size = max_size };

	memset(f, 0, sizeof(*f));
	f->w = calloc(1, sizeof(*f->w));
	assert_non_null(f->w);
	f->w->strict = true;
	f->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(f->shared != MAP_FAILED);
	assert_int_equal(dep_session_create(&f->s, flags, ring, 64, 256, 0), 0);
	setup.w = f->w;
	assert_int_equal(dep_collector_create(&f->c, &f->s, &setup), 0);
	alarm(60);
}

void collect_check(struct collect_fixture *f)
{
	if (f->w->errors)
		print_error("%llu errors, the first: %s\n", (unsigned long long)f->w->errors,
			    f->w->error);
	assert_int_equal(f->w->errors, 0);
}

void collect_end(struct collect_fixture *f)
{
	alarm(0);
	dep_session_destroy(&f->s);
	munmap(f->shared, 4096);
	free(f->w);
}

void collect_run(struct collect_fixture *f, pid_t child)
{
	assert_int_equal(dep_collector_run(f->c, child, &f->status, NULL, NULL), 0);
	dep_collector_finish(f->c, &f->ending, NULL);
}

void collect_write(struct fake_process *p, u64 *progress, u32 n, u32 describe_every)
{
	struct fake_thread t = { .progress = progress };
	u32 i;

	if (fake_thread_begin(&t, p))
		abort();
	for (i = 0; i < n; i++) {
		if (i % describe_every == 0)
			fake_describe(p, 32 + 8 * (i % 40));
		fake_record(&t);
	}
	fake_thread_end(&t);
}

/* fork(); the child is a recorded process, with a thread if @t is not NULL. */
pid_t collect_start(struct collect_fixture *f, struct fake_process *p, struct fake_thread *t)
{
	pid_t pid = fork();

	if (!pid && (fake_process_begin(p, &f->s, 0) || (t && fake_thread_begin(t, p))))
		abort();
	return pid;
}

/* A process that only calls write_records(). */
pid_t collect_start_writer(struct collect_fixture *f, u64 *progress, u32 n, u32 describe_every,
			   int status)
{
	struct fake_process p;
	pid_t pid = collect_start(f, &p, NULL);

	if (!pid) {
		collect_write(&p, progress, n, describe_every);
		_exit(status);
	}
	return pid;
}

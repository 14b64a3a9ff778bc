// SPDX-License-Identifier: GPL-2.0-or-later
/* live STORE: count references and system calls of a recording that still runs. */
#include <dep/analyze.h>
#include <dep/verdict.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct live {
	const char *dir;
	uint64_t refs, calls, printed;
};

/* All items come in one order, which is that of the timestamps of all threads. */
static ssize_t items(void *self, const struct dep_thread *t, const struct dep_item *items, size_t n,
		     bool late)
{
	struct live *l = self;

	(void)t, (void)late;
	for (size_t i = 0; i < n; i++) {
		l->refs += items[i].kind == DEP_ITEM_REF;
		/* When a call begins, it comes with DEP_EV_ENTER in the id. */
		l->calls += items[i].kind == DEP_ITEM_EVENT &&
			    items[i].event.id == ADEPT_EV_SYSCALL;
	}
	return (ssize_t)n;
}

/* Called while there is nothing to deliver. */
static int wait_for_more(void *arg, unsigned int ms)
{
	struct live *l = arg;

	if (l->refs + l->calls != l->printed) {
		printf("so far %" PRIu64 " references, %" PRIu64 " system calls\n", l->refs,
		       l->calls);
		fflush(stdout);
		l->printed = l->refs + l->calls;
	}
	if (!dep_store_in_use(l->dir))
		return 1;
	usleep(ms * 1000);
	return 0;
}

int main(int argc, char **argv)
{
	const struct dep_analyzer a = { .name = "live", .want = DEP_WANT_REFS, .items = items };
	struct live l = { .dir = argv[1] };
	struct dep_live_options options = { .wait = wait_for_more, .arg = &l };
	struct dep_analysis stats = { 0 };
	struct dep_store *s = NULL;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: live STORE\n");
		return 2;
	}
	options.session = dep_session_open(argv[1]);
	err = options.session < 0 ? options.session : dep_store_open_growing(&s, argv[1]);
	if (!err)
		err = dep_analyze_live(s, &a, &l, NULL, &options, &stats);
	if (err == -ESTALE || err == -EOPNOTSUPP) {
		/* It could not be followed to the end: wait, and begin again. */
		while (!wait_for_more(&l, 100))
			;
		dep_store_close(s);
		l.refs = l.calls = 0;
		err = dep_store_open(&s, argv[1]);
		if (!err)
			err = dep_analyze(s, &a, &l, NULL, &stats);
	}
	if (err) {
		fprintf(stderr, "live: %s\n", dep_error());
		return 1;
	}
	printf("%" PRIu64 " references, %" PRIu64 " system calls, %s\n", l.refs, l.calls,
	       dep_verdict_name(dep_store_verdict(s)->state));
	dep_store_close(s);
	close(options.session);
	return 0;
}

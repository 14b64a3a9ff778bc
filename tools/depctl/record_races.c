// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl record --races: the query is asked at once, and without -o nothing else is left.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "depctl.h"
#include "record.h"

int record_races_begin(struct record_races *r, struct record_options *o)
{
	const char *tmp = getenv("TMPDIR");

	*r = (struct record_races){ .how = &o->how };
	r->report = races_report_begin(r->how);
	if (!r->report)
		return -1;
	if (o->dir) {
		snprintf(r->store, sizeof(r->store), "%s", o->dir);
		return 0;
	}
	snprintf(r->tmp, sizeof(r->tmp), "%s/adept-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(r->tmp)) {
		warn("%s: %s; choose another place with -o or TMPDIR", r->tmp, strerror(errno));
		*r->tmp = '\0';
		return -1;
	}
	snprintf(r->store, sizeof(r->store), "%s/races.dep", r->tmp);
	o->dir = r->store;
	/* Nobody will look for it; losses are told even so. */
	o->quiet = true;
	return 0;
}

static void remove_temporary(struct record_races *r)
{
	if (!*r->tmp)
		return;
	if (!access(r->store, F_OK) && dep_store_remove(r->store))
		warn("%s", dep_error());
	else if (rmdir(r->tmp))
		warn("%s: %s", r->tmp, strerror(errno));
	*r->tmp = '\0';
}

int record_races_report(struct record_races *r, int status)
{
	struct dep_store *store = open_store(r->store);
	size_t found = 0;
	int failed = EXIT_FAILURE;

	/* It is open: its files go with this process, however that ends. */
	remove_temporary(r);
	signals_default();
	if (store)
		failed = races_report(r->report, store, r->store, STDERR_FILENO, &found);
	dep_store_close(store);
	if (found && r->how->exit_code)
		return r->how->exit_code;
	return failed && !status ? failed : status;
}

void record_races_end(struct record_races *r)
{
	remove_temporary(r);
	races_report_end(r->report);
	free(r->how->suppressions);
}

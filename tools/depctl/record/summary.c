// SPDX-License-Identifier: GPL-2.0-or-later
/* Choose the store's name, and print the summary of a recording. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tools/depctl/depctl.h"
#include "record.h"

/* Without -o the name is COMMAND.dep or, if it exists, the first free COMMAND.N.dep. */
void record_dir(const struct record_options *o, char *dir, size_t size)
{
	const char *slash = strrchr(o->argv[0], '/');
	const char *base = slash && slash[1] ? slash + 1 : o->argv[0];
	struct stat st;
	int i;

	if (o->dir) {
		snprintf(dir, size, "%s", o->dir);
		return;
	}
	snprintf(dir, size, "%s.dep", base);
	for (i = 1; !lstat(dir, &st) && i < 1000000; i++)
		snprintf(dir, size, "%s.%d.dep", base, i);
}

static void say_losses(const struct recorded *r)
{
	const struct dep_loss *l = &r->loss;
	char size[16];

	if (l->dropped_chunks)
		warn("dropped: %s in %llu chunks, because the ring was full (--on-full=drop)",
		     human_size(l->dropped_bytes, size), (unsigned long long)l->dropped_chunks);
	if (l->discarded_bytes)
		warn("not stored: %s, because %s", human_size(l->discarded_bytes, size),
		     r->failed ? "the store could not be written" :
		     r->stopped ? "--max-size was reached" : "the data was invalid");
	if (l->lost_threads || l->lost_processes)
		warn("unrecorded, because no slot was free or execve could not be followed: %llu "
		     "threads, %llu programs",
		     (unsigned long long)l->lost_threads, (unsigned long long)l->lost_processes);
	if (l->absent_chunks)
		warn("lost: %s in %llu chunks, while no depd was running",
		     human_size(l->absent_bytes, size), (unsigned long long)l->absent_chunks);
	if (l->lost_descriptors)
		warn("lost: %llu records that describe code, mappings or log lines, because no "
		     "collector ran",
		     (unsigned long long)l->lost_descriptors);
	if (l->unfinished_threads)
		warn("%llu thread%s killed: up to one unfinished record %sis missing",
		     (unsigned long long)l->unfinished_threads,
		     l->unfinished_threads == 1 ? " was" : "s were",
		     l->unfinished_threads == 1 ? "" : "of each ");
}

static void say_summary(const struct record_options *o, const char *dir, const struct recorded *st)
{
	char a[16], b[16];

	if (o->flags & ADEPT_S_NO_RECORD) {
		warn("ran %u process%s unrecorded (--no-record)", st->processes,
		     st->processes == 1 ? "" : "es");
		return;
	}
	if (o->flags & ADEPT_S_NULL) {
		warn("%s: counted %s of %u thread%s, stored nothing (--null)", dir,
		     human_size(st->null_bytes, a), st->threads, st->threads == 1 ? "" : "s");
		return;
	}
	if (st->removed) {
		warn("%s was removed: the command ended with status %d (--keep-if=%s)", dir,
		     WEXITSTATUS(st->status),
		     o->keep_if == DEP_KEEP_IF_CRASH ? "crash" : "failure");
		return;
	}
	if (st->last_dropped)
		warn("dropped all but the last %s (--last); nothing is missing in the last %.2f s",
		     human_size(st->raw_bytes - st->last_dropped, a),
		     (double)st->last_kept_ns / 1e9);
	warn("%s: %u process%s, %u thread%s, %s recorded, %s stored%s", dir, st->processes,
	     st->processes == 1 ? "" : "es", st->threads, st->threads == 1 ? "" : "s",
	     human_size(st->raw_bytes, a), human_size(st->stored_bytes, b),
	     st->loss.native_images ? ", some programs ran unrecorded" : "");
}

void record_summary(const struct record_options *o, const char *dir, const struct recorded *r)
{
	say_losses(r);
	if (!o->quiet)
		say_summary(o, dir, r);
}

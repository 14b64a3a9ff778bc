/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A snapshot: what a window (window.h) had at one moment, stored while the recording goes on.
 *
 *	loop		copies the unfinished chunks of living threads
 *	queue		window + copies -> struct dep_saved, references only
 *	its own thread	packs them into a store of its own, at low priority
 *
 * The recording never waits for the thread. If it fails, it removes the store.
 */
#ifndef ADEPT_COLLECT_SNAPSHOT_STORE_H
#define ADEPT_COLLECT_SNAPSHOT_STORE_H

#include "collect.h"
#include "window.h"
#include "libdep/format/file/ending.h"

struct dep_snapshot;

/**
 * dep_snapshot_new() - begin a snapshot
 * @save: copied with what it points to, but for @meta, which must stay valid until the snapshot is
 *	done
 * @ending: how the store ends; copied
 *
 * Return: NULL without memory.
 */
struct dep_snapshot *dep_snapshot_new(const struct dep_save *save, const struct dep_ending *ending);
/**
 * dep_snapshot_start() - start the thread that stores the snapshot
 * @saved: owned by the snapshot from now on; NULL: there was no memory for it
 * @wakeup: as in struct adept_session; the loop that is to look at the snapshot when it is done
 */
void dep_snapshot_start(struct dep_snapshot *s, const struct dep_saved *saved,
			struct adept_session *wakeup);
/** dep_snapshot_done() - true if the snapshot is stored, or has failed; @result receives which */
bool dep_snapshot_done(struct dep_snapshot *s, struct dep_save_result *result);
/** dep_snapshot_free() - wait until the thread, if it was started, has ended; @s may be NULL */
void dep_snapshot_free(struct dep_snapshot *s);

#endif

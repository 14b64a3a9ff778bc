// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The verdict on a store.
 *
 * Each question is answered by the part of the store on its right:
 *
 *	is the log whole?		the chain of frames up to END, or to the end of the file
 *	was the store closed, and why?	END, else the manifest
 *	are all segment files there?	sizes in END
 *	are all segments there?		for each thread: indexes without a gap, and the chain of
 *					segments up to the last segment that the log names
 *	did all threads end?		a THREAD_END for each THREAD
 *	what did the recorder lose?	struct dep_loss
 *
 * Each problem found becomes a defect.  A closed store without defects is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libdep/format/file/error.h"
#include "lock.h"
#include "store.h"

const char *dep_verdict_name(enum dep_verdict_state state)
{
	static const char *const names[DEP_VERDICT_STATES] = {
		"complete", "incomplete", "recording", "no proof",
	};

	return (unsigned int)state < DEP_VERDICT_STATES ? names[state] : "?";
}

const char *dep_defect_name(enum dep_defect_kind kind)
{
	static const char *const names[DEP_DEFECT_KINDS] = {
		"unclosed", "log", "file", "segments", "order", "thread", "loss",
	};

	return (unsigned int)kind < DEP_DEFECT_KINDS ? names[kind] : "?";
}

/* Add a defect to the verdict; NULL if it has DEP_DEFECTS_MAX already or without memory. */
static struct dep_defect *new_defect(struct dep_store *s, enum dep_defect_kind kind)
{
	struct dep_defect *d = NULL;

	if (s->defects.n < DEP_DEFECTS_MAX)
		d = dep_table_add(&s->defects, sizeof(*d));
	if (d)
		d->kind = kind;
	else
		s->verdict.more++;
	return d;
}

static struct dep_defect *defect(struct dep_store *s, enum dep_defect_kind kind, const char *fmt,
				 ...) __attribute__((format(printf, 3, 4)));

static struct dep_defect *defect(struct dep_store *s, enum dep_defect_kind kind, const char *fmt,
				 ...)
{
	struct dep_defect *d = new_defect(s, kind);
	va_list ap;

	if (!d)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return d;
}

/* Set which thread and segments a defect concerns, and since when. */
static void set_place(struct dep_defect *d, u32 thread, u64 first, u64 count, u64 since_ns)
{
	if (!d)
		return;
	d->thread = thread;
	d->first = first;
	d->count = count;
	d->since_ns = since_ns;
}

/* Seconds since the recording began, for messages; "?" if unknown. */
static const char *since(const struct dep_store *s, u64 ns, char *buf, size_t size)
{
	u64 start = s->manifest.meta.start_ns;

	if (!ns || ns < start)
		return "?";
	snprintf(buf, size, "%.3f s", (double)(ns - start) / 1e9);
	return buf;
}

/* ---- the log, and how the recording ended ---- */

static bool has_proof(const struct dep_store *s)
{
	return s->fmt.version != DEP_FORMAT_OLD;
}

static bool is_closed(const struct dep_store *s)
{
	return s->model.ended || s->manifest.closed;
}

/* True if a process is writing the store: it holds the lock, or exists if locks do not work. */
static bool is_recording(const struct dep_store *s)
{
	int held = s->log_fd >= 0 ? dep_lock_held(s->log_fd) : 0;

	if (is_closed(s))
		return false;
	return held < 0 ? dep_recorder_lives(&s->manifest.recorder) : held;
}

/* The end of a noun and its verb: "1 chunk is missing", "2 chunks are missing". */
static const char *are(u64 n)
{
	return n == 1 ? " is" : "s are";
}

static void check_log(struct dep_store *s)
{
	const struct dep_model *m = &s->model;

	if (m->bad_bytes)
		defect(s, DEP_DEFECT_LOG, "%" PRIu64 " bytes of %s are damaged", m->bad_bytes,
		       DEP_LOG_NAME);
	if (m->bad_descriptors)
		defect(s, DEP_DEFECT_LOG, "%" PRIu64 " descriptors in %s are invalid",
		       m->bad_descriptors, DEP_LOG_NAME);
	if (has_proof(s) && m->breaks)
		defect(s, DEP_DEFECT_LOG,
		       "entries of %s are missing, doubled or exchanged in %" PRIu64 " places",
		       DEP_LOG_NAME, m->breaks);
	if (!has_proof(s))
		return;
	if (s->manifest.closed && !m->ended)
		defect(s, DEP_DEFECT_LOG, "the end of %s is missing: its last entry was at byte %"
		       PRIu64, DEP_LOG_NAME, s->manifest.end_at);
	else if (s->manifest.closed && (m->end_at != s->manifest.end_at ||
					m->end_check != s->manifest.end_check))
		defect(s, DEP_DEFECT_LOG, "the last entry of %s does not match %s",
		       DEP_LOG_NAME, DEP_MANIFEST_NAME);
	else if (m->ended && m->frames != m->end.frames)
		defect(s, DEP_DEFECT_LOG, "%s has %" PRIu64 " entries instead of %" PRIu64,
		       DEP_LOG_NAME, m->frames, m->end.frames);
}

#define TAKE_WINDOW \
	"; the window is in files here, of which `depctl snapshot' makes a store"

/* Does the directory have files of a window (--last-on-disk), which the store does not have? */
static bool has_window(const struct dep_store *s)
{
	struct stat st;

	return !fstatat(s->dirfd, DEP_WINDOW_LOG, &st, AT_SYMLINK_NOFOLLOW);
}

static void check_ending(struct dep_store *s)
{
	const struct dep_ending *e = &s->manifest.ending;
	struct dep_defect *d = NULL;
	char at[32];

	if (!is_closed(s) && s->model.is_last && has_window(s)) {
		d = defect(s, DEP_DEFECT_UNCLOSED, "the recorder was killed, or the machine went "
			   "down: its window is in files here, of which `depctl snapshot' makes a "
			   "store");
	} else if (!is_closed(s) && s->model.is_last) {
		d = defect(s, DEP_DEFECT_UNCLOSED, "the recorder was killed, or the machine went "
			   "down: with --last the records are in its memory, and lost with it");
	} else if (!is_closed(s)) {
		d = defect(s, DEP_DEFECT_UNCLOSED,
			   "the recorder was killed, or the machine went down: %s%s",
			   s->model.mark_ns ? "all data was on the disk up to " :
					      "the data recorded last is missing",
			   s->model.mark_ns ? since(s, s->model.mark_ns, at, sizeof(at)) : "");
	} else if (e->cause == DEP_CLOSE_FAILED) {
		d = defect(s, DEP_DEFECT_UNCLOSED,
			   "writing the store failed: %s; later data was not stored%s",
			   e->error ? strerror(e->error) : "unknown error",
			   has_window(s) ? TAKE_WINDOW : "");
	} else if (e->cause == DEP_CLOSE_LOST) {
		d = defect(s, DEP_DEFECT_UNCLOSED, "the recorder was killed, and no other recorder "
			   "could continue the recording: later data is missing%s",
			   has_window(s) ? TAKE_WINDOW : "");
	} else if (e->cause == DEP_CLOSE_CORRUPT) {
		d = defect(s, DEP_DEFECT_UNCLOSED, "the recording was ended early: its programs "
			   "wrote invalid data to the session file");
	} else if (has_proof(s) && e->cause == DEP_CLOSE_UNKNOWN) {
		d = defect(s, DEP_DEFECT_UNCLOSED, "how the recording ended is not known");
	}
	set_place(d, 0, 0, 0, s->model.mark_ns);
}

/* ---- files ---- */

static void check_file(struct dep_store *s, u32 number, u64 size)
{
	struct stat st;

	if (number >= s->nfds || s->fds[number] < 0)
		defect(s, DEP_DEFECT_FILE, DEP_SEG_NAME " is missing", number);
	else if (!fstat(s->fds[number], &st) && size && (u64)st.st_size != size)
		defect(s, DEP_DEFECT_FILE, DEP_SEG_NAME " has %" PRIu64 " bytes instead of %"
		       PRIu64, number, (u64)st.st_size, size);
}

static void check_files(struct dep_store *s)
{
	const struct dep_wire_end *end = &s->model.end;
	u32 n;

	if (s->model.ended && s->model.file_size) {
		for (n = 0; n < end->files; n++)
			check_file(s, end->first_file + n, s->model.file_size[n]);
		if (s->nfds > (u64)end->first_file + end->files)
			defect(s, DEP_DEFECT_FILE, "there are more segment files than the log "
			       "names");
	} else {
		for (n = s->model.first_file; n < s->nfds; n++)
			check_file(s, n, 0);
	}
	if (s->segs.torn)
		defect(s, DEP_DEFECT_FILE, "%" PRIu64 " place%s damaged in segment files",
		       s->segs.torn, are(s->segs.torn));
}

/* ---- segments ---- */

/* State while the segments of one thread are checked in order. */
struct stretch {
	u32 serial, tid;
	u64 next;		/* expected index of the next segment */
	u64 chain;		/* chain value of the previous segment */
	u64 since_ns;		/* start time of the previous segment, at first of the thread */
	u32 file;		/* number of the file with the previous segment, at @offset */
	u64 offset;
};

/* True if @g precedes the thread's previous segment on disk; a writer keeps them in order. */
static bool is_displaced(const struct stretch *t, const struct dep_segment *g)
{
	return g->file < t->file || (g->file == t->file && g->offset < t->offset);
}

static void say_missing(struct dep_store *s, const struct stretch *t, u64 upto)
{
	struct dep_defect *d;
	char at[32];

	d = defect(s, DEP_DEFECT_SEGMENTS,
		   "thread %u: %" PRIu64 " segment%s missing, number%s %" PRIu64 " to %" PRIu64
		   "; nothing is missing up to %s", t->tid, upto - t->next,
		   upto - t->next == 1 ? " is" : "s are", upto - t->next == 1 ? "" : "s",
		   t->next, upto - 1, since(s, t->since_ns, at, sizeof(at)));
	set_place(d, t->serial, t->next, upto - t->next, t->since_ns);
}

static void check_segment(struct dep_store *s, struct stretch *t, const struct dep_segment *g)
{
	struct dep_defect *d = NULL;

	if (g->index < t->next) {
		d = defect(s, DEP_DEFECT_ORDER, "thread %u: segment %" PRIu64
			   " is stored twice, or should have been removed", t->tid, g->index);
		set_place(d, t->serial, g->index, 1, t->since_ns);
		return;
	}
	if (g->index > t->next) {
		say_missing(s, t, g->index);
	} else if (g->prev != t->chain) {
		d = defect(s, DEP_DEFECT_ORDER, "thread %u: segment %" PRIu64
			   " does not continue the previous segment", t->tid, g->index);
		set_place(d, t->serial, g->index, 1, t->since_ns);
	} else if (is_displaced(t, g)) {
		d = defect(s, DEP_DEFECT_ORDER, "thread %u: segment %" PRIu64
			   " is stored before earlier segments", t->tid, g->index);
		set_place(d, t->serial, g->index, 1, t->since_ns);
	}
	t->next = g->index + 1;
	t->chain = g->chain;
	t->file = g->file;
	t->offset = g->offset;
	t->since_ns = g->start_ns;
}

static struct stretch begin_stretch(const struct dep_store *s, u32 serial)
{
	const struct dep_proof *p = dep_table_find(&s->model.proofs, sizeof(*p), serial);
	const struct dep_thread *row = dep_model_thread(&s->model, serial);

	return (struct stretch){
		.serial = serial, .tid = row ? row->tid : 0,
		.next = p ? p->trimmed : 0, .chain = p ? p->trim_chain : 0,
		.since_ns = row ? row->start_ns : 0,
	};
}

/* When all segments of a thread are checked: compare number and chain value with the log. */
static void end_stretch(struct dep_store *s, const struct stretch *t)
{
	const struct dep_proof *p = dep_table_find(&s->model.proofs, sizeof(*p), t->serial);
	struct dep_defect *d = NULL;

	if (!p || t->next > p->segments) {
		/* Without END or THREAD_END, there can be more segments than the log names. */
		if (s->model.ended || (p && p->end_seen))
			d = defect(s, DEP_DEFECT_ORDER,
				   "thread %u has more segments than %s names", t->tid,
				   DEP_LOG_NAME);
	} else if (t->next < p->segments) {
		say_missing(s, t, p->segments);
	} else if (t->chain != p->chain) {
		d = defect(s, DEP_DEFECT_ORDER, "thread %u: the last segment does not match %s",
			   t->tid, DEP_LOG_NAME);
	}
	set_place(d, t->serial, t->next, 0, t->since_ns);
}

/* Check all threads that have segments, which are sorted by thread, or that the log names. */
static void check_segments(struct dep_store *s)
{
	const struct dep_segment *seg = s->segs.seg;
	const struct dep_proof *proof = s->model.proofs.row;
	size_t g = 0, p = 0, nproofs = s->model.proofs.n;
	struct stretch t;
	u32 serial;

	while (g < s->segs.n || p < nproofs) {
		serial = g < s->segs.n && (p == nproofs || seg[g].thread <= proof[p].serial) ?
				 seg[g].thread : proof[p].serial;
		t = begin_stretch(s, serial);
		if (!t.tid)
			set_place(defect(s, DEP_DEFECT_ORDER,
					 "there are segments of a thread that is missing in %s",
					 DEP_LOG_NAME), serial, 0, 0, 0);
		for (; g < s->segs.n && seg[g].thread == serial; g++)
			check_segment(s, &t, &seg[g]);
		end_stretch(s, &t);
		if (p < nproofs && proof[p].serial == serial)
			p++;
	}
}

/* ---- chunks ---- */

/*
 * Check chunk numbers for gaps.  A gap is a chunk that the recorder could not store; in format 3 it
 * can also be a missing segment.  With --on-full=drop gaps are expected.  A recording with --last
 * names the first chunk of each thread.
 */
static void check_chunks(struct dep_store *s)
{
	bool drop = s->manifest.meta.session_flags & ADEPT_S_DROP;
	const struct dep_segment *g = s->segs.seg, *before;
	u64 expect, gaps = 0;
	struct stretch t;
	char at[32];
	size_t i;

	for (i = 0; i < s->segs.n; i++, g++) {
		before = i && g[-1].thread == g->thread ? g - 1 : NULL;
		t = begin_stretch(s, g->thread);
		expect = before ? before->seq + 1 : dep_store_first(s, g->thread);
		if (g->seq == expect || (!before && t.next))
			continue;
		if (g->seq < expect) {
			set_place(defect(s, DEP_DEFECT_ORDER, "thread %u: chunk %" PRIu64
					 " is stored twice, or should have been dropped", t.tid,
					 g->seq),
				  g->thread, 0, 0, before ? before->start_ns : t.since_ns);
			continue;
		}
		gaps += g->seq - expect;
		if (drop)
			continue;
		set_place(defect(s, DEP_DEFECT_SEGMENTS, "thread %u: %" PRIu64 " chunk%s missing"
				 " before number %" PRIu64 ", at %s", t.tid, g->seq - expect,
				 are(g->seq - expect), g->seq,
				 since(s, g->start_ns, at, sizeof(at))),
			  g->thread, 0, 0, before ? before->start_ns : t.since_ns);
	}
	if (drop && gaps > s->loss.dropped_chunks)
		defect(s, DEP_DEFECT_SEGMENTS, "%" PRIu64 " chunk%s missing, but only %" PRIu64
		       " counted as dropped", gaps, are(gaps), s->loss.dropped_chunks);
}

/* ---- threads ---- */

static const char *end_text(enum dep_thread_end end)
{
	switch (end) {
	case DEP_END_UNTAKEN:
		return "outlived the recording, and its last records could not be read";
	case DEP_END_CORRUPT:
		return "is not recorded from some moment on: its ring was invalid";
	default:
		return NULL;
	}
}

static void check_thread(struct dep_store *s, const struct dep_thread *t)
{
	const struct dep_proof *p = dep_table_find(&s->model.proofs, sizeof(*p), t->serial);
	const char *text = end_text(t->end);
	struct dep_defect *d = NULL;
	char at[32];

	if (text)
		d = defect(s, DEP_DEFECT_THREAD, "thread %u %s, at %s", t->tid, text,
			   since(s, t->end_ns, at, sizeof(at)));
	else if (is_closed(s) && !(p && p->end_seen && t->end != DEP_END_UNKNOWN))
		d = defect(s, DEP_DEFECT_THREAD, "thread %u: its end was not recorded", t->tid);
	set_place(d, t->serial, 0, 0, t->end_ns);
}

static void check_threads(struct dep_store *s)
{
	const struct dep_thread *t = s->model.threads.row;
	size_t i;

	for (i = 0; i < s->model.threads.n; i++)
		check_thread(s, &t[i]);
}

/* ---- losses counted by the recorder ---- */

static void say_loss(struct dep_store *s, u64 n, const char *one, const char *more)
{
	if (n)
		defect(s, DEP_DEFECT_LOSS, "%" PRIu64 " %s", n, n == 1 ? one : more);
}

/* Number of threads whose recording ended in the way @end. */
static u64 count_ends(const struct dep_store *s, enum dep_thread_end end)
{
	const struct dep_thread *t = s->model.threads.row;
	u64 n = 0;
	size_t i;

	for (i = 0; i < s->model.threads.n; i++)
		n += t[i].end == end;
	return n;
}

static void check_loss(struct dep_store *s)
{
	const struct dep_meta *meta = &s->manifest.meta;
	const struct dep_loss *l = &s->loss;
	bool on_request;

	say_loss(s, l->lost_processes,
		 "program ran unrecorded: no slot was free, or its execve could not be followed",
		 "programs ran unrecorded: no slot was free, or their execve could not be "
		 "followed");
	say_loss(s, l->lost_threads, "thread ran unrecorded: no thread slot was free",
		 "threads ran unrecorded: no thread slot was free");
	say_loss(s, l->unfinished_threads,
		 "thread was killed: up to one unfinished record is missing",
		 "threads were killed: up to one unfinished record of each is missing");
	/* Do not report again threads that check_threads() has reported one by one. */
	if (l->untaken_threads > count_ends(s, DEP_END_UNTAKEN))
		say_loss(s, l->untaken_threads,
			 "thread outlived the recording, and its last records could not be read",
			 "threads outlived the recording, and their last records could not be "
			 "read");
	if (l->absent_chunks)
		defect(s, DEP_DEFECT_LOSS, "%" PRIu64
		       " chunk%s missing: overwritten while no collector ran (%" PRIu64 " bytes)",
		       l->absent_chunks, are(l->absent_chunks), l->absent_bytes);
	say_loss(s, l->lost_descriptors,
		 "descriptor of code, a mapping or a log line was not recorded",
		 "descriptors of code, mappings or log lines were not recorded");
	say_loss(s, l->corrupt, "ring, slot or descriptor was invalid",
		 "rings, slots or descriptors were invalid");
	/*
	 * Data left out by --max-size or --on-full=drop is not a defect.  Parts of chunks that did
	 * not parse are a defect.
	 */
	on_request = s->manifest.ending.cause == DEP_CLOSE_MAX_SIZE || meta->max_size;
	say_loss(s, on_request ? s->segs.lost_bytes : l->discarded_bytes, "byte was not stored",
		 "bytes were not stored");
	if (!(meta->session_flags & ADEPT_S_DROP))
		say_loss(s, l->dropped_bytes, "recorded byte was dropped",
			 "recorded bytes were dropped");
}

/* ---- the verdict ---- */

static void judge(struct dep_store *s)
{
	struct dep_verdict *v = &s->verdict;

	*v = (struct dep_verdict){
		.proof = has_proof(s), .cause = s->manifest.ending.cause,
		.live = s->manifest.ending.live, .error = s->manifest.ending.error,
		.sure_ns = is_closed(s) ? 0 : s->model.mark_ns,
	};
	if (is_recording(s)) {
		v->state = DEP_VERDICT_RECORDING;
		return;
	}
	check_ending(s);
	check_log(s);
	check_files(s);
	if (has_proof(s)) {
		check_segments(s);
		check_threads(s);
	}
	check_chunks(s);
	check_loss(s);
	v->defect = s->defects.row;
	v->ndefects = s->defects.n;
	v->state = v->ndefects || v->more ? DEP_VERDICT_INCOMPLETE :
		   has_proof(s) ? DEP_VERDICT_COMPLETE : DEP_VERDICT_NO_PROOF;
}

const struct dep_verdict *dep_store_verdict(struct dep_store *s)
{
	if (!s->judged) {
		judge(s);
		s->judged = true;
	}
	return &s->verdict;
}

void dep_verdict_free(struct dep_store *s)
{
	free(s->defects.row);
	memset(&s->defects, 0, sizeof(s->defects));
	s->judged = false;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Process slots of the session file, on the collector's side.
 *
 * Recorded processes can overwrite the whole file, so addresses are computed from the copies in
 * struct dep_target.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "internal.h"
#include "owner.h"

extern const unsigned char adept_engine[], adept_engine_end[];
extern const unsigned long adept_engine_memsize;

#define MAX_FILE_SIZE (512ull << 30)

static u64 page_up(u64 x)
{
	return (x + ADEPT_PAGE - 1) & ~(u64)(ADEPT_PAGE - 1);
}

static bool tables_fit(const struct adept_session *s)
{
	u64 procs = (u64)s->nprocs * sizeof(struct adept_proc);
	u64 threads = (u64)s->nthreads * sizeof(struct adept_thread);
	u64 kept = adept_retired_size(s->nprocs, s->nthreads);

	if (!s->nprocs || s->nprocs > ADEPT_MAX_PROCS || s->nthreads > ADEPT_MAX_THREADS)
		return false;
	if (s->retired_off < sizeof(*s) || s->retired_off > s->proc_off ||
	    kept > s->proc_off - s->retired_off || s->proc_off % ADEPT_PAGE ||
	    s->thread_off % ADEPT_PAGE || s->retired_off % 8)
		return false;
	if (s->proc_off < sizeof(*s) || s->proc_off > s->desc_off ||
	    procs > s->desc_off - s->proc_off)
		return false;
	return s->thread_off >= sizeof(*s) && s->thread_off <= s->desc_off &&
	       threads <= s->desc_off - s->thread_off;
}

static bool rings_fit(const struct adept_session *s)
{
	u64 rings = (u64)s->nthreads * s->nchunks;

	if (s->desc_off % ADEPT_PAGE || s->desc_size % ADEPT_PAGE || s->desc_size > 1u << 30 ||
	    !s->desc_size || s->desc_size & (s->desc_size - 1))
		return false;
	if (s->nchunks < 2 || s->nchunks > ADEPT_MAX_CHUNKS || !s->chunk_size ||
	    s->chunk_size % ADEPT_PAGE || s->chunk_size > 1u << 30)
		return false;
	if (s->ring_off % ADEPT_PAGE || s->ring_off < s->desc_off || s->ring_off > s->file_size ||
	    (u64)s->nprocs * s->desc_size > s->ring_off - s->desc_off)
		return false;
	return rings * adept_chunk_stride(s) <= s->file_size - s->ring_off;
}

/* Check all fields that recorded processes compute addresses from. */
static bool layout_is_sane(const struct adept_session *s)
{
	return s->magic == ADEPT_SESSION_MAGIC && s->version == ADEPT_SESSION_VERSION &&
	       s->file_size <= MAX_FILE_SIZE && s->desc_off <= s->file_size && tables_fit(s) &&
	       rings_fit(s);
}

int dep_target_adopt(struct dep_target *t, struct adept_session *session,
		     const struct adept_session *layout, int fd, struct dep_why *why)
{
	struct stat st;

	memset(t, 0, sizeof(*t));
	t->session = session;
	t->fd = fd;
	t->ring_fd = -1;
	/* Copy before checking: @layout may be the shared page. */
	t->layout = *layout;
	if (!layout_is_sane(&t->layout))
		return dep_inject_error(why, EINVAL, "The session file's header is invalid.");
	if (fstat(fd, &st))
		return dep_inject_error(why, errno, "The session file cannot be used: %m.");
	if ((u64)st.st_size < t->layout.file_size)
		return dep_inject_error(why, EINVAL,
				"The session file is shorter than its header says.");
	t->dev = st.st_dev;
	t->ino = st.st_ino;

	t->image = adept_engine;
	t->image_len = (u64)(adept_engine_end - adept_engine);
	t->image_mem = page_up(adept_engine_memsize);
	if (t->image_len < sizeof(struct adept_boot) + sizeof(t->entry) ||
	    t->image_mem < t->image_len)
		return dep_inject_error(why, EINVAL, "The engine's image is damaged.");
	memcpy(&t->entry, t->image + sizeof(struct adept_boot), sizeof(t->entry));
	if (t->entry.start >= t->image_len || t->entry.thread >= t->image_len)
		return dep_inject_error(why, EINVAL, "The engine's image has no entry point.");
	return 0;
}

int dep_target_init(struct dep_target *t, struct adept_session *session, int fd,
		    struct dep_why *why)
{
	int err = dep_target_adopt(t, session, session, fd, why);

	return err ? err : dep_base_self(&t->base, why);
}

struct adept_proc *dep_slot(const struct dep_target *t, u32 i)
{
	return (struct adept_proc *)((char *)t->session + t->layout.proc_off) + i;
}

int dep_slot_claim(const struct dep_target *t, u32 domain, u32 *slot, struct dep_why *why)
{
	for (u32 i = 0; i < t->layout.nprocs; i++) {
		if (adept_claim_proc(t->session, &t->layout, dep_slot(t, i), i, domain)) {
			*slot = i;
			return 0;
		}
	}
	if (domain)
		return dep_inject_error(why, EACCES,
					"The process has given up rights, and there is no "
					"slot left for what it executes.");
	return dep_inject_error(why, EAGAIN, "All %u process slots of the session are in use.",
			t->layout.nprocs);
}

struct dep_owner *dep_slot_own(const struct dep_target *t, const struct adept_proc *p)
{
	return dep_owner_new(t->fd, (size_t)((const char *)&p->leave_tracer -
					     (const char *)t->session));
}

u32 dep_slot_domain(const struct dep_target *t, u32 slot)
{
	u32 domain = __atomic_load_n(&adept_retired_proc(t->session, &t->layout, slot)->domain,
				     __ATOMIC_SEQ_CST);

	return domain > t->layout.nprocs ? 0 : domain;
}

void dep_slot_live(const struct dep_target *t, u32 slot, pid_t pid, u32 ns,
		   const struct dep_origin *from, u32 *serial)
{
	struct adept_session *s = from->domain ? &dep_slot(t, from->domain - 1)->own : t->session;
	struct adept_proc *p = dep_slot(t, slot);
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	/* Retry if the serial is 0 after an overflow. The collector rejects an invalid serial. */
	*serial = __atomic_fetch_add(&s->next_serial, 1, __ATOMIC_RELAXED);
	if (!*serial)
		*serial = __atomic_fetch_add(&s->next_serial, 1, __ATOMIC_RELAXED);
	memset(&p->serial, 0,
	       offsetof(struct adept_proc, own) - offsetof(struct adept_proc, serial));
	p->serial = *serial;
	p->pid = (u32)pid;
	p->ns = ns;
	p->parent_serial = from->parent_serial;
	p->cause = from->cause;
	p->desc_head = from->described;
	p->start_ns = (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
	__atomic_store_n(&p->state, ADEPT_SLOT_LIVE, __ATOMIC_RELEASE);
}

void dep_slot_drop(const struct dep_target *t, u32 slot)
{
	__atomic_store_n(&dep_slot(t, slot)->state, ADEPT_SLOT_FREE, __ATOMIC_RELEASE);
}

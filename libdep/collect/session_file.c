// SPDX-License-Identifier: LGPL-2.1-or-later
/* The session file: choose its layout, create it, map it and take it over. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libdep/inject/owner.h"
#include "module_session.h"
#include "internal.h"

#define CHUNK_WANTED	(1u << 20)	/* preferred chunk size in bytes: fits into an L2 cache */
/*
 * Chunks per ring: one is being filled, one is being stored, one waits between them. More chunks
 * would cost more signals, wakeups and scans of the slots. With the kernel module the consumer
 * holds one more.
 */
#define CHUNKS_WANTED	3u
#define MODULE_CHUNKS_WANTED	4u
#define MODULE_CHUNK_MIN 65536u
/* maximum bytes of all rings, which each recorded process needs as address space */
#define MAX_RINGS	(256ull << 30)

static u64 page_up(u64 n)
{
	return (n + ADEPT_PAGE - 1) / ADEPT_PAGE * ADEPT_PAGE;
}

/*
 * Divide a ring into chunks of CHUNK_WANTED bytes. A small ring gets smaller chunks, so that it has
 * enough of them; but a chunk of the kernel module has at least MODULE_CHUNK_MIN bytes.
 */
static void choose_chunks(struct adept_session *s, u64 ring_size)
{
	u64 least = s->flags & ADEPT_S_MODULE ? MODULE_CHUNKS_WANTED : CHUNKS_WANTED;
	u64 n = ring_size / CHUNK_WANTED;

	if (n < least)
		n = least;
	if (n > ADEPT_MAX_CHUNKS)
		n = ADEPT_MAX_CHUNKS;
	if (s->flags & ADEPT_S_MODULE && ring_size < n * MODULE_CHUNK_MIN)
		n = ring_size < 2 * MODULE_CHUNK_MIN ? 2 : ring_size / MODULE_CHUNK_MIN;
	s->nchunks = n;
	s->chunk_size = page_up((ring_size + n - 1) / n);
	if (s->flags & ADEPT_S_MODULE && s->chunk_size < MODULE_CHUNK_MIN)
		s->chunk_size = MODULE_CHUNK_MIN;
}

static void lay_out(struct adept_session *s)
{
	u64 at = ADEPT_PAGE;

	s->retired_off = at;
	at += page_up(adept_retired_size(s->nprocs, s->nthreads));
	s->proc_off = at;
	at += (u64)s->nprocs * sizeof(struct adept_proc);
	s->thread_off = at;
	at += (u64)s->nthreads * sizeof(struct adept_thread);
	s->desc_off = at;
	at += (u64)s->nprocs * s->desc_size;
	s->ring_off = at;
	at += (u64)s->nthreads * s->nchunks * adept_chunk_stride(s);
	s->file_size = at;
}

static int map_file(struct dep_session *s)
{
	struct stat st;
	void *p;

	if (fstat(s->fd, &st))
		return -errno;
	if (st.st_size < 0 || (u64)st.st_size < s->layout.file_size)
		return -EBADMSG;
	p = mmap(NULL, s->layout.file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		 s->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	/* Keep gigabytes of rings out of core dumps. */
	madvise(p, s->layout.file_size, MADV_DONTDUMP);
	s->map = p;
	s->size = s->layout.file_size;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

static void let_go(struct dep_session *s)
{
	if (s->map)
		munmap(s->map, s->size);
	if (s->fd >= 0)
		close(s->fd);
	s->map = NULL;
	s->fd = -1;
}

int dep_session_create(struct dep_session *s, u32 flags, u64 ring_size, u32 nprocs, u32 nthreads,
		       u64 give_up_ns)
{
	return dep_session_create_for(s, DEP_CHARGE_SELF, flags, ring_size, nprocs, nthreads,
				      give_up_ns);
}

void dep_session_tell_removed(struct dep_session *s)
{
	s->layout.tell_removed = s->map->tell_removed = 1;
}

void dep_session_seed(struct dep_session *s, u32 seed)
{
	s->layout.chaos_seed = seed ? seed : 1;
	s->map->chaos_seed = s->layout.chaos_seed;
}

void dep_session_watch(struct dep_session *s, const struct adept_triggers *t)
{
	s->layout.triggers = *t;
	s->map->triggers = *t;
}

int dep_session_create_for(struct dep_session *s, uid_t charge, u32 flags, u64 ring_size,
			   u32 nprocs, u32 nthreads, u64 give_up_ns)
{
	struct adept_session *l = &s->layout;
	struct timespec t;
	int ret;

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	if (!ring_size)
		ring_size = DEP_RING_DEFAULT;
	if (ring_size < DEP_RING_MIN || ring_size > DEP_RING_MAX || nprocs > ADEPT_MAX_PROCS ||
	    nthreads > ADEPT_MAX_THREADS)
		return -EINVAL;

	l->magic = ADEPT_SESSION_MAGIC;
	l->version = ADEPT_SESSION_VERSION;
	l->flags = flags;
	l->nprocs = nprocs ? nprocs : ADEPT_MAX_PROCS;
	l->nthreads = nthreads ? nthreads : ADEPT_MAX_THREADS;
	l->desc_size = ADEPT_DESC_SIZE;
	l->collector_pid = getpid();
	l->give_up_ns = give_up_ns;
	l->next_exit = ADEPT_FIRST_EXIT;
	l->next_serial = 1;
	choose_chunks(l, ring_size);
	if (!nthreads && MAX_RINGS / (l->nchunks * adept_chunk_stride(l)) < l->nthreads)
		l->nthreads = MAX_RINGS / (l->nchunks * adept_chunk_stride(l));
	lay_out(l);

	s->fd = memfd_create(ADEPT_SESSION_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0)
		return -errno;
	/*
	 * A memfd has mode 0777, so any user could open it through /proc/PID/fd or map_files of a
	 * process that is readable to all. The seals keep recorded processes from truncating memory
	 * that the collector reads.
	 */
	if (fchmod(s->fd, 0600) || ftruncate(s->fd, l->file_size) ||
	    fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		ret = -errno;
	else
		ret = map_file(s);
	if (ret)
		goto fail;
	clock_gettime(CLOCK_BOOTTIME, &t);
	s->start_boot_ns = t.tv_sec * 1000000000ull + t.tv_nsec;
	s->start_ns = now_ns();
	s->start_tsc = __builtin_ia32_rdtsc();
	*s->map = *l;
	s->map->heartbeat_ns = s->start_ns;
	if (flags & ADEPT_S_MODULE)
		ret = dep_module_open(&s->module, l, charge);
	if (!ret)
		return 0;
fail:
	let_go(s);
	return ret;
}

void dep_session_guard(struct dep_session *s)
{
	s->owner = dep_owner_new(s->fd, offsetof(struct adept_session, collector));
}

void dep_session_save(const struct dep_session *s, struct dep_session_saved *to)
{
	*to = (struct dep_session_saved){
		.layout = s->layout,
		.start_boot_ns = s->start_boot_ns,
		.start_ns = s->start_ns,
		.start_tsc = s->start_tsc,
		.module_id = s->module ? dep_module_id(s->module) : 0,
	};
}

int dep_session_adopt(struct dep_session *s, int fd, const struct dep_session_saved *saved)
{
	const struct adept_session *l = &saved->layout;
	int ret;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->layout = *l;
	s->start_boot_ns = saved->start_boot_ns;
	s->start_ns = saved->start_ns;
	s->start_tsc = saved->start_tsc;
	ret = map_file(s);
	if (ret)
		goto fail;
	/* Compare all fields that never change while the session lasts. */
	if (s->map->magic != ADEPT_SESSION_MAGIC ||
	    memcmp(s->map, l, offsetof(struct adept_session, collector_pid)) ||
	    s->map->retired_off != l->retired_off ||
	    memcmp(&s->map->proc_off, &l->proc_off, offsetof(struct adept_session, heartbeat_ns) -
		   offsetof(struct adept_session, proc_off))) {
		ret = -EBADMSG;
		goto fail;
	}
	if (l->flags & ADEPT_S_MODULE)
		ret = dep_module_adopt(&s->module, l, saved->module_id);
	if (ret)
		goto fail;
	s->map->collector_pid = getpid();
	adept_following_lost(s->map);
	store(&s->map->heartbeat_ns, now_ns());
	return 0;

fail:
	let_go(s);
	return ret;
}

u64 dep_session_tsc_ns(const struct dep_session *s, u64 ticks)
{
	u64 passed = __builtin_ia32_rdtsc() - s->start_tsc;

	if (!passed)
		return 0;
	return (u64)((double)ticks * (double)(now_ns() - s->start_ns) / (double)passed);
}

void dep_session_loss(const struct dep_session *s, struct dep_loss *loss)
{
	loss->lost_threads += load(&s->map->lost_threads);
	loss->lost_processes += load(&s->map->lost_procs);
	loss->native_images += load(&s->map->native_images);
	loss->native_privileged += load(&s->map->native_privileged);
	loss->lost_descriptors += load(&s->map->lost_descriptors);
	loss->unwanted_children += load(&s->map->unwanted_children);
}

void dep_session_destroy(struct dep_session *s)
{
	if (s->module)
		dep_module_close(s->module);
	s->module = NULL;
	dep_owner_free(s->owner);
	s->owner = NULL;
	let_go(s);
}

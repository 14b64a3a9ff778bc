// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Isolation of processes that give up rights.
 *
 * All recorded processes map the session file.  Through it, a process with few rights could read
 * and manipulate what processes with more rights do.  So a process that gives up rights isolates
 * itself: it replaces the mapping of the file by empty memory, except for its own process slot, the
 * slots of its threads, and some slots for future threads and processes.  These slots form a
 * domain.  The processes in a domain have the same rights.
 *
 *	  shared ---- isolate() ----> isolated: founder of a domain ---- fork, execve ---.
 *	                                     isolated: the same domain <------------------'
 *
 * The domain uses a page in the founder's slot instead of the session's first page; see session().
 *
 * No process outside the domain ever gets its slots, because any process of the domain may still
 * have them mapped.  The table of reserved slots (struct adept_retired) records this; processes of
 * the domain cannot write the table any more.
 */
#include "isolate.h"
#include "process_slots.h"
#include "record.h"
#include "thread_slots.h"
#include "libdep/engine/base/thread_list.h"

/* Thread and process slots of the domain, in ascending order. */
static u32 threads[ADEPT_MAX_THREADS], procs[ADEPT_MAX_PROCS];
static u32 nthreads, nprocs;

static u32 first_exit, first_serial;

static struct adept_retired *retired_proc(u32 slot)
{
	return adept_retired_proc((void *)boot.session, layout(), slot);
}

static struct adept_retired_thread *retired_thread(u32 slot)
{
	return adept_retired_thread((void *)boot.session, layout(), slot);
}

u32 isolate_threads(const u32 **slots)
{
	*slots = threads;
	return nthreads;
}

u32 isolate_procs(const u32 **slots)
{
	*slots = procs;
	return nprocs;
}

int isolate_may_use_exit(u32 id)
{
	return !boot.domain || id - first_exit <= ADEPT_ISOLATED_EXITS - ADEPT_EXIT_BATCH;
}

int isolate_may_use_serial(u32 serial)
{
	return !boot.domain || serial - first_serial < ADEPT_ISOLATED_SERIALS;
}

/* ---- the table of reserved slots; written by the founder ---- */

static void retire_thread_slot(u32 slot, u32 serial)
{
	retired_thread(slot)->serial = serial;
	__atomic_store_n(&retired_thread(slot)->domain, boot.proc + 1, __ATOMIC_SEQ_CST);
}

static void retire_proc_slot(u32 slot, u32 serial, u64 desc_head)
{
	retired_proc(slot)->serial = serial;
	retired_proc(slot)->desc_head = desc_head;
	__atomic_store_n(&retired_proc(slot)->domain, boot.proc + 1, __ATOMIC_SEQ_CST);
}

static void keep_thread(struct tls *t)
{
	if (t->ring)
		retire_thread_slot(t->slot, t->ring->serial);
}

/*
 * Number of thread slots to reserve for the domain: none if all domains together would have more
 * than half of the slots.
 */
static u32 how_many_threads(void)
{
	u32 i, n = ADEPT_ISOLATED_THREADS;

	for (i = 0; i < layout()->nthreads; i++)
		n += !!__atomic_load_n(&retired_thread(i)->domain, __ATOMIC_RELAXED);
	return n <= layout()->nthreads / 2 ? ADEPT_ISOLATED_THREADS : 0;
}

static u32 how_many_procs(u32 wanted)
{
	u32 i, n = wanted;

	for (i = 0; i < layout()->nprocs; i++)
		n += !!__atomic_load_n(&retired_proc(i)->domain, __ATOMIC_RELAXED);
	return n <= layout()->nprocs / 2 ? wanted : 0;
}

/* Claim free slots, reserve them for the domain, and free them again. */
static void retire_free_slots(u32 wanted)
{
	u32 n = how_many_procs(wanted), m = how_many_threads(), proc;
	int thread;

	while (n-- && (proc = process_slot_claim()) != NO_SLOT) {
		retire_proc_slot(proc, 0, 0);
		__atomic_store_n(&proc_slots()[proc].state, ADEPT_SLOT_FREE, __ATOMIC_SEQ_CST);
	}
	while (m-- && (thread = slots_claim()) >= 0) {
		retire_thread_slot((u32)thread, 0);
		__atomic_store_n(&thread_slots()[thread].state, ADEPT_SLOT_FREE, __ATOMIC_SEQ_CST);
	}
}

/* Initialise the page that the domain uses instead of the session's first page. */
static void take_own_page(struct adept_session *own)
{
	memcpy(own, session(), sizeof(*own));
	own->lost_threads = own->lost_procs = 0;
	own->native_images = own->native_privileged = 0;
	own->lost_descriptors = own->unwanted_children = 0;
	/*
	 * When the collector or the fd store holder dies, the kernel marks only the robust futexes
	 * in the session's page; the domain must rely on heartbeat_ns.
	 */
	own->collector = own->holder = 0;
	own->collector_waits = 0;
}

static void found_domain(u32 wanted)
{
	struct adept_proc *p = proc_slot();
	struct adept_session *s = session();

	p->own.next_exit = __atomic_fetch_add(&s->next_exit, ADEPT_ISOLATED_EXITS,
					      __ATOMIC_RELAXED);
	p->own.next_serial = __atomic_fetch_add(&s->next_serial, ADEPT_ISOLATED_SERIALS,
						__ATOMIC_RELAXED);
	retired_proc(boot.proc)->exits = p->own.next_exit;
	retired_proc(boot.proc)->serials = p->own.next_serial;
	retire_proc_slot(boot.proc, p->serial, p->desc_head);
	thread_each(keep_thread);
	retire_free_slots(wanted);
}

/* Read the slots, exit ids and serials of @domain from the table of reserved slots. */
static void read_table(u32 domain)
{
	u32 i;

	first_exit = retired_proc(domain - 1)->exits;
	first_serial = retired_proc(domain - 1)->serials;
	nprocs = nthreads = 0;
	for (i = 0; i < layout()->nprocs; i++)
		if (retired_proc(i)->domain == domain)
			procs[nprocs++] = i;
	for (i = 0; i < layout()->nthreads; i++)
		if (retired_thread(i)->domain == domain)
			threads[nthreads++] = i;
}

/* ---- the mappings of the session file ---- */

/*
 * Replace [@start, @end) by empty memory, so that the addresses stay reserved.
 *
 * Return: 0; 1 if the range is still mapped, because the process has too many mappings.
 */
static int drop(u64 start, u64 end, u32 prot)
{
	return start < end &&
	       sys6(__NR_mmap, start, end - start, prot,
		    K_MAP_PRIVATE | K_MAP_ANON | K_MAP_NORESERVE | K_MAP_FIXED, ~0ull, 0) !=
		       (s64)start;
}

/*
 * Replace [*@at, @start) by empty memory, and move *@at past the @size bytes at @start, which are
 * kept.
 */
static int drop_up_to(u64 *at, u64 start, u64 size)
{
	int failed = drop(*at, start, K_PROT_NONE);

	*at = start + size;
	return failed;
}

/*
 * Replace the session's first page by a writable page, because another thread may be about to write
 * to it.
 */
static int drop_first_page(void)
{
	return drop(boot.session, boot.session + ADEPT_PAGE, K_PROT_READ | K_PROT_WRITE);
}

/*
 * Replace what does not belong to the domain by empty memory.  Rings of the kernel module stay
 * mapped: they belong to this address space only.
 */
static int drop_others(void)
{
	const struct adept_session *l = layout();
	u64 at = boot.session + ADEPT_PAGE, end = boot.session + l->file_size;
	int failed = drop_first_page();

	for (u32 i = 0; i < nprocs; i++)
		failed += drop_up_to(&at, (u64)(proc_slots() + procs[i]), ADEPT_PAGE);
	for (u32 i = 0; i < nthreads; i++)
		failed += drop_up_to(&at, (u64)(thread_slots() + threads[i]), ADEPT_PAGE);
	for (u32 i = 0; i < nprocs; i++)
		failed += drop_up_to(&at, boot.session + l->desc_off + (u64)procs[i] * l->desc_size,
				     l->desc_size);
	if (l->flags & ADEPT_S_MODULE)
		end = boot.session + l->ring_off;
	for (u32 i = 0; i < nthreads && end > boot.session + l->ring_off; i++)
		failed += drop_up_to(&at, boot.session + adept_chunk_off(l, threads[i], 0),
				     l->nchunks * adept_chunk_stride(l));
	return failed + drop(at, end, K_PROT_NONE);
}

static int drop_all(void)
{
	nprocs = nthreads = 0;
	return drop_first_page() + drop(boot.session + ADEPT_PAGE,
					boot.session + layout()->file_size, K_PROT_NONE);
}

static void enter(u32 domain)
{
	__atomic_store_n(&boot.domain, domain, __ATOMIC_SEQ_CST);
	if (domain == ADEPT_NO_DOMAIN ? drop_all() : drop_others())
		record_message("a process gave up rights but still has the session memory of other "
			       "processes mapped: too many mappings to unmap it");
}

void isolate(u32 wanted)
{
	lock(&frag_lock);
	slots_hold(1);
	if (boot.domain)
		goto out;
	record_forget_exits();
	take_own_page(&proc_slot()->own);
	if (has_slot()) {
		found_domain(wanted);
		read_table(boot.proc + 1);
		enter(boot.proc + 1);
	} else {
		enter(ADEPT_NO_DOMAIN);
	}
out:
	slots_hold(0);
	unlock(&frag_lock);
}

void isolate_image(void)
{
	read_table(boot.domain);
	enter(boot.domain);
}

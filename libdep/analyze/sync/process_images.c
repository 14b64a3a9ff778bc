// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Process images: fork, execve, and the order between the images of a group.
 *
 * A forked image begins with the descriptors and mappings that its parent had at the fork.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hooked_functions.h"

/** struct sync_fork - a forked process whose first item has not come yet */
struct sync_fork {
	struct sync_fork *next;
	u32 pid;
	struct sync_image *parent;
	/* detector index of the child's thread; RACE_NO_THREAD: not in a group */
	u32 index;
	struct sync_files files;
	struct sync_maps maps;
};

static void free_fork(struct sync_fork *k)
{
	sync_files_free(&k->files);
	sync_maps_free(&k->maps);
	free(k);
}

/* Does the store have all processes? Not while the recording runs. */
static bool is_complete(const struct sync_events *f)
{
	return f->store && (f->pass != SYNC_FIRST || !f->options->live);
}

/* Can items of process @pid, forked by image @parent, still come? */
static bool will_be_seen(struct sync_events *f, u32 pid, u32 parent)
{
	const struct dep_process *all;
	u32 i = 0, at;
	size_t n;

	if (!is_complete(f))
		return true;
	n = dep_store_processes(f->store, &all);
	for (; f->nby_pid < n; f->nby_pid++)
		if (sync_index_add(&f->by_pid, all[f->nby_pid].pid, (u32)f->nby_pid))
			return true;
	while (sync_index_next(&f->by_pid, pid, &i, &at))
		if (all[at].pid == pid && (!all[at].parent || all[at].parent == parent))
			return true;
	return false;
}

int sync_forked(struct sync_thread *t, u32 pid)
{
	struct sync_fork *k;
	int err;

	if (!will_be_seen(t->sync, pid, t->image->serial))
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return sync_no_memory();
	err = sync_maps_inherit(&k->maps, &t->image->maps);
	k->index = RACE_NO_THREAD;
	/*
	 * Begin the child's thread at the fork. If it began at its first item, the parent could
	 * count as the only thread until then, and its accesses would not be recorded.
	 */
	if (!err && t->image->grouped)
		err = sync_flush(t);
	if (!err && t->image->grouped)
		err = race_thread_begin(t->process->detector, t->index, &k->index);
	if (!err && t->image->grouped)
		sync_note_creation(t, k->index);
	if (err) {
		sync_maps_free(&k->maps);
		free(k);
		return err;
	}
	k->pid = pid;
	k->parent = t->image;
	sync_files_copy(&k->files, &t->image->files);
	k->next = t->sync->forks;
	t->sync->forks = k;
	return 0;
}

static struct sync_fork *take_fork(struct sync_events *f, u32 pid, u32 parent)
{
	struct sync_fork **pp = &f->forks, *k;

	for (; (k = *pp); pp = &k->next) {
		if (k->pid != pid || (parent && k->parent->serial != parent))
			continue;
		*pp = k->next;
		return k;
	}
	return NULL;
}

static struct sync_image *find_image(const struct sync_events *f, u32 serial)
{
	return sync_serials_find(&f->image_by, serial);
}

static const struct dep_process *recorded(const struct sync_events *f, u32 serial)
{
	const struct dep_process *all;
	size_t n = f->store ? dep_store_processes(f->store, &all) : 0;

	for (; n--; all++)
		if (all->serial == serial)
			return all;
	return NULL;
}

static int watch(void *arg, u64 address, u64 size)
{
	const struct sync_image *m = arg;

	return race_watch(m->process->detector, (u64)m->number << SYNC_NUMBER | address, size);
}

static int begin_with(struct sync_image *m, struct sync_fork *k)
{
	m->fork = k;
	sync_files_copy(&m->files, &k->files);
	return sync_maps_take(m, &k->maps, k->parent->process);
}

/*
 * Get the process of @m: the group, if images share memory; else a process of its own. NULL: no
 * memory. When the group is full, images that share nothing get processes of their own.
 */
static struct sync_process *process_for(struct sync_events *f, struct sync_image *m)
{
	bool group = f->shares && f->pass != SYNC_FIRST && f->shares->nimages;
	struct sync_process *p = group ? sync_process_of(f, SYNC_GROUP) : NULL;

	if (group && !p)
		return NULL;
	if (group && p->nimages + 1 == SYNC_IMAGES)
		sync_too_many_threads(f, p);
	m->grouped = group && (!p->too_many_threads || sync_shared_maps_has(f->shares, m->serial));
	return m->grouped ? p : sync_process_of(f, m->serial);
}

/* Set the process, facts and number of @m. Return: 0; any other value: no memory. */
static int settle(struct sync_events *f, struct sync_image *m)
{
	m->process = process_for(f, m);
	m->scope = m->process ? sync_facts_of(f, m->serial) : NULL;
	if (!m->scope)
		return -1;
	m->files.last = &m->process->last_file;
	if (!m->grouped || m->process->too_many_threads)
		return 0;
	m->number = m->first_number = ++m->process->nimages;
	return dep_word_set_each(&m->scope->raced, watch, m);
}

/*
 * Set the first image of @m's process, and the first image of its parent process: wait() refers to
 * processes, not to images.
 */
static void give_parents(struct sync_image *m, const struct sync_image *parent)
{
	m->first = m->serial;
	m->creator = m->parent;
	if (!parent)
		return;
	m->creator = parent->first;
	if (parent->pid != m->pid)
		return;
	m->first = parent->first;
	m->creator = parent->creator;
	if (parent->process == m->process)
		m->first_number = parent->first_number;
}

struct sync_image *sync_image_of(struct sync_events *f, const struct dep_thread *t)
{
	struct sync_image *m = find_image(f, t->process), *parent;
	const struct dep_process *p;
	struct sync_fork *k;

	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	p = recorded(f, t->process);
	m->sync = f;
	m->serial = t->process;
	m->pid = p ? p->pid : t->tid;
	m->parent = p ? p->parent : 0;
	/* With --last files may have been opened in the part that was dropped. */
	m->files.attached = (p && p->cause == ADEPT_BY_ATTACH) || f->from;
	if (settle(f, m) || sync_serials_add(&f->image_by, m->serial, m)) {
		free(m);
		return NULL;
	}
	k = take_fork(f, m->pid, m->parent);
	parent = k ? k->parent : find_image(f, m->parent);
	give_parents(m, parent);
	m->next = f->images;
	f->images = m;
	if (k && begin_with(m, k))
		return NULL;
	if (!k && parent)
		sync_files_copy(&m->files, &parent->files);
	return m;
}

/* ---- order between the images of a group ---- */

/* Order the first thread of an image made by execve after the image that it replaces. */
static int replaces(struct sync_thread *t)
{
	const struct sync_image *m = t->image;
	const struct sync_thread *o;
	size_t i;
	int err = 0;

	for (i = 0; i < t->sync->nthreads && !err; i++) {
		o = t->sync->thread[i];
		if (o && o->ended && o->process == t->process && o->image->serial == m->parent &&
		    (o->image->pid == m->pid || o->tid == m->pid))
			err = race_thread_join(t->process->detector, t->index, o->index);
	}
	return err;
}

int sync_image_begin(struct sync_thread *t)
{
	struct sync_image *m = t->image;
	struct sync_fork *k = m->fork;
	int err = 0;

	m->multi |= m->alive;
	m->alive++;
	m->fork = NULL;
	if (k && m->grouped && k->parent->process == m->process)
		t->index = k->index;
	else
		err = race_thread_begin(m->process->detector, RACE_NO_THREAD, &t->index);
	if (!k && !err && m->grouped)
		err = replaces(t);
	/*
	 * The creation of this thread was not recorded: order it with all threads of the image,
	 * those that have ended included.
	 */
	if (!k && !err && m->seen > 1)
		err = sync_barrier_all(t, true);
	if (k)
		free_fork(k);
	return err;
}

/* Release at the end of a process, which closes its descriptors and sends SIGCHLD. */
static int tell_end(struct sync_thread *t)
{
	const struct sync_image *m = t->image, *parent = find_image(t->sync, m->creator);
	const struct sync_file_table *files = m->files.table;
	u32 i;
	int err = sync_release(t, SYNC_END, m->serial);

	for (i = 0; files && i < files->room && !err; i++)
		if (files->file[i])
			err = sync_release(t, SYNC_CLOSED, files->file[i]);
	if (!err && m->locks)
		err = sync_release(t, SYNC_LOCKS, 0);
	if (!err && parent && parent->process == m->process)
		err = sync_release(t, SYNC_SIGNAL, sync_signal(parent, SIGCHLD));
	return err;
}

/* Has the last thread of @m ended? The store may have threads whose items have not come yet. */
static bool is_last(struct sync_image *m)
{
	struct sync_events *f = m->sync;
	const struct dep_thread *all;
	u32 i = 0, at, known = 0;
	size_t n;

	if (m->alive || !is_complete(f))
		return !m->alive && !m->created;
	n = dep_store_threads(f->store, &all);
	for (; f->nby_image < n; f->nby_image++)
		if (sync_index_add(&f->by_image, sync_index_mix(0, all[f->nby_image].process),
				   (u32)f->nby_image))
			return false;
	while (sync_index_next(&f->by_image, sync_index_mix(0, m->serial), &i, &at))
		known += all[at].process == m->serial;
	return m->seen >= known;
}

int sync_image_end(struct sync_thread *t)
{
	struct sync_image *m = t->image;
	int err;

	if (m->alive)
		m->alive--;
	if (!m->grouped)
		return is_last(m) ? sync_process_over(m) : 0;
	err = m->alive ? sync_release(t, SYNC_END, m->serial) : tell_end(t);
	return err || !is_last(m) ? err : sync_maps_gone(m);
}

int sync_waited(struct sync_thread *t, u32 pid)
{
	const struct sync_image *m;
	int err = 0;

	if (!t->image->grouped)
		return 0;
	for (m = t->sync->images; m && !err; m = m->next)
		if (m->process == t->process && (pid ? m->pid == pid :
						 m->creator == t->image->first))
			err = sync_acquire(t, SYNC_END, m->serial);
	return err;
}

u64 sync_signal(const struct sync_image *m, u64 signo)
{
	return (u64)m->first_number << 32 | (u32)signo;
}

int sync_send(struct sync_thread *t, s64 pid, u64 signo)
{
	const struct sync_image *m;
	bool any = false;
	int err = 0;

	for (m = t->sync->images; m && t->image->grouped && !err; m = m->next) {
		if (m->process != t->process || (pid > 0 && m->pid != (u32)pid))
			continue;
		any = true;
		err = sync_release(t, SYNC_SIGNAL, sync_signal(m, signo));
	}
	return any || err ? err : sync_release(t, SYNC_SIGNAL, sync_signal(t->image, signo));
}

/* ---- finding the image of an access ---- */

int sync_image_note(struct sync_thread *t)
{
	struct sync_process *p = t->process;
	u32 n = p->nof ? p->nof : 16;
	void *more;

	while (n <= t->index)
		n *= 2;
	if (n > p->nof) {
		more = realloc(p->of, n * sizeof(struct sync_image *));
		if (!more)
			return sync_no_memory();
		p->of = more;
		memset(p->of + p->nof, 0, (n - p->nof) * sizeof(struct sync_image *));
		p->nof = n;
	}
	p->of[t->index] = t->image;
	return 0;
}

struct sync_image *sync_image_at(const struct sync_events *f, const struct sync_process *p,
				 u32 index)
{
	struct sync_image *m;

	if (index < p->nof && p->of[index])
		return p->of[index];
	/* A thread that was created but has no items has no accesses: return any image. */
	for (m = f->images; m; m = m->next)
		if (m->process == p)
			break;
	return m;
}

bool sync_is_spin_word(const struct sync_events *f, const struct sync_process *p, u64 word)
{
	const struct sync_image *m;
	u64 address;

	for (m = f->images; m; m = m->next) {
		if (m->process != p)
			continue;
		address = sync_address_of(m, word * 4);
		if (address && dep_word_set_has(&m->scope->spin_words, address, 4))
			return true;
	}
	return false;
}

void sync_images_free(struct sync_events *f)
{
	struct sync_fork *k;
	struct sync_image *m;

	sync_index_free(&f->by_pid);
	sync_index_free(&f->by_image);
	f->nby_pid = f->nby_image = 0;
	while ((k = f->forks)) {
		f->forks = k->next;
		free_fork(k);
	}
	sync_serials_free(&f->image_by);
	while ((m = f->images)) {
		f->images = m->next;
		if (m->fork)
			free_fork(m->fork);
		sync_files_free(&m->files);
		sync_heap_free(&m->heap);
		free(m->code);
		free(m->leap);
		sync_maps_free(&m->maps);
		free(m);
	}
}

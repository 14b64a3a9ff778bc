// SPDX-License-Identifier: LGPL-2.1-or-later
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libdep/abi/session_file.h"
#include "owner.h"

/* Beginning of a private page, directly after which the page with the word is mapped. */
struct dep_owner {
	struct robust_list entry;
	struct dep_owner *next;
	u32 *word;
	u32 tid;
};

static __thread struct robust_list_head head;
static __thread struct dep_owner *first;
/* tid that set up the list; after fork it differs in the child, which has no robust list yet */
static __thread u32 owner_tid;

static void barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* True if @fd is sealed against shrinking: accesses to a truncated file would cause SIGBUS. */
static int is_session(int fd, off_t page)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK && !fstat(fd, &st) &&
	       st.st_size >= page + ADEPT_PAGE;
}

static void set_up_list(size_t word, u32 tid)
{
	if (owner_tid == tid)
		return;
	owner_tid = tid;
	first = NULL;
	head.list.next = &head.list;
	head.futex_offset = (long)(ADEPT_PAGE + word - offsetof(struct dep_owner, entry));
	syscall(SYS_set_robust_list, &head, sizeof(head));
}

/* The kernel may read the list at any time: write the entry before the pointer to it. */
static void put_in(struct dep_owner *o)
{
	o->next = first;
	o->entry.next = first ? &first->entry : &head.list;
	barrier();
	head.list.next = &o->entry;
	first = o;
}

static void take_out(const struct dep_owner *o)
{
	struct dep_owner *before;

	if (first == o) {
		head.list.next = o->entry.next;
		first = o->next;
		return;
	}
	for (before = first; before->next != o; before = before->next)
		;
	before->entry.next = o->entry.next;
	before->next = o->next;
}

struct dep_owner *dep_owner_new(int fd, size_t word)
{
	off_t page = (off_t)(word / ADEPT_PAGE * ADEPT_PAGE);
	struct dep_owner *o;
	char *p;

	word %= ADEPT_PAGE;
	if (!is_session(fd, page))
		return NULL;
	p = mmap(NULL, 2 * ADEPT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (mmap(p + ADEPT_PAGE, ADEPT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 page) == MAP_FAILED ||
	    (!page && ((struct adept_session *)(p + ADEPT_PAGE))->magic != ADEPT_SESSION_MAGIC)) {
		munmap(p, 2 * ADEPT_PAGE);
		return NULL;
	}
	o = (struct dep_owner *)p;
	o->word = (u32 *)(p + ADEPT_PAGE + word);
	o->tid = (u32)gettid();
	set_up_list(word, o->tid);
	/*
	 * If the thread is killed after the word is set and before the entry is in the list, the
	 * kernel finds the entry in list_op_pending.
	 */
	head.list_op_pending = &o->entry;
	barrier();
	__atomic_store_n(o->word, o->tid, __ATOMIC_SEQ_CST);
	put_in(o);
	barrier();
	head.list_op_pending = NULL;
	return o;
}

void dep_owner_free(struct dep_owner *o)
{
	u32 tid;

	if (!o)
		return;
	tid = o->tid;
	__atomic_compare_exchange_n(o->word, &tid, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	take_out(o);
	barrier();
	munmap(o, 2 * ADEPT_PAGE);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared page: written by the front, read by an instance.
 *
 * The page is a memfd, sealed against changes of its size and against all writes except through
 * the front's own mapping.  So an instance can neither change the page nor make the front fault by
 * truncating it.  A sequence counter is odd while the front writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"

#define TRIES	1000	/* limit of a reader's attempts: a killed front can leave `seq` odd */

struct link_page {
	uint32_t seq;
	uint32_t naccounts;
	uint32_t has_accounts, unused;
	struct link_info info;
	struct account_info account[LINK_ACCOUNTS_MAX];
};

static size_t size_of(bool accounts)
{
	return accounts ? sizeof(struct link_page) : offsetof(struct link_page, account);
}

int page_make(struct link_page **out, bool accounts, int *fd)
{
	struct link_page *p;
	int ret;

	*fd = memfd_create("adept-front", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	p = MAP_FAILED;
	if (!ftruncate(*fd, size_of(accounts)))
		p = mmap(NULL, size_of(accounts), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	if (fcntl(*fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		goto unmap;
	p->has_accounts = accounts;
	*out = p;
	return 0;
unmap:
	ret = errno;
	munmap(p, size_of(accounts));
	errno = ret;
fail:
	ret = -errno;
	close(*fd);
	return ret;
}

static void begin_write(struct link_page *p)
{
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_write(struct link_page *p)
{
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELEASE);
}

void page_write(struct link_page *p, const struct link_info *info)
{
	begin_write(p);
	p->info = *info;
	end_write(p);
}

void page_write_accounts(struct link_page *p, const struct account_info *a, uint32_t n)
{
	if (!p->has_accounts)
		return;
	if (n > LINK_ACCOUNTS_MAX)
		n = LINK_ACCOUNTS_MAX;
	begin_write(p);
	memcpy(p->account, a, n * sizeof(*a));
	p->naccounts = n;
	end_write(p);
}

void page_free(struct link_page *p)
{
	if (p)
		munmap(p, size_of(p->has_accounts));
}

int page_open(const struct link_page **out, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	void *p = MAP_FAILED;
	int ret = -EINVAL;

	if (size == (off_t)size_of(false) || size == (off_t)size_of(true)) {
		p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
		ret = -errno;
	}
	close(fd);
	if (p == MAP_FAILED)
		return ret;
	*out = p;
	return 0;
}

/* True if the page was not written since its sequence counter was @seq. */
static bool is_whole(const struct link_page *p, uint32_t seq)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(seq & 1) && __atomic_load_n(&p->seq, __ATOMIC_RELAXED) == seq;
}

void page_read(const struct link_page *p, struct link_info *out)
{
	uint32_t seq;
	int i;

	for (i = 0; i < TRIES; i++) {
		seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);
		*out = p->info;
		if (is_whole(p, seq))
			return;
	}
}

bool page_account(const struct link_page *p, size_t n, struct account_info *out)
{
	uint32_t seq;
	bool there = false;
	int i;

	for (i = 0; i < TRIES; i++) {
		seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);
		there = p->has_accounts && n < p->naccounts && n < LINK_ACCOUNTS_MAX;
		if (there)
			*out = p->account[n];
		if (is_whole(p, seq))
			break;
	}
	return there;
}

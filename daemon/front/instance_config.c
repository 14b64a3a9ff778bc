// SPDX-License-Identifier: GPL-2.0-or-later
/* Make the part of the configuration that an instance (a user's depd) gets from the front. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "front.h"

void front_config(const struct front *f, const struct user *u, struct link_config *out)
{
	const struct depd_config *c = &f->config;

	*out = (struct link_config){
		.give_up_ms = c->give_up_ms, .max_store = c->max_store,
		.max_age_s = c->max_age_s, .workers = c->workers, .races = c->races,
		.max_last = policy_max_last(c),
	};
	if (c->store)
		snprintf(out->store, sizeof(out->store), "%s/%u", c->store, u->uid);
}

int front_rules_fd(const struct front *f)
{
	size_t n = strlen(f->rules_text);
	int ret, fd = memfd_create("adept-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (write(fd, f->rules_text, n) == (ssize_t)n &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

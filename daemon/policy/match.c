// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Match a process against rules.
 */
#include <fnmatch.h>

#include "policy.h"

/* An unknown text (NULL) matches no pattern. */
static bool fits(const char *pattern, const char *text)
{
	return !pattern || (text && !fnmatch(pattern, text, 0));
}

static bool rule_fits(const struct policy_rule *r, const struct policy_process *p)
{
	if (r->has_uid && r->uid != p->uid)
		return false;
	if (p->foreground && !r->terminal)
		return false;
	if (!fits(r->comm, p->comm) || !fits(r->cgroup, p->cgroup) || !fits(r->argv, p->argv))
		return false;
	return fits(r->path, p->path) || fits(r->path, p->exe);
}

int policy_match(const struct depd_config *c, const struct policy_process *p)
{
	for (uint32_t i = 0; i < c->nrules; i++)
		if (rule_fits(&c->rule[i], p))
			return (int)i;
	return -1;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Domains of isolated processes (record/isolate.c), on the collector's side.
 *
 * Processes of a domain cannot access the session's first page. So the collector copies the fields
 * that they need to adept_proc.own of the founder's slot. They may use only serials and exit ids of
 * the domain's ranges, since other numbers could make the recordings of unrelated processes look
 * corrupt.
 */
#include <string.h>

#include "internal.h"

static const struct adept_retired *kept(const struct dep_collector *c, u32 i)
{
	return adept_retired_proc(c->s->map, &c->s->layout, i);
}

u32 dep_domain(const struct dep_collector *c, u32 i)
{
	u32 domain = load(&kept(c, i)->domain);

	return domain > c->s->layout.nprocs ? 0 : domain;
}

/* Add a domain's counter @own to the session's counter @all, and clear @own. */
static void count(u32 *own, u32 *all)
{
	u32 n = __atomic_exchange_n(own, 0, __ATOMIC_RELAXED);

	if (n)
		__atomic_fetch_add(all, n, __ATOMIC_RELAXED);
}

static void tell(struct dep_collector *c, u32 founder)
{
	struct adept_session *own = &dep_session_proc(c->s, founder)->own, *s = c->s->map;

	store(&own->heartbeat_ns, load(&s->heartbeat_ns));
	store(&own->stop, load(&s->stop));
	store(&own->abandoned, load(&s->abandoned));
	count(&own->lost_threads, &s->lost_threads);
	count(&own->lost_procs, &s->lost_procs);
	count(&own->native_images, &s->native_images);
	count(&own->native_privileged, &s->native_privileged);
	count(&own->lost_descriptors, &s->lost_descriptors);
	count(&own->unwanted_children, &s->unwanted_children);
}

void dep_domains_tell(struct dep_collector *c)
{
	u32 i;

	for (i = 0; i < c->nslots; i++)
		if (dep_domain(c, i) == i + 1)
			tell(c, i);
}

static bool is_serial_of(const struct dep_collector *c, u32 domain, u32 serial)
{
	return serial - load(&kept(c, domain - 1)->serials) < ADEPT_ISOLATED_SERIALS;
}

bool dep_domain_process(const struct dep_collector *c, u32 i, u32 serial)
{
	u32 domain = dep_domain(c, i);

	return !domain || serial == load(&kept(c, i)->serial) || is_serial_of(c, domain, serial);
}

bool dep_domain_thread(const struct dep_collector *c, u32 slot, u32 proc, u32 serial)
{
	const struct adept_retired_thread *k = adept_retired_thread(c->s->map, &c->s->layout, slot);
	u32 domain = load(&k->domain);

	if (!domain)
		return true;
	return domain == dep_domain(c, proc) &&
	       (serial == load(&k->serial) || is_serial_of(c, domain, serial));
}

bool dep_domain_describes(const struct dep_collector *c, u32 i, u64 at, const void *desc)
{
	u32 domain = dep_domain(c, i), first;
	struct adept_desc_frag d;

	if (!domain)
		return true;
	/*
	 * Allow all descriptors that the founder wrote before it isolated itself. Compare serials,
	 * since the slot may belong to another process of the domain now.
	 */
	if (c->procs[i].serial == load(&kept(c, i)->serial) && at < load(&kept(c, i)->desc_head))
		return true;
	memcpy(&d, desc, sizeof(d.h));
	if (d.h.type != ADEPT_DESC_FRAGMENT || d.h.size < sizeof(d))
		return true;
	memcpy(&d, desc, sizeof(d));
	first = d.first_exit - load(&kept(c, domain - 1)->exits);
	return first < ADEPT_ISOLATED_EXITS && d.nexits <= ADEPT_ISOLATED_EXITS - first;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Counters over all sessions, readable as /sys/class/misc/adept/NAME. */
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/sysfs.h>

#include "adept.h"

static atomic64_t counters[ADEPT_N_COUNTERS];

void adept_count(enum adept_counter which, s64 n)
{
	atomic64_add(n, &counters[which]);
}

struct counter_attribute {
	struct device_attribute attr;
	enum adept_counter which;
};

static ssize_t show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct counter_attribute *c = container_of(attr, struct counter_attribute, attr);

	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&counters[c->which]));
}

#define COUNTER(name, which)						\
	static struct counter_attribute attr_##name = {			\
		__ATTR(name, 0444, show, NULL), which			\
	}

COUNTER(sessions, ADEPT_N_SESSIONS);
COUNTER(orphans, ADEPT_N_ORPHANS);
COUNTER(rings, ADEPT_N_RINGS);
COUNTER(pages, ADEPT_N_PAGES);
COUNTER(published, ADEPT_N_PUBLISHED);
COUNTER(consumed, ADEPT_N_CONSUMED);
COUNTER(returned, ADEPT_N_RETURNED);
COUNTER(lost_chunks, ADEPT_N_LOST_CHUNKS);
COUNTER(lost_bytes, ADEPT_N_LOST_BYTES);
COUNTER(writer_waits, ADEPT_N_WRITER_WAITS);
COUNTER(refused, ADEPT_N_REFUSED);

static struct attribute *attrs[] = {
	&attr_sessions.attr.attr,
	&attr_orphans.attr.attr,
	&attr_rings.attr.attr,
	&attr_pages.attr.attr,
	&attr_published.attr.attr,
	&attr_consumed.attr.attr,
	&attr_returned.attr.attr,
	&attr_lost_chunks.attr.attr,
	&attr_lost_bytes.attr.attr,
	&attr_writer_waits.attr.attr,
	&attr_refused.attr.attr,
	NULL,
};

static const struct attribute_group group = { .attrs = attrs };

const struct attribute_group *adept_count_groups[] = { &group, NULL };

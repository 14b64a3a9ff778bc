// SPDX-License-Identifier: LGPL-2.1-or-later
/* The results of the detector: races and errors. */
#include "internal.h"

int race_fail(struct race_detector *d, int ret)
{
	if (ret >= 0)
		return ret;
	d->error = ret;
	d->skip = true;
	return ret;
}

void race_report_pending(struct race_detector *d, const struct race_access_ctx *now)
{
	const struct race_site *s;
	struct race_found f;
	u32 i;

	f.current = (struct race_access){ now->thread, now->flags, now->t->clock.epoch, now->pc };
	for (i = 0; i < d->npending; i++) {
		const struct race_pending *p = &d->pending[i];

		s = race_sites_get(&d->sites, p->site);
		f.prior = (struct race_access){ race_when_thread(p->when), s->flags,
						p->when & RACE_EPOCH, s->pc };
		f.address = p->address;
		f.size = p->size;
		d->ops.report(d->ops.arg, &f);
	}
	d->npending = 0;
}

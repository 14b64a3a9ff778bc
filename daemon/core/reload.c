// SPDX-License-Identifier: GPL-2.0-or-later
#include "auto_record.h"
#include "reload.h"
#include "daemon/base/log.h"
#include "daemon/base/sd_notify.h"
#include "daemon/policy/options.h"

int depd_reload(struct depd *d, char *why)
{
	struct depd_config c = { 0 };
	int ret;

	notify_reloading();
	ret = options_load(&c, d->options, why, CONTROL_WHY);
	if (ret) {
		log_msg(LOG_ERR, 0, "cannot reload, the old configuration stays in effect: %s",
			why);
		snprintf(d->policy_error, sizeof(d->policy_error), "%s", why);
	} else {
		policy_stop(d);
		policy_free(&d->config);
		d->config = c;
		rules_folders(d);
		policy_start(d);
		log_msg(LOG_INFO, 0, "configuration loaded: %u rules", c.nrules);
	}
	notify_ready();
	return ret;
}

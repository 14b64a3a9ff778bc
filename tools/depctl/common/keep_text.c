// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "daemon/base/signal_name.h"
#include "tools/depctl/depctl.h"

void keep_text(const struct dep_kept *k, char *text)
{
	char name[SIGNAL_NAME];

	switch (k->reason) {
	case DEP_KEEP_EXIT:
		snprintf(text, KEEP_TEXT, "the command exited with status %llu",
			 (unsigned long long)k->value);
		break;
	case DEP_KEEP_SIGNAL:
		snprintf(text, KEEP_TEXT, "%s killed the command",
			 signal_name((int)(k->value & 127), name));
		break;
	case DEP_KEEP_ASKED:
		snprintf(text, KEEP_TEXT, "depctl snapshot asked for it");
		break;
	case DEP_KEEP_CALL:
		snprintf(text, KEEP_TEXT, "thread %u called '%.*s'", k->tid, (int)DEP_KEEP_TEXT,
			 k->what);
		break;
	case DEP_KEEP_SLOW:
		snprintf(text, KEEP_TEXT, "a call of '%.*s' by thread %u took %.3f ms",
			 (int)DEP_KEEP_TEXT, k->what, k->tid, (double)k->value / 1e6);
		break;
	case DEP_KEEP_LONG:
		snprintf(text, KEEP_TEXT, "a call of '%.*s' by thread %u had not returned after "
			 "%.3f ms", (int)DEP_KEEP_TEXT, k->what, k->tid, (double)k->value / 1e6);
		break;
	case DEP_KEEP_PERF:
		snprintf(text, KEEP_TEXT, "%llu %.*s were counted", (unsigned long long)k->value,
			 (int)DEP_KEEP_TEXT, k->what);
		break;
	default:
		snprintf(text, KEEP_TEXT, "the recording was ended");
		break;
	}
}

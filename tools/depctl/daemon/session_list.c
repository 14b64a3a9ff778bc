// SPDX-License-Identifier: GPL-2.0-or-later
/* Print sessions of depd, and their losses, as text. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/table.h"

/* ---- losses ---- */

static const struct {
	const char *name;	/* name of the count in depd's JSON object "loss" */
	bool bytes;
	const char *text;
} losses[] = {
	{ "dropped_bytes", true, "dropped" },
	{ "discarded_bytes", true, "discarded" },
	{ "absent_bytes", true, "lost while no depd ran" },
	{ "lost_processes", false, "processes unrecorded" },
	{ "lost_threads", false, "threads unrecorded" },
	{ "native_images", false, "programs run natively" },
	{ "native_privileged", false, "of them privileged" },
	{ "unfinished_threads", false, "threads killed within a record" },
	{ "lost_descriptors", false, "descriptors lost" },
	{ "torn_segments", false, "segments torn" },
	{ "unfinished_processes", false, "stores not closed" },
};

#define NLOSSES (sizeof(losses) / sizeof(losses[0]))

static bool is_loss(const cJSON *loss)
{
	size_t i;

	for (i = 0; i < NLOSSES; i++)
		if (client_number(loss, losses[i].name) > 0)
			return true;
	return false;
}

void loss_text(const cJSON *loss, char *text, size_t size)
{
	char bytes[16];
	size_t i, at = 0;
	double n;

	snprintf(text, size, "none");
	for (i = 0; i < NLOSSES && at < size; i++) {
		n = client_number(loss, losses[i].name);
		if (n <= 0)
			continue;
		if (losses[i].bytes)
			at += snprintf(text + at, size - at, "%s%s %s", at ? ", " : "",
				       human_size(n, bytes), losses[i].text);
		else
			at += snprintf(text + at, size - at, "%s%.0f %s", at ? ", " : "", n,
				       losses[i].text);
	}
}

/* ---- sessions ---- */

static const char *user_name(unsigned int uid, char buf[16])
{
	const struct passwd *p = getpwuid(uid);

	if (p && strlen(p->pw_name) < 16)
		return p->pw_name;
	snprintf(buf, 16, "%u", uid);
	return buf;
}

static const char *age(double ns, char buf[16])
{
	double s = ns / 1e9;

	if (s < 100)
		snprintf(buf, 16, "%.1f s", s);
	else if (s < 6000)
		snprintf(buf, 16, "%.0f min", s / 60);
	else if (s < 360000)
		snprintf(buf, 16, "%.0f h", s / 3600);
	else
		snprintf(buf, 16, "%.0f d", s < 1e9 ? s / 86400 : 99999);
	return buf;
}

static const struct table_column columns[] = {
	{ "id", TABLE_RIGHT },
	{ "state", TABLE_LEFT },
	{ "user", TABLE_LEFT },
	{ "pid", TABLE_RIGHT },
	{ "age", TABLE_RIGHT },
	{ "procs", TABLE_RIGHT },
	{ "recorded", TABLE_RIGHT },
	{ "stored", TABLE_RIGHT },
	{ "lag", TABLE_RIGHT },
	{ "command", TABLE_TEXT },
	{ "", TABLE_NOTE },	/* attach */
	{ "", TABLE_NOTE },	/* losses */
	{ "", TABLE_NOTE },	/* error */
};

/* How a process that ran already was attached to; nothing for other sessions. */
static void put_attach(struct table *t, const cJSON *attach)
{
	double threads = client_number(attach, "thread_count");

	if (threads <= 0)
		table_cell(t, "%s", "");
	else
		table_cell(t, "attached to: %.0f thread%s stopped for %.3f ms", threads,
			   threads == 1 ? "" : "s", client_number(attach, "stop_ns") / 1e6);
}

static void put_session(struct table *t, const cJSON *s)
{
	const cJSON *lag = cJSON_GetObjectItemCaseSensitive(s, "lag");
	const cJSON *loss = cJSON_GetObjectItemCaseSensitive(s, "loss");
	const char *store = client_string(s, "store"), *error = client_string(s, "error");
	char buf[16], lost[LOSS_TEXT];

	loss_text(loss, lost, sizeof(lost));
	table_cell(t, "%.0f", client_number(s, "id"));
	table_cell(t, "%s", client_string(s, "state"));
	table_cell(t, "%s", user_name(client_number(s, "uid"), buf));
	table_cell(t, "%.0f", client_number(s, "pid"));
	table_cell(t, "%s", age(client_number(s, "age_ns"), buf));
	table_cell(t, "%.0f", client_number(s, "live_processes"));
	table_cell(t, "%s", human_size(client_number(s, "raw_bytes"), buf));
	table_cell(t, "%s", human_size(client_number(s, "stored_bytes"), buf));
	table_cell(t, "%s", human_size(client_number(lag, "bytes"), buf));
	table_cell(t, "%s%s%s", client_string(s, "command"), *store ? " -> " : "", store);
	put_attach(t, cJSON_GetObjectItemCaseSensitive(s, "attach"));
	table_cell(t, "%s%s", is_loss(loss) ? "lost: " : "", is_loss(loss) ? lost : "");
	table_cell(t, "%s%s", *error ? "error: " : "", error);
}

int put_sessions(struct out *o, const cJSON *sessions)
{
	const cJSON *s;
	struct table t;

	if (table_begin(&t, columns, sizeof(columns) / sizeof(columns[0])))
		return EXIT_FAILURE;
	cJSON_ArrayForEach(s, sessions)
		put_session(&t, s);
	return table_end(&t, o);
}

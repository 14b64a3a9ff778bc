// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions of depd, and their losses, for people.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/depctl/depctl.h"

void put_plain(struct out *o, const char *s)
{
	for (; *s; s++) {
		out_reserve(o);
		put_char(o, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
	}
}

/* ---- losses ---- */

static const struct loss_text {
	const char *name;	/* member of loss */
	bool bytes;
	const char *text;
} losses[] = {
	{ "dropped_bytes", true, "dropped" },
	{ "discarded_bytes", true, "discarded" },
	{ "absent_bytes", true, "lost without depd" },
	{ "lost_processes", false, "processes unrecorded" },
	{ "lost_threads", false, "threads unrecorded" },
	{ "native_images", false, "programs run natively" },
	{ "native_privileged", false, "of them privileged" },
	{ "unfinished_threads", false, "threads killed amid a record" },
	{ "torn_segments", false, "segments torn" },
	{ "unfinished_processes", false, "not ended properly" },
};

#define NLOSSES (sizeof(losses) / sizeof(losses[0]))

bool is_loss(const cJSON *loss)
{
	size_t i;

	for (i = 0; i < NLOSSES; i++)
		if (client_number(loss, losses[i].name) > 0)
			return true;
	return false;
}

void put_loss(struct out *o, const cJSON *loss)
{
	const char *sep = "";
	char size[16];
	double n;
	size_t i;

	for (i = 0; i < NLOSSES; i++) {
		n = client_number(loss, losses[i].name);
		if (n <= 0)
			continue;
		if (losses[i].bytes)
			out_printf(o, "%s%s %s", sep, human_size(n, size), losses[i].text);
		else
			out_printf(o, "%s%.0f %s", sep, n, losses[i].text);
		sep = ", ";
	}
	if (!*sep)
		out_text(o, "none");
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

static void put_session(struct out *o, const cJSON *s)
{
	const cJSON *lag = cJSON_GetObjectItemCaseSensitive(s, "lag");
	const cJSON *loss = cJSON_GetObjectItemCaseSensitive(s, "loss");
	const char *store = client_string(s, "store"), *error = client_string(s, "error");
	char user[16], a[16], raw[16], stored[16], after[16];

	out_printf(o, "%6.0f %-9.9s %-8s %8.0f %8s %5.0f %10s %10s %10s  ", client_number(s, "id"),
		   client_string(s, "state"), user_name(client_number(s, "uid"), user),
		   client_number(s, "pid"), age(client_number(s, "age_ns"), a),
		   client_number(s, "live_processes"),
		   human_size(client_number(s, "raw_bytes"), raw),
		   human_size(client_number(s, "stored_bytes"), stored),
		   human_size(client_number(lag, "bytes"), after));
	put_plain(o, client_string(s, "command"));
	if (*store) {
		out_text(o, " -> ");
		put_plain(o, store);
	}
	out_text(o, "\n");
	if (is_loss(loss)) {
		out_text(o, "       lost: ");
		put_loss(o, loss);
		out_text(o, "\n");
	}
	if (*error) {
		out_text(o, "       error: ");
		put_plain(o, error);
		out_text(o, "\n");
	}
}

void put_sessions(struct out *o, const cJSON *sessions)
{
	const cJSON *s;

	out_printf(o, "%6s %-9s %-8s %8s %8s %5s %10s %10s %10s  %s\n", "id", "state", "user",
		   "pid", "age", "procs", "recorded", "stored", "lag", "command");
	cJSON_ArrayForEach(s, sessions)
		put_session(o, s);
}

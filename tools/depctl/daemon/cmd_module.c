// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl module: show the state of the kernel module.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "linux/adept.h"
#include "libdep/collect/module_session.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"

#define COUNTERS	"/sys/class/misc/adept"
#define PARAMETERS	"/sys/module/adept/parameters"

struct module {
	bool json;
	struct out out;
	struct json j;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct module *m = state->input;

	(void)arg;
	if (key != OPT_JSON)
		return ARGP_ERR_UNKNOWN;
	m->json = true;
	return 0;
}

static const struct argp argp = {
	options, parse, NULL,
	"Show the kernel module: its version, parameters, counters and sessions.\v"
	"Sessions of other users are listed for root only.",
	NULL, NULL, NULL,
};

#define REPLACE "to replace it, run `make modules modules_install' in depctl's source directory, " \
		"then `rmmod adept' and `modprobe adept'"

const char *module_error(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return "the kernel module is not loaded: `modprobe adept' loads it, `make modules "
		       "modules_install' builds it";
	case -EACCES:
	case -EPERM:
		return "no permission: only members of the group adept may use the module; root "
		       "can add you by `adduser USER adept'";
	case -EPROTONOSUPPORT:
	case -ENOTTY:
		return "the loaded module has another version than depctl: " REPLACE;
	case -EPROTO:
		return "the loaded module uses another ring layout than depctl: " REPLACE;
	case -EDQUOT:
		return "your sessions, or their memory, have reached the module's limit: see its "
		       "parameters user_sessions and user_mb";
	default:
		return strerror(-err);
	}
}

/* Read a number from a sysfs file; false: the file is missing or contains no number. */
static bool number_in(const char *dir, const char *name, unsigned long long *value)
{
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fscanf(f, "%llu", value);
	fclose(f);
	return n == 1;
}

static int is_number(const struct dirent *e)
{
	return e->d_name[0] != '.' && strcmp(e->d_name, "dev");
}

static void put_numbers(struct module *m, const char *what, const char *dir)
{
	struct dirent **list;
	unsigned long long v;
	int i, n = scandir(dir, &list, is_number, alphasort);

	if (m->json)
		json_object(&m->j, what);
	else
		out_printf(&m->out, "%s:\n", what);
	for (i = 0; i < n; i++) {
		if (!number_in(dir, list[i]->d_name, &v))
			;
		else if (m->json)
			json_u64(&m->j, list[i]->d_name, v);
		else
			out_printf(&m->out, "  %-14s %llu\n", list[i]->d_name, v);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (m->json)
		json_close(&m->j, '}');
}

static const char *policy_name(uint32_t policy)
{
	static const char *const names[] = { "wait", "drop", "discard" };

	return policy < 3 ? names[policy] : "?";
}

static void put_session(struct module *m, const struct adept_session_info *i)
{
	const char *state = i->state == ADEPT_SESSION_CONSUMED ? "consumed" :
			    i->state == ADEPT_SESSION_ORPHAN ? "orphan" : "given up";
	char label[ADEPT_LABEL_SIZE + 1] = "", size[16];

	memcpy(label, i->label, ADEPT_LABEL_SIZE);
	if (!m->json) {
		out_printf(&m->out, "  %4llu %-8s %6u %-7s %10s x %-2u %4u rings %4u unread  ",
			   (unsigned long long)i->id, state, i->uid, policy_name(i->policy),
			   human_size(i->chunk_size, size), i->nchunks, i->rings, i->unread);
		out_text(&m->out, label);
		if (i->charge_uid != i->uid)
			out_printf(&m->out, "  for user %u", i->charge_uid);
		out_text(&m->out, "\n");
		return;
	}
	json_object(&m->j, NULL);
	json_u64(&m->j, "id", i->id);
	json_str(&m->j, "state", state);
	json_u64(&m->j, "uid", i->uid);
	json_u64(&m->j, "charge_uid", i->charge_uid);
	json_str(&m->j, "on_full", policy_name(i->policy));
	json_u64(&m->j, "chunk_size", i->chunk_size);
	json_u64(&m->j, "chunks", i->nchunks);
	json_u64(&m->j, "slots", i->nslots);
	json_u64(&m->j, "writers", i->writers);
	json_u64(&m->j, "rings", i->rings);
	json_u64(&m->j, "unread", i->unread);
	json_u64(&m->j, "orphan_ns", i->orphan_ns);
	json_str(&m->j, "label", label);
	json_close(&m->j, '}');
}

static int put_sessions(struct module *m, int dev)
{
	struct adept_session_info *info = calloc(ADEPT_LIST_MAX, sizeof(*info));
	struct adept_session_list l = {
		.sessions = (uintptr_t)info, .room = ADEPT_LIST_MAX,
	};
	uint32_t i;

	if (!info || ioctl(dev, ADEPT_IOC_SESSION_LIST, &l)) {
		warn("the sessions cannot be listed: %s", strerror(info ? errno : ENOMEM));
		free(info);
		return EXIT_FAILURE;
	}
	if (m->json)
		json_array(&m->j, "sessions");
	else
		out_printf(&m->out, "sessions: %u\n", l.count);
	for (i = 0; i < l.count && i < l.room; i++)
		put_session(m, &info[i]);
	if (m->json)
		json_close(&m->j, ']');
	free(info);
	return 0;
}

int cmd_module(int argc, char **argv)
{
	struct module m = { 0 };
	int dev, status;

	parse_args(&argp, argc, argv, 0, &m);
	dev = dep_module_device();
	if (dev < 0) {
		warn("/dev/adept cannot be used: %s", module_error(dev));
		return EXIT_FAILURE;
	}
	out_begin(&m.out);
	if (!m.json)
		out_layout(&m.out);
	json_begin(&m.j, &m.out);
	if (m.json) {
		json_object(&m.j, NULL);
		json_u64(&m.j, "interface_version", ADEPT_ABI_VERSION);
	} else {
		out_printf(&m.out, "adept.ko, interface version %u\n", ADEPT_ABI_VERSION);
	}
	put_numbers(&m, "parameters", PARAMETERS);
	put_numbers(&m, "counters", COUNTERS);
	status = put_sessions(&m, dev);
	if (m.json) {
		json_close(&m.j, '}');
		json_line(&m.j);
	}
	close(dev);
	return out_end(&m.out) | status;
}

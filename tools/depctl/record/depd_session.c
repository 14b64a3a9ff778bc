// SPDX-License-Identifier: GPL-2.0-or-later
/* Ask depd for a session. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/depctl/daemon/client.h"
#include "tools/depctl/depctl.h"
#include "depd_session.h"
#include "record.h"

#define AGAIN_MS	50	/* interval between attempts to create the session */

static cJSON *options_json(const struct record_options *o)
{
	static const char *const transport[] = { "auto", "kmod", "shm" };
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ ADEPT_S_NO_RECORD, "no_record" }, { ADEPT_S_NULL, "null" },
		{ ADEPT_S_DROP, "drop" }, { ADEPT_S_SELF_CHECK, "self_check" },
		{ ADEPT_S_STRICT, "strict" }, { ADEPT_S_NO_FOLLOW, "no_follow" },
		{ ADEPT_S_NO_FUNCTIONS, "no_functions" }, { ADEPT_S_NO_CHILDREN, "no_children" },
		{ ADEPT_S_KEEP_TRANSLATIONS, "keep_translations" },
	};
	cJSON *j = cJSON_CreateObject();
	char name[32];
	uint32_t area;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (o->flags & flags[i].flag)
			cJSON_AddTrueToObject(j, flags[i].name);
	for (area = 0; area < ADEPT_LOG_AREAS; area++) {
		snprintf(name, sizeof(name), "log_%s", adept_log_area_name(area));
		if (o->flags & ADEPT_S_LOG(area))
			cJSON_AddTrueToObject(j, name);
	}
	if (o->ring_size)
		cJSON_AddNumberToObject(j, "ring_size", (double)o->ring_size);
	if (o->max_size)
		cJSON_AddNumberToObject(j, "max_size", (double)o->max_size);
	/* In memory depd has a default of its own. */
	if (o->last_bytes && (!o->last_default || o->last_on_disk))
		cJSON_AddNumberToObject(j, "last_bytes", (double)o->last_bytes);
	if (o->last_ns)
		cJSON_AddNumberToObject(j, "last_ns", (double)o->last_ns);
	if (o->last_on_disk)
		cJSON_AddTrueToObject(j, "last_on_disk");
	triggers_json(j, o);
	if (o->keep_if != DEP_KEEP_IF_ALWAYS)
		cJSON_AddStringToObject(j, "keep_if", o->keep_if == DEP_KEEP_IF_CRASH ? "crash" :
					"failure");
	if (o->level)
		cJSON_AddNumberToObject(j, "level", o->level);
	if (o->shared)
		cJSON_AddNumberToObject(j, "share", o->group);
	cJSON_AddBoolToObject(j, "aslr", record_aslr(o));
	cJSON_AddStringToObject(j, "transport", transport[o->transport]);
	return j;
}

static cJSON *record_request(const struct remote *r, const char *cwd)
{
	cJSON *q = client_request("record", 0);
	char store[2 * PATH_MAX], dir[PATH_MAX];

	/* A process can be in a directory that has no path here. */
	if (!record_cwd(r->o->pid, dir, sizeof(dir)) || *dir != '/')
		snprintf(dir, sizeof(dir), "/");
	cJSON_AddItemToObject(q, "argv", cJSON_CreateStringArray((const char *const *)r->o->argv,
								  r->o->argc));
	cJSON_AddStringToObject(q, "cwd", dir);
	if (r->o->pid)
		cJSON_AddTrueToObject(q, "attach");
	if (*r->dir) {
		snprintf(store, sizeof(store), "%s%s%s", *r->dir == '/' ? "" : cwd,
			 *r->dir == '/' ? "" : "/", r->dir);
		cJSON_AddStringToObject(q, "store", store);
	}
	cJSON_AddItemToObject(q, "options", options_json(r->o));
	return q;
}

bool depd_is_needed(const struct record_options *o)
{
	return o->socket || o->background;
}

/*
 * If depd is killed before it responds, ask the next depd: no program has been started yet.  The
 * first depd may have begun a session.  The next depd gives this session up and removes its store,
 * since no client reconnects to the session.  Until then the store exists, so requests fail with
 * -EEXIST and are repeated.
 */
static int ask_for_session(struct remote *r, const char *cwd)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000l };
	uint64_t until = client_now_ms() + COME_BACK_MS;
	bool killed = false, temporary;
	struct stat st;
	int exists = *r->dir && !lstat(r->dir, &st), ret;

	for (;;) {
		ret = r->c->fd < 0 ? client_open(r->c, r->o->socket) : 0;
		temporary = ret == -ENOENT;
		if (!ret) {
			ret = client_ask(r->c, record_request(r, cwd));
			killed |= ret == -EPIPE;
			temporary = ret == -EPIPE || (ret == -EEXIST && !exists);
		}
		if (!ret || !killed || !temporary || client_now_ms() >= until)
			break;
		client_close(r->c);
		nanosleep(&pause, NULL);
	}
	if (ret == -EXDEV && !depd_is_needed(r->o))
		warn("%s: recording without depd", r->c->why);
	else if (ret)
		warn("%s", r->c->why);
	return ret;
}

/* True if depctl found depd by default, not by --socket or $ADEPT_SOCKET. */
static bool was_found(const struct record_options *o)
{
	const char *env = getenv("ADEPT_SOCKET");

	return !o->socket && !(env && *env);
}

int depd_session_make(struct remote *r)
{
	char cwd[PATH_MAX];
	int ret;

	if (!getcwd(cwd, sizeof(cwd)))
		snprintf(cwd, sizeof(cwd), "/");
	if (!(r->o->flags & ADEPT_S_NO_RECORD))
		record_dir(r->o, r->dir, sizeof(r->dir));
	ret = ask_for_session(r, cwd);
	if (ret)
		return ret;
	r->session = (uint32_t)client_number(cJSON_GetObjectItemCaseSensitive(r->c->answer,
									     "session"), "id");
	if (!r->session || !r->c->nfds) {
		warn("depd sent no session file; record without depd by --alone");
		return -1;
	}
	r->fd = r->c->fds[0];
	r->ring_fd = r->c->nfds > 1 ? r->c->fds[1] : -1;
	r->c->nfds = 0;
	r->connected = true;
	if (!r->o->quiet && was_found(r->o))
		warn("recording through depd (session %u)", r->session);
	return 0;
}

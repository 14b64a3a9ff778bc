// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parse a request line into struct request and check every field.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdep/abi/session_file.h"
#include "libdep/collect/collect.h"
#include "json_scan.h"
#include "request.h"
#include "request_triggers.h"

/* Largest whole number that cJSON stores exactly, since it uses double. */
#define WHOLE_MAX	((1ull << 53) - 1)
#define PID_MAX		(1u << 22)

enum kind {
	KIND_KNOWN,		/* fields v and op, which take_op() has checked */
	KIND_U32, KIND_U64, KIND_INT, KIND_BOOL, KIND_FLAG, KIND_PATH, KIND_TEXT, KIND_ARGV,
	KIND_TRANSPORT, KIND_GROUP, KIND_OPTIONS, KIND_TRIGGERS, KIND_TRIGGER_FILE, KIND_KEEP_IF,
};

/** struct field - a field of a request, or of its object "options" */
struct field {
	const char *name;
	enum kind kind;
	size_t offset;		/* offset of the value in struct request */
	/* range of a number; for a string, @max is its size limit; for a flag, @max is its bit */
	uint64_t min, max;
	unsigned int ops;	/* requests that can have the field: 1 << enum request_op */
	unsigned int need;	/* requests that must have the field */
};

/** struct parse - state while a request is parsed */
struct parse {
	struct request *r;
	char *why;
	size_t why_size;
};

#define AT(member)	offsetof(struct request, member)
#define OP(name)	(1u << REQUEST_##name)
#define WITH_SESSION	(OP(LAUNCHED) | OP(ENDED) | OP(WATCH) | OP(FOLLOW) | OP(STOP) | \
			 OP(TRIGGER))
#define ALL		((1u << REQUEST_OPS) - 1)

static const struct field fields[] = {
	{ "v", KIND_KNOWN, 0, 0, 0, ALL, ALL },
	{ "op", KIND_KNOWN, 0, 0, 0, ALL, ALL },
	{ "session", KIND_U32, AT(session), 1, UINT32_MAX,
	  WITH_SESSION | OP(OPEN) | OP(SNAPSHOT), WITH_SESSION },
	{ "argv", KIND_ARGV, 0, 0, 0, OP(RECORD), OP(RECORD) },
	{ "cwd", KIND_PATH, AT(cwd), 0, PATH_MAX, OP(RECORD), OP(RECORD) },
	{ "store", KIND_PATH, AT(store), 0, PATH_MAX, OP(RECORD) | OP(SNAPSHOT), 0 },
	{ "options", KIND_OPTIONS, 0, 0, 0, OP(RECORD), 0 },
	{ "attach", KIND_BOOL, AT(attach), 0, 0, OP(RECORD), 0 },
	{ "pid", KIND_INT, AT(pid), 1, PID_MAX, OP(LAUNCHED) | OP(OPEN) | OP(SNAPSHOT),
	  OP(LAUNCHED) },
	{ "native", KIND_BOOL, AT(native), 0, 0, OP(LAUNCHED), 0 },
	{ "privileged", KIND_BOOL, AT(privileged), 0, 0, OP(LAUNCHED), 0 },
	{ "why", KIND_TEXT, AT(why), 0, REQUEST_WHY_MAX, OP(LAUNCHED), 0 },
	{ "stop_ns", KIND_U64, AT(stop_ns), 0, WHOLE_MAX, OP(LAUNCHED), 0 },
	{ "threads", KIND_U32, AT(threads), 0, PID_MAX, OP(LAUNCHED), 0 },
	{ "status", KIND_INT, AT(status), 0, 0xffff, OP(ENDED), OP(ENDED) },
	{ "event", KIND_TEXT, AT(event), 0, REQUEST_EVENT_MAX, OP(TRIGGER), OP(TRIGGER) },
	{ "count", KIND_U64, AT(count), 1, WHOLE_MAX, OP(TRIGGER), OP(TRIGGER) },
	{ 0 }
};

static const struct field options[] = {
	{ "no_record", KIND_FLAG, 0, 0, ADEPT_S_NO_RECORD, ALL, 0 },
	{ "null", KIND_FLAG, 0, 0, ADEPT_S_NULL, ALL, 0 },
	{ "drop", KIND_FLAG, 0, 0, ADEPT_S_DROP, ALL, 0 },
	{ "self_check", KIND_FLAG, 0, 0, ADEPT_S_SELF_CHECK, ALL, 0 },
	{ "strict", KIND_FLAG, 0, 0, ADEPT_S_STRICT, ALL, 0 },
	{ "no_follow", KIND_FLAG, 0, 0, ADEPT_S_NO_FOLLOW, ALL, 0 },
	{ "no_children", KIND_FLAG, 0, 0, ADEPT_S_NO_CHILDREN, ALL, 0 },
	{ "no_functions", KIND_FLAG, 0, 0, ADEPT_S_NO_FUNCTIONS, ALL, 0 },
	{ "keep_translations", KIND_FLAG, 0, 0, ADEPT_S_KEEP_TRANSLATIONS, ALL, 0 },
	{ "log_translate", KIND_FLAG, 0, 0, ADEPT_S_LOG(ADEPT_LOG_TRANSLATE), ALL, 0 },
	{ "log_signal", KIND_FLAG, 0, 0, ADEPT_S_LOG(ADEPT_LOG_SIGNAL), ALL, 0 },
	{ "log_thread", KIND_FLAG, 0, 0, ADEPT_S_LOG(ADEPT_LOG_THREAD), ALL, 0 },
	{ "log_exec", KIND_FLAG, 0, 0, ADEPT_S_LOG(ADEPT_LOG_EXEC), ALL, 0 },
	{ "log_memory", KIND_FLAG, 0, 0, ADEPT_S_LOG(ADEPT_LOG_MEMORY), ALL, 0 },
	{ "ring_size", KIND_U64, AT(ring_size), DEP_RING_MIN, DEP_RING_MAX, ALL, 0 },
	{ "max_size", KIND_U64, AT(max_size), 1, WHOLE_MAX, ALL, 0 },
	{ "last_bytes", KIND_U64, AT(last_bytes), DEP_RING_MIN, WHOLE_MAX, ALL, 0 },
	{ "last_ns", KIND_U64, AT(last_ns), 1, WHOLE_MAX, ALL, 0 },
	{ "last_on_disk", KIND_BOOL, AT(last_on_disk), 0, 0, ALL, 0 },
	{ "triggers", KIND_TRIGGERS, 0, 0, 0, ALL, 0 },
	{ "trigger_file", KIND_TRIGGER_FILE, 0, 0, 0, ALL, 0 },
	{ "snapshots", KIND_U32, AT(snapshots), 1, REQUEST_SNAPSHOTS_MAX, ALL, 0 },
	{ "keep_if", KIND_KEEP_IF, 0, 0, 0, ALL, 0 },
	{ "level", KIND_INT, AT(level), 1, 19, ALL, 0 },
	{ "aslr", KIND_BOOL, AT(aslr), 0, 0, ALL, 0 },
	{ "transport", KIND_TRANSPORT, 0, 0, 0, ALL, 0 },
	{ "share", KIND_GROUP, AT(group), 0, UINT32_MAX - 1, ALL, 0 },
	{ 0 }
};

static const char *const op_names[REQUEST_OPS] = {
	[REQUEST_STATUS] = "status", [REQUEST_SESSIONS] = "sessions",
	[REQUEST_RECORD] = "record", [REQUEST_LAUNCHED] = "launched",
	[REQUEST_ENDED] = "ended", [REQUEST_WATCH] = "watch", [REQUEST_STOP] = "stop",
	[REQUEST_FOLLOW] = "follow", [REQUEST_OPEN] = "open",
	[REQUEST_POLICY] = "policy", [REQUEST_RELOAD] = "reload",
	[REQUEST_USERS] = "users", [REQUEST_SNAPSHOT] = "snapshot",
	[REQUEST_TRIGGER] = "trigger",
};

const char *request_op_name(enum request_op op)
{
	return op < REQUEST_OPS ? op_names[op] : "?";
}

__attribute__((format(printf, 3, 4)))
static int refuse(struct parse *p, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_size, fmt, ap);
	va_end(ap);
	return err;
}

static int expected(struct parse *p, const struct field *f, const char *what)
{
	return refuse(p, -EINVAL, "the field %s must be %s", f->name, what);
}

/* ---- values of fields ---- */

static int take_number(struct parse *p, const struct field *f, const cJSON *v, uint64_t *out)
{
	double d = v->valuedouble;

	if (!cJSON_IsNumber(v) || !(d >= f->min && d <= f->max) || d != (double)(uint64_t)d)
		return refuse(p, -EINVAL, "the field %s must be a whole number from %llu to %llu",
			      f->name, (unsigned long long)f->min, (unsigned long long)f->max);
	*out = d;
	return 0;
}

static int take_text(struct parse *p, const struct field *f, const cJSON *v)
{
	char **to = (char **)((char *)p->r + f->offset);
	bool path = f->kind == KIND_PATH;

	if (!cJSON_IsString(v))
		return expected(p, f, "a string");
	if (path && v->valuestring[0] != '/')
		return expected(p, f, "an absolute path, which begins with /");
	if (strlen(v->valuestring) >= f->max)
		return refuse(p, -EINVAL, "the field %s must be shorter than %llu bytes", f->name,
			      (unsigned long long)f->max);
	*to = strdup(v->valuestring);
	return *to ? 0 : refuse(p, -ENOMEM, "out of memory");
}

static int take_argv(struct parse *p, const struct field *f, const cJSON *v)
{
	int n = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : 0;
	struct request *r = p->r;
	const cJSON *e;

	if (n < 1 || n > REQUEST_ARGC_MAX)
		return refuse(p, -EINVAL, "the field %s must be an array of 1 to %d strings",
			      f->name, REQUEST_ARGC_MAX);
	r->argv = calloc(n + 1, sizeof(*r->argv));
	if (!r->argv)
		return refuse(p, -ENOMEM, "out of memory");
	cJSON_ArrayForEach(e, v) {
		if (!cJSON_IsString(e))
			return expected(p, f, "an array that contains only strings");
		r->argv[r->argc] = strdup(e->valuestring);
		if (!r->argv[r->argc])
			return refuse(p, -ENOMEM, "out of memory");
		r->argc++;
	}
	if (!r->argv[0][0])
		return expected(p, f, "a command: the first string must not be empty");
	return 0;
}

static int take_transport(struct parse *p, const struct field *f, const cJSON *v)
{
	const char *s = cJSON_IsString(v) ? v->valuestring : "";

	if (!strcmp(s, "auto"))
		p->r->transport = REQUEST_AUTO;
	else if (!strcmp(s, "kmod"))
		p->r->transport = REQUEST_KMOD;
	else if (!strcmp(s, "shm"))
		p->r->transport = REQUEST_SHM;
	else
		return expected(p, f, "\"auto\", \"kmod\" or \"shm\"");
	return 0;
}

static int take_keep_if(struct parse *p, const struct field *f, const cJSON *v)
{
	static const char *const names[DEP_KEEP_IFS] = {
		[DEP_KEEP_IF_ALWAYS] = "always", [DEP_KEEP_IF_FAILURE] = "failure",
		[DEP_KEEP_IF_CRASH] = "crash",
	};
	int i;

	for (i = 0; cJSON_IsString(v) && i < DEP_KEEP_IFS; i++) {
		if (strcmp(v->valuestring, names[i]))
			continue;
		p->r->keep_if = (enum dep_keep_if)i;
		return 0;
	}
	return expected(p, f, "\"always\", \"failure\" or \"crash\"");
}

static int take_object(struct parse *p, const struct field *list, const cJSON *o, const char *of);

static int take(struct parse *p, const struct field *f, const cJSON *v)
{
	char *to = (char *)p->r + f->offset;
	uint64_t n = 0;
	int ret = 0;

	switch (f->kind) {
	case KIND_KNOWN:
		break;
	case KIND_U32:
		ret = take_number(p, f, v, &n);
		*(uint32_t *)to = n;
		break;
	case KIND_U64:
		ret = take_number(p, f, v, &n);
		*(uint64_t *)to = n;
		break;
	case KIND_INT:
		ret = take_number(p, f, v, &n);
		*(int *)to = n;
		break;
	case KIND_BOOL:
		if (!cJSON_IsBool(v))
			return expected(p, f, "true or false");
		*(bool *)to = cJSON_IsTrue(v);
		break;
	case KIND_FLAG:
		if (!cJSON_IsBool(v))
			return expected(p, f, "true or false");
		p->r->flags |= cJSON_IsTrue(v) ? f->max : 0;
		break;
	case KIND_GROUP:
		ret = take_number(p, f, v, &n);
		*(uint32_t *)to = n;
		p->r->shared = true;
		break;
	case KIND_PATH:
	case KIND_TEXT:
		return take_text(p, f, v);
	case KIND_ARGV:
		return take_argv(p, f, v);
	case KIND_TRANSPORT:
		return take_transport(p, f, v);
	case KIND_KEEP_IF:
		return take_keep_if(p, f, v);
	case KIND_TRIGGERS:
		return request_take_triggers(&p->r->triggers, v, p->why, p->why_size);
	case KIND_TRIGGER_FILE:
		return request_take_trigger_file(&p->r->triggers, v, p->why, p->why_size);
	case KIND_OPTIONS:
		if (!cJSON_IsObject(v))
			return expected(p, f, "an object");
		return take_object(p, options, v, "options");
	}
	return ret;
}

/* ---- JSON objects ---- */

/* Copy up to 32 bytes of an untrusted name to @buf; unprintable bytes become '?'. */
static const char *printable(const char *name, char buf[33])
{
	size_t i;

	for (i = 0; i < 32 && name[i]; i++)
		buf[i] = name[i] >= 0x20 && name[i] <= 0x7e ? name[i] : '?';
	buf[i] = 0;
	return buf;
}

static const struct field *find_field(const struct field *list, const char *name,
				      unsigned int ops)
{
	const struct field *f;

	for (f = list; f->name; f++)
		if (!strcmp(f->name, name) && f->ops & ops)
			return f;
	return NULL;
}

/* Parse all fields of JSON object @o.  @list: allowed fields; @of: name of @o for messages. */
static int take_object(struct parse *p, const struct field *list, const cJSON *o, const char *of)
{
	unsigned int op = 1u << p->r->op, seen = 0, bit;
	const struct field *f;
	char name[33];
	cJSON *v;
	int ret;

	cJSON_ArrayForEach(v, o) {
		f = find_field(list, v->string, op);
		if (!f)
			return refuse(p, -EINVAL, "there is no field %s in %s",
				      printable(v->string, name), of);
		bit = 1u << (f - list);
		if (seen & bit)
			return refuse(p, -EINVAL, "the field %s is repeated", f->name);
		seen |= bit;
		ret = take(p, f, v);
		if (ret)
			return ret;
	}
	for (f = list; f->name; f++)
		if (f->need & op && !(seen & 1u << (f - list)))
			return refuse(p, -EINVAL, "the field %s is missing in %s", f->name, of);
	return 0;
}

static int take_op(struct parse *p, const cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "v");
	const cJSON *op = cJSON_GetObjectItemCaseSensitive(o, "op");
	int i;

	if (!cJSON_IsNumber(v) || v->valuedouble != DEPD_PROTOCOL)
		return refuse(p, -EPROTO, "this depd speaks version %d of the protocol: the field "
			      "v must be %d", DEPD_PROTOCOL, DEPD_PROTOCOL);
	if (!cJSON_IsString(op))
		return refuse(p, -EINVAL, "the field op is missing, or is not a string");
	for (i = 0; i < REQUEST_OPS; i++) {
		if (!strcmp(op->valuestring, op_names[i])) {
			p->r->op = i;
			return 0;
		}
	}
	return refuse(p, -EINVAL, "the field op must be one of status, sessions, record, launched, "
		      "ended, watch, follow, open, stop, snapshot, trigger, policy, reload and "
		      "users");
}

/* Check what makes snapshots: it needs a window, and offsets need the file that they are of. */
static int check_triggers(struct parse *p)
{
	struct request *r = p->r;
	bool some = *r->triggers.of[0].glob;

	if (!r->last_bytes && (some || r->triggers.inode || r->snapshots))
		return refuse(p, -EINVAL, "triggers, trigger_file and snapshots need last_bytes or "
			      "last_ns");
	if (!r->triggers.nplaces != !r->triggers.inode)
		return refuse(p, -EINVAL, "trigger_file and the offsets of triggers need each "
			      "other");
	if (r->last_bytes && !r->snapshots)
		r->snapshots = REQUEST_SNAPSHOTS;
	return 0;
}

/* Check what a window excludes: it has chunks of shared memory, and a store. */
static int check_last(struct parse *p)
{
	struct request *r = p->r;
	uint64_t ring = r->ring_size ? r->ring_size : DEP_RING_DEFAULT;

	if (r->last_ns && !r->last_bytes)
		r->last_bytes = REQUEST_LAST;
	if (r->last_on_disk && !r->last_bytes)
		return refuse(p, -EINVAL, "last_on_disk needs last_bytes or last_ns");
	if (!r->last_bytes)
		return check_triggers(p);
	if (r->max_size || !r->store || r->flags & (ADEPT_S_NULL | ADEPT_S_NO_RECORD) ||
	    r->transport == REQUEST_KMOD)
		return refuse(p, -EINVAL, "last_bytes needs a store, and excludes max_size, null, "
			      "no_record and the transport kmod");
	if (r->last_bytes < ring)
		return refuse(p, -EINVAL, "last_bytes is less than the ring of one thread, which "
			      "has %llu bytes", (unsigned long long)ring);
	return check_triggers(p);
}

static int check_record(struct parse *p)
{
	const struct request *r = p->r;

	if (r->flags & ADEPT_S_NO_RECORD &&
	    (r->store || r->max_size ||
	     r->flags & (ADEPT_S_NULL | ADEPT_S_KEEP_TRANSLATIONS | ADEPT_S_LOG_ALL)))
		return refuse(p, -EINVAL, "no_record stores nothing: store, max_size, null, "
			      "keep_translations and log_* are not allowed with it");
	if (!r->store && !(r->flags & (ADEPT_S_NO_RECORD | ADEPT_S_NULL)))
		return refuse(p, -EINVAL, "the field 'store' is missing: it is optional only with "
			      "'no_record' or 'null'");
	if (r->shared && !r->store)
		return refuse(p, -EINVAL, "the field share needs a store");
	if (r->keep_if != DEP_KEEP_IF_ALWAYS && (!r->store || r->attach))
		return refuse(p, -EINVAL, "keep_if needs a store, and a command whose end the "
			      "client sees: it excludes attach");
	return check_last(p);
}

/* The name goes into the store, so it has nothing that a terminal would not print. */
static bool is_event(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz-")];
}

/* Check conditions that concern several fields. */
static int check_whole(struct parse *p)
{
	const struct request *r = p->r;

	if (r->op == REQUEST_LAUNCHED && r->why && !r->native)
		return refuse(p, -EINVAL, "the field why is allowed only if native is true");
	if (r->op == REQUEST_LAUNCHED && r->privileged && !r->native)
		return refuse(p, -EINVAL, "the field privileged may be true only if native is "
			      "true");
	if ((r->op == REQUEST_OPEN || r->op == REQUEST_SNAPSHOT) && !r->session == !r->pid)
		return refuse(p, -EINVAL, "%s needs either the field session or the field pid",
			      request_op_name(r->op));
	if (r->op == REQUEST_TRIGGER && !is_event(r->event))
		return refuse(p, -EINVAL, "the field event must be a name of small letters and -");
	return r->op == REQUEST_RECORD ? check_record(p) : 0;
}

static int take_request(struct parse *p, const cJSON *o)
{
	char of[32];
	int ret;

	ret = take_op(p, o);
	if (ret)
		return ret;
	snprintf(of, sizeof(of), "%s", request_op_name(p->r->op));
	ret = take_object(p, fields, o, of);
	return ret ? ret : check_whole(p);
}

int request_parse(struct request *r, const char *line, size_t size, char *why, size_t why_size)
{
	struct parse p = { .r = r, .why = why, .why_size = why_size };
	cJSON *o;
	int ret;

	*r = (struct request){ .aslr = true };
	if (size >= DEPD_LINE_MAX)
		return refuse(&p, -EMSGSIZE, "the request is longer than %u bytes", DEPD_LINE_MAX);
	ret = json_scan(line, size, why, why_size);
	if (ret)
		return ret;
	o = cJSON_ParseWithLength(line, size);
	if (!cJSON_IsObject(o))
		ret = refuse(&p, -EPROTO, "this is not a valid JSON object");
	else
		ret = take_request(&p, o);
	cJSON_Delete(o);
	if (ret)
		request_free(r);
	return ret;
}

void request_free(struct request *r)
{
	int i;

	for (i = 0; i < r->argc; i++)
		free(r->argv[i]);
	free(r->argv);
	free(r->cwd);
	free(r->store);
	free(r->why);
	free(r->event);
	*r = (struct request){ 0 };
}

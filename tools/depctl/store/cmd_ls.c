// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depctl ls: list the stores of a directory, or the contents of one store.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/signal_name.h"
#include "libdep/abi/session_file.h"
#include "tools/depctl/depctl.h"
#include "tools/depctl/common/output.h"
#include "tools/depctl/common/table.h"
#include "cmdline.h"
#include "verdict.h"

struct ls {
	const char *path;
	bool json, modules;
	struct out out;
	struct json j;
	struct table table;	/* the stores of a directory */
};

static const struct argp_option options[] = {
	{ "modules", 'm', NULL, 0, "Also list the mapped programs and libraries", 1 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls *l = state->input;

	switch (key) {
	case 'm':
		l->modules = true;
		break;
	case OPT_JSON:
		l->json = true;
		break;
	case ARGP_KEY_ARG:
		if (l->path)
			argp_error(state, "only one store or directory can be listed at a time");
		l->path = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "[DIR|STORE]",
	"List the stores in DIR (default: here), or the processes and threads in STORE.", NULL,
	NULL, NULL
};

static const char *const causes[] = { "launch", "fork", "exec", "attach" };

static const char *cause_of(const struct dep_process *p)
{
	return p->cause <= ADEPT_BY_ATTACH ? causes[p->cause] : "?";
}

/* Add up the segments and bytes of one thread.  The segments are sorted by thread. */
static size_t sum_segments(struct dep_store *s, uint32_t thread, uint64_t *raw, uint64_t *stored)
{
	const struct dep_segment *seg;
	size_t lo = 0, hi = dep_store_segments(s, &seg), n = hi, mid, count = 0;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (seg[mid].thread < thread)
			lo = mid + 1;
		else
			hi = mid;
	}
	*raw = 0;
	*stored = 0;
	for (; lo < n && seg[lo].thread == thread; lo++) {
		*raw += seg[lo].raw_bytes;
		*stored += seg[lo].stored_bytes;
		count++;
	}
	return count;
}

static void ls_thread(struct ls *l, struct dep_store *s, const struct dep_thread *t)
{
	uint64_t raw, stored;
	size_t n = sum_segments(s, t->serial, &raw, &stored);
	char a[16], b[16];

	if (l->json) {
		json_object(&l->j, NULL);
		json_u64(&l->j, "thread", t->serial);
		json_u64(&l->j, "tid", t->tid);
		json_u64(&l->j, "process", t->process);
		json_u64(&l->j, "parent", t->parent);
		json_str(&l->j, "thread_name", t->name);
		json_big(&l->j, "start_ns", t->start_ns);
		json_big(&l->j, "end_ns", t->end_ns);
		json_u64(&l->j, "segments", n);
		json_u64(&l->j, "raw_bytes", raw);
		json_u64(&l->j, "stored_bytes", stored);
		json_u64(&l->j, "flushes", t->flushes);
		json_u64(&l->j, "null_bytes", t->null_bytes);
		json_close(&l->j, '}');
		return;
	}
	out_printf(&l->out, "    thread %-7u%4zu segments %8s recorded %8s stored", t->tid, n,
		   human_size(raw, a), human_size(stored, b));
	if (t->name) {
		out_text(&l->out, "  ");
		out_plain(&l->out, t->name);
	}
	out_text(&l->out, "\n");
}

static void ls_process(struct ls *l, struct dep_store *s, const struct dep_process *p)
{
	const struct dep_process *parent = process_of(s, p->parent);
	char by[16] = "";

	if (l->json) {
		json_object(&l->j, NULL);
		json_u64(&l->j, "process", p->serial);
		json_u64(&l->j, "pid", p->pid);
		json_u64(&l->j, "parent", p->parent);
		json_str(&l->j, "cause", cause_of(p));
		json_str(&l->j, "exe", p->exe);
		cmdline_json(&l->j, p);
		json_big(&l->j, "start_ns", p->start_ns);
		json_big(&l->j, "end_ns", p->end_ns);
		json_u64(&l->j, "fragments_built", p->built);
		json_u64(&l->j, "translate_ns", p->translate_ns);
		json_close(&l->j, '}');
		return;
	}
	if (parent)
		snprintf(by, sizeof(by), "by %u", parent->pid);
	out_color(&l->out, COLOR_HEADING);
	out_printf(&l->out, "process %-7u %-6s", p->pid, cause_of(p));
	out_color(&l->out, COLOR_END);
	out_printf(&l->out, " %-10s", by);
	if (p->end_ns > p->start_ns)
		out_printf(&l->out, " %8.3f s  ", (p->end_ns - p->start_ns) / 1e9);
	else
		out_printf(&l->out, " %8s s  ", "?");
	cmdline_text(&l->out, p);
	out_text(&l->out, "\n");
}

static void ls_module(struct ls *l, const struct dep_module *m)
{
	if (l->json) {
		json_object(&l->j, NULL);
		json_u64(&l->j, "process", m->process);
		json_hex(&l->j, "start_address", m->start);
		json_hex(&l->j, "end_address", m->end);
		json_hex(&l->j, "file_offset", m->offset);
		json_str(&l->j, "path", m->path);
		json_str(&l->j, "build_id", m->build_id);
		json_big(&l->j, "from_ns", m->from_ns);
		json_big(&l->j, "to_ns", m->to_ns);
		json_close(&l->j, '}');
		return;
	}
	out_printf(&l->out, "    module %llx-%llx %llx ", (unsigned long long)m->start,
		   (unsigned long long)m->end, (unsigned long long)m->offset);
	out_plain(&l->out, m->path && *m->path ? m->path : "-");
	if (m->build_id && *m->build_id) {
		out_text(&l->out, " ");
		out_text(&l->out, m->build_id);
	}
	out_text(&l->out, "\n");
}

static void ls_json(struct ls *l, struct dep_store *s)
{
	const struct dep_process *p;
	const struct dep_thread *t;
	const struct dep_module *m;
	size_t i, n;

	json_object(&l->j, NULL);
	json_str(&l->j, "store", l->path);
	verdict_json(&l->j, s);
	json_array(&l->j, "processes");
	n = dep_store_processes(s, &p);
	for (i = 0; i < n; i++)
		ls_process(l, s, &p[i]);
	json_close(&l->j, ']');
	json_array(&l->j, "threads");
	n = dep_store_threads(s, &t);
	for (i = 0; i < n; i++)
		ls_thread(l, s, &t[i]);
	json_close(&l->j, ']');
	if (l->modules) {
		json_array(&l->j, "modules");
		n = dep_store_modules(s, &m);
		for (i = 0; i < n; i++)
			ls_module(l, &m[i]);
		json_close(&l->j, ']');
	}
	json_close(&l->j, '}');
	json_line(&l->j);
}

static void ls_plain(struct ls *l, struct dep_store *s)
{
	const struct dep_process *p;
	const struct dep_thread *t;
	const struct dep_module *m;
	size_t np = dep_store_processes(s, &p), nt = dep_store_threads(s, &t);
	size_t nm = dep_store_modules(s, &m), i, k;

	for (i = 0; i < np; i++) {
		ls_process(l, s, &p[i]);
		for (k = 0; k < nt; k++)
			if (t[k].process == p[i].serial)
				ls_thread(l, s, &t[k]);
		for (k = 0; l->modules && k < nm; k++)
			if (m[k].process == p[i].serial)
				ls_module(l, &m[k]);
	}
}

static int ls_store(struct ls *l)
{
	struct dep_store *s = open_store(l->path);

	if (!s)
		return EXIT_FAILURE;
	verdict_warn(s, l->path);
	if (l->json)
		ls_json(l, s);
	else
		ls_plain(l, s);
	dep_store_close(s);
	return 0;
}

static uint64_t disk_size(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;
	uint64_t sum = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			sum += st.st_size;
	closedir(d);
	return sum;
}

static const char *status_text(struct dep_store *s, char text[SIGNAL_NAME])
{
	int st = dep_store_exit_status(s);

	strcpy(text, "unfinished");
	if (st >= 0 && WIFSIGNALED(st))
		signal_name(WTERMSIG(st), text);
	else if (st >= 0)
		snprintf(text, SIGNAL_NAME, "exit %d", WEXITSTATUS(st));
	return text;
}

/* Text for the column "verdict": "" for a complete store for which everything was recorded. */
static const char *short_verdict(struct dep_store *s)
{
	const struct dep_verdict *v = dep_store_verdict(s);

	if (v->state == DEP_VERDICT_COMPLETE)
		return is_lossy(s) ? "lossy" : "";
	return dep_verdict_name(v->state);
}

static const struct table_column store_columns[] = {
	{ "store", TABLE_SHORTEN },
	{ "recorded", TABLE_LEFT },
	{ "size", TABLE_RIGHT },
	{ "procs", TABLE_RIGHT },
	{ "threads", TABLE_RIGHT },
	{ "end", TABLE_LEFT },
	{ "verdict", TABLE_LEFT },
	{ "command", TABLE_TEXT },
};

#define NCOLUMNS (sizeof(store_columns) / sizeof(store_columns[0]))

static void row_text(struct ls *l, struct dep_store *s, const char *path, const char *name)
{
	const struct dep_meta *m = dep_store_meta(s);
	time_t when = m->start_realtime_ns / 1000000000ull;
	char *command = quote_command(m->argc, m->argv);
	const struct dep_process *p;
	const struct dep_thread *t;
	char date[32], size[16], status[SIGNAL_NAME];

	strftime(date, sizeof(date), "%F %T", localtime(&when));
	table_cell(&l->table, "%s", name);
	table_cell(&l->table, "%s", date);
	table_cell(&l->table, "%s", human_size(disk_size(path), size));
	table_cell(&l->table, "%zu", dep_store_processes(s, &p));
	table_cell(&l->table, "%zu", dep_store_threads(s, &t));
	table_cell(&l->table, "%s", status_text(s, status));
	table_cell(&l->table, "%s", short_verdict(s));
	table_cell(&l->table, "%s", command ? command : "?");
	free(command);
}

static void row_json(struct ls *l, struct dep_store *s, const char *path, const char *name)
{
	const struct dep_meta *m = dep_store_meta(s);
	const struct dep_process *p;
	const struct dep_thread *t;
	int i;

	json_object(&l->j, NULL);
	json_str(&l->j, "store", name);
	json_big(&l->j, "start_realtime_ns", m->start_realtime_ns);
	json_u64(&l->j, "bytes", disk_size(path));
	json_u64(&l->j, "process_count", dep_store_processes(s, &p));
	json_u64(&l->j, "thread_count", dep_store_threads(s, &t));
	json_bool(&l->j, "lossy", is_lossy(s));
	verdict_json(&l->j, s);
	json_exit(&l->j, dep_store_exit_status(s));
	json_array(&l->j, "argv");
	for (i = 0; i < m->argc; i++)
		json_str(&l->j, NULL, m->argv[i]);
	json_close(&l->j, ']');
	json_close(&l->j, '}');
}

static int ls_one(struct ls *l, const char *path, const char *name)
{
	struct dep_store *s;

	if (dep_store_open(&s, path)) {
		warn("cannot read the store %s: %s", path, dep_error());
		return EXIT_FAILURE;
	}
	if (l->json)
		row_json(l, s, path, name);
	else
		row_text(l, s, path, name);
	dep_store_close(s);
	return 0;
}

static int is_store_name(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 4 && !strcmp(e->d_name + n - 4, ".dep");
}

static int ls_directory(struct ls *l)
{
	struct dirent **list;
	char path[PATH_MAX];
	int n, i, status = 0;

	n = scandir(l->path, &list, is_store_name, alphasort);
	if (n < 0) {
		warn("%s: %s", l->path, strerror(errno));
		return EXIT_FAILURE;
	}
	if (l->json)
		json_array(&l->j, NULL);
	else if (table_begin(&l->table, store_columns, NCOLUMNS))
		return EXIT_FAILURE;
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", l->path, list[i]->d_name);
		status |= ls_one(l, path, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	if (l->json) {
		json_close(&l->j, ']');
		json_line(&l->j);
	} else {
		status |= table_end(&l->table, &l->out);
	}
	return status;
}

int cmd_ls(int argc, char **argv)
{
	struct ls *l = calloc(1, sizeof(*l));
	char path[PATH_MAX];
	int status;

	if (!l) {
		warn("out of memory");
		return EXIT_FAILURE;
	}
	parse_args(&argp, argc, argv, 0, l);
	out_begin(&l->out);
	if (!l->json)
		out_layout(&l->out);
	json_begin(&l->j, &l->out);
	if (!l->path)
		l->path = ".";
	snprintf(path, sizeof(path), "%s/manifest.json", l->path);
	if (access(path, F_OK) && !access(l->path, F_OK))
		status = ls_directory(l);
	else
		status = ls_store(l);
	status |= out_end(&l->out);
	free(l);
	return status;
}

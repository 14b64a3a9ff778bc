// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of depctl report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/base/signal_name.h"
#include "tools/depctl/common/table.h"
#include "tools/depctl/depctl.h"
#include "report_parts.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void put_heading(struct report *r, const char *title, const char *rest)
{
	out_color(&r->out, COLOR_HEADING);
	out_text(&r->out, title);
	out_color(&r->out, COLOR_END);
	out_text(&r->out, rest);
	out_text(&r->out, "\n");
}

/* ---- the beginning ---- */

static void put_end(struct report *r)
{
	int status = dep_store_exit_status(r->v.store);
	char name[SIGNAL_NAME];

	if (status >= 0 && WIFSIGNALED(status))
		out_printf(&r->out, "killed by %s", signal_name(WTERMSIG(status), name));
	else if (status >= 0)
		out_printf(&r->out, "exit %d", WEXITSTATUS(status));
	else
		out_text(&r->out, "unfinished");
}

static void put_title(struct report *r)
{
	const struct dep_meta *m = dep_store_meta(r->v.store);
	char *command = quote_command(m->argc, m->argv);
	char insns[16], refs[16], head[128];

	out_color(&r->out, COLOR_HEADING);
	out_shortened(&r->out, command ? command : "?", REPORT_WIDTH);
	out_color(&r->out, COLOR_END);
	free(command);
	out_text(&r->out, "\n");
	put_end(r);
	if (r->end_ns)
		out_printf(&r->out, "   recorded in %.3g s",
			   (double)(r->end_ns - r->start_ns) / 1e9);
	snprintf(head, sizeof(head), "%zu process%s, %zu thread%s", r->nprocesses,
		 r->nprocesses == 1 ? "" : "es", r->nthreads, r->nthreads == 1 ? "" : "s");
	out_printf(&r->out, "   %s user instructions, %s references, %s\n",
		   human_count(r->v.p->insns, insns), human_count(r->v.p->refs, refs), head);
}

/* Callers at an attach that may be wrong: they have inclusive counts. */
static void put_guesses(struct report *r)
{
	const char *const arg[] = { "depctl", "query", "contexts", r->v.o->path };
	const struct guesses *g = &r->guesses;
	char *command;

	if (!g->threads)
		return;
	command = quote_command(4, (char *const *)arg);
	out_printf(&r->out, "%u thread%s ran below callers at the attach that are guesses, for "
		   "%.1f%% of all instructions; see ", g->threads, g->threads == 1 ? "" : "s",
		   per_cent(g->insns, r->v.p->insns));
	out_plain(&r->out, command ? command : "depctl query contexts");
	out_text(&r->out, "\n");
	free(command);
}

/* ---- functions ---- */

static bool several_modules(const struct report *r)
{
	const struct function *f;
	size_t i, n = functions_all(r->v.f, &f);

	for (i = 1; i < n; i++)
		if (strcmp(f[i].module, f[0].module))
			return true;
	return false;
}

static void put_function(struct report *r, const struct function *f, bool module)
{
	char self[16], refs[16], each[16] = "";

	out_printf(&r->out, "%5.1f%%  ", per_cent(f->insns, r->v.p->insns));
	report_put_name(r, f->name);
	if (f->calls)
		human_count(f->insns / f->calls, each);
	out_printf(&r->out, " %7s %6.1f%% %11llu %9s %7s", human_count(f->insns, self),
		   per_cent(f->inclusive, r->v.p->insns), (unsigned long long)f->calls, each,
		   human_count(f->refs, refs));
	if (module) {
		out_text(&r->out, "  ");
		out_shortened(&r->out, f->module, 16);
	}
	out_text(&r->out, "\n");
}

static void put_functions(struct report *r)
{
	const struct function *f;
	size_t n = least(r->nfunctions, r->v.o->top ? r->v.o->top : REPORT_FUNCTIONS), i;
	bool module = several_modules(r);
	uint64_t rest = 0;
	char title[64];

	functions_all(r->v.f, &f);
	snprintf(title, sizeof(title), "FUNCTIONS (%zu executed)", r->nfunctions);
	report_put_title(r, title);
	out_printf(&r->out, " %7s %7s %11s %9s %7s%s\n", "self", "incl", "calls", "per call",
		   "refs", module ? "  module" : "");
	for (i = 0; i < n; i++)
		put_function(r, &f[r->function[i]], module);
	for (i = n; i < r->nfunctions; i++)
		rest += f[r->function[i]].insns;
	if (r->nfunctions > n)
		out_printf(&r->out, "%5.1f%%  in %zu more\n", per_cent(rest, r->v.p->insns),
			   r->nfunctions - n);
	if (r->v.c->not_counted)
		out_text(&r->out, "        incl is not exact: calls did not fit into memory\n");
}

/* ---- loops ---- */

static void put_loops(struct report *r)
{
	size_t n = least(r->loops.n, REPORT_LOOPS), i;
	char name[NAME_TEXT], trips[16], each[16];
	const struct loop *l;

	if (!n)
		return;
	report_put_title(r, "LOOPS (without callees)");
	out_printf(&r->out, " %11s %12s %8s %9s  %s\n", "entered", "iterations", "trips",
		   "per trip", "place");
	for (i = 0; i < n; i++) {
		l = &r->loops.loop[i];
		name_code(&r->v, l->header, name);
		out_printf(&r->out, "%5.1f%%  ", per_cent(l->insns, r->v.p->insns));
		report_put_name(r, name);
		snprintf(trips, sizeof(trips), "-");
		if (l->entered && l->iterations / l->entered < 1000)
			snprintf(trips, sizeof(trips), "%.1f",
				 (double)l->iterations / (double)l->entered);
		else if (l->entered)
			human_count(l->iterations / l->entered, trips);
		out_printf(&r->out, " %11llu %12llu %8s %9s  ", (unsigned long long)l->entered,
			   (unsigned long long)l->iterations, trips,
			   human_count(l->iterations ? l->insns / l->iterations : 0, each));
		report_put_place(r, l->header);
	}
	if (r->loops.unsearched)
		out_printf(&r->out, "  %zu function%s too large to find all loops\n",
			   r->loops.unsearched, r->loops.unsearched == 1 ? " is" : "s are");
}

/* ---- processes and threads ---- */

static void put_command(struct out *o, const struct dep_process *p, size_t width)
{
	const char *name = p->exe ? base_name(p->exe) : "?";

	out_shortened(o, name, width);
}

static void put_processes(struct report *r)
{
	size_t n = least(r->nprocesses, r->v.o->top ? r->v.o->top : REPORT_PROCESSES), i;
	const struct process_sum *s;
	uint64_t rest = 0;
	char insns[16];

	if (r->nprocesses < 2)
		return;
	out_text(&r->out, "\n");
	put_heading(r, "PROCESSES", "  serial      pid  threads     self  program");
	for (i = 0; i < n; i++) {
		s = &r->process[i];
		out_printf(&r->out, "%7.1f%%  %8u %8u %8zu %8s  ",
			   per_cent(s->insns, r->v.p->insns), s->process->serial,
			   s->process->pid, s->threads, human_count(s->insns, insns));
		put_command(&r->out, s->process, 40);
		out_text(&r->out, "\n");
	}
	for (i = n; i < r->nprocesses; i++)
		rest += r->process[i].insns;
	if (r->nprocesses > n)
		out_printf(&r->out, "%7.1f%%  in %zu more\n", per_cent(rest, r->v.p->insns),
			   r->nprocesses - n);
}

static void put_threads(struct report *r)
{
	size_t n = least(r->nthreads, REPORT_THREADS), i;
	const struct dep_thread_count *c;
	const struct dep_thread *t;
	const struct dep_process *p;
	char insns[16], records[16];
	uint64_t rest = 0;

	out_text(&r->out, "\n");
	put_heading(r, "THREADS", "");
	for (i = 0; i < n; i++) {
		c = &r->thread[i];
		t = thread_of(r->v.store, c->thread);
		p = t ? process_of(r->v.store, t->process) : NULL;
		out_printf(&r->out, "%5.1f%%  tid %-7u ", per_cent(c->insns, r->v.p->insns),
			   t ? t->tid : 0);
		report_put_columns(r, t && t->name ? t->name :
				   p && p->exe ? base_name(p->exe) : "?", 16);
		out_printf(&r->out, " %7s  %7s records  %llu system calls, %llu signals\n",
			   human_count(c->insns, insns), human_count(c->records, records),
			   (unsigned long long)c->syscalls, (unsigned long long)c->signals);
	}
	for (i = n; i < r->nthreads; i++)
		rest += r->thread[i].insns;
	if (r->nthreads > n)
		out_printf(&r->out, "%5.1f%%  in %zu more\n", per_cent(rest, r->v.p->insns),
			   r->nthreads - n);
}

/* ---- time ---- */

static void put_time(struct report *r)
{
	static const char levels[] = " .:-=+*#%@";
	char line[REPORT_WIDTH + 1], most_text[16], text[96];
	uint64_t most = 0;
	size_t i;

	if (!r->ncolumns)
		return;
	for (i = 0; i < r->ncolumns; i++)
		if (r->column[i] > most)
			most = r->column[i];
	for (i = 0; i < r->ncolumns; i++)
		line[i] = !r->column[i] ? ' ' :
			  levels[1 + (size_t)(8.0 * (double)r->column[i] / (double)most + 0.5)];
	line[i] = '\0';
	snprintf(text, sizeof(text), " as recorded: %.3g ms a column, @ = %s instructions",
		 (double)(r->end_ns - r->start_ns) / 1e6 / (double)r->ncolumns,
		 human_count(most, most_text));
	out_text(&r->out, "\n");
	put_heading(r, "TIME", text);
	out_printf(&r->out, "  |%s|\n", line);
}

/* ---- further questions ---- */

static void put_command_line(struct report *r, const char *what, const char *const *arg, int n)
{
	char *command = quote_command(n, (char *const *)arg);

	out_printf(&r->out, "  %-18s ", what);
	out_plain(&r->out, command ? command : "?");
	out_text(&r->out, "\n");
	free(command);
}

static void put_next(struct report *r)
{
	const char *store = r->v.o->path, *top;
	const struct function *f;

	if (!functions_all(r->v.f, &f))
		return;
	top = f[r->function[0]].name;
	out_text(&r->out, "\n");
	put_heading(r, "NEXT", "");
	put_command_line(r, "all functions", (const char *const[]){ "depctl", "query", "methods",
			 store }, 4);
	put_command_line(r, "who calls it", (const char *const[]){ "depctl", "query", "calls",
			 "--function", top, store }, 6);
	put_command_line(r, "source with counts", (const char *const[]){ "depctl", "query", "edges",
			 "--annotate", top, store }, 6);
	put_command_line(r, "tree of calls", (const char *const[]){ "depctl", "query", "contexts",
			 store }, 4);
	put_command_line(r, "hottest paths", (const char *const[]){ "depctl", "query", "paths",
			 store }, 4);
	put_command_line(r, "in a browser", (const char *const[]){ "depctl", "report", "--html",
			 "report.html", store }, 5);
}

int report_text(struct report *r)
{
	int err;

	if (r->why.n)
		reasons_text(&r->out, &r->why, ": ");
	put_title(r);
	if (!r->why.n)
		reasons_text(&r->out, &r->why, ": ");
	put_guesses(r);
	put_functions(r);
	put_loops(r);
	err = report_paths_text(r);
	report_contexts_text(r);
	put_processes(r);
	put_threads(r);
	put_time(r);
	put_next(r);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl info --attach: output as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "attach_info.h"
#include "events.h"

static const char *const kinds[DEP_FILE_KINDS] = {
	[DEP_FILE_OTHER] = "other",
	[DEP_FILE_REGULAR] = "file",
	[DEP_FILE_DIRECTORY] = "directory",
	[DEP_FILE_DEVICE] = "device",
	[DEP_FILE_PIPE] = "pipe",
	[DEP_FILE_SOCKET] = "socket",
};

/* Seconds since the recording began. */
static double seconds(const struct attach_info *f, uint64_t ns)
{
	uint64_t start = dep_store_meta(f->store)->start_ns;

	return ns > start ? (double)(ns - start) / 1e9 : 0;
}

void attach_print_process(struct attach_info *f, const struct dep_attach *a)
{
	const struct dep_process *p = process_of(f->store, a->process);

	if (f->json) {
		json_object(&f->j, NULL);
		json_u64(&f->j, "process", a->process);
		json_u64(&f->j, "pid", p ? p->pid : 0);
		json_big(&f->j, "time_ns", a->time_ns);
		json_bool(&f->j, "memory_known", false);
		json_u64(&f->j, "mappings_left_out", a->maps_left_out);
		json_u64(&f->j, "descriptors_left_out", a->files_left_out);
		json_array(&f->j, "threads");
		return;
	}
	out_printf(&f->out, "process %u, attached to at %.3f s; what it did before and the "
		   "contents of its memory are not known\n", p ? p->pid : 0,
		   seconds(f, a->time_ns));
	if (a->maps_left_out)
		out_printf(&f->out, "  %u mappings of files are not here\n", a->maps_left_out);
}

/* ---- threads ---- */

static void frame_json(struct attach_info *f, const struct dep_stack_frame *fr,
		       const struct dep_place *at)
{
	json_object(&f->j, NULL);
	json_hex(&f->j, "pc", fr->pc);
	json_bool(&f->j, "exact", fr->exact);
	json_str(&f->j, "function", at->function);
	json_str(&f->j, "file", at->file);
	json_u64(&f->j, "line", at->line);
	json_str(&f->j, "module", at->module);
	json_hex(&f->j, "module_offset", at->offset);
	json_close(&f->j, '}');
}

static void frame_text(struct attach_info *f, size_t i, const struct dep_stack_frame *fr,
		       const struct dep_place *at)
{
	out_printf(&f->out, "    #%-2zu %s", i, fr->exact ? "" : "perhaps ");
	if (at->function) {
		out_plain(&f->out, at->function);
	} else {
		out_plain(&f->out, at->module);
		out_printf(&f->out, "+0x%" PRIx64, at->offset);
	}
	if (at->file) {
		out_text(&f->out, " at ");
		out_plain(&f->out, at->file);
		out_printf(&f->out, ":%u", at->line);
	}
	out_text(&f->out, "\n");
}

/* Functions that were inlined are not frames of their own: the real one is named. */
static void print_frame(struct attach_info *f, const struct attach_thread *t, size_t i)
{
	const struct dep_stack_frame *fr = &t->frame[i];
	struct dep_place place[DEP_PLACES], at;
	size_t n;

	/* A return address is behind the call, which can be the last instruction of a function. */
	n = dep_symbols_frames(f->symbols, t->thread->process, fr->pc - !fr->interrupted,
			       t->thread->start_ns, place, DEP_PLACES);
	at = place[n > DEP_PLACES ? DEP_PLACES - 1 : n - 1];
	if (f->json)
		frame_json(f, fr, &at);
	else
		frame_text(f, i, fr, &at);
}

static void thread_json(struct attach_info *f, const struct attach_thread *t)
{
	const struct adept_ev_attach *a = &t->attach;
	const struct dep_thread *th = t->thread;
	size_t i;

	json_object(&f->j, NULL);
	json_u64(&f->j, "thread", th->serial);
	json_u64(&f->j, "tid", th->tid);
	json_str(&f->j, "thread_name", th->name);
	json_big(&f->j, "start_ns", th->start_ns);
	json_str(&f->j, "kind", t->entered ? attach_kind_name(a->kind) : NULL);
	if (t->entered && a->kind != ADEPT_ATTACH_RUNNING) {
		json_i64(&f->j, "nr", a->nr);
		json_str(&f->j, "name", syscall_name((uint64_t)a->nr));
		json_array(&f->j, "args");
		for (i = 0; i < 6; i++)
			json_hex(&f->j, NULL, a->args[i]);
		json_close(&f->j, ']');
	}
	json_big(&f->j, "end_ns", th->end_ns);
	json_str(&f->j, "reason", t->left ? detach_reason_name(t->detach.reason) : NULL);
	json_array(&f->j, "frames");
	for (i = 0; i < t->nframes; i++)
		print_frame(f, t, i);
	json_close(&f->j, ']');
	json_close(&f->j, '}');
}

static void print_call(struct attach_info *f, const struct adept_ev_attach *a)
{
	const char *name = syscall_name((uint64_t)a->nr);
	int i;

	if (a->kind == ADEPT_ATTACH_RUNNING) {
		out_text(&f->out, "was running");
		return;
	}
	out_printf(&f->out, a->kind == ADEPT_ATTACH_CALL ? "was in " : "returned from ");
	if (name)
		out_text(&f->out, name);
	else
		out_printf(&f->out, "system call %lld", (long long)a->nr);
	for (i = 0; i < 6; i++)
		out_printf(&f->out, "%s%" PRIx64, i ? ", " : "(", (uint64_t)a->args[i]);
	out_text(&f->out, ")");
}

void attach_print_thread(struct attach_info *f, const struct attach_thread *t)
{
	size_t i;

	if (f->json) {
		thread_json(f, t);
		return;
	}
	out_printf(&f->out, "  thread %u", t->thread->tid);
	if (t->thread->name) {
		out_text(&f->out, " ");
		out_plain(&f->out, t->thread->name);
	}
	out_printf(&f->out, ", from %.3f s: ", seconds(f, t->thread->start_ns));
	if (t->entered)
		print_call(f, &t->attach);
	else
		out_text(&f->out, "how it was entered is not in the store");
	if (t->left)
		out_printf(&f->out, "; %s at %.3f s",
			   t->detach.reason == ADEPT_DETACH_PAUSED ? "paused" : "detached from",
			   seconds(f, t->thread->end_ns));
	out_text(&f->out, "\n");
	for (i = 0; i < t->nframes; i++)
		print_frame(f, t, i);
}

/* ---- descriptors ---- */

static void print_file(struct attach_info *f, const struct dep_open_file *d)
{
	if (f->json) {
		json_object(&f->j, NULL);
		json_i64(&f->j, "fd", d->fd);
		json_str(&f->j, "kind", kinds[d->kind]);
		json_hex(&f->j, "flags", d->flags);
		json_hex(&f->j, "dev", d->dev);
		json_big(&f->j, "inode", d->inode);
		json_big(&f->j, "position", d->position);
		json_str(&f->j, "path", d->path);
		json_str(&f->j, "peer", *d->peer ? d->peer : NULL);
		json_close(&f->j, '}');
		return;
	}
	out_printf(&f->out, "  descriptor %d: %s ", d->fd, kinds[d->kind]);
	out_plain(&f->out, *d->peer ? d->peer : d->path);
	if (d->position)
		out_printf(&f->out, ", at %" PRIu64, d->position);
	out_text(&f->out, "\n");
}

void attach_print_files(struct attach_info *f, const struct dep_attach *a)
{
	const struct dep_open_file *d;
	size_t i, n = dep_store_open_files(f->store, &d);

	if (f->json) {
		json_close(&f->j, ']');
		json_array(&f->j, "open_descriptors");
	}
	for (i = 0; i < n; i++)
		if (d[i].process == a->process)
			print_file(f, &d[i]);
	if (f->json) {
		json_close(&f->j, ']');
		json_close(&f->j, '}');
	} else if (a->files_left_out) {
		out_printf(&f->out, "  %u descriptors are not here\n", a->files_left_out);
	}
}

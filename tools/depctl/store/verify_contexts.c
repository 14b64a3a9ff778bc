// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl verify --contexts: encoded contexts against true stacks. */
#include "tools/depctl/depctl.h"
#include "verify_contexts.h"

#define FRAMES_SHOWN	32u

int verify_contexts(struct dep_store *store, uint64_t every, unsigned int jobs,
		    void (*mismatch)(void *arg, const struct dep_context_mismatch *m), void *arg,
		    struct dep_context_check *check)
{
	const struct dep_context_check_options options = {
		.every = every, .jobs = jobs, .mismatch = mismatch, .arg = arg,
	};
	struct dep_fragments *code;
	int err = dep_code_make(store, &code);

	if (err)
		return err;
	err = dep_contexts_check(store, code, &options, check);
	dep_code_free(code);
	return err;
}

static bool same_frame(const struct dep_call_frame *a, const struct dep_call_frame *b)
{
	return a->pc == b->pc && a->site == b->site && a->kind == b->kind;
}

/* Number of frames that are equal, from the innermost one. */
static size_t equal_frames(const struct dep_context_mismatch *m)
{
	size_t i = 0;

	while (i < m->decoded.n && i < m->stack.n &&
	       same_frame(m->decoded.frame + i, m->stack.frame + i))
		i++;
	return i;
}

static void print_stack(struct out *out, const char *name, const struct dep_call_stack *s,
			size_t from)
{
	static const char *const kinds[DEP_CONTEXT_KINDS] = {
		[DEP_CONTEXT_START] = "start", [DEP_CONTEXT_CALL] = "call",
		[DEP_CONTEXT_TAIL] = "tail call", [DEP_CONTEXT_SIGNAL] = "signal",
	};
	const struct dep_call_frame *f = s->frame;
	size_t i;

	if (!s->found)
		return;
	out_printf(out, "  %s, %zu functions, from number %zu on:\n", name, s->n, from);
	for (i = from; i < s->n && i - from < FRAMES_SHOWN; i++)
		out_printf(out, "    %llx by %s at %llx\n", (unsigned long long)f[i].pc,
			   f[i].kind < DEP_CONTEXT_KINDS && kinds[f[i].kind] ? kinds[f[i].kind] :
			   "unknown", (unsigned long long)f[i].site);
}

void verify_contexts_stacks(struct out *out, const struct dep_context_mismatch *m)
{
	size_t equal = m->decoded.found ? equal_frames(m) : 0;
	size_t from = equal > 2 ? equal - 2 : 0;

	print_stack(out, "decoded", &m->decoded, from);
	print_stack(out, "stack", &m->stack, from);
}

void verify_contexts_text(struct out *out, const struct dep_context_check *check)
{
	out_printf(out, "contexts: %llu calls encoded, %llu checked, %llu of these again later, ",
		   (unsigned long long)check->calls, (unsigned long long)check->checked,
		   (unsigned long long)check->late);
	out_printf(out, "%llu mismatches, %llu re-encodings\n",
		   (unsigned long long)check->mismatches, (unsigned long long)check->encodings);
	out_printf(out, "contexts: %llu stacks compared, %llu not compared; ",
		   (unsigned long long)check->compared, (unsigned long long)check->not_compared);
	out_printf(out, "of %llu stacks %llu go on from their creators, ",
		   (unsigned long long)check->stacks, (unsigned long long)check->created);
	out_printf(out, "%llu have unknown callers; %llu unknown returns\n",
		   (unsigned long long)check->unknown_callers,
		   (unsigned long long)check->unknown_returns);
}

void verify_contexts_json(struct json *j, const struct dep_context_check *check)
{
	json_object(j, "contexts");
	json_u64(j, "calls", check->calls);
	json_u64(j, "checked", check->checked);
	json_u64(j, "checked_later", check->late);
	json_u64(j, "compared", check->compared);
	json_u64(j, "not_compared", check->not_compared);
	json_u64(j, "stacks", check->stacks);
	json_u64(j, "created", check->created);
	json_u64(j, "unknown_callers", check->unknown_callers);
	json_u64(j, "unknown_returns", check->unknown_returns);
	json_u64(j, "mismatches", check->mismatches);
	json_u64(j, "encodings", check->encodings);
	json_close(j, '}');
}

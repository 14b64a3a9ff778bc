// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open a store and make the profiles that a command needs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/depctl/common/missing.h"
#include "tools/depctl/depctl.h"
#include "load.h"

static int failed(const char *path, int ret)
{
	const char *why = dep_error();

	if (ret == -ENOMEM)
		warn("out of memory");
	else
		warn("%s cannot be profiled: %s", path, why && *why ? why : strerror(-ret));
	return 1;
}

int load_open(struct loaded *l, const char *path)
{
	memset(l, 0, sizeof(*l));
	l->store = open_store(path);
	if (!l->store)
		return 1;
	if (!dep_symbols_open(&l->symbols, l->store))
		return 0;
	warn("out of memory");
	load_close(l);
	return 1;
}

int load_profiles(struct loaded *l, const char *path, unsigned int needs, unsigned int jobs,
		  uint32_t process, uint32_t thread)
{
	struct dep_fold_options fold = { .jobs = jobs, .process = process, .thread = thread };
	struct dep_contexts_options options = {
		.fold.jobs = jobs, .times = needs & LOAD_TIMES, .symbols = l->symbols,
	};
	int ret = dep_code_make(l->store, &l->code);

	if (!ret && needs & LOAD_PROFILE)
		ret = dep_profile_make_kept(l->store, l->code, &fold, &l->profile);
	if (!process && !thread)
		options.counts = l->profile;
	if (!ret && needs & LOAD_CONTEXTS)
		ret = dep_contexts_make_kept(l->store, l->code, &options, &l->contexts);
	if (!ret)
		ret = functions_make(l->store, l->symbols, l->profile, l->contexts, &l->functions);
	if (ret)
		return failed(path, ret);
	l->nfunctions = functions_all(l->functions, &l->function);
	return 0;
}

bool load_complete(const struct loaded *l, const char *path)
{
	struct reasons why;
	char *text = NULL;
	size_t size, i;
	FILE *f;

	reasons_of_profile(&why, l->store, l->profile, l->contexts);
	if (!why.n)
		return true;
	f = open_memstream(&text, &size);
	for (i = 0; f && i < why.n; i++)
		fprintf(f, "%s%s", i ? ", " : "", why.text[i]);
	if (f)
		fclose(f);
	warn("the counts of %s are incomplete: %s", path, text ? text : why.text[0]);
	free(text);
	/* Children that nobody wanted to record are no loss. */
	return why.n == 1 && dep_store_loss(l->store)->unwanted_children;
}

void load_messages(const struct loaded *l)
{
	const char *const *note;
	size_t i, n = dep_symbols_messages(l->symbols, &note);

	for (i = 0; i < n; i++)
		warn("%s", note[i]);
}

void load_close(struct loaded *l)
{
	functions_free(l->functions);
	dep_contexts_free(l->contexts);
	dep_profile_free(l->profile);
	dep_code_free(l->code);
	if (l->symbols)
		dep_symbols_close(l->symbols);
	if (l->store)
		dep_store_close(l->store);
	memset(l, 0, sizeof(*l));
}

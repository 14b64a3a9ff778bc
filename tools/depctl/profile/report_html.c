// SPDX-License-Identifier: GPL-2.0-or-later
/* depctl report --html: the profile as a page for a browser. */
#include <stdlib.h>

#include "tools/depctl/page/page.h"
#include "report_html.h"

int report_html(const struct profile_options *o, const char *path, bool source)
{
	const char *missing[REASONS_MAX];
	struct page_input in = { .missing = missing, .source = source };
	struct profile_view v;
	struct reasons reasons;
	int status = profile_open(&v, o, VIEW_CONTEXTS | VIEW_TIMES);

	if (!status) {
		profile_reasons(&v, &reasons);
		while (in.nmissing < reasons.n) {
			missing[in.nmissing] = reasons.text[in.nmissing];
			in.nmissing++;
		}
		in.store = v.store;
		in.symbols = v.symbols;
		in.code = v.code;
		in.profile = v.p;
		in.contexts = v.c;
		in.functions = v.f;
		status = page_write(&in, path) ? EXIT_FAILURE : profile_status(&v);
	}
	profile_close(&v);
	return status;
}

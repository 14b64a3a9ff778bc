// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the overlap of profiles: a row for each profile, as text, JSON or CSV. */
#include <inttypes.h>

#include "tools/depctl/depctl.h"
#include "tools/depctl/common/table.h"
#include "overlap.h"

struct overlap_printer {
	struct diff *d;
	const struct diff_options *o;
	struct out out;
	struct json j;
	struct table table;
};

static const struct table_column columns[] = {
	{ "PROFILE", TABLE_LEFT }, { "FIRST", TABLE_RIGHT }, { "SECOND", TABLE_RIGHT },
	{ "OVERLAP", TABLE_RIGHT }, { "HOT FIRST", TABLE_RIGHT }, { "HOT SECOND", TABLE_RIGHT },
	{ "HOT OVERLAP", TABLE_RIGHT }, { "ACCURACY", TABLE_RIGHT },
};

static void text_share(struct table *t, const struct overlap *o, double share)
{
	if (o->empty)
		table_cell(t, "-");
	else
		table_cell(t, "%.2f%%", share * 100);
}

static void text_row(struct table *t, const char *name, const struct overlap *o)
{
	table_cell(t, "%s", name);
	table_cell(t, "%" PRIu64, o->members[0]);
	table_cell(t, "%" PRIu64, o->members[1]);
	text_share(t, o, o->all);
	table_cell(t, "%" PRIu64, o->hot[0]);
	table_cell(t, "%" PRIu64, o->hot[1]);
	text_share(t, o, o->of_hot);
	text_share(t, o, o->accuracy);
}

static void json_share(struct json *j, const char *key, const struct overlap *o, double share)
{
	if (o->empty)
		json_str(j, key, NULL);
	else
		json_double(j, key, share);
}

static void json_row(struct json *j, const char *name, const struct overlap *o)
{
	json_object(j, NULL);
	json_str(j, "profile", name);
	json_u64(j, "members_in_first", o->members[0]);
	json_u64(j, "members_in_second", o->members[1]);
	json_share(j, "overlap", o, o->all);
	json_u64(j, "hot_in_first", o->hot[0]);
	json_u64(j, "hot_in_second", o->hot[1]);
	json_share(j, "hot_overlap", o, o->of_hot);
	json_share(j, "accuracy", o, o->accuracy);
	json_close(j, '}');
	json_line(j);
}

static void csv_share(struct out *out, const struct overlap *o, double share)
{
	if (o->empty)
		out_text(out, ",");
	else
		out_printf(out, ",%.6g", share);
}

static void csv_row(struct out *out, const char *name, const struct overlap *o)
{
	out_printf(out, "%s,%" PRIu64 ",%" PRIu64, name, o->members[0], o->members[1]);
	csv_share(out, o, o->all);
	out_printf(out, ",%" PRIu64 ",%" PRIu64, o->hot[0], o->hot[1]);
	csv_share(out, o, o->of_hot);
	csv_share(out, o, o->accuracy);
	out_text(out, "\n");
}

static int print_rows(struct overlap_printer *p, unsigned int jobs)
{
	struct overlap_members m = { 0 };
	struct overlap o;
	unsigned int kind;
	int ret = 0;

	for (kind = 0; kind < OVERLAP_KINDS && !ret; kind++) {
		if (!(p->o->overlap & 1u << kind))
			continue;
		ret = kind == OVERLAP_STREAMS ? overlap_streams(p->d, jobs, &m) :
						overlap_counts(p->d, kind, &m);
		ret = ret || overlap_compute(&m, &o);
		overlap_members_free(&m);
		if (ret)
			return 1;
		if (p->o->json)
			json_row(&p->j, overlap_names[kind], &o);
		else if (p->o->csv)
			csv_row(&p->out, overlap_names[kind], &o);
		else
			text_row(&p->table, overlap_names[kind], &o);
	}
	return 0;
}

static void json_end(struct overlap_printer *p)
{
	json_object(&p->j, NULL);
	json_u64(&p->j, "profiles", (uint64_t)__builtin_popcount(p->o->overlap));
	diff_json_side(&p->j, p->d, "in_first", 0);
	diff_json_side(&p->j, p->d, "in_second", 1);
	json_close(&p->j, '}');
	json_line(&p->j);
}

int overlap_print(struct diff *d, const struct diff_options *o, unsigned int jobs)
{
	struct overlap_printer p = { .d = d, .o = o };
	bool text = !o->json && !o->csv;
	int status;

	out_begin(&p.out);
	json_begin(&p.j, &p.out);
	if (text) {
		out_layout(&p.out);
		if (table_begin(&p.table, columns, sizeof(columns) / sizeof(columns[0])))
			return EXIT_USAGE;
	}
	if (o->csv)
		out_text(&p.out, "profile,members_in_first,members_in_second,overlap,hot_in_first,"
				 "hot_in_second,hot_overlap,accuracy\n");
	status = print_rows(&p, jobs);
	if (text)
		status |= table_end(&p.table, &p.out);
	else if (o->json && !status)
		json_end(&p);
	status |= out_end(&p.out);
	return status ? EXIT_USAGE : 0;
}

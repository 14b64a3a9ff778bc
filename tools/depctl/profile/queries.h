/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries of profiles, for the table of depctl query. */
#ifndef DEPCTL_PROFILE_QUERIES_H
#define DEPCTL_PROFILE_QUERIES_H

int query_methods(int argc, char **argv);
int query_calls(int argc, char **argv);
int query_pairs(int argc, char **argv);
int query_contexts(int argc, char **argv);
int query_edges(int argc, char **argv);
int query_blocks(int argc, char **argv);
int query_coverage(int argc, char **argv);
int query_paths(int argc, char **argv);
int query_streams(int argc, char **argv);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DEPCTL_STORE_VERDICT_H
#define DEPCTL_STORE_VERDICT_H

#include <dep/verdict.h>

struct json;

#define VERDICT_LINE 400

/** verdict_line() - write the verdict as one line; @text has VERDICT_LINE bytes */
void verdict_line(struct dep_store *s, char *text, size_t size);
/** verdict_warn() - print a warning if the store at @path is not complete */
void verdict_warn(struct dep_store *s, const char *path);
/** verdict_json() - write the verdict as JSON member "verdict" */
void verdict_json(struct json *j, struct dep_store *s);
/** loss_json() - write the counts of @l as JSON member "loss" */
void loss_json(struct json *j, const struct dep_loss *l);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface between config.c, which reads the lines of depd.conf, and config_keys.c, which knows
 * the keys: the state while the file is read.
 */
#ifndef DEPD_POLICY_CONF_H
#define DEPD_POLICY_CONF_H

#include "policy.h"

#define CONF_BYTES_MAX	(1u << 20)
#define CONF_LINE_MAX	4096u
#define CONF_NAME_MAX	64u	/* limit of characters in a rule's name */

enum conf_section { CONF_NONE, CONF_DEPD, CONF_RULE };

/** struct conf - state while a configuration is read */
struct conf {
	struct depd_config *c;
	struct policy_error *e;
	unsigned int line;
	enum conf_section section;
	uint64_t given;			/* keys that this section has set, one bit each */
	bool had_depd;
	unsigned int rule_line[POLICY_RULES_MAX];
};

/** conf_error() - store an error message for the current line; returns -EINVAL */
int conf_error(struct conf *p, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** conf_rule() - get the rule of the current section */
static inline struct policy_rule *conf_rule(struct conf *p)
{
	return &p->c->rule[p->c->nrules - 1];
}

/**
 * conf_key() - set key @name of the current section to @value
 * @key_at, @value_at: columns of key and value, for error messages
 */
int conf_key(struct conf *p, const char *name, size_t key_at, const char *value, size_t value_at);

/** conf_has_condition() - true if the rule has a condition that a process must fulfil */
bool conf_has_condition(const struct policy_rule *r);

#endif

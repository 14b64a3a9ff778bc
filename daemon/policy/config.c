// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read depd.conf(5): sections, lines, comments.
 *
 * The file is untrusted: its size is limited, it must be UTF-8 without control characters, and the
 * first error ends reading.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "libdep/collect/collect.h"
#include "conf.h"

/* Length of the well-formed UTF-8 character at @s; 0: there is none. */
static size_t utf8_length(const unsigned char *s, size_t room)
{
	size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 :
		   *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

	if (n > room)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static int check_bytes(struct conf *p, const char *line, size_t n)
{
	const unsigned char *s = (const unsigned char *)line;
	size_t i, len;

	if (n > CONF_LINE_MAX)
		return conf_error(p, CONF_LINE_MAX + 1, "the line is longer than %u bytes",
				  CONF_LINE_MAX);
	for (i = 0; i < n; i += len) {
		len = utf8_length(s + i, n - i);
		if (!len)
			return conf_error(p, i + 1, "the text is not UTF-8: save the file with "
					  "an editor that writes UTF-8");
		if (!s[i])
			return conf_error(p, i + 1, "the line has a zero byte: is this a text "
					  "file?");
		if ((s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
			return conf_error(p, i + 1, "the line has a control character (0x%02x): "
					  "remove it", s[i]);
	}
	return 0;
}

/* Check the keys that exclude `last`, in whatever order they were given. */
static int check_last(struct conf *p, const struct policy_rule *r)
{
	uint64_t ring = r->ring_size ? r->ring_size : DEP_RING_DEFAULT;

	if (!r->last_bytes && !r->last_on_disk)
		return 0;
	p->line = p->rule_line[p->c->nrules - 1];
	if (!r->last_bytes)
		return conf_error(p, 1, "rule %s has last-on-disk, which needs last", r->name);
	if (r->max_size || r->flags & ADEPT_S_NULL || r->transport == REQUEST_KMOD)
		return conf_error(p, 1, "rule %s has last, which excludes max-size, null and "
				  "transport = kmod", r->name);
	if (r->last_bytes < ring)
		return conf_error(p, 1, "rule %s: last is less than the ring of one thread "
				  "(%llu bytes): use more, or a smaller ring-size", r->name,
				  (unsigned long long)ring);
	return 0;
}

static int end_section(struct conf *p)
{
	const struct policy_rule *r;

	if (p->section != CONF_RULE)
		return 0;
	r = conf_rule(p);
	if (conf_has_condition(r))
		return check_last(p, r);
	p->line = p->rule_line[p->c->nrules - 1];
	return conf_error(p, 1, "rule %s has no condition and would record every process: set "
			  "comm, path, cgroup, argv or uid; to record all, set `path = *'",
			  r->name);
}

static int check_name(struct conf *p, const char *name, size_t column)
{
	size_t n = strlen(name), good;

	good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	if (!n)
		return conf_error(p, column, "the rule has no name: write [rule NAME]");
	if (name[good])
		return conf_error(p, column + good, "a rule's name can have only letters, "
				  "digits, `_', `.' and `-'");
	if (n > CONF_NAME_MAX)
		return conf_error(p, column + CONF_NAME_MAX, "a rule's name has at most %u "
				  "characters", CONF_NAME_MAX);
	for (uint32_t i = 0; i < p->c->nrules; i++)
		if (!strcmp(p->c->rule[i].name, name))
			return conf_error(p, column, "there is a rule %s already, in line %u: "
					  "choose another name", name, p->rule_line[i]);
	return 0;
}

static int begin_rule(struct conf *p, const char *name, size_t column)
{
	struct policy_rule *r;
	int err = check_name(p, name, column);

	if (err)
		return err;
	if (p->c->nrules == POLICY_RULES_MAX)
		return conf_error(p, 1, "there are more than %u rules: combine some by patterns",
				  POLICY_RULES_MAX);
	r = realloc(p->c->rule, (p->c->nrules + 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	p->c->rule = r;
	r += p->c->nrules;
	memset(r, 0, sizeof(*r));
	r->every = 1;
	r->name = strdup(name);
	if (!r->name)
		return -ENOMEM;
	p->rule_line[p->c->nrules++] = p->line;
	p->section = CONF_RULE;
	return 0;
}

/* Parse a section header at @s, which starts with '[', in column @column. */
static int begin_section(struct conf *p, char *s, size_t column)
{
	char *close = strchr(s, ']'), *name;
	int err = end_section(p);

	if (err)
		return err;
	if (!close)
		return conf_error(p, column + strlen(s), "the section's name has no end: `]' is "
				  "missing");
	if (close[1])
		return conf_error(p, column + (size_t)(close + 1 - s), "unexpected text after `]': "
				  "comments must be on lines of their own");
	p->given = 0;
	*close = '\0';
	while (close > s + 1 && isblank((unsigned char)close[-1]))
		*--close = '\0';
	name = s + 1 + strspn(s + 1, " \t");
	if (!strcmp(name, "depd")) {
		if (p->had_depd)
			return conf_error(p, column, "there is a section [depd] already: put all "
					  "its keys there");
		p->had_depd = true;
		p->section = CONF_DEPD;
		return 0;
	}
	if (!strncmp(name, "rule", 4) && (!name[4] || isblank((unsigned char)name[4]))) {
		name += 4 + strspn(name + 4, " \t");
		return begin_rule(p, name, column + (size_t)(name - s));
	}
	return conf_error(p, column + (size_t)(name - s),
			  "there is no section [%.40s]: sections are [depd] and [rule NAME]",
			  name);
}

/* Parse `key = value`.  @s has no blanks at its ends and is neither empty nor a comment. */
static int read_setting(struct conf *p, char *s, size_t column)
{
	char *equals = strchr(s, '='), *end, *value;

	if (!equals)
		return conf_error(p, column, "the line is no section, no comment and no "
				  "KEY = VALUE");
	if (equals == s)
		return conf_error(p, column, "a key is missing before `='");
	if (p->section == CONF_NONE)
		return conf_error(p, column, "a section must begin before the first key: [depd] or "
				  "[rule NAME]");
	for (end = equals; end > s && isblank((unsigned char)end[-1]); end--)
		;
	*end = '\0';
	value = equals + 1 + strspn(equals + 1, " \t");
	return conf_key(p, s, column, value, column + (size_t)(value - s));
}

/* Parse a line of @n bytes without its newline.  The line and the byte after it are modified. */
static int read_line(struct conf *p, char *line, size_t n)
{
	size_t skip;
	int err;

	if (n && line[n - 1] == '\r')
		n--;
	err = check_bytes(p, line, n);
	if (err)
		return err;
	while (n && isblank((unsigned char)line[n - 1]))
		n--;
	line[n] = '\0';
	skip = strspn(line, " \t");
	line += skip;
	if (!*line || *line == '#' || *line == ';')
		return 0;
	return *line == '[' ? begin_section(p, line, skip + 1) : read_setting(p, line, skip + 1);
}

/* The files of a window would make depd remove all other stores. [depd] can follow the rules. */
static int check_files(struct conf *p)
{
	const struct depd_config *c = p->c;
	uint32_t i;

	for (i = 0; i < c->nrules; i++) {
		if (!c->rule[i].last_on_disk || c->rule[i].store || !c->max_store ||
		    c->rule[i].last_bytes <= c->max_store)
			continue;
		p->line = p->rule_line[i];
		return conf_error(p, 1, "rule %s: with last-on-disk, last must not exceed "
				  "max-store (%llu bytes)", c->rule[i].name,
				  (unsigned long long)c->max_store);
	}
	return 0;
}

static int read_all(struct conf *p, char *text, size_t n)
{
	size_t at, len;
	char *nl;
	int err;

	for (at = 0; at < n; at += len + 1) {
		p->line++;
		nl = memchr(text + at, '\n', n - at);
		len = nl ? (size_t)(nl - text) - at : n - at;
		err = read_line(p, text + at, len);
		if (err)
			return err;
	}
	err = end_section(p);
	return err ? err : check_files(p);
}

uint64_t policy_max_last(const struct depd_config *c)
{
	struct sysinfo si;

	if (c->max_last)
		return c->max_last;
	return sysinfo(&si) ? REQUEST_LAST : (uint64_t)si.totalram * si.mem_unit / 8;
}

static int set_defaults(struct depd_config *c)
{
	memset(c, 0, sizeof(*c));
	c->max_store = 10ull << 30;
	c->max_age_s = 30 * 86400;
	c->give_up_ms = 30 * 1000;
	c->store = strdup(POLICY_STORE_DEFAULT);
	return c->store ? 0 : -ENOMEM;
}

int policy_read(struct depd_config *c, FILE *f, struct policy_error *e)
{
	struct conf p = { .c = c, .e = e };
	char *text = malloc(CONF_BYTES_MAX + 2);
	int err = set_defaults(c);
	size_t n;

	memset(e, 0, sizeof(*e));
	if (!text || err) {
		err = -ENOMEM;
		goto out;
	}
	n = fread(text, 1, CONF_BYTES_MAX + 1, f);
	if (ferror(f))
		err = conf_error(&p, 0, "the file cannot be read: %s", strerror(errno));
	else if (n > CONF_BYTES_MAX)
		err = conf_error(&p, 0, "the file is larger than 1 MiB");
	else
		err = read_all(&p, text, n);
out:
	if (err == -ENOMEM)
		snprintf(e->text, sizeof(e->text), "out of memory");
	if (err)
		policy_free(c);
	free(text);
	return err;
}

int policy_load(struct depd_config *c, const char *path, bool must_exist, struct policy_error *e)
{
	FILE *f = fopen(path, "re");
	int err;

	memset(e, 0, sizeof(*e));
	if (!f && errno == ENOENT && !must_exist) {
		err = set_defaults(c);
		if (err)
			policy_free(c);
		return err;
	}
	if (!f) {
		memset(c, 0, sizeof(*c));
		snprintf(e->text, sizeof(e->text), "the file cannot be opened: %s",
			 strerror(errno));
		return -EINVAL;
	}
	err = policy_read(c, f, e);
	fclose(f);
	return err;
}

void policy_free(struct depd_config *c)
{
	for (uint32_t i = 0; i < c->nrules; i++) {
		struct policy_rule *r = &c->rule[i];

		free(r->name);
		free(r->comm);
		free(r->path);
		free(r->cgroup);
		free(r->argv);
		free(r->store);
	}
	free(c->rule);
	free(c->store);
	memset(c, 0, sizeof(*c));
}

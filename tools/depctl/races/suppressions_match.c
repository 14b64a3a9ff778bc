// SPDX-License-Identifier: GPL-2.0-or-later
/* Match suppressions with races. */
#include <string.h>

#include "suppressions.h"

/* ---- ThreadSanitizer's format ---- */

/* Search @s for the first @n bytes of @part; NULL: not found. */
static const char *find(const char *s, const char *part, size_t n)
{
	return memmem(s, strlen(s), part, n);
}

bool suppression_fits(const char *pattern, const char *s)
{
	bool start = *pattern == '^', star = false;
	const char *at;
	size_t n;

	if (!s || !*s)
		return false;
	pattern += start;
	while (*pattern) {
		if (*pattern == '*') {
			star = true;
			start = false;
			pattern++;
			continue;
		}
		/* Like ThreadSanitizer, ignore the rest of the pattern after a $. */
		if (*pattern == '$')
			return !*s || star;
		n = strcspn(pattern, "*$");
		at = find(s, pattern, n);
		if (!at || (start && at != s))
			return false;
		s = at + n;
		pattern += n;
		start = star = false;
	}
	return true;
}

static bool fits_place(const char *pattern, const struct dep_place *p)
{
	return suppression_fits(pattern, p->function) || suppression_fits(pattern, p->symbol) ||
	       suppression_fits(pattern, p->file) || suppression_fits(pattern, p->module);
}

/* True if the pattern matches @name, as "queue.head[3]", or the variable's name alone ("queue"). */
static bool fits_variable(const char *pattern, const char *name)
{
	char whole[256];
	size_t n;

	if (!name)
		return false;
	n = strcspn(name, ".[");
	if (suppression_fits(pattern, name))
		return true;
	if (!name[n] || n >= sizeof(whole))
		return false;
	memcpy(whole, name, n);
	whole[n] = '\0';
	return suppression_fits(pattern, whole);
}

static bool fits_stack(const struct suppression *s, const struct race_stack *k)
{
	size_t i;

	if (s->kind == SUPPRESS_TOP)
		return k->n && fits_place(s->pattern, k->place);
	if (s->kind == SUPPRESS_LIB)
		return k->n && suppression_fits(s->pattern, k->place[k->main].module);
	for (i = 0; i < k->n; i++)
		if (fits_place(s->pattern, &k->place[i]))
			return true;
	return false;
}

/* ---- Valgrind's format ---- */

/* True if the pattern matches all of @s; * stands for any characters, ? for one character. */
static bool glob(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL;

	if (!s)
		return false;
	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool fits_frame(const struct suppression_frame *f, const struct dep_place *p)
{
	const char *base = p->file ? strrchr(p->file, '/') : NULL;

	if (f->what == FRAME_FUN)
		return glob(f->pattern, p->symbol) || glob(f->pattern, p->function);
	if (f->what == FRAME_OBJ)
		return glob(f->pattern, p->module);
	return (!f->line || f->line == p->line) &&
	       (glob(f->pattern, p->file) || (base && glob(f->pattern, base + 1)));
}

/* Match the suppression's frames with the innermost frames of the stack; ignore outer frames. */
static bool fits_frames(const struct suppression *s, const struct race_stack *k)
{
	size_t i = 0, f = 0, any = s->nframes, from = 0;

	while (f < s->nframes) {
		if (s->frame[f].what == FRAME_ANY) {
			any = ++f;
			from = i;
		} else if (i == k->n) {
			return false;
		} else if (fits_frame(&s->frame[f], &k->place[i])) {
			f++;
			i++;
		} else if (any < s->nframes) {
			f = any;
			i = ++from;
		} else {
			return false;
		}
	}
	return true;
}

static bool fits(const struct suppression *s, const struct race_stack stack[2],
		 const char *variable)
{
	switch (s->kind) {
	case SUPPRESS_USELESS:
		return false;
	case SUPPRESS_FRAMES:
		return fits_frames(s, &stack[0]) || fits_frames(s, &stack[1]);
	case SUPPRESS_RACE:
		if (fits_variable(s->pattern, variable))
			return true;
		break;
	default:
		break;
	}
	return fits_stack(s, &stack[0]) || fits_stack(s, &stack[1]);
}

struct suppression *suppressions_match(struct suppressions *s, const struct race_stack stack[2],
				       const char *variable)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (fits(&s->v[i], stack, variable)) {
			s->v[i].races++;
			return &s->v[i];
		}
	}
	return NULL;
}

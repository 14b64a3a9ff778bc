// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for suppression files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "suppressions.h"

struct parser {
	struct suppressions *to;
	const char *file;
	char *at, *end;		/* beginning and end of the text that is not parsed yet */
	uint32_t line;
	struct suppressions_error *e;
};

static int fail(struct parser *p, uint32_t line, const char *why)
{
	p->e->line = line;
	snprintf(p->e->text, sizeof(p->e->text), "%s", why);
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Get the next line that is not empty or a comment, without surrounding blanks; NULL: none. */
static char *next_line(struct parser *p)
{
	char *line, *end;

	while (p->at < p->end) {
		line = p->at;
		end = memchr(line, '\n', p->end - line);
		if (!end)
			end = p->end;
		p->at = end < p->end ? end + 1 : end;
		p->line++;
		while (line < end && is_blank(*line))
			line++;
		while (line < end && is_blank(end[-1]))
			end--;
		*end = '\0';
		if (line < end && *line != '#')
			return line;
	}
	return NULL;
}

static struct suppression *add(struct parser *p, enum suppression_kind kind, const char *text)
{
	struct suppressions *s = p->to;
	size_t room = s->room ? s->room * 2 : 32;
	void *more;

	if (s->n == s->room) {
		more = realloc(s->v, room * sizeof(*s->v));
		if (!more)
			return NULL;
		s->v = more;
		s->room = room;
	}
	s->v[s->n] = (struct suppression){
		.kind = kind, .file = p->file, .text = text, .line = p->line,
	};
	return &s->v[s->n++];
}

/* ---- ThreadSanitizer's format ---- */

static int parse_pattern(struct parser *p, const char *line)
{
	static const struct {
		const char *name;
		enum suppression_kind kind;
	} types[] = {
		{ "race:", SUPPRESS_RACE }, { "race_top:", SUPPRESS_TOP },
		{ "called_from_lib:", SUPPRESS_LIB }, { "mutex:", SUPPRESS_USELESS },
		{ "thread:", SUPPRESS_USELESS }, { "signal:", SUPPRESS_USELESS },
		{ "deadlock:", SUPPRESS_USELESS },
	};
	struct suppression *s;
	size_t i, n;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		n = strlen(types[i].name);
		if (strncmp(line, types[i].name, n))
			continue;
		if (!line[n])
			return fail(p, p->line, "the pattern is missing");
		s = add(p, types[i].kind, line);
		if (!s)
			return -ENOMEM;
		s->pattern = line + n;
		return 0;
	}
	return fail(p, p->line, "a suppression begins with race:, race_top:, called_from_lib:, "
		    "mutex:, thread:, signal: or deadlock:, or with { in Valgrind's format");
}

/* ---- Valgrind's format ---- */

/* Return: 1 if @line, "TOOL,TOOL..:KIND", is about races; 0 if not; -EINVAL: wrong syntax. */
static int is_race(const char *line)
{
	const char *colon = strchr(line, ':'), *tool = line;
	size_t n;
	bool race = false;

	if (!colon || colon == line || !colon[1])
		return -EINVAL;
	for (; tool < colon; tool += n + 1) {
		n = strcspn(tool, ",:");
		race |= n == 8 && !strncasecmp(tool, "helgrind", n) && !strcmp(colon, ":Race");
		race |= n == 3 && !strncasecmp(tool, "drd", n) &&
			!strcmp(colon, ":ConflictingAccess");
	}
	return race;
}

static int parse_frame(struct parser *p, struct suppression_frame *f, char *line)
{
	static const char *const names[] = { "fun:", "obj:", "src:" };
	char *colon, *end;
	unsigned int i;

	*f = (struct suppression_frame){ .what = FRAME_ANY };
	if (!strcmp(line, "..."))
		return 0;
	for (i = 0; i < 3 && strncmp(line, names[i], 4); i++)
		;
	if (i == 3 || !line[4])
		return fail(p, p->line, "a frame is fun:NAME, obj:NAME, src:FILE[:LINE] or ...");
	f->what = FRAME_FUN + i;
	f->pattern = line + 4;
	colon = f->what == FRAME_SRC ? strrchr(line + 4, ':') : NULL;
	if (colon) {
		errno = 0;
		f->line = (uint32_t)strtoul(colon + 1, &end, 10);
		if (colon[1] < '0' || colon[1] > '9' || *end || errno || !f->line)
			return fail(p, p->line, "the text after FILE: must be a line number");
		*colon = '\0';
	}
	return 0;
}

/* Parse the frames up to "}".  Skip the lines of suppressions that are not about races. */
static int parse_frames(struct parser *p, struct suppression *s, uint32_t begun)
{
	struct suppression_frame f[SUPPRESSION_FRAMES];
	bool some = false;
	char *line;
	size_t n = 0;
	int err;

	while ((line = next_line(p)) && strcmp(line, "}")) {
		if (*line == '{')
			return fail(p, begun, "another { comes before the } of this {");
		if (s->kind == SUPPRESS_USELESS)
			continue;
		if (n == SUPPRESSION_FRAMES)
			return fail(p, p->line, "the suppression has more than 24 frames");
		err = parse_frame(p, &f[n], line);
		if (err)
			return err;
		some |= f[n++].what != FRAME_ANY;
	}
	if (!line)
		return fail(p, begun, "the } of this { is missing");
	if (s->kind == SUPPRESS_USELESS)
		return 0;
	if (!some)
		return fail(p, begun, "the frames are all ..., which would match every race");
	s->frame = malloc(n * sizeof(*f));
	if (!s->frame)
		return -ENOMEM;
	memcpy(s->frame, f, n * sizeof(*f));
	s->nframes = n;
	return 0;
}

static int parse_block(struct parser *p)
{
	uint32_t begun = p->line;
	char *name = next_line(p), *tool = name ? next_line(p) : NULL;
	struct suppression *s;
	int race;

	if (!tool)
		return fail(p, begun, "the } of this { is missing");
	race = is_race(tool);
	if (race < 0)
		return fail(p, p->line, "the second line must be TOOL:KIND, as in Helgrind:Race");
	s = add(p, race ? SUPPRESS_FRAMES : SUPPRESS_USELESS, name);
	if (!s)
		return -ENOMEM;
	s->line = begun;
	return parse_frames(p, s, begun);
}

/* ---- both formats ---- */

/* Copy the text, with one byte more for a NUL.  suppressions_free() frees the copy. */
static char *keep(struct suppressions *s, const char *text, size_t size)
{
	char **more = realloc(s->text, (s->ntexts + 1) * sizeof(*more));

	if (!more)
		return NULL;
	s->text = more;
	more[s->ntexts] = malloc(size + 1);
	if (!more[s->ntexts])
		return NULL;
	memcpy(more[s->ntexts], text, size);
	return more[s->ntexts++];
}

int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t size,
		       struct suppressions_error *e)
{
	struct parser p = { .to = s, .file = file, .e = e };
	const char *nul = memchr(text, '\0', size), *at;
	char *line;
	int err = 0;

	if (nul) {
		for (p.line = 1, at = text; (at = memchr(at, '\n', nul - at)); at++)
			p.line++;
		return fail(&p, p.line, "not a text file: it has a NUL byte");
	}
	if (size > SUPPRESSIONS_BYTES)
		return fail(&p, 0, "larger than 4 MiB");
	p.at = keep(s, text, size);
	if (!p.at)
		return -ENOMEM;
	p.end = p.at + size;
	while (!err && (line = next_line(&p)))
		err = strcmp(line, "{") ? parse_pattern(&p, line) : parse_block(&p);
	return err;
}

void suppressions_free(struct suppressions *s)
{
	while (s->n)
		free(s->v[--s->n].frame);
	while (s->ntexts)
		free(s->text[--s->ntexts]);
	free(s->v);
	free(s->text);
}

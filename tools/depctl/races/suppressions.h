/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions in the formats of ThreadSanitizer and Valgrind, which a file may mix:
 *
 *	race:PATTERN		a function, file, module of any frame, or the variable
 *	race_top:PATTERN	of the innermost frame
 *	called_from_lib:PATTERN	the module that did it, be it through the C library
 *
 * where a pattern is found anywhere unless it begins with ^ or ends with $, and
 *
 *	{
 *		NAME
 *		Helgrind:Race (or drd:ConflictingAccess)
 *		fun:PATTERN, obj:PATTERN, src:FILE[:LINE] or ...
 *	}
 *
 * where the frames begin with the innermost one and patterns are of all of the name.
 */
#ifndef DEPCTL_RACES_SUPPRESSIONS_H
#define DEPCTL_RACES_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dep/symbols.h>

#define SUPPRESSIONS_BYTES	(4u << 20)	/* of a file */
#define SUPPRESSION_FRAMES	24		/* as many as Valgrind takes */

/** struct race_stack - places, the innermost first */
struct race_stack {
	struct dep_place *place;
	size_t n, room;
	size_t main;	/* the first that is not in the C library; 0 if all are */
	size_t own;	/* the first from there that is in no header of the system, or @main */
};

enum suppression_kind {
	SUPPRESS_USELESS,	/* for reports that there are none of here */
	SUPPRESS_RACE, SUPPRESS_TOP, SUPPRESS_LIB,
	SUPPRESS_FRAMES,	/* Valgrind's */
};

enum suppression_what { FRAME_FUN, FRAME_OBJ, FRAME_SRC, FRAME_ANY };

struct suppression_frame {
	enum suppression_what what;
	const char *pattern;
	uint32_t line;		/* of FRAME_SRC; 0: any */
};

/** struct suppression - @text: what it was written as, or Valgrind's name for it */
struct suppression {
	enum suppression_kind kind;
	const char *file, *text, *pattern;
	uint32_t line;
	struct suppression_frame *frame;
	size_t nframes;
	uint64_t races;		/* how many it was the first to match */
};

/** struct suppressions - zeroed: none */
struct suppressions {
	struct suppression *v;
	size_t n, room;
	char **text;		/* of the files */
	size_t ntexts;
};

struct suppressions_error {
	uint32_t line;
	char text[160];
};

/**
 * suppressions_parse() - add those in @text, of @size bytes
 * @file: its name, which has to stay
 *
 * Return: 0, -EINVAL with *@e, or -ENOMEM.
 */
int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t size,
		       struct suppressions_error *e);
/**
 * suppressions_match() - the first one for a race, which is counted; or NULL
 * @stack: of both accesses
 * @variable: may be NULL
 */
struct suppression *suppressions_match(struct suppressions *s, const struct race_stack stack[2],
				       const char *variable);
void suppressions_free(struct suppressions *s);

/** suppression_fits() - ThreadSanitizer's patterns: found in @s; ^ and $ are its ends */
bool suppression_fits(const char *pattern, const char *s);

#endif

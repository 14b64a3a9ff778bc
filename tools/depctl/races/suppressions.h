/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions in the formats of ThreadSanitizer and Valgrind, which a file may mix:
 *
 *	race:PATTERN		function, file or module of any frame, or the variable
 *	race_top:PATTERN	function, file or module of the innermost frame
 *	called_from_lib:PATTERN	module that made the access, itself or through the C library
 *
 * where a pattern matches any part of a name unless it begins with ^ or ends with $, and
 *
 *	{
 *		NAME
 *		Helgrind:Race (or drd:ConflictingAccess)
 *		fun:PATTERN, obj:PATTERN, src:FILE[:LINE] or ...
 *	}
 *
 * where the first frame is the innermost one and a pattern must match the whole name.
 */
#ifndef DEPCTL_RACES_SUPPRESSIONS_H
#define DEPCTL_RACES_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dep/symbols.h>

#define SUPPRESSIONS_BYTES	(4u << 20)	/* maximum size of a file in bytes */
#define SUPPRESSION_FRAMES	24		/* maximum per suppression, as in Valgrind */

/** struct race_stack - a call stack: places in the source, innermost first */
struct race_stack {
	struct dep_place *place;
	size_t n, room;
	/* index of the first place that is not in the C library or the loader; 0 if all are */
	size_t main;
	/* index of the first place, from @main on, whose file is not in /usr/; else @main */
	size_t own;
};

enum suppression_kind {
	SUPPRESS_USELESS,	/* suppresses other reports than races: has no effect here */
	SUPPRESS_RACE, SUPPRESS_TOP, SUPPRESS_LIB,
	SUPPRESS_FRAMES,	/* in Valgrind's format */
};

enum suppression_what { FRAME_FUN, FRAME_OBJ, FRAME_SRC, FRAME_ANY };

struct suppression_frame {
	enum suppression_what what;
	const char *pattern;
	uint32_t line;		/* with FRAME_SRC; 0: any line */
};

/** struct suppression - @text is the line in the file or, in Valgrind's format, the name */
struct suppression {
	enum suppression_kind kind;
	const char *file, *text, *pattern;
	uint32_t line;
	struct suppression_frame *frame;
	size_t nframes;
	uint64_t races;		/* number of races for which this was the first match */
};

/** struct suppressions - list of suppressions; all zero: empty */
struct suppressions {
	struct suppression *v;
	size_t n, room;
	char **text;		/* contents of the files */
	size_t ntexts;
};

struct suppressions_error {
	uint32_t line;
	char text[160];
};

/**
 * suppressions_parse() - add the suppressions in @text, which has @size bytes
 * @file: name of the file; must stay valid as long as @s
 *
 * Return: 0, -EINVAL with *@e, or -ENOMEM.
 */
int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t size,
		       struct suppressions_error *e);
/**
 * suppressions_match() - find the first suppression that matches a race, and count the race
 * @stack: stacks of both accesses
 * @variable: name of the variable, or NULL
 *
 * Return: NULL if none matches.
 */
struct suppression *suppressions_match(struct suppressions *s, const struct race_stack stack[2],
				       const char *variable);
void suppressions_free(struct suppressions *s);

/** suppression_fits() - true if a pattern of ThreadSanitizer's format matches @s */
bool suppression_fits(const char *pattern, const char *s);

#endif

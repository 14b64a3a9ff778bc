/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cJSON would let pass: a look at a line before it is parsed.
 */
#ifndef DEPD_CONTROL_JSON_SCAN_H
#define DEPD_CONTROL_JSON_SCAN_H

#include <stddef.h>

#define JSON_DEPTH_MAX	8

/**
 * json_scan() - is @line an object, with nothing in it that has no place in a request?
 * @why: receives a sentence if not
 *
 * Refused are NULs, also written as \u0000, other control characters, brackets nested
 * deeper than JSON_DEPTH_MAX, numbers that are not whole, or written with an exponent,
 * and more than white space after the object.  What else is no JSON is left to cJSON.
 *
 * Return: 0, -EPROTO, or -EINVAL for a number.
 */
int json_scan(const char *line, size_t size, char *why, size_t why_size);

#endif

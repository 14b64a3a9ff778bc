/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check a request line for content that cJSON accepts but requests must not have.
 */
#ifndef DEPD_CONTROL_JSON_SCAN_H
#define DEPD_CONTROL_JSON_SCAN_H

#include <stddef.h>

#define JSON_DEPTH_MAX	8

/**
 * json_scan() - check a line before cJSON parses it
 * @why: receives the error message
 *
 * The line must be one object.  Rejected are NULs (also as \u0000) and other control characters,
 * brackets nested deeper than JSON_DEPTH_MAX, numbers with a fraction or an exponent, and anything
 * but white space after the object.  Other JSON errors are left to cJSON.
 *
 * Return: 0; -EINVAL: a number that is not allowed; -EPROTO: any other error.
 */
int json_scan(const char *line, size_t size, char *why, size_t why_size);

#endif

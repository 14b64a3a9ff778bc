/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Included before each engine file.  Hidden symbols are not accessed through a GOT, which would
 * contain link-time addresses.
 */
#pragma GCC visibility push(hidden)

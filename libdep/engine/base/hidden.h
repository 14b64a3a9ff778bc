/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The compiler's command line includes this file before each engine file.  Symbols with hidden
 * visibility are not accessed through a GOT, whose entries would be link-time addresses.
 */
#pragma GCC visibility push(hidden)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Included before everything in the engine image: no symbol is looked up through a GOT,
 * which would hold link-time addresses.
 */
#pragma GCC visibility push(hidden)

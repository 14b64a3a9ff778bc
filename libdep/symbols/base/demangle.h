/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_SYMBOLS_BASE_DEMANGLE_H
#define ADEPT_SYMBOLS_BASE_DEMANGLE_H

/**
 * dep_demangle() - demangle a C++ symbol
 *
 * Return: allocated text; NULL if it is no C++ symbol, there is no demangler, or the text could be
 * disproportionately long.
 */
char *dep_demangle(const char *symbol);

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_SYMBOLS_BASE_DEMANGLE_H
#define ADEPT_SYMBOLS_BASE_DEMANGLE_H

/**
 * dep_demangle() - demangle a C++ symbol
 *
 * Return: text to be freed by the caller; NULL if @symbol is no mangled C++ name, no demangler was
 * found, or the text could be too long.
 */
char *dep_demangle(const char *symbol);

#endif

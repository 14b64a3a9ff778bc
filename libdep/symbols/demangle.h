/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ADEPT_SYMBOLS_DEMANGLE_H
#define ADEPT_SYMBOLS_DEMANGLE_H

/**
 * dep_demangle() - @symbol as C++ writes it
 *
 * Return: to be freed; NULL if it is no C++ name, no demangler is there, or the name is
 * such that its text could be out of all proportion.
 */
char *dep_demangle(const char *symbol);

#endif

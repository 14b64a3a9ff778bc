// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Demangling of C++ names. The demangler is looked up at run time, so that libdep does not depend
 * on a C++ library.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "demangle.h"

#define MAX_NAME	4096u
#define MAX_TEXT	8e6

typedef char *demangle_fn(const char *name, char *buf, size_t *len, int *status);

static demangle_fn *demangler;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Find the demangler. A library that is loaded for it stays loaded until the process ends. */
static void find_demangler(void)
{
	void *lib;

	demangler = (demangle_fn *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
	if (demangler)
		return;
	lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (lib)
		demangler = (demangle_fn *)dlsym(lib, "__cxa_demangle");
}

/* True if @s is the rest of a back reference such as S_, S1A_ or T0_, after its first letter. */
static bool is_reference(const char *s)
{
	while (isdigit((unsigned char)*s) || (*s >= 'A' && *s <= 'Z'))
		s++;
	return *s == '_';
}

/*
 * True if the demangled text has a limited length. A mangled name can refer back to its own parts,
 * so a short name can expand to gigabytes. With n references the text is at most 3^(n/3) times as
 * long as the name. A parameter pack is repeated for each element; 4 elements are assumed.
 */
static bool is_bounded(const char *s)
{
	static const double third = 1.4422495703;	/* 3^(1/3) */
	size_t n = strlen(s);
	double text = (double)n;

	if (n > MAX_NAME)
		return false;
	for (; *s && text <= MAX_TEXT; s++)
		if ((s[0] == 'S' || s[0] == 'T') && is_reference(s + 1))
			text *= third;
		else if (s[0] == 'D' && s[1] == 'p')
			text *= 4;
	return text <= MAX_TEXT;
}

char *dep_demangle(const char *symbol)
{
	int status;

	if (symbol[0] != '_' || symbol[1] != 'Z' || !is_bounded(symbol))
		return NULL;
	pthread_once(&once, find_demangler);
	return demangler ? demangler(symbol, NULL, NULL, &status) : NULL;
}

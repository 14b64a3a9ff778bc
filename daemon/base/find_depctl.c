// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "find_depctl.h"

bool find_depctl(char *path, size_t size)
{
	static const char *const names[] = { "depctl", "../bin/depctl" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	if (n < 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((size_t)snprintf(path, size, "%s%s", self, names[i]) < size &&
		    !access(path, X_OK))
			return true;
	return false;
}

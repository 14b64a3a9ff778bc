// SPDX-License-Identifier: LGPL-2.1-or-later
/* The addresses of a process's sockets, from the lists of its network namespace. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach_facts.h"
#include "internal.h"

#define MAX_LINES	262144u	/* of one list: a machine can have any number of sockets */

static int by_inode(const void *a, const void *b)
{
	const struct dep_socket *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

const struct dep_socket *dep_socket_find(const struct dep_socket *s, size_t n, u64 inode)
{
	const struct dep_socket key = { .inode = inode };

	return n ? bsearch(&key, s, n, sizeof(*s), by_inode) : NULL;
}

/* Convert an address as the kernel prints it: words of the machine's byte order. */
static bool print_address(const char *hex, unsigned int port, char *out, size_t size)
{
	size_t words = strlen(hex) / 8, i;
	char text[INET6_ADDRSTRLEN];
	u32 word[4];

	if ((words != 1 && words != 4) || strlen(hex) != words * 8)
		return false;
	for (i = 0; i < words; i++)
		if (sscanf(hex + i * 8, "%8x", &word[i]) != 1)
			return false;
	if (!inet_ntop(words == 1 ? AF_INET : AF_INET6, word, text, sizeof(text)))
		return false;
	snprintf(out, size, words == 1 ? "%s:%u" : "[%s]:%u", text, port);
	return true;
}

static bool parse_inet(const char *name, const char *line, struct dep_socket *s)
{
	char local[33], remote[33], from[64], to[64];
	unsigned int local_port, remote_port;
	unsigned long long inode;

	if (sscanf(line, "%*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*d %llu",
		   local, &local_port, remote, &remote_port, &inode) != 5 || !inode)
		return false;
	if (!print_address(local, local_port, from, sizeof(from)) ||
	    !print_address(remote, remote_port, to, sizeof(to)))
		return false;
	s->inode = inode;
	if (remote_port)
		snprintf(s->text, sizeof(s->text), "%.3s %s -> %s", name, from, to);
	else
		snprintf(s->text, sizeof(s->text), "%.3s %s", name, from);
	return true;
}

static bool parse_unix(const char *line, struct dep_socket *s)
{
	unsigned long long inode;
	int path;

	if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %*x %llu%n", &inode, &path) != 1 || !inode)
		return false;
	s->inode = inode;
	snprintf(s->text, sizeof(s->text), "unix%.*s", (int)strcspn(line + path, "\n"),
		 line + path);
	return true;
}

bool dep_socket_parse(const char *name, const char *line, struct dep_socket *s)
{
	return !strcmp(name, "unix") ? parse_unix(line, s) : parse_inet(name, line, s);
}

static void read_list(struct dep_socket *s, size_t n, int proc, const char *name)
{
	struct dep_socket now;
	const struct dep_socket *found;
	char path[16], *line = NULL;
	size_t room = 0;
	u32 lines = 0;
	FILE *f;

	snprintf(path, sizeof(path), "net/%s", name);
	f = dep_proc_file(proc, path);
	while (f && lines++ < MAX_LINES && getline(&line, &room, f) > 0) {
		if (!dep_socket_parse(name, line, &now))
			continue;
		found = dep_socket_find(s, n, now.inode);
		if (found)
			memcpy(s[found - s].text, now.text, sizeof(now.text));
	}
	free(line);
	if (f)
		fclose(f);
}

void dep_sockets_find(struct dep_socket *s, size_t n, int proc)
{
	static const char *const lists[] = { "unix", "tcp", "tcp6", "udp", "udp6" };
	size_t i;

	qsort(s, n, sizeof(*s), by_inode);
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		read_list(s, n, proc, lists[i]);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of a process when the engine is put into it: its mappings of files and its open
 * descriptors, as descriptors at the beginning of its descriptor ring.
 */
#ifndef ADEPT_INJECT_ATTACH_FACTS_H
#define ADEPT_INJECT_ATTACH_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libdep/abi/session_file.h"
#include "libdep/abi/stream.h"

/** struct dep_facts - a descriptor ring that is being filled, from its beginning on */
struct dep_facts {
	u8 *ring;
	u32 size;		/* bytes that may be used */
	u32 at;
};

/**
 * dep_facts_put() - append a descriptor
 * @d: its structure of @size bytes, without @h, which is set
 * @text: @n bytes that follow
 *
 * Return: false if it does not fit.
 */
bool dep_facts_put(struct dep_facts *f, u32 type, void *d, size_t size, const char *text,
		   size_t n);

/**
 * dep_facts_write() - write what is known of a process to a ring of @size bytes
 * @proc: dep_proc_open() of the process
 *
 * It leaves a quarter of the ring to the engine, whose start the collector does not see.
 *
 * Return: the number of bytes written.
 */
u32 dep_facts_write(u8 *ring, u32 size, int proc);

/** dep_facts_files() - append the process's open descriptors; return how many did not fit */
u32 dep_facts_files(struct dep_facts *f, int proc);

/** struct dep_socket - a socket and its addresses */
struct dep_socket {
	u64 inode;
	char text[144];		/* "tcp LOCAL -> REMOTE"; "": not known */
};

/**
 * dep_sockets_find() - find the addresses of sockets in /proc/PID/net
 * @s: @n of them, which this function sorts by inode
 */
void dep_sockets_find(struct dep_socket *s, size_t n, int proc);
/** dep_socket_find() - find a socket in such an array; NULL: it is not there */
const struct dep_socket *dep_socket_find(const struct dep_socket *s, size_t n, u64 inode);
/**
 * dep_socket_parse() - parse a line of /proc/net/@name
 * @name: "tcp", "tcp6", "udp", "udp6" or "unix"
 *
 * Return: false if it describes no socket.
 */
bool dep_socket_parse(const char *name, const char *line, struct dep_socket *s);

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading /proc/self/maps without a libc. */
#include "maps.h"

static int maps_char(struct maps *m)
{
	if (m->at == m->len) {
		s64 n = sys3(__NR_read, (u64)m->fd, (u64)m->buf, sizeof(m->buf));

		if (n <= 0)
			return -1;
		m->at = 0;
		m->len = (u32)n;
	}
	return (u8)m->buf[m->at++];
}

static u64 parse_number(const char **p, unsigned int base)
{
	u64 v = 0;

	for (;; (*p)++) {
		unsigned int c = (u8)**p, d;

		if (c - '0' < 10)
			d = c - '0';
		else if (c - 'a' < 6)
			d = c - 'a' + 10;
		else
			break;
		if (d >= base)
			break;
		v = v * base + d;
	}
	return v;
}

/* Format of a line: start-end rwxp offset major:minor inode   path */
void maps_parse(const char *p, struct map_line *l)
{
	l->start = parse_number(&p, 16);
	p++;
	l->end = parse_number(&p, 16);
	p++;
	l->prot = (p[0] == 'r' ? K_PROT_READ : 0) | (p[1] == 'w' ? K_PROT_WRITE : 0) |
		  (p[2] == 'x' ? K_PROT_EXEC : 0);
	l->shared = p[3] == 's';
	p += 5;
	l->offset = parse_number(&p, 16);
	p++;
	l->dev = parse_number(&p, 16) << 32;
	p++;
	l->dev |= parse_number(&p, 16);
	p++;
	l->inode = parse_number(&p, 10);
	while (*p == ' ')
		p++;
	l->path = p;
}

static int read_line(struct maps *m, char *line, u32 size)
{
	u32 n = 0;
	int c;

	while ((c = maps_char(m)) >= 0 && c != '\n')
		if (n + 1 < size)
			line[n++] = (char)c;
	line[n] = 0;
	return n || c >= 0;
}

s64 maps_open(struct maps *m)
{
	s64 fd = sys3(__NR_open, (u64)"/proc/self/maps", 02000000 /* O_CLOEXEC */, 0);

	m->fd = (int)fd;
	m->at = m->len = 0;
	return fd < 0 ? fd : 0;
}

int maps_next(struct maps *m, struct map_line *l)
{
	if (!read_line(m, m->line, sizeof(m->line)))
		return 0;
	maps_parse(m->line, l);
	return 1;
}

void maps_close(struct maps *m)
{
	sys1(__NR_close, (u64)m->fd);
}

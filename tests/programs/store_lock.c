// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store_lock LOG SECONDS: hold the writer's lock of a store for so long.
 *
 * LOG is the store's file "fragments".  Exit status: 0, 1 if a writer holds it, 2 for an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0) {
		perror("store_lock");
		return 2;
	}
	if (fcntl(fd, F_OFD_SETLK, &lock))
		return errno == EAGAIN || errno == EACCES ? 1 : 2;
	sleep((unsigned int)atoi(argv[2]));
	return 0;
}

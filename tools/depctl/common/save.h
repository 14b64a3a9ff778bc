/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write a file so that others see either its old contents or all of the new ones. */
#ifndef DEPCTL_COMMON_SAVE_H
#define DEPCTL_COMMON_SAVE_H

/** struct save - a file that is being written */
struct save {
	int fd;
	char *path, *temporary;	/* NULL: @fd is standard output, or no regular file */
};

/**
 * save_begin() - begin to write the file @path, or standard output if it is NULL
 *
 * Regular files are written under a new name in the same directory.  The permissions and the group
 * of an older file are kept if it belongs to the caller.  Devices and pipes are opened as they are.
 * A symbolic link must lead to something that exists, which is then replaced; so nobody who can
 * write to the directory chooses by a link where a new file is made.
 *
 * Return: 0, or 1 after a message.
 */
int save_begin(struct save *s, const char *path);

/**
 * save_end() - close the file and give it its name; with @failed, remove it
 *
 * Return: 0, or 1 after a message, or if @failed.
 */
int save_end(struct save *s, int failed);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets in struct adept_boot for dummy_image.S; test_inject.c checks them.
 */
#ifndef DUMMY_IMAGE_H
#define DUMMY_IMAGE_H

#define BOOT_REGS	96
#define BOOT_RIP	224
#define BOOT_SIZE	2760

#endif

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fixed-width types shared by the engine image (freestanding) and the host side.
 */
#ifndef ADEPT_ABI_TYPES_H
#define ADEPT_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#endif

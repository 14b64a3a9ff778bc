// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <immintrin.h>

#include "libdep/x86/cpu_features.h"
#include "delta.h"
#include "libdep/format/file/error.h"

u32 dep_delta_lens(u8 *len, u32 n)
{
	u32 i, half;
	u64 v;

	memset(len + n, 0, 8);
	/* Pack eight bytes 0a 0b 0c 0d .. into four bytes ba dc .. */
	for (i = 0; i < n; i += 8) {
		memcpy(&v, len + i, 8);
		v = (v | v >> 4) & 0x00ff00ff00ff00ffull;
		v = (v | v >> 8) & 0x0000ffff0000ffffull;
		half = v | v >> 16;
		memcpy(len + i / 2, &half, 4);
	}
	return (n + 1) / 2;
}

#define EACH	0x0101010101010101ull

/* True if each of the @n packed lengths is at most 8 and all lengths add up to @bytes. */
static int lens_good(const u8 *lens, u32 n, u64 bytes)
{
	u32 i, size = (n + 1) / 2;
	u64 v, low, high, sum = 0, bad = 0;

	for (i = 0; i < size; i += 8) {
		v = 0;
		memcpy(&v, lens + i, size - i < 8 ? size - i : 8);
		low = v & 15 * EACH;
		high = v >> 4 & 15 * EACH;
		/* Adding 0x77 sets the highest bit of each byte with a length above 8. */
		bad |= (low + 0x77 * EACH) | (high + 0x77 * EACH);
		sum += (low + high) * EACH >> 56;
	}
	return !(bad & 0x80 * EACH) && sum == bytes && !(n & 1 && lens[n / 2] >> 4);
}

static inline u64 get_difference(const u8 *p, u32 len)
{
	static const u64 mask[9] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff,
		0xffffffffffffff, ~0ull,
	};
	u64 d;

	memcpy(&d, p, 8);
	d &= mask[len];
	return d >> 1 ^ -(d & 1);
}

#define WIDE_AT_ONCE	8u	/* number of differences decoded at a time */

/*
 * Decode eight differences at a time, as long as 64 bytes of input are left.  The caller has
 * checked the lengths by lens_good().
 *
 * Return: the number of differences decoded; *@bytes receives the position after their bytes.
 */
static __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")))
u32 differences_wide(const struct dep_delta_in *in, u64 *value, u32 n, const u8 **bytes)
{
	const __m128i ones = _mm_set_epi64x(0xff, 0x7f3f1f0f07030100);
	const u8 *p = in->bytes, *end = p + in->bytes_size;
	__m512i d, sign;
	u64 used;
	u32 i, lens;

	for (i = 0; i + WIDE_AT_ONCE <= n && end - p >= 64; i += WIDE_AT_ONCE) {
		memcpy(&lens, in->lens + i / 2, 4);
		/* Replace each length n by a byte with n bits set: the bytes that are present. */
		used = _pdep_u64(lens, 15 * EACH);
		used = (u64)_mm_cvtsi128_si64(_mm_shuffle_epi8(ones,
							       _mm_cvtsi64_si128((s64)used)));
		d = _mm512_maskz_expand_epi8(used, _mm512_loadu_si512(p));
		sign = _mm512_and_si512(d, _mm512_set1_epi64(1));
		d = _mm512_xor_si512(_mm512_srli_epi64(d, 1),
				     _mm512_sub_epi64(_mm512_setzero_si512(), sign));
		_mm512_storeu_si512(value + i, d);
		p += __builtin_popcountll(used);
	}
	*bytes = p;
	return i;
}

/* Decoding does not need exit ids: dep_delta_sum() computes the values record by record later. */
int dep_delta_differences(const struct dep_delta_in *in, u64 *value, u32 n)
{
	const u8 *p = in->bytes, *lens = in->lens;
	u32 i = 0, first, second;

	if (!lens_good(lens, n, in->bytes_size))
		return dep_fail(-EBADMSG, "the value column of a segment has invalid lengths");
	if (x86_has_vbmi2())
		i = differences_wide(in, value, n, &p);
	for (lens += i / 2; i + 1 < n; i += 2) {
		first = *lens & 15;
		second = *lens++ >> 4;
		value[i] = get_difference(p, first);
		value[i + 1] = get_difference(p + first, second);
		p += first + second;
	}
	if (i < n)
		value[i] = get_difference(p, *lens & 15);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction fuzz: random sequences of instructions, run natively and under the
 * engine from the same state, at the same addresses.
 */
#ifndef ADEPT_INSN_FUZZ_H
#define ADEPT_INSN_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_MAGIC	0x315a55464e534e49ull
#define MAX_INSNS	8
#define MAX_CODE	128

/* Pages of data, each between unmapped ones. */
enum window {
	WIN_LOW,	/* 32-bit addresses */
	WIN_MID,
	WIN_BELOW,	/* nearly 2 GiB below the far code: rip-relative, hard to reach */
	WIN_ABOVE,
	WIN_LIBS,	/* near the libraries */
	NWINDOWS
};

#define WINDOW_SIZE	4096u

/* Place of a case's code. */
enum place { AT_LOW, AT_FAR, AT_LIBS, NPLACES };

/* Addresses that fault. */
#define BAD_UNMAPPED	0x28000000ull
#define BAD_READONLY	0x28100000ull
#define BAD_BUS		0x28200000ull

#define SLOTS		8192u
#define SLOT_SIZE	176u
#define CODE_HEAD	4096u	/* before the first slot: the exit code */
#define CODE_SIZE	(CODE_HEAD + SLOTS * SLOT_SIZE + 4096u)

extern const uint64_t window_at[NWINDOWS];
extern const uint64_t place_at[NPLACES];

/**
 * struct fuzz_case - one sequence and the state that it starts from
 * @gpr:	by hardware number
 * @seed:	of the vector and x87 state, and of the memory
 */
struct fuzz_case {
	uint64_t gpr[16];
	uint64_t flags;
	uint64_t fsbase, gsbase;
	uint64_t seed;
	uint32_t mxcsr;
	uint16_t fcw;
	uint8_t place;
	uint8_t len, ninsns, pad;
	uint8_t off[MAX_INSNS];
	uint8_t code[MAX_CODE];
};

struct fuzz_file {
	uint64_t magic, seed, count;
	struct fuzz_case c[];
};

/**
 * struct fuzz_result - the state after a case
 * @fault:	offset of the faulting instruction's address from the sequence's start
 * @frame:	hash of the registers in the signal's frame
 * @avoided:	not run, and nothing else is set: see avoid() in insn_run.c
 */
struct fuzz_result {
	uint64_t gpr[16];
	uint64_t flags;
	uint64_t fsbase, gsbase;
	uint64_t xstate;
	uint64_t memory[NWINDOWS];
	uint64_t fault, address, frame;
	uint32_t signo, code, trap, error;
	uint32_t avoided, reserved;
};

#define TRAP_PAGE	14u

/** case_pc() - address of the code of case number @i */
static inline uint64_t case_pc(const struct fuzz_case *c, uint64_t i)
{
	return place_at[c->place] + CODE_HEAD + (i % SLOTS) * SLOT_SIZE + c->pad;
}

static inline uint64_t fuzz_random(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void generate_case(struct fuzz_case *c, uint64_t seed, uint64_t number);
/**
 * struct fuzz_run - what to run
 * @out:	file of the results
 * @native:	results of a native run of the same cases, or NULL
 * @image:	file that gets the last case's xsave area, or NULL
 * @light:	to be single-stepped, which counts each byte of a rep: memory and vectors
 *		are made only once
 */
struct fuzz_run {
	uint64_t first, count;
	const char *out, *native, *image;
	int light;
};

int run_cases(const struct fuzz_file *f, const struct fuzz_run *run);
const struct fuzz_result *load_results(const char *path, uint64_t *n);
int compare_results(const struct fuzz_file *f, const char *a, const char *b, unsigned int show);
void show_case(const struct fuzz_file *f, uint64_t i);

#endif

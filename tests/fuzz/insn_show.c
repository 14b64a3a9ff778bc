// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compare results, and show a case.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "insn_fuzz.h"

static const char *const reg_name[16] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

void show_case(const struct fuzz_file *f, uint64_t i)
{
	const struct fuzz_case *c = &f->c[i];
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	char text[128];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
	printf("case %lu of seed %lu, at %lx\n", i, f->seed, case_pc(c, i));
	for (int r = 0; r < 16; r++)
		printf("%5s %16lx%s", reg_name[r], c->gpr[r], r % 4 == 3 ? "\n" : "");
	printf("flags %lx fsbase %lx gsbase %lx mxcsr %x fcw %x\n", c->flags, c->fsbase,
	       c->gsbase, c->mxcsr, c->fcw);
	for (unsigned int at = 0; at < c->len; at += in.length) {
		printf("  +%-3x", at);
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, c->code + at, c->len - at, &in,
						       op))) {
			printf(" not decodable\n");
			return;
		}
		for (int k = 0; k < 12; k++)
			if (k < in.length)
				printf(" %02x", c->code[at + (unsigned int)k]);
			else
				printf("   ");
		ZydisFormatterFormatInstruction(&formatter, &in, op, in.operand_count_visible,
						text, sizeof(text), case_pc(c, i) + at, NULL);
		printf("  %s\n", text);
	}
}

static void differ(const char *what, uint64_t a, uint64_t b)
{
	if (a != b)
		printf("    %-8s %16lx  instead of %16lx\n", what, b, a);
}

static void show_difference(const struct fuzz_result *a, const struct fuzz_result *b)
{
	char name[16];

	if (a->signo)
		printf("  natively: signal %u at +%lx, address %lx, trap %u, error %x\n", a->signo,
		       a->fault, a->address, a->trap, a->error);
	for (int r = 0; r < 16; r++)
		differ(reg_name[r], a->gpr[r], b->gpr[r]);
	differ("flags", a->flags, b->flags);
	differ("fsbase", a->fsbase, b->fsbase);
	differ("gsbase", a->gsbase, b->gsbase);
	differ("vectors", a->xstate, b->xstate);
	for (int w = 0; w < NWINDOWS; w++) {
		snprintf(name, sizeof(name), "memory%d", w);
		differ(name, a->memory[w], b->memory[w]);
	}
	differ("signal", a->signo, b->signo);
	differ("code", a->code, b->code);
	differ("trap", a->trap, b->trap);
	differ("error", a->error, b->error);
	differ("pc", a->fault, b->fault);
	differ("address", a->address, b->address);
	differ("frame", a->frame, b->frame);
}

const struct fuzz_result *load_results(const char *path, uint64_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(2);
	}
	*n = (uint64_t)st.st_size / sizeof(struct fuzz_result);
	p = *n ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	close(fd);
	if (p == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return p;
}

int compare_results(const struct fuzz_file *f, const char *pa, const char *pb, unsigned int show)
{
	uint64_t na, nb, bad = 0, faults = 0, illegal = 0, insns = 0, avoided = 0;
	const struct fuzz_result *a = load_results(pa, &na), *b = load_results(pb, &nb);

	if (na != nb || na > f->count) {
		printf("%lu results instead of %lu\n", nb, na);
		return 1;
	}
	for (uint64_t i = 0; i < na; i++) {
		faults += a[i].signo != 0;
		illegal += a[i].signo == 4;
		insns += f->c[i].ninsns;
		avoided += b[i].avoided;
		if (b[i].avoided || !memcmp(&a[i], &b[i], sizeof(*a)))
			continue;
		if (bad++ >= show)
			continue;
		show_case(f, i);
		show_difference(&a[i], &b[i]);
	}
	printf("%lu cases of seed %lu, %lu instructions, %lu faults (%lu illegal), "
	       "%lu avoided: %lu differ\n",
	       na, f->seed, insns, faults, illegal, avoided, bad);
	return bad != 0;
}

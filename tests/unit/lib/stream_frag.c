// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "libdep/x86/derive.h"
#include "stream.h"

/* ---- the recorder's rules ---- */

static struct adept_store store(u32 insn, u32 kind, u32 arg)
{
	return (struct adept_store){ .insn = insn, .kind = kind, .arg = arg };
}

static void need(struct stream_frag *f, u32 insn, u16 *known, u8 reg)
{
	if (reg >= 16 || *known & X86_BIT(reg))
		return;
	f->store[f->nstores++] = store(insn, ADEPT_ST_REG, reg);
	*known |= X86_BIT(reg);
}

static int unknown(u8 reg, u16 known)
{
	return reg < 16 && !(known & X86_BIT(reg));
}

static void place_stores(struct stream *s, struct stream_frag *f, u32 i, u16 *known)
{
	const struct x86_insn *in = &f->insn[i];
	const struct x86_mem *m;
	u32 k, r;

	if (!i && f->function) {
		need(f, i, known, X86_RDI);
		need(f, i, known, X86_RSI);
	}
	if (!i && f->returns)
		need(f, i, known, X86_RAX);
	for (r = 0; s->self_check && r < 16; r++)
		if (in->gpr_addr & *known & X86_BIT(r))
			f->store[f->nstores++] = store(i, ADEPT_ST_CHECK, r);
	if (in->attr & X86_A_WRFSBASE)
		f->store[f->nstores++] = store(i, ADEPT_ST_FSBASE, 0);
	for (k = 0; k < in->nmem; k++) {
		m = &in->mem[k];
		if (m->flags & X86_M_VSIB) {
			need(f, i, known, m->base);
			f->store[f->nstores++] = store(i, ADEPT_ST_VEC, in->vl << 5 | m->index);
			f->store[f->nstores++] = in->enc == X86_EVEX ?
				store(i, ADEPT_ST_KREG, in->evex_k) :
				store(i, ADEPT_ST_VEC, in->vl << 5 | in->vvvv);
			continue;
		}
		if (x86_mask_elem(in))
			f->store[f->nstores++] = in->enc == X86_EVEX ?
				store(i, ADEPT_ST_KREG, in->evex_k) :
				store(i, ADEPT_ST_VEC, in->vl << 5 | in->vvvv);
		if (s->use_ea && unknown(m->base, *known) &&
		    (unknown(m->index, *known) || m->index == X86_NONE) &&
		    !(m->flags & X86_M_STRING)) {
			f->store[f->nstores++] = store(i, ADEPT_ST_EA, k);
			continue;
		}
		need(f, i, known, m->base);
		need(f, i, known, m->index);
		if (m->flags & X86_M_BITOFF)
			need(f, i, known, in->f_reg);
		if (m->flags & X86_M_XLAT)
			need(f, i, known, X86_RAX);
	}
	if (in->opcode == 0xc8 && in->enc == X86_LEGACY && !in->map)
		need(f, i, known, X86_RBP);
}

static void add_exit(struct stream_frag *f, u32 ninsns, u16 mask, u8 kind, u64 target)
{
	f->exit[f->nexits++] = (struct adept_exit){
		.ninsns = ninsns, .nstores = f->nstores, .mask = mask, .kind = kind,
		.target = target };
}

static void describe(struct stream *s, const struct stream_frag *f, const struct stream_code *code)
{
	struct adept_run run[2] = {
		{ .pc = code->pc, .ninsns = f->jump, .function = f->function,
		  .returns = f->returns },
		{ .pc = f->pc[f->jump % STREAM_INSNS], .ninsns = f->ninsns - f->jump },
	};
	u16 nruns = f->jump < f->ninsns ? 2 : 1;
	struct adept_desc_frag d = {
		.h.type = ADEPT_DESC_FRAGMENT, .first_exit = f->id, .nexits = f->nexits,
		.nruns = nruns, .ninsns = f->ninsns, .nstores = f->nstores,
		.entry_mask = f->entry_mask, .code_len = code->len };
	size_t size = sizeof(d) + nruns * sizeof(run[0]) + f->nexits * sizeof(f->exit[0]) +
		      f->nstores * sizeof(f->store[0]) + code->len;
	u8 *p;

	d.h.size = (size + 7) & ~7u;
	s->desc = realloc(s->desc, s->desc_size + d.h.size);
	p = s->desc + s->desc_size;
	s->desc_size += d.h.size;
	memset(p, 0, d.h.size);
	memcpy(p, &d, sizeof(d));
	p += sizeof(d);
	memcpy(p, run, nruns * sizeof(run[0]));
	p += nruns * sizeof(run[0]);
	memcpy(p, f->exit, f->nexits * sizeof(f->exit[0]));
	p += f->nexits * sizeof(f->exit[0]);
	memcpy(p, f->store, f->nstores * sizeof(f->store[0]));
	memcpy(p + f->nstores * sizeof(f->store[0]), code->bytes, code->len);
}

u32 stream_fragment(struct stream *s, const struct stream_code *code)
{
	u16 known = code->entry_mask;
	struct stream_frag *f;
	struct x86_insn *in;
	u64 pc = code->pc;
	u32 at = 0, i;
	u8 kind;

	s->frag = realloc(s->frag, (s->nfrags + 1) * sizeof(*f));
	f = &s->frag[s->nfrags];
	memset(f, 0, sizeof(*f));
	f->id = s->next_id;
	f->entry_mask = code->entry_mask;
	f->function = code->function;
	f->returns = code->returns;
	for (i = 0; at < code->len; i++, at += in->len, pc += in->len) {
		in = &f->insn[i];
		f->pc[i] = pc;
		if (x86_decode(in, code->bytes + at, code->len - at) <= 0)
			abort();
		place_stores(s, f, i, &known);
		known = x86_derive(in, pc, known, NULL, NULL);
		if (in->kind == X86_STRING)
			f->store[f->nstores++] = store(i, ADEPT_ST_POST,
				in->gpr_addr & X86_BIT(X86_RDI) ? X86_RDI : X86_RSI);
		if (in->kind == X86_JCC)
			add_exit(f, i + 1, known, ADEPT_X_DIRECT, x86_branch_target(in, pc));
		if (in->kind == X86_JMP && code->far && !f->jump) {
			f->jump = i + 1;
			pc += (u64)code->far;
		}
	}
	f->ninsns = i;
	f->jump = f->jump ? f->jump : i;
	if (unknown(X86_RSP, known)) {
		f->store[f->nstores++] = store(i - 1, ADEPT_ST_EXIT_REG, X86_RSP);
		known |= X86_BIT(X86_RSP);
	}
	kind = f->insn[i - 1].kind;
	add_exit(f, i, known,
		 kind == X86_RET || kind == X86_JMP_IND || kind == X86_CALL_IND ? ADEPT_X_INDIRECT :
		 kind == X86_SYSCALL ? ADEPT_X_SYSCALL : ADEPT_X_DIRECT,
		 kind == X86_CALL ? x86_branch_target(&f->insn[i - 1], f->pc[i - 1]) : pc);
	s->next_id += f->nexits;
	describe(s, f, code);
	return s->nfrags++;
}

/* Code of which the part after the first jump is @distance away. */
#define CODE_FAR(distance, at, ...) { .far = (s64)(distance), .pc = at, \
			.bytes = (const u8[]){ __VA_ARGS__ }, \
			.len = sizeof((const u8[]){ __VA_ARGS__ }) }

#define CODE(at, ...) { .pc = at, .bytes = (const u8[]){ __VA_ARGS__ }, \
			.len = sizeof((const u8[]){ __VA_ARGS__ }) }

static const struct stream_code standard[] = {
	/* push rbp; mov rbp, rsp; sub rsp, 16; mov dword [rsp+4], 0; mov rax, [rbx];
	 * mov rax, [rax+rcx*8]; jne; mov [rdi], eax; add [rdi], eax; call
	 */
	CODE(0x401000, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc7, 0x44, 0x24, 0x04,
	     0, 0, 0, 0, 0x48, 0x8b, 0x03, 0x48, 0x8b, 0x04, 0xc8, 0x75, 0x10, 0x89, 0x07,
	     0x01, 0x07, 0xe8, 0, 1, 0, 0),
	/* pop rbx; leave; ret */
	CODE(0x402000, 0x5b, 0xc9, 0xc3),
	/* rep movsb; movsd; rep stosq; repe cmpsb; lodsb; addr32 rep movsb; repne scasb; jmp */
	CODE(0x403000, 0xf3, 0xa4, 0xa5, 0xf3, 0x48, 0xab, 0xf3, 0xa6, 0xac, 0xf2, 0xae,
	     0xf3, 0x64, 0xa5, 0xeb, 0x00),
	/* mov rax, fs:[0x28]; lea rax, [rip+16]; mov rcx, [rip+32]; mov [rax+8], rcx;
	 * xlat; bt [rbx], eax; bts [rbx+rcx*2+8], rdx; mov eax, [ebx]; xor eax, eax; jae;
	 * mov rdx, gs:[rcx]; jmp rax
	 */
	CODE(0x404000, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x48, 0x8d, 0x05, 16, 0, 0, 0,
	     0x48, 0x8b, 0x0d, 32, 0, 0, 0, 0x48, 0x89, 0x48, 0x08, 0xd7, 0x0f, 0xa3, 0x03,
	     0x48, 0x0f, 0xab, 0x54, 0x4b, 0x08, 0x67, 0x8b, 0x03, 0x31, 0xc0, 0x73, 0x02,
	     0x65, 0x48, 0x8b, 0x11, 0xff, 0xe0),
	/* vpgatherdd ymm1, [rax+ymm0*4], ymm2; vgatherqps xmm1, [rax+ymm0*8], xmm2;
	 * vpgatherdd zmm1{k1}, [rax+zmm0*4]; vpscatterdd [rax+zmm0*4]{k1}, zmm1; jmp
	 */
	CODE(0x405000, 0xc4, 0xe2, 0x6d, 0x90, 0x0c, 0x80, 0xc4, 0xe2, 0x6d, 0x93, 0x0c, 0xc0,
	     0x62, 0xf2, 0x7d, 0x49, 0x90, 0x0c, 0x80, 0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x0c, 0x80,
	     0xeb, 0x00),
	/* enter 16, 3; mov [rbp-8], rdi; wrfsbase rax; mov rcx, fs:[rdx]; syscall */
	CODE(0x406000, 0xc8, 0x10, 0x00, 0x03, 0x48, 0x89, 0x7d, 0xf8, 0xf3, 0x48, 0x0f, 0xae,
	     0xd0, 0x64, 0x48, 0x8b, 0x0a, 0x0f, 0x05),
	/* nop; jmp: nothing to store */
	CODE(0x407000, 0x90, 0xeb, 0x00),
	/* mov [rbx], rax; mov ecx, [rbx+4]; mov [rbx+2], dx; push rax; pop rcx;
	 * mov rdx, [rsp-8]; mov [rbx], eax; jmp: most is accessed again
	 */
	CODE(0x409000, 0x48, 0x89, 0x03, 0x8b, 0x4b, 0x04, 0x66, 0x89, 0x53, 0x02, 0x50, 0x59,
	     0x48, 0x8b, 0x54, 0x24, 0xf8, 0x89, 0x03, 0xeb, 0x00),
	/* mov eax, [rbx]; mov [rbx], eax; mov edx, [rbx]; jmp */
	CODE(0x40a000, 0x8b, 0x03, 0x89, 0x03, 0x8b, 0x13, 0xeb, 0x00),
	/* vmovdqu8 [rax]{k1}, zmm16; vmovups xmm1{k2}, [rbx+16]; vmovdqu32 ymm2{k1}{z}, [rbx];
	 * vpmaskmovq [rdi], ymm3, ymm2; vmaskmovps xmm4, xmm5, [rcx+8]; jmp
	 */
	CODE(0x40b000, 0x62, 0xe1, 0x7f, 0x49, 0x7f, 0x00, 0x62, 0xf1, 0x7c, 0x0a, 0x10, 0x4b, 0x01,
	     0x62, 0xf1, 0x7e, 0xa9, 0x6f, 0x13, 0xc4, 0xe2, 0xe5, 0x8e, 0x17, 0xc4, 0xe2, 0x51,
	     0x2c, 0x61, 0x08, 0xeb, 0x00),
	/*
	 * mov rcx, [rip+32]; je; jmp to a library: lea rdx, [rip+16]; add [rdx], ecx; mov rax,
	 * fs:[rip+8]; bt [rip+8], ecx; mov [rip+64], rcx; rep movsb; call.  The write comes late,
	 * because a write that orders continues with the full program.
	 */
	CODE_FAR(0x7f1234500000, 0x555555400000, 0x48, 0x8b, 0x0d, 32, 0, 0, 0, 0x74, 0x02, 0xeb,
		 0x00, 0x48, 0x8d, 0x15, 16, 0, 0, 0, 0x01, 0x0a, 0x64, 0x48, 0x8b, 0x05, 8, 0, 0,
		 0, 0x0f, 0xa3, 0x0d, 8, 0, 0, 0, 0x48, 0x89, 0x0d, 64, 0, 0, 0, 0xf3, 0xa4,
		 0xe8, 0, 1, 0, 0),
	/* jmp to a library: syscall */
	CODE_FAR(0x7f1234500000, 0x555555410000, 0xeb, 0x00, 0x0f, 0x05),
	/* mov rax, 0x123456789abcdef0; mov edx, 0xfffffff0; movabs eax, [0x7f0011223344];
	 * mov eax, [0x1000]; mov ecx, [ebx]; vmovdqu8 [rip+64]{k1}, zmm16; jmp
	 */
	CODE(0x7f0000400000, 0x48, 0xb8, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12,
	     0xba, 0xf0, 0xff, 0xff, 0xff, 0xa1, 0x44, 0x33, 0x22, 0x11, 0x00, 0x7f, 0, 0,
	     0x8b, 0x04, 0x25, 0, 0x10, 0, 0, 0x67, 0x8b, 0x0b, 0x62, 0xe1, 0x7f, 0x49, 0x7f,
	     0x05, 64, 0, 0, 0, 0xeb, 0x00),
	/* mov rsp, [rax]: rsp becomes unknown and is stored after; jmp */
	CODE(0x408000, 0x48, 0x8b, 0x20, 0xeb, 0x00),
};

void stream_standard(struct stream *s)
{
	static const u16 masks[] = {
		X86_BIT(X86_RSP),
		X86_BIT(X86_RSP) | X86_BIT(X86_RBP) | X86_BIT(X86_RBX),
		X86_BIT(X86_RSP) | X86_BIT(X86_RSI) | X86_BIT(X86_RDI) | X86_BIT(X86_RAX),
	};
	struct stream_code code;
	size_t i, k;

	for (i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		for (k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
			code = standard[i];
			code.entry_mask = masks[k];
			code.function = i & 1 ? DEP_F_CALLOC : DEP_F_NONE;
			code.returns = i >> 1 & 1;
			stream_fragment(s, &code);
		}
}

void stream_far(struct stream *s)
{
	struct stream_code code;
	size_t i;

	for (i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
		code = standard[i];
		code.entry_mask = X86_BIT(X86_RSP);
		if (code.far)
			stream_fragment(s, &code);
	}
}

void stream_random_run(struct stream *s, u32 steps)
{
	static const u32 numbers[] = { SYS_getpid, SYS_read };
	struct adept_ev_syscall call = { .nr = 0 };
	u32 n, x;

	while (steps--) {
		n = stream_random(s) % s->nfrags;
		if (s->frag[n].entry_mask & ~s->known) {
			if (stream_random(s) % 4 == 0)
				stream_context(s, s->frag[n].pc[0]);
			continue;
		}
		x = stream_random(s) % 16;
		if (x == 0) {
			stream_partial(s, n, stream_random(s) % s->frag[n].ninsns);
			continue;
		}
		x = stream_random(s) % s->frag[n].nexits;
		stream_run(s, n, x);
		call.nr = numbers[stream_random(s) % 2];
		if (s->frag[n].exit[x].kind == ADEPT_X_SYSCALL) {
			stream_event(s, ADEPT_EV_SYSCALL, &call);
			s->item[s->nitems - 1].event.pc = s->frag[n].pc[s->frag[n].ninsns - 1];
		}
	}
}

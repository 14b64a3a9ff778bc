/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Write the decoder's tables: gen_tab > x86tab.h.  Host program, links Zydis.
 *
 * For every opcode of every map, each combination of the dimensions in table_row.h is encoded,
 * decoded by Zydis and turned into a row.  Equal rows are unified.  Then a tree is built for the
 * opcode that splits only where rows differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

#define MAX_ROWS	4096
#define MAX_NODES	32768
#define MAX_FLAT	16384

static ZydisDecoder decoder;
static struct x86_row rows[MAX_ROWS];
static unsigned int nrows = 1;
static u16 nodes[MAX_NODES];
static unsigned int nnodes;
static u16 top[X86_NTOP][256];
static u8 has_modrm[X86_NTOP][32];
static u8 now_suffix[32];

static u16 flat[MAX_FLAT];
static unsigned int dims[X86_NDIM];

static void die(const char *msg)
{
	fprintf(stderr, "gen_tab: %s\n", msg);
	exit(1);
}

static unsigned int put_prefix(const struct probe *p, u8 *b)
{
	unsigned int n = 0, rxb = (!p->r) << 7 | (!p->x) << 6 | (!p->b) << 5;
	unsigned int rex = 0x40 | p->w << 3 | p->r << 2 | p->x << 1 | p->b;
	unsigned int vvvv = (~p->vvvv & 15) << 3;

	switch (p->enc) {
	case X86_LEGACY:
		if (p->p66)
			b[n++] = 0x66;
		if (p->pp)
			b[n++] = p->pp == 1 ? 0xf3 : 0xf2;
		if (rex != 0x40)
			b[n++] = rex;
		if (p->map)
			b[n++] = 0x0f;
		if (p->map > 1)
			b[n++] = p->map == 2 ? 0x38 : 0x3a;
		break;
	case X86_VEX:
	case X86_XOP:
		b[n++] = p->enc == X86_VEX ? 0xc4 : 0x8f;
		b[n++] = rxb | p->map;
		b[n++] = p->w << 7 | vvvv | p->l << 2 | p->pp;
		break;
	default:
		b[n++] = 0x62;
		b[n++] = rxb | (!p->r2) << 4 | p->map;
		b[n++] = p->w << 7 | vvvv | 4 | p->pp;
		b[n++] = p->z << 7 | p->l << 5 | p->bc << 4 | (!(p->vvvv & 16)) << 3 | p->aaa;
		break;
	}
	return n;
}

int gen_decode(const struct probe *p, struct insn *in)
{
	static const u8 encoding[] = {
		[X86_LEGACY] = ZYDIS_INSTRUCTION_ENCODING_LEGACY,
		[X86_VEX] = ZYDIS_INSTRUCTION_ENCODING_VEX,
		[X86_EVEX] = ZYDIS_INSTRUCTION_ENCODING_EVEX,
		[X86_XOP] = ZYDIS_INSTRUCTION_ENCODING_XOP,
	};
	u8 b[48];
	unsigned int n, now = p->enc == X86_LEGACY && p->map == 1 && p->opcode == 0x0f;

	memset(b, now ? 0x9e : 0, sizeof(b));	/* 0x9e: suffix of pfadd, a 3DNow! instruction */
	n = put_prefix(p, b);
	b[n++] = p->opcode;
	if (p->mod) {
		b[n++] = 0xc0 | p->reg << 3 | p->rm;
	} else if (p->norm) {
		b[n++] = p->reg << 3 | (p->norm == 1 ? 5 : 0);
	} else {
		b[n++] = 0x44 | p->reg << 3;
		b[n++] = p->index << 3;
		b[n++] = 1;
	}
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, b, sizeof(b), &in->i, in->op)))
		return 0;
	if (in->i.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		return now;
	/* instructions of Knights Corner, which has no EVEX */
	if (in->i.meta.isa_ext == ZYDIS_ISA_EXT_KNC || in->i.meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
	    in->i.meta.isa_ext == ZYDIS_ISA_EXT_KNCV)
		return 0;
	return in->i.encoding == encoding[p->enc] && in->i.opcode == p->opcode;
}

static unsigned int add_row(const struct x86_row *row)
{
	unsigned int i;

	for (i = 1; i < nrows; i++)
		if (!memcmp(&rows[i], row, sizeof(*row)))
			return i;
	if (nrows == MAX_ROWS)
		die("there are more different rows than MAX_ROWS");
	rows[nrows] = *row;
	return nrows++;
}

static unsigned int add_node(const u16 *node, unsigned int len)
{
	unsigned int i;

	for (i = 0; i + len <= nnodes; i++)
		if (!memcmp(&nodes[i], node, len * sizeof(*node)))
			return i | X86_T_NODE;
	if (nnodes + len > MAX_NODES)
		die("the decision trees need more words than MAX_NODES");
	memcpy(&nodes[nnodes], node, len * sizeof(*node));
	nnodes += len;
	return (nnodes - len) | X86_T_NODE;
}

/*
 * Build the decision tree over dimension @dim and the following ones from the rows at @v in flat[].
 */
static unsigned int build(const u16 *v, unsigned int dim)
{
	unsigned int i, n, stride = 1, same = 1;
	u16 node[1 + 8];

	if (dim == X86_NDIM)
		return *v;
	for (i = dim + 1; i < X86_NDIM; i++)
		stride *= dims[i];
	n = dims[dim];
	for (i = 1; i < n && same; i++)
		same = !memcmp(v, v + i * stride, stride * sizeof(*v));
	if (same)
		return build(v, dim + 1);
	node[0] = dim;
	for (i = 0; i < n; i++)
		node[1 + i] = build(v + i * stride, dim + 1);
	return add_node(node, 1 + n);
}

static void set_dims(unsigned int enc)
{
	unsigned int i;

	for (i = 0; i < X86_NDIM; i++)
		dims[i] = 1;
	dims[X86_DIM_PP] = enc == X86_LEGACY ? 3 : 4;
	dims[X86_DIM_MOD] = 2;
	dims[X86_DIM_OSZ] = enc == X86_LEGACY ? 4 : 2;
	dims[X86_DIM_REG] = 8;
	if (enc != X86_EVEX)
		dims[X86_DIM_RM] = 8;
	if (enc == X86_LEGACY) {
		dims[X86_DIM_R] = 2;
		dims[X86_DIM_B] = 2;
	} else {
		dims[X86_DIM_L] = enc == X86_EVEX ? 4 : 2;
		if (enc == X86_EVEX)
			dims[X86_DIM_BC] = 2;
	}
}

static void opcode(unsigned int t, unsigned int enc, unsigned int map, unsigned int op)
{
	unsigned int at[X86_NDIM] = { 0 };
	unsigned int i, k, total = 1, last = 0, with = 0, without = 0;
	struct x86_row row;
	struct probe p;

	for (i = 0; i < X86_NDIM; i++)
		total *= dims[i];
	for (i = 0; i < total; i++) {
		memset(&p, 0, sizeof(p));
		p.enc = enc;
		p.map = map;
		p.opcode = op;
		p.pp = at[X86_DIM_PP];
		p.mod = at[X86_DIM_MOD];
		p.w = enc == X86_LEGACY ? at[X86_DIM_OSZ] >> 1 : at[X86_DIM_OSZ];
		p.p66 = enc == X86_LEGACY ? at[X86_DIM_OSZ] & 1 : 0;
		p.l = at[X86_DIM_L];
		p.bc = at[X86_DIM_BC];
		p.reg = at[X86_DIM_REG];
		p.rm = at[X86_DIM_RM];
		p.r = at[X86_DIM_R];
		p.b = at[X86_DIM_B];
		/*
		 * F3 41 90 is xchg r8, rax on some processors, and pause for Zydis: assume xchg,
		 * which writes more
		 */
		if (enc == X86_LEGACY && !map && op == 0x90 && p.b)
			p.pp = 0;
		if (with && !p.mod && p.rm) {
			/*
			 * Of a memory operand, rm does not select the row: copy that of rm - 1.
			 */
			flat[i] = flat[i - dims[X86_DIM_R] * dims[X86_DIM_B]];
		} else if (gen_row(&p, &row)) {
			if (row.fields & X86_RF_MODRM)
				with = 1;
			else
				without = 1;
			flat[i] = last && !memcmp(&rows[last], &row, sizeof(row)) ? last :
										    add_row(&row);
			last = flat[i];
		} else {
			flat[i] = 0;
		}
		for (k = X86_NDIM; k-- > 0;) {
			if (++at[k] < dims[k])
				break;
			at[k] = 0;
		}
	}
	if (with && without)
		die("an opcode has a ModRM byte in some of its encodings only");
	if (with)
		has_modrm[t][op >> 3] |= 1 << (op & 7);
	top[t][op] = build(flat, 0);
}

static int is_opcode(unsigned int enc, unsigned int map, unsigned int op)
{
	static const u8 not_primary[] = { 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66,
					  0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3 };

	if (enc != X86_LEGACY)
		return 1;
	if (map == 0)
		return !memchr(not_primary, op, sizeof(not_primary)) && (op & 0xf0) != 0x40;
	return map != 1 || (op != 0x38 && op != 0x3a);
}

static void enumerate(void)
{
	static const struct {
		u8 enc, first, last, top;
	} spaces[] = {
		{ X86_LEGACY, 0, 3, X86_TOP_LEGACY },
		{ X86_VEX, 1, 3, X86_TOP_VEX },
		{ X86_EVEX, 1, 6, X86_TOP_EVEX },
		{ X86_XOP, 8, 10, X86_TOP_XOP },
	};
	unsigned int s, map, op;

	for (s = 0; s < 4; s++) {
		set_dims(spaces[s].enc);
		for (map = spaces[s].first; map <= spaces[s].last; map++)
			for (op = 0; op < 256; op++)
				if (is_opcode(spaces[s].enc, map, op))
					opcode(spaces[s].top + map - spaces[s].first, spaces[s].enc,
					       map, op);
	}
}

/* Find the valid last bytes of 3DNow! instructions (0F 0F). */
static void suffixes(void)
{
	struct insn in;
	unsigned int i;

	for (i = 0; i < 256; i++) {
		u8 b[16] = { 0x0f, 0x0f, 0xc0, i };

		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, b, sizeof(b), &in.i, in.op)))
			now_suffix[i >> 3] |= 1 << (i & 7);
	}
}

static void bytes(const char *name, const u8 *v, unsigned int n)
{
	unsigned int i;

	printf("static const u8 %s[%u] = {", name, n);
	for (i = 0; i < n; i++)
		printf("%s%u,", i % 16 ? " " : "\n\t", v[i]);
	printf("\n};\n\n");
}

static void words(const char *name, const u16 *v, unsigned int n)
{
	unsigned int i;

	printf("static const u16 %s[%u] = {", name, n);
	for (i = 0; i < n; i++)
		printf("%s%u,", i % 12 ? " " : "\n\t", v[i]);
	printf("\n};\n\n");
}

static void print(void)
{
	const struct gen_lists *g = &gen_lists;
	unsigned int i, k;

	printf("/* SPDX-License-Identifier: LGPL-2.1-or-later */\n");
	printf("/* Made by libdep/x86/gen/main.c. */\n\n");
	words("x86_top", top[0], X86_NTOP * 256);
	words("x86_nodes", nodes, nnodes);
	bytes("x86_has_modrm", has_modrm[0], X86_NTOP * 32);
	bytes("x86_now_suffix", now_suffix, 32);
	printf("static const struct x86_row x86_rows[%u] = {\n", nrows);
	for (i = 0; i < nrows; i++) {
		const struct x86_row *r = &rows[i];

		printf("\t{ 0x%x, 0x%x, 0x%x, %u, %u, %u, %u, %u, %u, %u, 0 },\n", r->fields,
		       r->cons, r->attr, r->kind, r->opsize, r->imm_len, r->cd8, r->mem,
		       r->implicit, r->flags);
	}
	printf("};\n\nstatic const struct x86_memlist x86_memlists[%u] = {\n", g->nmem);
	for (i = 0; i < g->nmem; i++) {
		printf("\t{ {");
		for (k = 0; k < 3; k++)
			printf(" { %u, %u, %u },", g->mem[i].t[k].what, g->mem[i].t[k].rw,
			       g->mem[i].t[k].size);
		printf(" } },\n");
	}
	printf("};\n\nstatic const struct x86_implicit x86_implicits[%u] = {\n", g->nimpl);
	for (i = 0; i < g->nimpl; i++)
		printf("\t{ 0x%x, 0x%x, 0x%x },\n", g->impl[i].read, g->impl[i].write,
		       g->impl[i].full);
	printf("};\n\nstatic const struct x86_flagset x86_flagsets[%u] = {\n", g->nflags);
	for (i = 0; i < g->nflags; i++)
		printf("\t{ 0x%x, 0x%x, 0x%x },\n", g->flags[i].read, g->flags[i].write,
		       g->flags[i].kill);
	printf("};\n");
}

int main(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	enumerate();
	suffixes();
	print();
	fprintf(stderr, "gen_tab: %u rows, %u node words, %u bytes in all\n", nrows, nnodes,
		(unsigned int)(nrows * sizeof(rows[0]) + nnodes * 2 + sizeof(top) +
			       sizeof(has_modrm) + gen_lists.nmem * sizeof(gen_lists.mem[0]) +
			       (gen_lists.nimpl + gen_lists.nflags) * 6 + 32));
	return fflush(stdout) || ferror(stdout);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DWARF that no compiler writes: entries that refer to themselves, siblings that lead
 * back, endless nesting, and names that are traps.  Never run; test_symbols knows that
 * .text is at 0x401000 and .data at 0x403000.
 */
	.text
	.globl _start
_start:
	.fill 16 * 8, 1, 0x90		/* 16 bytes for each function below */
end_of_text:

	.data
	.fill 64, 8, 1

	.section .debug_abbrev, "", @progbits
.macro abbrev code, tag, children
	.uleb128 \code, \tag
	.byte \children
.endm
.macro attr name, form
	.uleb128 \name, \form
.endm
.macro done
	.byte 0, 0
.endm
	abbrev 1, 0x11, 1		/* compile_unit: name, low_pc, high_pc */
	attr 0x03, 0x08
	attr 0x11, 0x01
	attr 0x12, 0x07
	done
	abbrev 2, 0x16, 0		/* typedef: name, type */
	attr 0x03, 0x08
	attr 0x49, 0x13
	done
	abbrev 3, 0x13, 1		/* structure_type: name, byte_size */
	attr 0x03, 0x08
	attr 0x0b, 0x0f
	done
	abbrev 4, 0x0d, 0		/* member: name, type, data_member_location */
	attr 0x03, 0x08
	attr 0x49, 0x13
	attr 0x38, 0x0f
	done
	abbrev 5, 0x34, 0		/* variable: name, type, location */
	attr 0x03, 0x08
	attr 0x49, 0x13
	attr 0x02, 0x18
	done
	abbrev 6, 0x01, 1		/* array_type: type */
	attr 0x49, 0x13
	done
	abbrev 7, 0x21, 0		/* subrange_type: count */
	attr 0x37, 0x07
	done
	abbrev 8, 0x2e, 0		/* subprogram: abstract_origin, low_pc, high_pc */
	attr 0x31, 0x13
	attr 0x11, 0x01
	attr 0x12, 0x07
	done
	abbrev 9, 0x2e, 1		/* subprogram: sibling, name, low_pc, high_pc */
	attr 0x01, 0x13
	attr 0x03, 0x08
	attr 0x11, 0x01
	attr 0x12, 0x07
	done
	abbrev 10, 0x0b, 1		/* lexical_block */
	done
	abbrev 11, 0x2e, 1		/* subprogram: linkage_name, low_pc, high_pc */
	attr 0x6e, 0x08
	attr 0x11, 0x01
	attr 0x12, 0x07
	done
	abbrev 12, 0x24, 0		/* base_type: name, byte_size */
	attr 0x03, 0x08
	attr 0x0b, 0x0f
	done
	abbrev 13, 0x0f, 0		/* pointer_type: type */
	attr 0x49, 0x13
	done
	abbrev 14, 0x1d, 1		/* inlined_subroutine: abstract_origin, low_pc, high_pc */
	attr 0x31, 0x13
	attr 0x11, 0x01
	attr 0x12, 0x07
	done
	.byte 0

	.section .debug_info, "", @progbits
unit:
	.long unit_end - 1f
1:	.short 4
	.long 0
	.byte 8
	.uleb128 1
	.asciz "odd.c"
	.quad _start, end_of_text - _start
.macro variable name, type, at
	.uleb128 5
	.asciz "\name"
	.long \type - unit
	.uleb128 9
	.byte 3				/* DW_OP_addr */
	.quad 0x403000 + \at
.endm
.macro function n
	.quad _start + 16 * \n, 16
.endm
base:
	.uleb128 12
	.asciz "int"
	.uleb128 4
turning:				/* typedef turning turning */
	.uleb128 2
	.asciz "turning"
	.long turning - unit
pointing:				/* a pointer to itself, whose name has no end */
	.uleb128 13
	.long pointing - unit
within:					/* a structure that is two of its members */
	.uleb128 3
	.asciz "within"
	.uleb128 64
	.uleb128 4
	.asciz "a"
	.long within - unit
	.uleb128 0
	.uleb128 4
	.asciz "b"
	.long within - unit
	.uleb128 0
	.byte 0
wide:					/* 2^63 elements of 2^62 */
	.uleb128 6
	.long base - unit
	.uleb128 7
	.quad 1 << 63
	.uleb128 7
	.quad 1 << 62
	.byte 0
	variable turning_var, turning, 0
	variable pointing_var, pointing, 8
	variable within_var, within, 64
	variable wide_var, wide, 128
	variable astray_var, 0x7fffffff + unit, 136
	variable "\033[31mred\n", base, 140
first:					/* an instance of itself */
	.uleb128 8
	.long first - unit
	function 0
	.uleb128 11			/* 2^40 times "int" */
	.ascii "_Z1fSt4pairIiiE"
	.ascii "S_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_E"
	.ascii "S_IS7_S7_ES_IS8_S8_ES_IS9_S9_ES_ISA_SA_ES_ISB_SB_ES_ISC_SC_ES_ISD_SD_E"
	.ascii "S_ISE_SE_ES_ISF_SF_ES_ISG_SG_ES_ISH_SH_ES_ISI_SI_ES_ISJ_SJ_ES_ISK_SK_E"
	.ascii "S_ISL_SL_ES_ISM_SM_ES_ISN_SN_ES_ISO_SO_ES_ISP_SP_ES_ISQ_SQ_ES_ISR_SR_E"
	.ascii "S_ISS_SS_ES_IST_ST_ES_ISU_SU_ES_ISV_SV_ES_ISW_SW_ES_ISX_SX_ES_ISY_SY_E"
	.ascii "S_ISZ_SZ_ES_IS10_S10_ES_IS11_S11_ES_IS12_S12_ES_IS13_S13_E"
	.byte 0
	function 3
	.byte 0
	.uleb128 11
	.asciz "\033]0;title\007"
	function 4
	.byte 0
	.uleb128 11			/* deep in blocks, then inlined into itself */
	.asciz "deep"
	function 5
	.rept 400
	.uleb128 10
	.endr
	.uleb128 14
	.long first - unit
	function 5
	.byte 0
	.fill 400, 1, 0
	.uleb128 14
	.long first - unit
	function 5
	.byte 0
	.byte 0
	.uleb128 9			/* its sibling is before it */
	.long base - unit
	.asciz "back"
	function 6
	.byte 0
	.uleb128 8			/* not reached */
	.long base - unit
	function 7
	.byte 0
unit_end:

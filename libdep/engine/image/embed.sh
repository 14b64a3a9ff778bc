#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The engine's image as data of libdep: embed.sh ENGINE.elf ENGINE.bin
set -eu
mem=$(nm "$1" | awk '$3 == "image_memsize" { print "0x" $1 }')
cat <<END
	.section .rodata
	.globl	adept_engine, adept_engine_end, adept_engine_memsize
	.balign	16
adept_engine:
	.incbin	"$2"
adept_engine_end:
	.balign	8
adept_engine_memsize:
	.quad	$mem
	.section .note.GNU-stack, "", @progbits
END

#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The engine's image as data of libdep: embed.sh ENGINE.elf ENGINE.bin
set -eu
mem=$(nm "$1" | awk '$3 == "blob_memsize" { print "0x" $1 }')
cat <<END
	.section .rodata
	.globl	adept_blob, adept_blob_end, adept_blob_memsize
	.balign	16
adept_blob:
	.incbin	"$2"
adept_blob_end:
	.balign	8
adept_blob_memsize:
	.quad	$mem
	.section .note.GNU-stack, "", @progbits
END

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Build step_oracle and refcmp: build.sh OUTPUT-DIR
set -eu
here=$(dirname "$0")
out=$1
flags="-O2 -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE"
mkdir -p "$out"
gcc $flags -o "$out/step_oracle" "$here"/main.c "$here"/step.c "$here"/decode.c \
	"$here"/refs.c "$here"/code.c "$here"/memory.c "$here"/print.c -lZydis
gcc $flags -o "$out/refcmp" "$here"/refcmp.c

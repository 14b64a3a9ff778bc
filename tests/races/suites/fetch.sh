#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetch the tests of other detectors from Debian's source packages: fetch.sh DIR
#
# DIR then has tsan, archer, helgrind and drd.  SOURCES and how: see source.sh.
set -eu
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
export SOURCES="${SOURCES:-$dir/packages}"
"$here/../source.sh" "${LLVM_SOURCE:-llvm-toolchain-19}" "$dir" \
	'*/compiler-rt/test/tsan/*' '*/openmp/tools/archer/tests/*'
"$here/../source.sh" valgrind "$dir" '*/helgrind/tests/*' '*/drd/tests/*'
cd "$dir"
ln -sfn compiler-rt/test/tsan tsan
ln -sfn openmp/tools/archer/tests archer
# what their own configuration would leave there
cp "$here/test.h" tsan/test.h
cp "$here/config.h" config.h

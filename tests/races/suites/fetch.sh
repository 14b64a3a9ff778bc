#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetch the tests of other detectors from Debian's source packages: fetch.sh DIR
#
# DIR then has tsan, archer, helgrind and drd.  The sources come from the mirror that apt uses,
# through lists of its own in DIR, so neither root nor a deb-src line is needed.  SOURCES names
# a folder that keeps the packages for the next time.
set -eu
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
llvm=${LLVM_SOURCE:-llvm-toolchain-19}
keep=${SOURCES:-$dir/packages}
mkdir -p "$dir/apt/lists/partial" "$dir/apt/parts" "$dir/apt/archives/partial" "$keep"
dir=$(cd "$dir" && pwd)
keep=$(cd "$keep" && pwd)

apt() {
	apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/apt/parts" \
		-o Dir::State::Lists="$dir/apt/lists" -o Dir::Cache="$dir/apt" \
		-o APT::Sandbox::User= "$@"
}

# where binary packages of Debian's main come from, sources do as well
apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' \
	'Created-By: Packages' | sort -u | while read -r site release component signer; do
	[ "$component" = main ] || continue
	case $site in
	*debian*) ;;
	*) continue ;;
	esac
	case $signer in
	/*) signer="[signed-by=$signer] " ;;
	*) signer= ;;
	esac
	echo "deb-src $signer$site $release main"
done >"$dir/apt/parts/sources.list"

cd "$keep"
if ! ls "$llvm"_*.orig.tar.* valgrind_*.orig.tar.* >/dev/null 2>&1; then
	apt update
	apt source --download-only valgrind "$llvm"
fi
cd "$dir"
tar -x --wildcards -f "$keep/$llvm"_*.orig.tar.* --strip-components=1 \
	'*/compiler-rt/test/tsan/*' '*/openmp/tools/archer/tests/*'
tar -x --wildcards -f "$(ls "$keep"/valgrind_*.orig.tar.*)" --strip-components=1 \
	'*/helgrind/tests/*' '*/drd/tests/*'
ln -sfn compiler-rt/test/tsan tsan
ln -sfn openmp/tools/archer/tests archer
# what their own configuration would leave there
cp "$here/test.h" tsan/test.h
cp "$here/config.h" config.h

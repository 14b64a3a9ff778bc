#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Install what Adept needs on Debian 12: install-deps.sh [--test]
#
# Without --test what it takes to build it; with it also the programs that the tests
# and benchmarks run.  To be run as root.
set -eu

packages="gcc make binutils libc6-dev libzydis-dev libzstd-dev libxxhash-dev libsqlite3-dev
	libcjson-dev libelf-dev libdw-dev"
tests="g++ libcmocka-dev clang libclang-rt-14-dev python3 strace pkg-config procps util-linux
	gawk mawk perl gzip bzip2 xz-utils zstd pigz sqlite3 luajit povray redis-server redis-tools
	libpython3.11-testsuite bc cppcheck"

case ${1:-} in
"") ;;
--test) packages="$packages $tests" ;;
*)
	echo "Usage: install-deps.sh [--test]" >&2
	exit 2
	;;
esac
if ! command -v apt-get >/dev/null; then
	echo "install-deps.sh: there is no apt-get; install these yourself:" $packages >&2
	exit 1
fi
missing=
for p in $packages; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "install-deps.sh: must be run as root, for instance by sudo" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# Not recommended ones: redis would not need them, povray would fetch a desktop.
apt-get install -q -y --no-install-recommends $missing

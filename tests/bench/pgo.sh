#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench-pgo': pgo.sh [SOURCES]; see pgo.py.  Without the folder of the sources, the package
# lua5.4 is fetched from Debian; the lists and sources of this machine's apt stay as they are.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-$here/../../build}" && pwd)
dir=$build/bench/pgo
mkdir -p "$dir/lists/partial"
sources=${1:-}
if [ -z "$sources" ]; then
	sources=$(echo "$dir"/lua5.4-*/)
	if [ ! -d "$sources" ]; then
		cat >"$dir/list.sources" <<-END
			Types: deb-src
			URIs: http://deb.debian.org/debian
			Suites: bookworm
			Components: main
			Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
		END
		apt="-o Dir::Etc::sourcelist=$dir/list.sources -o Dir::Etc::sourceparts=-"
		apt="$apt -o Dir::State::lists=$dir/lists -o APT::Sandbox::User=root"
		(cd "$dir" && apt-get -q $apt update && apt-get -q $apt source lua5.4) \
			>"$dir/log" 2>&1 || {
			echo "pgo.sh: cannot fetch the sources of lua5.4: see $dir/log" >&2
			exit 1
		}
		sources=$(echo "$dir"/lua5.4-*/)
	fi
fi
exec env PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/pgo.py" "$build" "$sources"

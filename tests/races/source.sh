#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetch and unpack Debian's source of PACKAGE: source.sh PACKAGE DIR [PATTERN...]
#
# DIR becomes the upstream source, without Debian's patches, or what of it fits a pattern.  It
# comes from the mirror that apt uses, through lists of its own, so neither root nor a deb-src
# line is needed.  SOURCES names a folder that keeps lists and packages for the next time.
set -eu
package=$1
out=$2
shift 2
keep=${SOURCES:-$out.packages}
mkdir -p "$out" "$keep/lists/partial" "$keep/parts" "$keep/archives/partial"
out=$(cd "$out" && pwd)
keep=$(cd "$keep" && pwd)

apt() {
	timeout 900 apt-get -q -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$keep/parts" -o Dir::State::Lists="$keep/lists" \
		-o Dir::Cache="$keep" -o APT::Sandbox::User= "$@"
}

# where binary packages of Debian's main come from, sources do as well
if [ ! -e "$keep/updated" ]; then
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
	done >"$keep/parts/sources.list"
	apt update
	: >"$keep/updated"
fi
cd "$keep"
# Debian's own part is not needed, and not every mirror has it of the newest version
ls "${package}"_*.orig.tar.* >/dev/null 2>&1 || apt source --download-only "$package" ||
	ls "${package}"_*.orig.tar.* >/dev/null
tar -x -C "$out" --strip-components=1 --wildcards \
	-f "$(ls "${package}"_*.orig.tar.*[!c] | tail -n 1)" "$@"

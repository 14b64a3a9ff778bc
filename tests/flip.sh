# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Damage files; lib.sh sources this.

# flip FILE OFFSET [MASK]: change a byte; a constant could be what the file has there already
flip() {
	byte=$(od -An -v -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	if [ -z "$byte" ] || [ $((${3:-255} & 255)) -eq 0 ]; then
		echo "FAIL no byte of $1 at $2 was changed"
		exit 1
	fi
	printf "\\$(printf '%03o' $((byte ^ (${3:-255} & 255))))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null || exit 1
}

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Run kbuild on a copy of the module's sources: kbuild.sh KDIR FOLDER [MAKE-ARGUMENT...]
#
# FOLDER has Kbuild and kmod/.  kbuild refuses a folder whose path contains white space, a colon or
# %, and fails with = and a comma, among others.  If the path has any unusual character, the sources
# are built in a temporary copy, and the module is copied back.
set -eu
kdir=$1
folder=$(cd "$2" && pwd)
shift 2
make=${MAKE:-make}
case $folder in
*[!A-Za-z0-9_./-]*) ;;
*) exec $make --no-print-directory -C "$kdir" M="$folder" "$@" ;;
esac
copy=$(mktemp -d "${KBUILD_TMPDIR:-/tmp}/adept-kbuild.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM
cp -RL "$folder/." "$copy"
# Object files contain the path of the temporary copy in which they were built: build them again.
case " $* " in
*" modules_install "*) set -- modules "$@" ;;
esac
$make --no-print-directory -C "$kdir" M="$copy" "$@"
cp "$copy/adept.ko" "$folder"

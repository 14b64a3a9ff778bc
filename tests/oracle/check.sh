#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Test the oracle itself: check.sh BUILD-DIR
set -eu
here=$(dirname "$0")
"$here/build.sh" "$1"
exec python3 "$here/check.py" "$1/step_oracle" "$1" "$here"/cases/*.S

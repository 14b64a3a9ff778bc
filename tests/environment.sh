# SPDX-License-Identifier: GPL-2.0-or-later
# The tests do not depend on the user's environment; source this file.
export LC_ALL=C
unset DEP_LOG DEP_CHAOS ADEPT_SOCKET XDG_RUNTIME_DIR NO_COLOR COLUMNS ARGP_HELP_FMT POSIXLY_CORRECT

# SPDX-License-Identifier: GPL-2.0-or-later
# What systemd_guest.sh asks of depd, done by keep_driver, which stands in for it.

driver() {
	/t/keep_driver ask "$@"
}

# alive SOCKET: it answers
alive() {
	driver "$1" status
}

# hold SOCKET NAME TEXT: keep a descriptor of something that has this text
hold() {
	driver "$1" put "$2" "$3"
}

# hold_and_die SOCKET NAME TEXT: be killed right after that
hold_and_die() {
	driver "$1" putdie "$2" "$3"
	true
}

# equal WANT COMMAND...: what it prints
equal() {
	want=$1
	shift
	got=$("$@" 2>&1)
	[ "$got" = "$want" ] && return
	echo "'$got', not '$want'"
	return 1
}

# has SOCKET NAME TEXT: it still is there
has() {
	equal "$3
ok" driver "$1" get "$2"
}

# release SOCKET NAME
release() {
	driver "$1" remove "$2"
}

# count SOCKET HELD RELOADS: so many are kept, and it was reloaded so often
count() {
	driver "$1" status | grep "held=$2 reloads=$3"
}

# note SOCKET SESSION WORD: log it
note() {
	driver "$1" say "$2" "$3"
}

# can SOCKET WHAT ARGUMENT: can it do this?
can() {
	driver "$1" can "$2" "$3"
}

# another_depd: start one by hand; print what it says
another_depd() {
	timeout 20 /t/keep_driver 2>&1
}

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of the suites that attach to the programs of programs/*_cases.c; source it after lib.sh.
# $cases is the program, $pid the process.

# attach PID [COMMAND...]: begin to record it, in the background: $recorder; COMMAND runs depctl;
# $attach_options are those of depctl attach.  A busy thread can have it refused for now, and
# the tracer may finish that thread's call first; the file refusals has the reasons.
attach() {
	local again
	for ((again = 0; again < 10; again++)); do
		rm -rf store
		: >err
		timeout -s KILL 120 "${@:2}" "$DEPCTL" attach $attach_options -o store "$1" 2>err &
		recorder=$!
		wait_for 20 eval 'grep -qs "recording process" err || ! kill -0 $recorder'
		! grep -qs "recording process" err || return 0
		grep -E "try again|is traced by process" err >>refusals || break
		sleep 0.2
	done
	fail "no attach to $1: $(cat err)"
	return 1
}

# detach: end the recording; fails if the process could not be detached from
detach() {
	pkill -INT -P $recorder -x depctl
	wait $recorder && grep -q "runs natively again" err
}

# state PID: what a detach must leave as it was before the attach
state() {
	cat "/proc/$1/maps" "/proc/$1/limits"
	grep -E "^(SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt|VmLck|NoNewPrivs)" "/proc/$1/status"
	ls "/proc/$1/fd"
}

# good STORE: it is complete
good() {
	"$DEPCTL" verify "$1" >verify.out 2>&1 && grep -q 'references: good$' verify.out &&
		! grep -q "still running" verify.out
}

# is_native PID: does it run, without the engine?
is_native() {
	grep -q "stack\]" "/proc/$1/maps" && ! grep -q adept-session "/proc/$1/maps"
}

# begin CASE [COMMAND...]: start it in the background, with its standard input at descriptor 6
begin() {
	coproc program { exec "${@:2}" "$cases" "$1"; }
	pid=$program_PID
	exec 5<&"${program[0]}" 6>&"${program[1]}"
	at=0
	: >out
	cat <&5 >out &
	reader=$!
}

# until it waits for the next byte
reached() {
	at=$((at + 1))
	wait_for 20 grep -q "^at $at$" out || fail "$1 does not reach $at: $(cat out)"
}

go_on() {
	echo >&6
}

# over NAME: it must have found nothing wrong
over() {
	wait_for 60 eval '! kill -0 $pid 2>/dev/null' || kill -KILL $pid
	wait $pid
	exec 5<&- 6>&-
	wait $reader
	is "$1" "$(tail -n 1 out)" right
}

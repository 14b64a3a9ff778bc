#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --children=no: children of a recorded process run natively, and are as if they had never been
# under the engine.  Each kind of child prints its state, which is compared with a native run.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
cd "$tmp" || exit 1
children=$build/programs/native_children
have setarch || skip "there is no setarch"
# fork: by the C library; clone: without it; stack: with a stack of its own
kinds="fork clone stack vfork spawn"

# The page that the engine leaves in a forked child, and counts of all of a user's signals
strip() {
	grep -v -e "^55[0-9a-f]*-55[0-9a-f]*000 r-xp 00000000 00:00 0 *$" -e "^SigQ:" "$1"
}

# same KIND WHAT: is the output in file out as in a native run?
same() {
	local extra=0

	strip native.$1 >expected
	strip out >got
	[ "$1" = vfork ] || [ "$1" = spawn ] || extra=1
	if ! cmp -s expected got; then
		fail "$2: $(diff expected got | head -n 5 | paste -s -d '|')"
	elif [ $(($(wc -l <out) - $(wc -l <got) - $(wc -l <native.$1) + $(wc -l <expected))) -ne \
	     $extra ]; then
		fail "$2: the engine has left more than a page"
	else
		pass "$2"
	fi
}

# numbers_of STORE: of processes, of children not wanted, of losses
numbers_of() {
	"$DEPCTL" info --json "$1" | python3 -c 'import json, sys
i = json.load(sys.stdin)
l = i["loss"]
print(sys.argv[1], l["unwanted_children"],
      l["lost_processes"] + l["lost_threads"] + l["native_images"], i["children"])' \
		"$("$DEPCTL" ls --json "$1" | grep -c .)"
}

# counted STORE N NAME: it is complete, has one process, and N children that were not wanted
counted() {
	if good "$1"; then
		is "$3" "$(numbers_of "$1")" "1 $2 0 False"
	else
		fail "$3: $(tail -n 1 verify.out)"
	fi
}

for kind in $kinds; do
	echo | timeout 60 setarch -R "$children" $kind >native.$kind || fail "natively: $kind"
	rm -rf store
	echo | timeout 60 setarch -R "$DEPCTL" record --alone -q --children=no -o store \
		"$children" $kind >out 2>err
	is "$kind, status" "$?: $(cat err)" "0: "
	same $kind "$kind is as natively"
	counted store 1 "$kind: the child is counted, not lost"
done

# begin_native KIND: in the background, until it waits
begin_native() {
	coproc program { exec setarch -R "$children" "$1"; }
	pid=$program_PID
	exec 5<&"${program[0]}" 6>&"${program[1]}"
	: >out
	cat <&5 >out &
	reader=$!
	wait_for 20 grep -q ready out || fail "$1 does not start"
}

end_native() {
	echo >&6
	wait $pid
	exec 5<&- 6>&-
	wait $reader
}

# Its other thread waits behind an int3 of the attach, which the child must not have.
for kind in $kinds; do
	begin_native $kind
	attach_options=--children=no
	attach $pid
	end_native
	wait $recorder
	same $kind "$kind after an attach is as natively"
	counted store 1 "$kind after an attach: the child is counted, not lost"
done

# ---- attached to while it creates children all the time ----
begin_native forks
for ((i = 0; i < 5; i++)); do
	attach $pid && sleep 0.2 && detach || fail "forks, cycle $i: $(cat err)"
done
end_native
is "no child has the session" "$(tail -n 1 out)" "children, 0 with the session or ended otherwise"

# ---- by a depd of its own ----
begin_native fork
rm -rf store
: >err
timeout 120 "${DEPD:-$build/depd}" --attach=$pid --children=no -o store 2>err &
recorder=$!
wait_for 20 grep -qs "recording process" err || fail "depd --attach: $(cat err)"
end_native
wait $recorder
same fork "fork after depd --attach is as natively"
counted store 1 "depd --attach: the child is counted, not lost"
finish

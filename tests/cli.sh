#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The command line of depctl: usage, messages, exit status, output formats.
#
#	tests/cli.sh DEPCTL MAKE_STORE
#
# Stores come from tests/programs/make_store.c; depctl record is called only where it
# must refuse, so no engine is needed.

depctl=$(realpath "${1:?path of depctl}")
make_store=$(realpath "${2:?path of make_store}")
completion=$(realpath "$(dirname "$0")/../tools/depctl/completion.bash")
fake_depd=$(dirname "$make_store")/fake_depd
. "$(dirname "$0")/environment.sh"
. "$(dirname "$0")/flip.sh"
passed=0 failed=0 skipped=0

dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# These tests must not find a depd of this machine.
export ADEPT_RUNDIR=$dir/no-depd

ok() { passed=$((passed + 1)); }
# check NAME COMMAND...: the command must succeed
check() {
	local name=$1
	shift
	if "$@"; then ok; else bad "$name"; fi
}

not_good() {
	! grep -qw good out
}

bad() {
	failed=$((failed + 1))
	printf 'FAILED: %s\n' "$1"
	sed 's/^/    /' out err
}

# expect STATUS STDOUT-PATTERN STDERR-PATTERN COMMAND...: patterns are extended regular expressions
# that match anywhere; "" means no output, "-" any output.
expect() {
	local want=$1 out=$2 err=$3 st
	shift 3
	timeout 20 "$@" >out 2>err </dev/null
	st=$?
	if [ $st != "$want" ]; then
		bad "status $st, not $want: $*"
	elif ! matches out "$out"; then
		bad "output of $* is not: $out"
	elif ! matches err "$err"; then
		bad "message of $* is not: $err"
	else
		ok
	fi
}

matches() {
	case $2 in
	-) true ;;
	"") [ ! -s "$1" ] ;;
	*) grep -Eq -- "$2" "$1" ;;
	esac
}

json() {
	if ! command -v python3 >/dev/null; then
		skipped=$((skipped + 1))
		return
	fi
	timeout 20 "$@" >out 2>err
	if python3 -c 'import json,sys
for line in sys.stdin: json.loads(line)' <out 2>>err; then
		ok
	else
		bad "no JSON: $*"
	fi
}

# ---- usage ----
expect 2 "" "Usage: depctl" "$depctl"
expect 0 "Usage: depctl" "" "$depctl" --help
expect 0 "^depctl .*store format" "" "$depctl" --version
expect 0 "^depctl .*store format" "" "$depctl" -V
expect 2 "" "has no command 'frobnicate'; .depctl --help. lists its commands$" "$depctl" frobnicate
expect 2 "" "has no command 'recrod'; did you mean 'record'.$" "$depctl" recrod
expect 2 "" "has no command 'lss'; did you mean 'ls'.$" "$depctl" lss
expect 2 "" "has no command 'xy'; .depctl --help" "$depctl" xy
expect 2 "" "has no command 'race'; did you mean 'races'" "$depctl" query race
expect 2 "" "has no option '--frobnicate'" "$depctl" --frobnicate
expect 0 "Usage: depctl .*COMMAND" "" "$depctl" -h
expect 0 "Usage: depctl .*COMMAND" "" "$depctl" help
expect 0 "Usage: depctl query races" "" "$depctl" help query races
expect 0 "Usage: depctl query races" "" "$depctl" query races -h
expect 0 "Usage: depctl query " "" "$depctl" query -h
expect 0 "^  races  +accesses" "" "$depctl" query --help
for c in methods calls pairs contexts edges blocks coverage paths streams; do
	expect 0 "Usage: depctl query $c" "" "$depctl" query $c --help
	expect 2 "" "which store" "$depctl" query $c
	expect 2 "" "only one of --json and --csv" "$depctl" query $c --json --csv s.dep
	expect 2 "" "unrecognized option" "$depctl" query $c --frobnicate
done
expect 2 "" "must be a time" "$depctl" report --from=soon s.dep
expect 2 "" "must be less than" "$depctl" report --from=2s --to=1s s.dep
expect 2 "" "must be a share" "$depctl" query contexts --min=much s.dep
expect 2 "" "must be a number" "$depctl" query methods --top=0 s.dep
for c in methods calls pairs contexts edges blocks coverage; do
	for time in 0 0ms -1ms 1ns soon 10 1e3ms 99999999999999999999s 9999999999999h ""; do
		expect 2 "" "--per must be a time" "$depctl" query $c --per="$time" s.dep
	done
done
expect 2 "" "unrecognized option" "$depctl" report --per=1ms s.dep
expect 2 "" "cannot be combined with --inclusive" "$depctl" query methods --per=1ms --inclusive \
	s.dep
expect 2 "" "cannot be combined with --annotate" "$depctl" query edges --per=1ms --annotate=f s.dep
expect 2 "" "cannot be combined with --all" "$depctl" query coverage --per=1ms --all s.dep
expect 2 "" "report needs records" "$depctl" record --report --null true
expect 2 "" "which query" "$depctl" query
expect 2 "" "^  races " "$depctl" query
expect 2 "" "has no option '--json'" "$depctl" query --json
[ ! -x "$(dirname "$depctl")/depd" ] ||
	expect 0 "^depd [0-9]+\.[0-9]+" "" "$(dirname "$depctl")/depd" --version
expect 2 "" "has no command 'frobnicate'" "$depctl" help frobnicate
for c in record attach detach ls info dump report export diff where verify module status sessions \
	stop metrics policy; do
	expect 0 "Usage: depctl $c" "" "$depctl" $c --help
	expect 0 "Usage: depctl $c" "" "$depctl" $c -h
	expect 0 "Usage: depctl $c" "" "$depctl" help $c
	expect 2 "" "unrecognized option" "$depctl" $c --frobnicate
done
expect 2 "" "no COMMAND to record was given" "$depctl" record
expect 2 "" "no COMMAND to record was given" "$depctl" record -q --
expect 2 "" "must be a size" "$depctl" record --ring-size=many true
expect 2 "" "must be from 64" "$depctl" record --ring-size=1 true
expect 2 "" "must be from" "$depctl" record --ring-size=100G true
expect 2 "" "must be a size" "$depctl" record --max-size=-1 true
expect 2 "" "wait or drop, not 'block'" "$depctl" record --on-full=block true
expect 2 "" "number from 1 to 19" "$depctl" record --level 20 true
expect 2 "" "auto, kmod or shm" "$depctl" record --transport=pigeon true
expect 2 "" "makes no store" "$depctl" record --no-record -o x true
expect 2 "" "makes no store" "$depctl" record --no-record --keep-translations true
expect 2 "" "makes no store" env DEP_LOG=signal "$depctl" record --no-record true
expect 2 "" "need -o if --races is given" env DEP_LOG=signal "$depctl" record --races true
expect 2 "" "no area 'sigs'; give a list of translate, signal, thread, exec, memory or all" \
	env DEP_LOG=translate,sigs "$depctl" record -o s1 true
expect 2 "" "no area ''" env DEP_LOG=,signal "$depctl" record -o s1 true
check "a store was left by DEP_LOG" test ! -e s1
expect 2 "" "share needs -o" "$depctl" record --races --share true
for c in info dump verify; do
	expect 2 "" "which store" "$depctl" $c
	expect 2 "" "one store at a time" "$depctl" $c a b
done
for c in module status sessions metrics; do
	expect 2 "" "Too many arguments" "$depctl" $c a
done
expect 2 "" "which session" "$depctl" stop
expect 2 "" "which process" "$depctl" attach --dry
expect 2 "" "json needs --dry" "$depctl" attach --json 1
expect 2 "" "excludes -o" "$depctl" attach --dry -o x 1
expect 2 "" "for must be a number" "$depctl" attach --for 0 1
expect 2 "" "PID must be a number" "$depctl" attach --dry x
expect 2 "" "auto, kmod or shm" "$depctl" attach --transport=pigeon 1
expect 2 "" "excludes .*--transport" "$depctl" attach --dry --transport=shm 1
expect 2 "" "last.*excludes --transport=kmod" "$depctl" attach --last=64M --transport=kmod 1
expect 2 "" "transport needs --attach" "${depctl%depctl}depd" --transport=shm
expect 2 "" "auto, kmod or shm" "${depctl%depctl}depd" --attach=1 --transport=pigeon
expect 2 "" "which process" "$depctl" detach
expect 2 "" "only one PID" "$depctl" detach 1 2
expect 1 "" "There is no process" "$depctl" detach 99999999
expect 2 "" "must be a number from 1" "$depctl" stop 0
expect 2 "" "must be a number" "$depctl" stop 1 all
expect 2 "" "cannot be combined" "$depctl" stop --all 1
if [ ! -e /dev/adept ]; then
	expect 1 "" "not loaded: .modprobe adept" "$depctl" module
	expect 1 "" "not loaded.*transport=shm" "$depctl" record -o x --transport=kmod true
	expect 1 "" "not loaded.*transport=shm" "$depctl" attach --alone -o x --transport=kmod $$
fi
expect 2 "" "choose what to print" "$depctl" dump a
expect 2 "" "only one of" "$depctl" dump a --refs --blocks
expect 2 "" "must be a number" "$depctl" dump a --refs --thread x
expect 2 "" "must be a number" "$depctl" dump a --refs --jobs 0
expect 2 "" "cannot be combined with --quick" "$depctl" info --quick --formats a
expect 2 "" "which store" "$depctl" where
expect 2 "" "which address" "$depctl" where a
expect 2 "" "must be hexadecimal, not 'x'" "$depctl" where a x
expect 2 "" "must be hexadecimal" "$depctl" where a 0x
expect 2 "" "must be hexadecimal" "$depctl" where a 11223344556677889
expect 2 "" "must be a number" "$depctl" where a 1 --process x
expect 2 "" "must be a number" "$depctl" where a 1 --time 0

# ---- refusals ----
mkdir there
expect 1 "" "there exists already" "$depctl" record -o there true
expect 127 "" "command not found" "$depctl" record -o s1 no-such-command
expect 127 "" "nowhere/x" "$depctl" record -o s1 nowhere/x
check "a store was left by a command that never ran" test ! -e s1
expect 126 "" "cannot be recorded: /dev/null" "$depctl" record -o s1 /dev/null
echo 'just text' >text
expect 126 "" "cannot be recorded: .*text" "$depctl" record -o s1 ./text
printf '\177ELF\001\001\001' >elf32
head -c 200 /dev/zero >>elf32
chmod +x elf32
expect 126 "" "cannot be recorded: .*elf32" "$depctl" record -o s1 ./elf32
expect 1 "" "cannot be made.*another place" "$depctl" record -o no/such/dir/x true
check "a store was left by a program that cannot be recorded" test ! -e s1
if [ "$(id -u)" = 0 ]; then
	expect 1 "" "cannot be made.*another place" "$depctl" record -o /proc/x true
else
	mkdir ro && chmod a-w ro
	expect 1 "" "cannot be made.*another place" "$depctl" record -o ro/x true
fi

# ---- no depd ----
for c in status sessions "stop 1" "stop --all" metrics; do
	# shellcheck disable=SC2086
	expect 1 "" "^depctl: no depd listens at /nowhere/x$" "$depctl" $c --socket=/nowhere/x
	# shellcheck disable=SC2086
	ADEPT_SOCKET=text expect 1 "" "no depd listens at|Connection refused" "$depctl" $c
	# shellcheck disable=SC2086
	expect 1 "" "^depctl: no depd listens at .*/no-depd/[a-z]*.sock$" \
		"$depctl" $c
	[ ! -e /run/adept ] || continue
	# shellcheck disable=SC2086
	ADEPT_RUNDIR= expect 1 "" \
		"no depd is running; start it with .systemctl start depd. or .depd." "$depctl" $c
done
expect 1 "" "File name too long" "$depctl" status --socket="$(printf '%0200d' 0)"

# ---- depd's responses, by a fake depd ----
if [ -x "$fake_depd" ]; then
	coproc FAKE { "$fake_depd" "$dir/depd.sock" "$dir/metrics.sock" 4; }
	read -r _ <&"${FAKE[0]}"
	export ADEPT_SOCKET=$dir/depd.sock
	expect 0 "^  sessions  4 open" "" "$depctl" status
	expect 0 "^  lag       4.00 MiB in 4 chunks" "" "$depctl" status
	expect 0 "^  lost      4.00 KiB dropped" "" "$depctl" status
	expect 0 "^ *2 +recording .* 3.00 MiB +293 KiB .* -> /tmp/fake.dep" "" "$depctl" sessions
	ADEPT_SOCKET= expect 0 "4 open" "" "$depctl" status --socket="$dir/depd.sock"
	ADEPT_SOCKET= ADEPT_RUNDIR=$dir expect 0 "4 open" "" "$depctl" status
	ADEPT_SOCKET= ADEPT_RUNDIR=$dir expect 0 "^# EOF" "" "$depctl" metrics
	expect 0 '^{"v":1,"ok":true,"depd":{' "" "$depctl" status --json
	json "$depctl" status --json
	json "$depctl" sessions --json
	expect 0 "" "" "$depctl" stop 1
	expect 1 "" "session 1: session 1 has ended already" "$depctl" stop 1
	expect 1 "" "session 99: there is no session 99" "$depctl" stop 99 2
	expect 0 "^ *2 +ended " "" "$depctl" sessions
	expect 0 "" "" "$depctl" stop --all
	expect 0 "0 open.*ended: 4 stopped" "" "$depctl" status
	expect 0 "^# EOF" "" "$depctl" metrics
	expect 1 "-" "is not depd|closed" "$depctl" status --socket="$dir/metrics.sock"
	expect 1 "-" "the metrics are incomplete" "$depctl" metrics --socket="$dir/depd.sock"
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		mkdir -p run/adept && chmod 755 . run run/adept && cp "$depctl" nobody-depctl
		as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		expect 0 "0 open.*ended: 4" "" "${as_nobody[@]}" ./nobody-depctl status
		expect 1 "" "no session 2 of yours" "${as_nobody[@]}" ./nobody-depctl stop 2
		chmod 700 depd.sock
		expect 1 "" "no permission to use this depd" "${as_nobody[@]}" ./nobody-depctl \
			status
		chmod 666 depd.sock
		ln -s ../../depd.sock run/adept/depd.sock
		unset ADEPT_SOCKET
		ADEPT_RUNDIR= XDG_RUNTIME_DIR=$dir/run expect 0 "run/adept/depd.sock" "" \
			"${as_nobody[@]}" ./nobody-depctl status
	fi
	unset ADEPT_SOCKET
	pid=$FAKE_PID
	eval "exec ${FAKE[1]}>&-"
	wait "$pid"
	check "fake_depd ends well" test $? = 0
else
	skipped=$((skipped + 1))
fi

# ---- something else at depd's socket ----
# answer TEXT: a server that sends TEXT once, to the first client that sends something
answer() {
	rm -f other.sock
	timeout 30 python3 - "$1" <<-'END' &
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.bind("other.sock")
	s.listen()
	c = s.accept()[0]
	c.recv(100)
	c.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin1"))
	c.settimeout(10)
	c.recv(1)
	END
	for _ in $(seq 100); do
		[ ! -S other.sock ] || break
		sleep 0.05
	done
	sleep 0.05
}

if command -v python3 >/dev/null; then
	answer 'HTTP/1.1 400 Bad Request\n'
	expect 1 "" "the process that answers is not depd" "$depctl" status --socket=other.sock
	answer '{"v":2,"ok":true}\n'
	expect 1 "" "speaks version 2 of the protocol.*one release" "$depctl" status \
		--socket=other.sock
	answer '{"v":1}\n'
	expect 1 "" "the process that answers is not depd" "$depctl" status --socket=other.sock
	answer '{"v":1,"ok":false,"error":"EUSERS","message":"too \x1b[1mmany"}\n'
	expect 1 "" "too .\[1mmany" "$depctl" status --socket=other.sock
	answer '{"v":1,"ok":false,"error":"EUSERS","message":"too \\u001b[1mmany"}\n'
	expect 1 "" "too \?\[1mmany" "$depctl" status --socket=other.sock
	answer '{"v":1,"event":"state"}\n{"v":1,"ok":true,"sessions":[]}\n'
	expect 0 "^id +state" "" "$depctl" sessions --socket=other.sock
	answer '{"v":1,"ok":true}\n'
	expect 0 "^id +state" "" "$depctl" sessions --socket=other.sock
	answer ''
	expect 1 "" "depd does not answer" "$depctl" status --socket=other.sock
	wait
else
	skipped=$((skipped + 1))
fi

# ---- directories that are not stores ----
for c in info verify "dump --refs"; do
	# shellcheck disable=SC2086
	expect 1 "" "there is no store" "$depctl" $c nowhere
	# shellcheck disable=SC2086
	expect 1 "" "is no DEP store" "$depctl" $c there
	# shellcheck disable=SC2086
	expect 1 "" "is no DEP store" "$depctl" $c text
done
mkdir bad.dep && echo '{' >bad.dep/manifest.json
expect 1 "" "bad.dep cannot be read: ." "$depctl" info bad.dep
expect 1 "-" "cannot read the store ./bad.dep" "$depctl" ls
rm -r bad.dep

# ---- a good store ----
"$make_store" s.dep || exit 1
expect 0 "^s.dep .*exit 3 .*prog 'a \"b\"'$" "" "$depctl" ls
expect 0 "^command: +prog 'a \"b\"'$" "" "$depctl" info s.dep
expect 0 "^process 100 +launch +1.500 s +/bin/prog" "" "$depctl" ls s.dep
expect 0 "thread 100 +2 segments" "" "$depctl" ls s.dep
expect 0 "exit status 3" "" "$depctl" info s.dep
expect 0 "loss: +none" "" "$depctl" info s.dep
expect 0 "note: +a note" "" "$depctl" info s.dep
expect 0 "BB_pc \+ Mem_addr" "" "$depctl" info --formats s.dep
expect 0 "" "" "$depctl" dump --refs s.dep
expect 0 "" "" "$depctl" dump --blocks s.dep
expect 0 "^100 401000 context fs_base=7000 rax=0 " "" "$depctl" dump --events s.dep
call="syscall name=getpid nr=39 result=1234 before=0 after=0( arg[0-5]=0){6} out=0"
expect 0 "^100 [0-9a-f]+ $call$" "" "$depctl" dump --events s.dep
call="fork child_pid=101 flags=11 before=0 child_tid=0"
expect 0 "^100 [0-9a-f]+ $call$" "" "$depctl" dump --events s.dep
expect 0 "^100 1 0 [0-9]+ [0-9]+ " "" "$depctl" dump --segments s.dep
expect 0 "^100 401001 context" "" "$depctl" dump --events --thread 100 --segment 1 s.dep
expect 0 "^1 2 100 prog 1 401001 context" "" "$depctl" dump --events \
	--fields=process,thread,tid,program,segment,pc,event --segment 1 s.dep
expect 0 '^\{"tsc":"0","pid":100,"event":"context",' "" "$depctl" dump --events \
	--fields=tsc,pid,event --json s.dep
expect 2 "" "no field 'address' in these lines; their fields are process,.*,event$" \
	"$depctl" dump --events --fields=pc,address s.dep
expect 2 "" "no field '' in these lines; their fields are process" \
	"$depctl" dump --refs --fields= s.dep
expect 2 "" "cannot be combined with --segments" "$depctl" dump --segments --fields=tid s.dep
expect 2 "" "cannot be combined with --segments, --fragments" \
	"$depctl" dump --log --fields=tid s.dep
expect 2 "" "cannot be combined with --fragments" "$depctl" dump --fragments --thread=100 s.dep
expect 0 "" "" "$depctl" dump --fragments s.dep
expect 0 "" "" "$depctl" dump --log s.dep
expect 1 "" "has no thread 7" "$depctl" dump --events --thread 7 s.dep
expect 1 "" "has no segment 9" "$depctl" dump --events --segment 9 s.dep
expect 0 "2 segments, .*: good" "" "$depctl" verify s.dep
expect 0 "" "" "$depctl" verify -q s.dep
expect 1 "^401000: no code or variable is known at this address$" "" "$depctl" where s.dep 401000
expect 1 '"address":"0x402000","known":false' "" "$depctl" where --json s.dep 0x401000 402000
expect 1 "" "has no process 9" "$depctl" where --process=9 s.dep 1
for j in 1 2 7; do
	"$depctl" dump --events -j $j s.dep >events.$j
done
check "dump depends on --jobs" cmp -s events.1 events.2
check "dump depends on --jobs" cmp -s events.1 events.7
if [ -w /dev/full ]; then
	timeout 20 "$depctl" dump --events s.dep >/dev/full 2>err
	check "status with a full disk" test $? = 1
	check "message with a full disk" grep -q "cannot write the output: No space" err
else
	skipped=$((skipped + 1))
fi

# ---- rules of depd ----
cat >depd.conf <<'END'
[depd]
store = /var/lib/x
[rule gz]
comm = gzip
path = /usr/bin/*
uid = root
every = 10
at-once = 2
share = root
ring-size = 16M
on-full = drop
[rule all]
path = *
END
expect 0 \
	"gz: one of every 10 processes of root whose name matches gzip and file matches /usr/bin/" \
	"" "$depctl" policy check depd.conf
expect 0 "at most 2 at a time" "" "$depctl" policy check depd.conf
expect 0 "rings of 16.0 MiB, dropping" "" "$depctl" policy check depd.conf
expect 0 "readable by the group root, with rings" "" "$depctl" policy check depd.conf
expect 0 '"share":0}' "" "$depctl" policy check --json depd.conf
expect 0 '"name":"all","path":"\*"' "" "$depctl" policy check --json depd.conf
printf '[rule a]\n  com = x\n' >bad.conf
expect 1 "" "^bad.conf:2:3: .*did you mean .comm" "$depctl" policy check bad.conf
head -c 2000000 /dev/zero >bad.conf
expect 1 "" "^bad.conf: the file is larger" "$depctl" policy check bad.conf
expect 1 "" "cannot be opened" "$depctl" policy check none.conf
expect 2 "" "only command is: check" "$depctl" policy
expect 2 "" "only command is: check" "$depctl" policy chock bad.conf
expect 2 "" "one file" "$depctl" policy check a b
# ---- stores with losses ----
"$make_store" gap.dep gap
expect 1 "^segments: thread 100: 3 chunks are missing before number 4" "" "$depctl" verify gap.dep
json "$depctl" verify --json gap.dep
"$make_store" drop.dep drop
expect 0 "dropped on request.*3.00 MiB in 3 pieces" "" "$depctl" verify drop.dep
expect 0 "3145728 bytes dropped" "" "$depctl" info drop.dep
"$make_store" unclean.dep unclean
expect 1 "^unclosed: the recorder was killed" "" "$depctl" verify unclean.dep
expect 0 "exit status not known" "" "$depctl" info unclean.dep
"$make_store" signal.dep signal
expect 0 "killed by signal 11" "" "$depctl" info signal.dep
"$make_store" unseen.dep unseen
expect 1 "its last part ran unrecorded" "" "$depctl" verify unseen.dep
expect 0 "drop.dep .* lossy " "" "$depctl" ls
expect 0 "gap.dep .* incomplete " "" "$depctl" ls

# ---- stores of format 3 ----
"$make_store" old.dep old
expect 0 ": nothing is known to be missing .format 3 cannot prove it.$" "" "$depctl" verify old.dep
check "a store without proof is called good" not_good
"$make_store" old-gap.dep old-gap
expect 1 "^segments: thread 100: 3 chunks are missing before number 4" "" "$depctl" verify \
	old-gap.dep
"$make_store" old-unclean.dep old-unclean
expect 1 "^unclosed: the recorder was killed" "" "$depctl" verify old-unclean.dep

# ---- catalogs ----
check "a killed writer left a catalog" test ! -e unclean.dep/catalog.db
expect 1 "^unclosed: the recorder was killed" "" "$depctl" verify --rebuild unclean.dep
check "no catalog was made" test -s unclean.dep/catalog.db
echo 'no database' >s.dep/catalog.db
expect 0 ": good" "" "$depctl" verify --rebuild s.dep
check "no catalog in the place of a broken one" grep -q "SQLite format 3" s.dep/catalog.db
rm s.dep/catalog.db
mkdir s.dep/catalog.db
expect 1 ": good" "catalog of s.dep could not be made" "$depctl" verify --rebuild s.dep
rmdir s.dep/catalog.db
json "$depctl" verify --rebuild --json s.dep
"$(dirname "$make_store")/store_lock" s.dep/fragments 60 &
writer=$!
sleep .5
expect 1 ": good" "of s.dep: the store is being recorded" "$depctl" verify --rebuild s.dep
kill $writer
wait $writer 2>/dev/null

# ---- completion ----
# completed WORD...: completions of the last word, one per line
completed() (
	compopt() { :; }
	complete() { :; }
	depctl() { "$depctl" "$@"; }
	_command_offset() { echo "the command at $1"; }
	. "$completion"
	COMP_WORDS=(depctl "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_depctl
	printf '%s\n' "${COMPREPLY[@]}"
)

# options COMMAND...: the options in --help
options() {
	"$depctl" "$@" --help | grep -oE '^ *(-., )?--[a-z-]+' | grep -o -- '--.*' |
		grep -vx -e --usage | sort -u
}

for command in attach detach ls info dump report "query races" "query methods" "query calls" \
	"query pairs" "query contexts" "query edges" "query blocks" "query coverage" \
	"query paths" "query streams" \
	export diff where verify module status sessions top stop metrics \
	"policy check" "record --races"; do
	# shellcheck disable=SC2086
	completed $command -- | tr -d = | sort >out
	# shellcheck disable=SC2086
	diff <(options $command) out >err && ok || bad "completion of depctl $command"
done
completed record --rep >out
check "completion of record --report" grep -qx -e --report out
completed help rec >out
check "completion of a command to explain" grep -qx record out
completed --color = al >out
check "completion of --color" grep -qx always out
completed --color = always rec >out
check "completion of a command after --color" grep -qx record out
completed --color always ls --mo >out
check "completion of an option after --color" grep -qx -- --modules out
completed record --on-full = w >out
check "completion of --on-full" grep -qx wait out
completed query r >out
check "completion of a query" grep -qx races out
completed export call >out
check "completion of a format" grep -qx callgrind out
completed export --weight = c >out
check "completion of --weight" grep -qx calls out
completed query races --print-suppressions = t >out
check "completion of an argument" grep -qx tsan out
completed record --share = roo >out
check "completion of a group" grep -qx root out
completed record --share -- prog x >out
check "completion after --share" grep -qx "the command at 4" out
completed query races "$dir/s.d" >out
check "completion of a store" grep -qx "$dir/s.dep" out
completed record --level 3 -- prog x >out
check "completion after the command" grep -qx "the command at 5" out

# ---- a byte wrong in the second segment ----
cp -r s.dep broken.dep
size=$(stat -c %s broken.dep/segments.000)
flip broken.dep/segments.000 $((size - 20))
expect 1 "-" "-" "$depctl" verify broken.dep
expect 1 "^100 401000 context" "-" "$depctl" dump --events broken.dep
json "$depctl" verify --json broken.dep

# ---- a byte wrong in its header: the segment is not found ----
rm -r broken.dep
cp -r s.dep broken.dep
at=$("$depctl" dump --segments s.dep | awk '$2 == 1 { print $4 }')
flip broken.dep/segments.000 $((at + 4))
for what in refs blocks events segments; do
	expect 1 "-" "1 place is damaged in segment files" "$depctl" dump --$what broken.dep
done
expect 0 "-" "-" "$depctl" dump --fragments broken.dep

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

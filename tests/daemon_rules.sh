#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules at work: each compiler of a parallel build is a recording of its own, complete, and the
# build's results are what they are without; so is each of a storm of short programs, and all
# children of a storm of forks.
#
# FILES: so many and a main file are compiled at once, 11, with LONG=1 50.  Where BPF cannot be
# used this is left out; MUST=1 makes that a failure.
. "$(dirname "$0")/lib.sh"
need_depctl
have gcc && have make && have perl || finish
. "$tests/depd.sh"
trap 'touch "$tmp/over"; kill -9 $depd_pid 2>/dev/null; sleep 0.3; drop_tmp' EXIT
files=${FILES:-$([ "$LONG" = 1 ] && echo 50 || echo 11)}
short=50
# Root's depd creates a directory for each user.
stores=stores
[ "$(id -u)" != 0 ] || stores=stores/0
forks=200
slow=${SLOW:-1}

# field NAME: a number of depctl status --json
field() {
	"$DEPCTL" status --json 2>/dev/null | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# rule NAME CONDITION: add a rule
rules=0
rule() {
	printf '[rule %s]\n%s\nring-size = 1M\n' "$1" "$2" >>"$tmp/conf"
	rules=$((rules + 1))
	kill -HUP "$depd_pid"
	for _ in $(seq 100); do
		"$DEPCTL" status --json >status 2>&1
		grep -q "\"rule_count\":$rules[,}]" status && grep -q '"active":true' status &&
			return
		sleep 0.1
	done
	why=$(sed 's/.*"policy_error":\("[^"]*"\).*/\1/' status)
	[ "${MUST:-}" = 1 ] && fail "rules do not work: $why" ||
		skip "rules do not work here: $why"
	finish
}

# project: create a C project of $files and a main file in the directory `plain', and build it; and
# a copy
project() {
	mkdir plain
	echo 'int use(int x); int table(int i);' >plain/common.h
	for i in $(seq "$files"); do
		awk -v n="$i" 'BEGIN {
			print "#include \"common.h\"\nstatic int t" n "[64];"
			for (k = 0; k < 6; k++)
				printf "static int g%d(int x)\n{\n\tint s = %d, i;\n\n\t" \
					"for (i = 0; i < x; i++)\n\t\ts += t%d[i & 63] ^ " \
					"(s << %d);\n\treturn s;\n}\n\n", k, n * k, n, k + 1
			printf "int f%d(int x)\n{\n\tswitch (x %% 5) {\n", n
			for (k = 0; k < 5; k++)
				printf "\tcase %d: return g%d(x) + use(x);\n", k, k
			print "\t}\n\treturn g5(x);\n}"
		}' >"plain/f$i.c"
	done
	awk -v n="$files" 'BEGIN {
		print "#include <stdio.h>\n#include \"common.h\""
		for (i = 1; i <= n; i++)
			print "int f" i "(int x);"
		print "int use(int x)\n{\n\treturn x / 3;\n}\n\nint main(void)\n{\n\tint s = 0;\n"
		for (i = 1; i <= n; i++)
			print "\ts += f" i "(" i " + s % 7);"
		print "\tprintf(\"%d\\n\", s);\n\treturn 0;\n}"
	}' >plain/main.c
	cat >plain/Makefile <<-'END'
		OBJ := $(patsubst %.c,%.o,$(wildcard *.c))
		prog: $(OBJ); gcc -o $@ $^
		%.o: %.c common.h; gcc -B$(BIN) -O1 -c -o $@ $<
	END
	cp -r plain recorded
	make -s -C plain -j2 BIN="$tmp/bin/" >plain.out 2>&1 || {
		fail "the project cannot be built: $(tail -n 1 plain.out)"
		finish
	}
}

# most_open: write the maximum number of open sessions to the file `open'
most_open() {
	most=0
	while [ ! -e over ]; do
		n=$(field open)
		[ "${n:-0}" -le $most ] || most=$n
		echo $most >open
		sleep 0.1
	done
}

all_ended() {
	for _ in $(seq $((600 * slow))); do
		[ "$(field open)" = 0 ] && return
		sleep 0.5
	done
	fail "$1: $(field open) sessions do not end"
}

# check_stores NAME COUNT PROCESSES: expect COUNT complete stores with PROCESSES processes each
check_stores() {
	bad=0 first=
	for s in $stores/*.dep; do
		if ! timeout $((300 * slow)) "$DEPCTL" verify -q "$s" >verify 2>&1; then
			why="verify: $(head -n 1 verify)"
		elif ! no_loss "$s"; then
			why="loss: $loss"
		elif [ "$("$DEPCTL" ls "$s" | grep -c ^process)" != "$3" ]; then
			why="$("$DEPCTL" ls "$s" | grep -c ^process) processes"
		else
			continue
		fi
		bad=$((bad + 1))
		first=${first:-$s: $why}
	done
	n=$(ls -d $stores/*.dep 2>/dev/null | wc -l)
	missed=$(($(field unrecorded) - before))
	if [ "$n" != "$2" ] || [ $missed != 0 ]; then
		fail "$1: $n stores for $2 programs, $missed missed: $(grep -m 1 unrecorded log)"
	elif [ $bad != 0 ]; then
		fail "$1: $bad of $n stores are not whole; $first"
	else
		pass "$1: $n stores, each whole"
	fi
	rm -rf $stores/*.dep
}

cd "$tmp" || exit 1
start || finish

# ---- a parallel build ----

# Use an unusual name, since others may compile on this machine.
mkdir bin
ln -s "$(gcc -print-prog-name=cc1)" bin/cc1
project
rule compilers "comm = cc1
path = $tmp/bin/*"
before=$(field unrecorded)
rm -f over
most_open &
sampler=$!
began=$SECONDS
make -s -C recorded -j"$((files + 1))" BIN="$tmp/bin/" >recorded.out 2>&1
status=$?
touch over
wait $sampler
all_ended build
if [ $status != 0 ]; then
	fail "the recorded build: status $status: $(tail -n 1 recorded.out)"
else
	pass "the recorded build: $((SECONDS - began)) s, $(cat open) sessions at once at most"
fi
differ=0
for f in plain/*.o plain/prog; do
	cmp -s "$f" "recorded/${f#plain/}" || differ=$((differ + 1))
done
if [ $differ != 0 ] || [ "$(./plain/prog)" != "$(./recorded/prog)" ]; then
	fail "$differ files differ from those of an unrecorded build"
else
	pass "the results are those of an unrecorded build, $(ls plain/*.o | wc -l) objects"
fi
check_stores "build" $((files + 1)) 1

# ---- many short programs ----

cp /bin/true short$$
rule short "comm = short$$"
before=$(field unrecorded)
bad=0 jobs=
for i in $(seq "$short"); do
	./short$$ &
	jobs="$jobs $!"
done
for j in $jobs; do
	wait "$j" || bad=$((bad + 1))
done
[ $bad = 0 ] && pass "short: all end as ever" || fail "short: $bad of $short end otherwise"
all_ended short
check_stores "short" "$short" 1

# ---- many forks ----

cp "$(readlink -f "$(command -v perl)")" forks$$
rule forks "comm = forks$$"
before=$(field unrecorded)
./forks$$ -e '
	for (1 .. $ARGV[0]) {
		$pid = fork();
		die unless defined $pid;
		exit($_ % 3) unless $pid;
	}
	while (wait() > 0) {
		$sum += $? >> 8;
	}
	print "$sum\n"' $forks >forks.out 2>&1
status=$?
sum=$(for i in $(seq $forks); do echo $((i % 3)); done | awk '{ s += $1 } END { print s }')
if [ $status = 0 ] && [ "$(cat forks.out)" = "$sum" ]; then
	pass "forks: all children end as ever"
else
	fail "forks: status $status, $(head -n 1 forks.out), not $sum"
fi
all_ended forks
check_stores "forks" 1 $((forks + 1))

# ---- a group with read access ----

cp /bin/true shared$$
rule shared "comm = shared$$
share = 64400"
if [ "$stores" = stores ]; then
	grep -q "rule shared shares its stores with group 64400, but .* cannot enter it" log &&
		pass "a folder that the group cannot enter is reported" ||
		fail "a folder that the group cannot enter is not reported: $(tail -n 1 log)"
fi
before=$(field unrecorded)
./shared$$
all_ended shared
[ "$stores" = stores ] || [ "$(stat -c %a stores $stores | tr '\n' ' ')" = "711 711 " ] &&
	pass "the group can enter the folders" ||
	fail "the group cannot enter: $(stat -c "%n %a %U" stores $stores | tr '\n' ' ')"
modes=$(stat -c "%a %g" $stores/*.dep $stores/*.dep/* | sort | uniq -c | tr -s ' \n' ' ')
[ "$modes" = " 4 640 64400 1 750 64400 " ] && pass "stores of a rule that shares them" ||
	fail "stores of a rule that shares them: modes and groups$modes"
check_stores "shared" 1 1

# ---- programs of another user ----

# theirs: run the program as that user; prints milliseconds
theirs() {
	since=${EPOCHREALTIME/./}
	setpriv --reuid=64341 --regid=64341 --clear-groups ./theirs$$ ||
		echo "status $?" >>theirs.bad
	echo $(((${EPOCHREALTIME/./} - since) / 1000))
}

if [ "$(id -u)" = 0 ] && have setpriv && [ "$(cat /proc/sys/kernel/yama/ptrace_scope \
	2>/dev/null || echo 0)" = 0 ]; then
	chmod 755 "$tmp" "$run"
	cp /bin/true theirs$$
	rule theirs "comm = theirs$$"
	stores=stores/64341
	before=$(field unrecorded)
	theirs >/dev/null
	all_ended theirs
	[ "$(stat -c '%a %u' $stores $stores/*.dep | sort -u)" = "700 64341" ] &&
		pass "the store is the user's whom the program belongs to" ||
		fail "whose the store is: $(stat -c '%n %a %u' $stores $stores/* | tr '\n' ' ')"
	check_stores "theirs" 1 1
	# An instance that does not respond delays only its own user's program, for two seconds.
	pid=$(instance 64341)
	kill -STOP "$pid"
	took=$(theirs)
	kill -CONT "$pid"
	sleep 1
	[ $took -lt $((4000 * slow)) ] && [ ! -e theirs.bad ] &&
		[ $(($(field unrecorded) - before)) = 1 ] &&
		pass "a stopped instance: the program goes on after $took ms, which is counted" ||
		fail "a stopped instance: $took ms, $(field unrecorded) missed, $(cat theirs.bad)"
	theirs >/dev/null
	all_ended theirs
	[ $(($(field unrecorded) - before)) = 1 ] && pass "then it takes programs again" ||
		fail "then it takes none: $(tail -n 1 log)"
	# A directory that others can write to is not used for stores.
	chmod 777 stores
	theirs >/dev/null
	[ $(($(field unrecorded) - before)) = 2 ] && pass "no stores where everybody may write" ||
		fail "a store is made where everybody may write"
	chmod 711 stores
fi

term_depd && pass "depd ends" || fail "depd ends with $?: $(tail -n 1 "$tmp/log")"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What depctl prints for people fits a terminal, and has color where and only where it should.
. "$(dirname "$0")/lib.sh"
need_depctl
python=/usr/bin/python3
export TERM=xterm
long=a-directory-whose-name-is-longer-than-what-a-column-for-names-has-room-for/and-one-in-it
mkdir -p "$tmp/$long"
cd "$tmp/$long" || exit 1

# on COLUMNS COMMAND...: run depctl on a terminal as wide as that; output to $tmp/out
on() {
	$python "$tests/pty_run.py" "$1" timeout 60 "$DEPCTL" "${@:2}" >"$tmp/out" </dev/null
}

# fits COMMAND...: does it succeed with output, and is no line wider than the terminal, whatever
# its width?
fits() {
	local columns wide
	for columns in ${widths:-80 40 132}; do
		on $columns "$@" || {
			fail "$*: status $?"
			return
		}
		wide=$(sed 's/\x1b\[[0-9;]*m//g' "$tmp/out" |
			$python -c 'import sys
for line in sys.stdin.buffer.read().decode(errors="replace").splitlines():
    if len(line) > int(sys.argv[1]):
        print(len(line), line)' $columns)
		if [ ! -s "$tmp/out" ]; then
			fail "$*: no output"
			return
		elif [ -n "$wide" ]; then
			wide=$(echo "$wide" | head -n 1)
			fail "$*: a terminal of $columns columns has a line of $wide"
			return
		fi
	done
	pass "depctl $* fits the terminal"
}

# same_text COMMAND...: does no word of what is piped get lost on a wide terminal?
same_text() {
	if on 1000 --color=never "$@" && "$DEPCTL" "$@" >"$tmp/piped" 2>&1 </dev/null &&
		cmp -s <(tr -s ' \n' '\n\n' <"$tmp/piped") <(tr -s ' \n' '\n\n' <"$tmp/out"); then
		pass "depctl $*: a wide terminal shows what a pipe gets"
	else
		fail "depctl $*: a wide terminal shows something else than a pipe gets"
	fi
}

# harmless COMMAND...: does it print $hostile without any control character, on a terminal and not?
harmless() {
	if on 80 --color=never "$@" && "$DEPCTL" "$@" >>"$tmp/out" 2>&1 </dev/null &&
		grep -q '\[31mT' "$tmp/out" && $python -c 'import sys
text = sys.stdin.buffer.read().decode("utf-8")
sys.exit(0 if text.replace("\n", "").isprintable() else "a control character")' \
			<"$tmp/out" 2>>"$tmp/out"; then
		pass "depctl $*: control characters of programs are not printed"
	else
		fail "depctl $*: control characters of programs: $(cat -v "$tmp/out" | tail -n 3)"
	fi
}

# ---- recordings with long commands, names and paths ----
cat >a-program-with-a-rather-long-name.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>

static struct { int first, second; } a_variable_whose_name_takes_nearly_half_a_line_of_a_terminal;

static void *a_function_whose_name_takes_nearly_half_a_line_of_a_terminal(void *arg)
{
	pthread_setname_np(pthread_self(), "named by itself");
	a_variable_whose_name_takes_nearly_half_a_line_of_a_terminal.second++;
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, a_function_whose_name_takes_nearly_half_a_line_of_a_terminal, 0);
	a_variable_whose_name_takes_nearly_half_a_line_of_a_terminal.second++;
	pthread_join(t, NULL);
	return 0;
}
END
program=$PWD/a-program-with-a-rather-long-name
gcc -O1 -g -pthread -o "$program" "$program.c" || exit 1
argument=$(printf 'argument-%.0s' $(seq 30))
store=a-store-with-a-name-that-is-longer-than-a-line-of-a-terminal-is-wide-for-names.dep
"$DEPCTL" record -q --alone -o "$store" "$program" "$argument" "two words" $'new\nline' || exit 1
"$DEPCTL" record -q --alone -o s.dep sh -c 'exit 3' "$argument"
pc=$("$DEPCTL" dump --blocks s.dep | awk '{ print $2; exit }')

for command in "ls" "ls $store" "ls --modules $store" "info $store" "info --quick $store" \
	"info --formats $store" "verify $store" "query races $store" "query races --all $store" \
	"where s.dep $pc" "dump --refs s.dep" "dump --blocks s.dep" "dump --events s.dep" \
	"dump --timestamps $store" "dump --functions $store" "dump --segments s.dep"; do
	# shellcheck disable=SC2086
	fits $command
done
for command in help record attach detach ls info dump "query races" where verify status policy; do
	# shellcheck disable=SC2086
	widths=80 fits $command --help
done
for command in "ls" "ls $store" "info $store" "query races $store" "dump --events s.dep"; do
	# shellcheck disable=SC2086
	same_text $command
done

# lines WHAT PATTERN COUNT: does the last output have as many such lines?
lines() {
	if [ "$(grep -Ec -- "$2" "$tmp/out")" = "$3" ]; then
		pass "$1"
	else
		fail "$1: $(head -c 400 "$tmp/out")"
	fi
}
on 80 ls
lines "a store's name and command lose their middle" '^a-stor.*\.\.\.' 1
lines "..the command on a line of its own" "^       /.*\.\.\..*line'$" 1
COLUMNS=60 on 200 --color=never ls
lines "COLUMNS comes before the terminal's width" '.{61}' 0
"$DEPCTL" ls "$store" >"$tmp/out"
lines "a command line is quoted" " $program $argument 'two words' \\$'new\\\\nline'$" 1
lines "threads have names" '^    thread .*  named by itself$' 1
"$DEPCTL" query races "$store" >"$tmp/out"
lines "reports name threads" "by thread [0-9]+ 'named by itself':$" 1
"$DEPCTL" dump --blocks --fields=thread_name "$store" | sort -u >"$tmp/out"
lines "dumps name threads" '^(named by itself|a-program-with-)$' 2

# ---- names that would change the terminal ----
hostile=$'\e[31mT\e]0;t\a\r\x9b\xc2\x9b'
cat >hostile.c <<'END'
#include <pthread.h>
#include <sys/prctl.h>

static int value;

static void *thread(void *name)
{
	prctl(PR_SET_NAME, name);
	value++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argc;
	prctl(PR_SET_NAME, argv[1]);
	pthread_create(&t, NULL, thread, argv[1]);
	value++;
	pthread_join(t, NULL);
	return 0;
}
END
gcc -O1 -g -pthread -o "$hostile" hostile.c || exit 1
"$DEPCTL" record -q --alone -o hostile.dep "./$hostile" "$hostile" || exit 1
for command in "ls" "ls hostile.dep" "ls --modules hostile.dep" "ls --json hostile.dep" \
	"info hostile.dep" "query races hostile.dep" "query races --json hostile.dep" \
	"query races --sarif hostile.dep" "dump --blocks --fields=thread_name hostile.dep" \
	"dump --blocks --fields=program hostile.dep" \
	"dump --blocks --fields=thread_name --json hostile.dep"; do
	# shellcheck disable=SC2086
	harmless $command
done

# ---- sessions and depd ----
if [ -x "$build/depd" ]; then
	. "$tests/depd.sh"
	start || finish
	"$DEPCTL" record -q -o "$PWD/long-$store" sh -c "echo \$\$ >pid; exec sleep 60" &
	recorder=$!
	for _ in $(seq 100); do
		"$DEPCTL" sessions --json | grep -q '"state":"recording"' && break
		sleep 0.1
	done
	fits sessions
	lines "a session's command has no line end" '^ *1 .*recording' 1
	fits status
	[ "$(id -u)" != 0 ] || fits status --users
	"$DEPCTL" stop --all
	kill "$(cat pid)"
	wait "$recorder"
	term_depd
else
	skip "sessions, status: no depd at $build/depd"
fi
printf '[rule a]\ncomm = gzip\npath = /%s/*\nargv = *-9*\nmax-size = 1G\n' "$long" >conf
fits policy check conf
if [ -e /dev/adept ]; then
	fits module
else
	skip "depctl module: there is no /dev/adept"
fi

# ---- color ----

# escapes WHAT WANTED: has the last output escape sequences, yes or no?
escapes() {
	local have=no
	grep -q $'\x1b' "$tmp/out" && have=yes
	if [ $have = "$2" ]; then pass "$1"; else fail "$1: escape sequences: $have"; fi
}
for command in "ls" "ls s.dep" "info s.dep" "query races $store"; do
	# shellcheck disable=SC2086
	on 80 $command
	escapes "$command: color on a terminal" yes
	# shellcheck disable=SC2086
	"$DEPCTL" $command >"$tmp/out" 2>&1
	escapes "$command: none in a pipe" no
	# shellcheck disable=SC2086
	"$DEPCTL" --color=always $command >"$tmp/out" 2>&1
	escapes "$command: --color=always in a pipe" yes
	# shellcheck disable=SC2086
	"$DEPCTL" --color always $command --json >"$tmp/out" 2>&1
	escapes "$command: none in JSON" no
	# shellcheck disable=SC2086
	on 80 --color=never $command
	escapes "$command: --color=never on a terminal" no
	# shellcheck disable=SC2086
	NO_COLOR=1 on 80 $command
	escapes "$command: NO_COLOR" no
	# shellcheck disable=SC2086
	NO_COLOR='' on 80 $command
	escapes "$command: an empty NO_COLOR" yes
	# shellcheck disable=SC2086
	TERM=dumb on 80 $command
	escapes "$command: TERM=dumb" no
done
on 80 ls nowhere
escapes "messages on a terminal" yes
"$DEPCTL" ls nowhere >"$tmp/out" 2>&1
escapes "messages in a pipe" no
"$DEPCTL" --color=sometimes ls >"$tmp/out" 2>&1
if [ $? = 2 ] && grep -q "must be auto, always or never, not 'sometimes'" "$tmp/out"; then
	pass "--color=sometimes is refused"
else
	fail "--color=sometimes: $(cat "$tmp/out")"
fi
finish

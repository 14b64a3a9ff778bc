#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recorded program's output, exit status and system calls equal the native run's.
# The system calls are compared by strace, in their order, with addresses, process
# ids, times and the engine's own calls taken out (see norm).
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/programs/build.sh" "$build/programs" || exit 1
limit=${LIMIT:-300}

# same NAME COMMAND...: output, errors, exit status
same() {
	name=$1
	shift
	have "$1" || return 1
	rm -rf "$tmp/dep"
	in=${input:-/dev/null}
	(cd "$tmp" && clean timeout "$limit" "$@") <"$in" >"$tmp/o1" 2>"$tmp/e1"
	s1=$?
	(cd "$tmp" && clean timeout "$limit" "$DEPCTL" record -q -o dep -- "$@") \
		<"$in" >"$tmp/o2" 2>"$tmp/e2"
	s2=$?
	if [ $s1 -ne $s2 ]; then
		fail "$name: exit status $s2, natively $s1: $(tail -n 1 "$tmp/e2")"
	elif ! cmp -s "$tmp/o1" "$tmp/o2"; then
		fail "$name: the output differs: $(diff "$tmp/o1" "$tmp/o2" | head -n 2)"
	elif ! cmp -s "$tmp/e1" "$tmp/e2"; then
		fail "$name: the error output differs: $(diff "$tmp/e1" "$tmp/e2" | head -n 2)"
	else
		pass "$name: output and exit status $s1"
	fi
}

# norm: make a program's calls in strace's output comparable.  Reads of the pipe are removed, since
# their number depends on the writer, and so are random data.
norm() {
	sed -e 's/^[0-9]* *//' \
		-e '/^rseq(/d' -e '/ resumed>/d' -e 's/ <unfinished \.\.\.>//' \
		-e '/^+++/d' -e '/^restart_syscall/d' \
		-e 's/0x[0-9a-f]\{5,\}/ADDR/g' -e 's/  */ /g' \
		-e 's/tv_sec=-\{0,1\}[0-9]*, tv_u\{0,1\}n\{0,1\}sec=[0-9]*/TIME/g' \
		-e 's/si_pid=[0-9]*/si_pid=PID/g' -e '/^--- SIGCHLD/d' \
		-e 's/^\(getpid\|gettid\|getppid\|set_tid_address\)(.*/\1/' \
		-e 's/^\(fork\|vfork\|clone\|clone3\|wait4\|waitid\|tgkill\|kill\)(.*/\1/' \
		-e 's/^\(futex\|sched_yield\)(.*//' -e '/^$/d' \
		-e 's/^getrandom(.*/getrandom/' -e 's/ = ADDR/ = X/' \
		-e '/^rt_sigprocmask/s/~\[ILL TRAP BUS FPE SEGV\]/~[]/' \
		-e '/^read(0/d' -e '/^poll(\[{fd=0/d' \
		-e 's/^\(read([0-9]*, \)".*"[.]*,/\1DATA,/' "$1"
}

# reads_stdin PIDFILE: the process has become its program and waits for its input, in
# read(2) or poll(2)
reads_stdin() {
	pid=$(cat "$1") && [ -n "$pid" ] && grep -q '^0 0x0 \|^7 0x' "/proc/$pid/syscall" &&
		! readlink "/proc/$pid/exe" | grep -q '/dash$'
}

# calls TRACE COMMAND...: trace from its first read on.  A process can have only one tracer, which
# is the launcher until the program runs, so strace attaches when the program waits for input.
calls() {
	trace=$1
	shift
	rm -f "$tmp/fifo" "$tmp/pid" "$tmp/strace" "$trace"
	mkfifo "$tmp/fifo"
	(cd "$tmp" && clean timeout "$limit" "$@") <"$tmp/fifo" >"$tmp/o" 2>"$tmp/e" &
	job=$!
	exec 9>"$tmp/fifo"
	if ! wait_for 20 reads_stdin "$tmp/pid"; then
		exec 9>&-
		wait $job
		return 1
	fi
	strace -p "$(cat "$tmp/pid")" -o "$trace" 2>"$tmp/strace" 9>&- &
	tracer=$!
	wait_for 20 grep -q attached "$tmp/strace"
	cat "$input" >&9
	exec 9>&-
	wait $job
	wait $tracer
	[ -s "$trace" ]
}

# traced NAME COMMAND...: for single-threaded programs that start by reading their input
traced() {
	name=$1
	shift
	have "$1" || return
	rm -rf "$tmp/dep"
	input=${input:-$tmp/text}
	# shellcheck disable=SC2016
	set -- /bin/dash -c 'echo $$ >pid; exec "$@"' sh "$@"
	if ! calls "$tmp/t1" "$@"; then
		skip "$name: strace cannot trace here:" \
			"$(tail -n 1 "$tmp/strace" "$tmp/e" 2>/dev/null)"
		return
	fi
	if ! calls "$tmp/t2" "$DEPCTL" record -q -o dep -- "$@"; then
		fail "$name: no trace under the recorder: $(tail -n 1 "$tmp/e")"
		return
	fi
	norm "$tmp/t1" | grep -v -f "$tmp/own" >"$tmp/c1"
	norm "$tmp/t2" | grep -v -f "$tmp/own" >"$tmp/c2"
	if diff "$tmp/c1" "$tmp/c2" >"$tmp/diff"; then
		pass "$name: $(wc -l <"$tmp/c1") system calls"
	else
		fail "$name: the system calls differ: $(head -n 3 "$tmp/diff")"
	fi
}

text 300000 >"$tmp/text"
numbers 20000 >"$tmp/numbers"
# patterns of the engine's own calls, one per line; OWN_CALLS names a file with more
cat >"$tmp/own" <<'END'
adept
^--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_ACCERR
^rt_sigreturn(
^clock_gettime(CLOCK_MONOTONIC
^rt_sigprocmask(SIG_SETMASK, ~\[\]
^rt_sigprocmask(SIG_SETMASK, ~\[ILL TRAP BUS FPE KILL SEGV STOP\], NULL
^rt_sigaction([A-Z0-9_]*,
^kill$
^read(0,
/proc/self/maps
^prctl(PR_GET_NAME,
^madvise(ADDR, 41943040, MADV_HUGEPAGE)
^mprotect(ADDR, 2097152, PROT_READ|PROT_WRITE)
^madvise(ADDR, 2097152, \(MADV_HUGEPAGE\|MADV_COLLAPSE\|0x19\))
^madvise(ADDR, [0-9]*, \(MADV_POPULATE_WRITE\|0x17\))
END
[ -z "${OWN_CALLS:-}" ] || cat "$OWN_CALLS" >>"$tmp/own"

for name in $(programs .); do
	same "$name" "$build/programs/$name"
done
same churn-10000 "$build/programs/thread_churn" "$([ "$LONG" = 1 ] && echo 10000 || echo 1000)"
same true /bin/true
same false /bin/false
same killed /bin/sh -c 'kill -TERM $$'
same segv /bin/sh -c 'kill -SEGV $$'
same gzip /bin/gzip -9 -c text
same bzip2 /bin/bzip2 -c text
same xz /usr/bin/xz -6 -c text
same zstd /usr/bin/zstd -T2 -q -c text
same pigz /usr/bin/pigz -p2 -c text
same sort /usr/bin/sort -n numbers
same awk /usr/bin/mawk '{ w[$1]++ } END { for (k in w) n++; print n }' text
same perl /usr/bin/perl -ne '$h{$_}++ for split; END { print scalar(keys %h), "\n" }' text
same python3 /usr/bin/python3 -S -c 'import json; print(len(json.dumps(list(range(5000)))))'
same sqlite3 /usr/bin/sqlite3 :memory: 'with recursive c(n) as (
	select 1 union all select n + 1 from c where n < 20000) select sum(n * n) from c'
same bash-pipes /bin/bash -c 'for i in 1 2 3; do seq 100 | sort -r | head -n $i; done
	trap "echo bye" EXIT; exit 7'
same luajit /usr/bin/luajit -e 'local s = 0
	for i = 1, 3e6 do s = (s * 31 + i) % 1000003 end print(s)'
input=$tmp/text
same cat /bin/cat
same wc /usr/bin/wc

if have strace; then
	traced 'calls of gzip' /bin/gzip -9 -c
	traced 'calls of xz' /usr/bin/xz -0 -c
	traced 'calls of sort' /usr/bin/sort --parallel=1
	traced 'calls of awk' /usr/bin/mawk '{ n++ } END { system("true"); print n }'
	traced 'calls of perl' /usr/bin/perl -e 'while (<STDIN>) { $n++ }
		open F, ">", "out"; print F $n; print -s "text"'
	traced 'calls of python3' /usr/bin/python3 -S -c 'import sys, os
n = len(sys.stdin.read())
print(n, os.stat("text").st_size)'
	printf 'select 1;\ncreate table t(a);\ninsert into t values (1);\n.tables\n' >"$tmp/sql"
	input=$tmp/sql traced 'calls of sqlite3' /usr/bin/sqlite3 :memory:
fi
finish

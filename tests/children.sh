#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Child processes and execve: output and exit status equal the native run's, and the store has every
# image with the right parents, causes and ends.  Arguments name the cases to run (default: all).
. "$(dirname "$0")/lib.sh"
need_depctl
# Each case checks for the programs that it needs.
"$tests/programs/build.sh" "$build/programs" >/dev/null 2>&1
wanted=" $* "
work=$tmp/work
mkdir "$work"
cd "$work" || exit 1

# recorded OPTIONS.. -- COMMAND: record into $tmp/dep; sets out, err and $status
recorded() {
	rm -rf "$tmp/dep"
	clean timeout 120 "$DEPCTL" record -q -o "$tmp/dep" "$@" \
		>"$tmp/out2" 2>"$tmp/err2" </dev/null
	status=$?
}

# native COMMAND: the same natively; sets out, err and $native
native() {
	clean timeout 120 "$@" >"$tmp/out1" 2>"$tmp/err1" </dev/null
	native=$?
}

# rows: "CAUSE BASENAME" of every process of the store, sorted.
rows() {
	"$DEPCTL" ls --json "$tmp/dep" | grep -o '"cause":"[a-z]*","exe":"[^"]*"' |
		sed 's|"cause":"\([a-z]*\)","exe":"\(.*/\)*\([^"]*\)"|\1 \3|' |
		sort | uniq -c | sed 's/^ *//'
}

wants() {
	[ "$wanted" = "  " ] && return 0
	case $wanted in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# tolerable: verify printed no problem, except its last line and lines that match $tolerate
tolerable() {
	[ "${tolerate:-}" ] && [ "$(grep -vc "$tolerate" "$tmp/verify")" -eq 1 ]
}

# good NAME: the recording equals the native run, and verifies with $policy
good() {
	if [ "$status" -ne "$native" ]; then
		fail "$1: exit status $status instead of $native: $(tail -n 1 "$tmp/err2")"
	elif ! cmp -s "$tmp/out1" "$tmp/out2"; then
		fail "$1: the output differs"
	elif [ ! "${tolerate:-}" ] && ! cmp -s "$tmp/err1" "$tmp/err2"; then
		fail "$1: standard error differs: $(tail -n 1 "$tmp/err2")"
	elif ! "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1 && ! tolerable; then
		fail "$1: verify: $(tail -n 1 "$tmp/verify")"
	else
		return 0
	fi
	return 1
}

# child NAME ROWS COMMAND..: ROWS are lines "COUNT CAUSE PROGRAM" for all images of the store; ""
# matches any.  $tolerate matches problems that verify may print before its last line.  None may
# have run natively, unless natives=N says how many.  $prepare is run before both runs.  These three
# variables apply to one case.
child() {
	child_case "$@"
	natives=0
	tolerate=
	prepare=
}

child_case() {
	name=$1
	expect=$2
	shift 2
	wants "$name" || return
	have "$1" || return
	[ -z "${prepare:-}" ] || eval "$prepare"
	native "$@"
	[ -z "${prepare:-}" ] || eval "$prepare"
	recorded -- "$@"
	good "$name" || return
	n=$("$DEPCTL" info --json "$tmp/dep" | sed -n 's/.*"native_images": *\([0-9]*\).*/\1/p')
	if [ "$n" != "${natives:-0}" ]; then
		fail "$name: $n images ran natively"
	elif [ -n "$expect" ] && [ "$(rows)" != "$(echo "$expect" | sort -k 2)" ]; then
		fail "$name: processes: $(rows | tr '\n' ',')"
	else
		pass "$name"
	fi
}

# ---- shells and other parents ----

sh=$(basename "$(readlink -f /bin/sh)")
child vfork "1 launch $sh
1 exec true" sh -c '/bin/true; exit 3'
child pipe "1 launch $sh
2 fork $sh
1 exec ls
1 exec wc" sh -c 'ls / | wc -l; exit 3'
child execchain "1 launch $sh
1 exec env
1 exec nice
1 exec echo" sh -c 'exec env -i A=1 nice -n 1 echo a b'
child wrappers '' sh -c 'env -i /usr/bin/env; timeout 5 echo a; timeout 0.2 sleep 5; echo $?;
	nice -n 3 sh -c nice; setsid -w sh -c "exit 4"; echo $?; nohup echo b'
child find '' find / -maxdepth 1 -path /b\* -prune -exec echo '{}' ';'
child xargs '' sh -c 'seq 12 | xargs -P4 -n1 sh -c "exit \$((\$0 == 7))"; echo $?'
child perl '' perl -e 'print system("exit 3") >> 8, `echo a; /bin/echo b`; open F, "|-", "cat";
	print F "c\n"; close F; system("/bin/false"); print $? >> 8, "\n";
	exec "sh", "-c", "exit 5"'
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || echo python3)
child python '' "$python" -Sc 'import subprocess, os
print(subprocess.run(["ls", "/"], capture_output=True, close_fds=False).stdout)
print(subprocess.run("echo a | cat; exit 3", shell=True, preexec_fn=lambda: None))
p = subprocess.Popen(["cat"], stdin=-1, stdout=-1)
print(p.communicate(b"x" * 100000)[0] == b"x" * 100000)
print(os.waitpid(os.posix_spawn("/bin/false", ["false"], {}), 0)[1])
try: subprocess.run(["/nonexistent"])
except OSError as e: print(e)
pid = os.fork()
if not pid: os.execvp("sh", ["sh", "-c", "exit 9"])
print(os.waitpid(pid, 0)[1])'
child processes '' "$build/programs/processes"
child execs "1 launch execs
3 exec execs" "$build/programs/execs"
child children '' "$build/programs/children"
# A child whose parent is killed just before the child has a ring is counted as lost; a process that
# is killed in the middle of a record is counted as unfinished.
tolerate='programs\? ran unrecorded: no slot\|killed: up to one' \
	child killed '' "$build/programs/children" killed
child many '' sh -c 'i=0; while [ $i -lt 40 ]; do (:) & (:) & (:) & (:) & /bin/true & wait
	i=$((i + 1)); done; echo $i'

# ---- failing execve, scripts ----

child enoent '' sh -c '/nonexistent; echo $?; ./dir; echo $?; ./plain; echo $?; ./empty; echo $?'
mkdir dir
echo text >plain
: >empty
chmod +x empty
printf '#!/bin/sh\necho script "$0" "$@"\nexit 7\n' >script
printf '#!./script x\n' >script2
printf '#! /nonexistent/interpreter\n' >script3
printf 'echo no magic "$@"\n' >text
chmod +x script script2 script3 text
child script "1 launch $sh
1 exec $sh" sh -c './script a; exit $?'
child script2 "1 launch $sh
1 exec $sh" sh -c './script2 a; exit $?'
child script3 '' sh -c './script3 a; echo $?; ./text a b; exit $?'
child launched "1 launch $sh" ./script a

# ---- privileges ----

setuid() {
	chmod u+s id && [ "$(find id -perm -4000)" ] && ./id -u | grep -qx 65534
}
cp "$(command -v id)" id
if [ "$(id -u)" = 0 ] && chown 65534 id && setuid 2>/dev/null; then
	natives=2 child setuid "1 launch $sh
1 fork $sh" sh -c './id -u; (exec ./id -u); exit 2'
	printf '#!./id\n' >idscript
	chmod +x idscript
	natives=1 child setuid-script "1 launch $sh" sh -c './idscript'
	natives=1 child setuid-at "" "$build/programs/children" at ./id -u
	# No privileges are gained: neither by the owner of the file nor with no_new_privs.
	natives=0 child setuid-nnp "" setpriv --no-new-privs sh -c './id -u; exit 0'
	chown 0 id
	chmod u+s id
	natives=0 child setuid-own "1 launch $sh
1 exec id" sh -c './id -u; exit 0'
else
	skip "set-uid: not root, or not on this file system"
fi

# ---- parents, ends, options ----

if wants daemon; then
	rm -f done
	recorded -- sh -c '(setsid sh -c "sleep 0.4; echo x >done; ls / >/dev/null" &) ; exit 6'
	if [ $status -eq 6 ] && [ -e done ] && "$DEPCTL" verify "$tmp/dep" >"$tmp/verify" 2>&1 &&
	   rows | grep -q "exec ls" && rows | grep -q "exec sleep"; then
		pass daemon
	else
		fail "daemon: status $status, $(rows | tr '\n' ',') $(tail -n 1 "$tmp/verify")"
	fi
fi

if wants rows; then
	recorded -- sh -c '/bin/true; (exec /bin/false); exit 0'
	"$DEPCTL" ls --json "$tmp/dep" >"$tmp/json"
	if "$python" -Sc 'import json, sys
d = [json.loads(l) for l in open(sys.argv[1])]
if len(d) == 1: d = d[0]["processes"]
p = {r["process"]: r for r in d}
assert len(p) == 4, d
for r in p.values():
	up = p.get(r["parent"])
	assert (up is None) == (r["cause"] == "launch"), r
	assert int(r["end_ns"]) >= int(r["start_ns"]) > 0, r
	base = r["exe"].split("/")[-1]
	if base == "true":
		assert r["cause"] == "exec" and up["cause"] == "launch" and up["pid"] != r["pid"], r
		assert int(up["end_ns"]) > int(r["end_ns"]), "the parent lives on"
	elif base == "false":
		assert r["cause"] == "exec" and up["cause"] == "fork" and up["pid"] == r["pid"], r
		assert int(up["end_ns"]) <= int(r["end_ns"]), r
		assert p[up["parent"]]["cause"] == "launch", up' "$tmp/json" 2>"$tmp/err"; then
		pass rows
	else
		fail "rows: $(tail -n 1 "$tmp/err")"
	fi
fi

# The parent has executed another image before its child starts; that image is not the parent.
if wants parent-gone; then
	native "$build/programs/fork_behind" 8
	recorded -- "$build/programs/fork_behind" 8
	if good parent-gone; then
		if "$DEPCTL" ls --json "$tmp/dep" >"$tmp/json" && "$python" -Sc 'import json, sys
d = [json.loads(l) for l in open(sys.argv[1])]
if len(d) == 1: d = d[0]["processes"]
p = {r["process"]: r for r in d}
forked = [r for r in d if r["cause"] == "fork"]
assert len(forked) == 8, d
assert len({r["parent"] for r in forked}) == 8, forked
for r in forked:
	up = p.get(r["parent"])
	assert up and up["cause"] != "fork" and int(up["start_ns"]) < int(r["start_ns"]), r
	assert r["exe"] == up["exe"], r' \
			"$tmp/json" 2>"$tmp/err"; then
			pass parent-gone
		else
			fail "parent-gone: $(tail -n 1 "$tmp/err")"
		fi
	fi
fi

if wants no-follow; then
	native sh -c 'ls /; (exec ls /bin); exec sh -c "exit 4"'
	recorded --no-follow -- sh -c 'ls /; (exec ls /bin); exec sh -c "exit 4"'
	if good no-follow; then
		if [ "$(rows)" = "1 fork $sh
1 launch $sh" ]; then
			pass no-follow
		else
			fail "no-follow: processes: $(rows | tr '\n' ',')"
		fi
	fi
fi

if wants no-record; then
	native sh -c 'ls / | wc; /bin/echo a; exit 4'
	clean "$DEPCTL" record --no-record -- sh -c 'ls / | wc; /bin/echo a; exit 4' >"$tmp/out2" \
		2>"$tmp/err2" </dev/null
	if [ $? -eq 4 ] && cmp -s "$tmp/out1" "$tmp/out2" &&
	   grep -q 'ran 6 processes' "$tmp/err2"; then
		pass no-record
	else
		fail "no-record: $(tail -n 1 "$tmp/err2")"
	fi
fi

# ---- a compiler ----

if wants make && have make && have gcc; then
	for i in 1 2 3; do
		echo "int f$i(void) { return $i; }" >f$i.c
	done
	echo 'int f1(void), f2(void), f3(void);
	int main(void) { return f1() + f2() * f3(); }' >main.c
	printf '%s\n' 'p: f1.o f2.o f3.o main.o' '	gcc -o $@ $^' \
		'%.o: %.c' '	gcc -O2 -c -o $@ $<' >Makefile
	prepare='rm -f *.o p' child make '' make -s -j2
	if ./p; [ $? -eq 7 ]; then
		n=$(rows | awk '/exec .*(gcc|cc1|as|ld|collect2)/ { n += $1 } END { print n }')
		# 4 times gcc, cc1, as; gcc, collect2, ld.
		[ "$n" -eq 15 ] && pass make-rows ||
			fail "make: $n compilers: $(rows | tr '\n' ',')"
	else
		fail "make: the program is wrong"
	fi
fi
finish

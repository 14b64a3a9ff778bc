#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `depctl dump --refs` equals the single-step oracle, reference for reference.
# Arguments name the cases to run (default: all); LONG=1 adds larger inputs.  KEEP_IN names a
# folder for the lists of references of a case that fails.
#
# Both run without address randomisation, in the same small environment, from the
# same folder and with the same descriptors, so that the stacks are equal.  What the
# vdso does depends on the clock and is left out.
. "$(dirname "$0")/lib.sh"
need_depctl
"$tests/oracle/build.sh" "$build" && "$tests/programs/build.sh" "$build/programs" || exit 1
wanted=" $* "
# The oracle executes 15 to 45 thousand instructions per second.
limit=${LIMIT:-$([ "$LONG" = 1 ] && echo 1800 || echo 600)}

# exact NAME COMMAND...
exact() {
	name=$1
	shift
	[ "$wanted" = "  " ] || case $wanted in *" $name "*) ;; *) return ;; esac
	have "$1" || return
	rm -rf "$tmp/dep"
	in=${input:-/dev/null}
	(cd "$tmp" && clean timeout "$limit" "$oracle" -i info -o want -- "$@") \
		<"$in" >"$tmp/out1" 2>"$tmp/err1"
	status1=$?
	if [ $status1 -ge 124 ] && ! [ $status1 -gt 128 ]; then
		fail "$name: oracle: $(tail -n 1 "$tmp/err1")"
		return
	fi
	(cd "$tmp" && clean timeout "$limit" "$DEPCTL" record --no-aslr -q -o dep -- "$@") \
		<"$in" >"$tmp/out2" 2>"$tmp/err2"
	status2=$?
	if [ $status1 -ne $status2 ]; then
		fail "$name: exit status $status2 instead of $status1: $(tail -n 1 "$tmp/err2")"
		return
	fi
	# The output must be the native one; values such as r11 after a system call differ under the
	# oracle.
	(cd "$tmp" && clean setarch -R timeout "$limit" "$@") <"$in" >"$tmp/out1" 2>/dev/null
	if ! cmp -s "$tmp/out1" "$tmp/out2"; then
		fail "$name: the output differs"
		return
	fi
	if ! "$DEPCTL" dump "$tmp/dep" --refs >"$tmp/got" 2>"$tmp/err2"; then
		fail "$name: dump: $(tail -n 1 "$tmp/err2")"
		return
	fi
	vdso=$(sed -n 's/^vdso \(.*\) \(.*\)/\1-\2/p' "$tmp/info")
	if result=$("$build/refcmp" -v "$vdso" "$tmp/want" "$tmp/got"); then
		pass "$name: $result"
	else
		fail "$name: $result"
		[ -z "${KEEP_IN:-}" ] || cp "$tmp/want" "$tmp/got" "$KEEP_IN"
	fi
}

for name in $(programs exact); do
	case $name in
	snip_*) exact "$name" "$build/programs/$name" "$([ "$LONG" = 1 ] && echo 4 || echo 1)" ;;
	*) exact "$name" "$build/programs/$name" ;;
	esac
done

size=1000
[ "$LONG" = 1 ] && size=20000
text $size >"$tmp/text"
numbers 60 >"$tmp/numbers"
exact true /bin/true
exact gzip /bin/gzip -9 -c text
exact bzip2 /bin/bzip2 -c text
exact xz /usr/bin/xz -0 -c text
exact awk /usr/bin/mawk '{ n += length($0); w[$1]++ }
	END { for (k in w) s += w[k]; print n, s }' text
exact perl /usr/bin/perl -e '$h{$_ % 7} .= $_ for 1..40;
	print join(",", map { "$_$h{$_}" } sort keys %h), "\n";
	print "ok\n" if "abcabd" =~ /(ab.)+d?$/'
exact sqlite3 /usr/bin/sqlite3 :memory: 'create table t(a integer primary key, b);
	insert into t values (3, "x"), (1, "y"), (2, "z");
	select group_concat(b) from (select b from t order by a);
	select count(*), sum(a) from t'
# No program that reads /proc/self/maps (gawk, through libsigsegv) or waits for children (bash).
if [ "$LONG" = 1 ]; then
	exact python3 /usr/bin/python3 -S -c 'import sys; print(sorted(
		{str(i): i * i for i in range(20)}.items())[3])'
	exact sort /usr/bin/sort -n numbers
fi
finish

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input gets a clear message, exit status 2 for usage and 1 for failure (126 and
# 127 where no program could be started, as a shell has it), never a crash or a hang.
. "$(dirname "$0")/lib.sh"
need_depctl
limit=${LIMIT:-60}

# What damages a store changes it, whatever is there.
printf '\377\245\000\001' >"$tmp/bytes"
for at in 0 1 2; do
	flip "$tmp/bytes" $at
done
flip "$tmp/bytes" 3 257
is "flip changes each byte" "$(od -An -tx1 "$tmp/bytes")" " 00 5a ff 00"

# refuses NAME STATUS[,STATUS] WORDS COMMAND...: the command fails with a message that matches WORDS
refuses() {
	name=$1
	want=$2
	words=$3
	shift 3
	(cd "$tmp" && timeout "$limit" "$@") </dev/null >"$tmp/out" 2>"$tmp/err"
	s=$?
	case ,$want, in
	*,$s,*) ;;
	*)
		fail "$name: exit status $s instead of $want: $(head -n 1 "$tmp/err")"
		return
		;;
	esac
	if ! grep -q -i -E "$words" "$tmp/err"; then
		fail "$name: the message says nothing of '$words': $(head -n 2 "$tmp/err")"
	else
		pass "$name: $(head -n 1 "$tmp/err")"
	fi
}

# survives NAME COMMAND...: any status but a signal's or a timeout's
survives() {
	name=$1
	shift
	(cd "$tmp" && timeout "$limit" "$@") </dev/null >"$tmp/out" 2>"$tmp/err"
	s=$?
	if [ $s -ge 124 ]; then
		fail "$name: status $s: $(tail -n 1 "$tmp/err")"
		return 1
	fi
}

echo 'just text' >"$tmp/data"
chmod +x "$tmp/data"
printf '\177ELF\1\1\1' >"$tmp/elf32"
head -c 200 /dev/zero >>"$tmp/elf32"
chmod +x "$tmp/elf32"
printf '#!/nonexistent/interpreter\n' >"$tmp/script"
chmod +x "$tmp/script"
printf '#!/bin/sh\nexit 3\n' >"$tmp/good-script"
chmod +x "$tmp/good-script"
head -c 100 /bin/true >"$tmp/short-elf"
chmod +x "$tmp/short-elf"
cp /bin/true "$tmp/not-executable"
chmod -x "$tmp/not-executable"
mkdir "$tmp/readonly"
chmod a-w "$tmp/readonly"

refuses 'no command' 2 'usage' "$DEPCTL"
refuses 'unknown command' 2 'no command' "$DEPCTL" frobnicate
refuses 'unknown option' 2 'usage|option' "$DEPCTL" record --frobnicate -- /bin/true
refuses 'record nothing' 2 'usage|command' "$DEPCTL" record
refuses 'ring of no size' 2 'ring|size' "$DEPCTL" record --ring-size=0 -- /bin/true
refuses 'ring of nonsense' 2 'ring|size' "$DEPCTL" record --ring-size=x -- /bin/true
refuses 'dump without store' 2 'usage|store' "$DEPCTL" dump
refuses 'missing program' 1,127 'no such file|not found' \
	"$DEPCTL" record -o a.dep -- /nonexistent/program
refuses 'missing in PATH' 1,127 'no such file|not found' \
	"$DEPCTL" record -o a2.dep -- nonexistent-program
refuses 'not executable' 1,126 'permission|executable' "$DEPCTL" record -o b.dep -- ./not-executable
refuses 'a directory' 1,126 'permission|directory' "$DEPCTL" record -o c.dep -- /
# run by the shell, as execvp(3) and every shell do
refuses 'a text file' 127 'just: not found' "$DEPCTL" record -o d.dep -- ./data
refuses 'a 32-bit program' 1,126 '32|64|exec format|executable' "$DEPCTL" record -o e.dep -- ./elf32
refuses 'a truncated program' 1,126 'not an ELF|executable|truncated' \
	"$DEPCTL" record -o f.dep -- ./short-elf
refuses 'missing interpreter' 1,126,127 'no such file|interpreter' \
	"$DEPCTL" record -o g.dep -- ./script
survives 'a script' "$DEPCTL" record -q -o g2.dep -- ./good-script && [ $s -eq 3 ] &&
	pass 'a script: exit status 3'
mkdir "$tmp/exists"
touch "$tmp/exists/file"
refuses 'existing folder' 1 'exist' "$DEPCTL" record -o exists -- /bin/true
refuses 'output below a file' 1 'directory|exist' "$DEPCTL" record -o data/x.dep -- /bin/true
refuses 'output below nothing' 1 'no such|directory' "$DEPCTL" record -o no/such/x.dep -- /bin/true
if [ "$(id -u)" -ne 0 ]; then
	refuses 'read-only folder' 1 'permission|read-only' \
		"$DEPCTL" record -o readonly/x.dep -- /bin/true
else
	refuses 'read-only folder' 1 'permission|read-only|denied|permitted|such' \
		"$DEPCTL" record -o /proc/x.dep -- /bin/true
fi
refuses 'no store' 1 'there is no store' "$DEPCTL" info nothing.dep
refuses 'a folder that is none' 1 'store|manifest' "$DEPCTL" info readonly
refuses 'a file that is none' 1 'store|directory' "$DEPCTL" info data

# A store with a changed byte, or with a truncated or missing file: neither a crash nor a hang.
corrupt() {
	if ! (cd "$tmp" && timeout "$limit" "$DEPCTL" record -q -o good.dep -- /bin/true) \
		2>"$tmp/err"; then
		fail "recording a store to damage: $(tail -n 1 "$tmp/err")"
		return
	fi
	bad=0
	tried=0
	seed=${SEED:-1}
	count=5
	[ "$LONG" = 1 ] && count=100
	for file in $(cd "$tmp/good.dep" && find . -type f | sort); do
		size=$(stat -c %s "$tmp/good.dep/$file")
		i=0
		while [ $i -lt $count ] && [ "$size" -gt 0 ]; do
			seed=$(((seed * 1103515245 + 12345) % 2147483648))
			at=$((seed / 8 % size))
			# headers are short: change each of their bytes as well
			[ $((i % 2)) -eq 0 ] && at=$((i / 2 % size))
			rm -rf "$tmp/bad.dep"
			cp -r "$tmp/good.dep" "$tmp/bad.dep"
			flip "$tmp/bad.dep/$file" $at $((seed / 65536 % 255 + 1))
			for what in info verify 'dump --refs'; do
				tried=$((tried + 1))
				# shellcheck disable=SC2086
				survives "$file with byte $at changed: $what" \
					"$DEPCTL" $what bad.dep || bad=1
			done
			i=$((i + 1))
		done
		for cut in 0 $((size / 2)); do
			rm -rf "$tmp/bad.dep"
			cp -r "$tmp/good.dep" "$tmp/bad.dep"
			truncate -s $cut "$tmp/bad.dep/$file"
			survives "$file cut to $cut: verify" "$DEPCTL" verify bad.dep || bad=1
		done
		rm "$tmp/bad.dep/$file"
		survives "without $file: verify" "$DEPCTL" verify bad.dep || bad=1
	done
	[ $bad -ne 0 ] || pass "damaged stores: $tried commands, no crash"
}

corrupt
chmod u+w "$tmp/readonly"
finish

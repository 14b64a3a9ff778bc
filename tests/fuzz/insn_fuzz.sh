#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Instruction fuzz: the same random sequences natively and under the engine, then the
# references of a few hundred of them against the single-step oracle.
#
#	insn_fuzz.sh [SEED]
#
# SEED is the first seed (default 1); COUNT cases per seed, SEEDS of them, in each mode.
# LONG=1: more than a million.  A difference is shown with its seed and case number:
# "insn_fuzz --gen SEED COUNT FILE" makes it again.  KEEP_IN names a folder for the cases and the
# lists of references if these differ.
. "$(dirname "$0")/../lib.sh"
need_depctl
"$tests/fuzz/build.sh" "$build" && "$tests/oracle/build.sh" "$build" || exit 1
fuzz=$build/insn_fuzz
seed=${1:-${SEED:-1}}
if [ "$LONG" = 1 ]; then
	seeds=${SEEDS:-12} count=${COUNT:-50000}
else
	seeds=${SEEDS:-1} count=${COUNT:-5000}
fi
have setarch || finish

# mode NAME OPTIONS...: run the cases with these options of record
mode() {
	name=$1
	shift
	rm -rf "$tmp/dep" "$tmp/got"
	timeout 600 "$DEPCTL" record --no-aslr -q "$@" -- \
		"$fuzz" --run -n "$tmp/want" "$tmp/cases" "$tmp/got" 2>"$tmp/err"
	status=$?
	if [ $status -ne 0 ]; then
		fail "$name, seed $seed: exit status $status: $(tail -n 1 "$tmp/err")"
		return 1
	fi
	if ! "$fuzz" --compare "$tmp/cases" "$tmp/want" "$tmp/got" "${SHOW:-1}" >"$tmp/diff"; then
		cat "$tmp/diff"
		fail "$name, seed $seed: $(tail -n 1 "$tmp/diff")"
		return 1
	fi
	if [ "$name" = self-check ] && ! "$DEPCTL" verify -q "$tmp/dep" >"$tmp/err" 2>&1; then
		head -n 5 "$tmp/err"
		fail "$name, seed $seed: verify: $(tail -n 1 "$tmp/err")"
		return 1
	fi
	pass "$name: $(tail -n 1 "$tmp/diff")"
}

# exact COUNT: dump --refs equals the oracle
exact() {
	"$fuzz" --gen "$seed" "$1" "$tmp/cases" &&
		setarch -R "$fuzz" --run -l "$tmp/cases" "$tmp/native" || exit 1
	rm -rf "$tmp/dep"
	(cd "$tmp" && clean timeout 600 "$oracle" -i info -o want.refs -- \
		"$fuzz" --run -l -n native cases out >/dev/null 2>err) &&
	(cd "$tmp" && clean timeout 600 "$DEPCTL" record --no-aslr -q -o dep -- \
		"$fuzz" --run -l -n native cases out >/dev/null 2>err) &&
	"$DEPCTL" dump "$tmp/dep" --refs >"$tmp/got.refs" 2>"$tmp/err"
	status=$?
	if [ $status -ne 0 ]; then
		fail "exactness, seed $seed: exit status $status: $(tail -n 1 "$tmp/err")"
		return
	fi
	vdso=$(sed -n 's/^vdso \(.*\) \(.*\)/\1-\2/p' "$tmp/info")
	if result=$("$build/refcmp" -v "$vdso" "$tmp/want.refs" "$tmp/got.refs"); then
		pass "exactness of $1 cases, seed $seed: $result"
	else
		fail "exactness of $1 cases, seed $seed: $result"
		[ -z "${KEEP_IN:-}" ] || cp "$tmp/want.refs" "$tmp/got.refs" "$tmp/cases" "$KEEP_IN"
	fi
}

last=$((seed + seeds))
while [ "$seed" -lt "$last" ]; do
	"$fuzz" --gen "$seed" "$count" "$tmp/cases" || exit 1
	setarch -R "$fuzz" --run "$tmp/cases" "$tmp/want"
	status=$?
	if [ $status -eq 77 ]; then
		skip "no fsgsbase on this processor"
		finish
	elif [ $status -ne 0 ]; then
		fail "natively, seed $seed: exit status $status"
		finish
	fi
	mode no-record --no-record
	mode record -o "$tmp/dep"
	mode strict -o "$tmp/dep" --strict
	mode self-check -o "$tmp/dep" --self-check
	[ "$LONG" = 1 ] || exact 200
	seed=$((seed + 1))
done
if [ "$LONG" = 1 ]; then
	exact 200
fi
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module can be built in a directory whose path has any characters (kmod/kbuild.sh), and its
# files have no cycles (scripts/check-cycles.py).
. "$(dirname "$0")/lib.sh"
kbuild=$top/kmod/kbuild.sh

# sources FOLDER
sources() {
	mkdir -p "$1/kmod" "$1/include/uapi/linux" && cp "$top/Kbuild" "$1" &&
		cp "$top"/kmod/*.[ch] "$1/kmod" &&
		cp "$top/include/uapi/linux/adept.h" "$1/include/uapi/linux"
}

# The characters that kbuild accepts in a path; the two builds below verify this.
plain=A-Za-z0-9_./-
# Replaces make: its path has only these characters, and it must build the module of the directory.
cat >"$tmp/make" <<END
#!/bin/bash
for a in "\$@"; do
	[[ \$a != M=* ]] || m=\${a#M=}
done
[[ -n \$m && -e \$m/kmod/main.c && \$m/ != *[!$plain]* ]] || { echo "M=\$m"; exit 1; }
echo built >"\$m/adept.ko"
END
chmod 755 "$tmp/make"
bad=0 n=0
for code in $(seq 1 255); do
	[ "$code" != 47 ] || continue
	c=$(printf "\\x$(printf %x "$code")x")
	folder=$tmp/in/a${c%x}b
	sources "$folder" || exit 1
	for utf8 in C C.UTF-8; do
		n=$((n + 1))
		rm -f "$folder/adept.ko"
		LC_ALL=$utf8 MAKE="$tmp/make" KBUILD_TMPDIR=$tmp \
			sh "$kbuild" /kdir "$folder" modules >"$tmp/out" 2>&1 &&
			[ -s "$folder/adept.ko" ] || {
			bad=$((bad + 1))
			fail "character $code ($utf8): $(tail -n 1 "$tmp/out")"
		}
	done
	rm -rf "$tmp/in"
done
[ $bad = 0 ] && pass "$n folders with each character"
[ -z "$(ls -d "$tmp"/adept-kbuild.* 2>/dev/null)" ] && pass "no copy is left" ||
	fail "copies are left"

kdir=$(ls -d /lib/modules/*/build/Makefile 2>/dev/null | tail -n 1)
if [ -z "$kdir" ]; then
	skip "real builds: no headers of any kernel are installed"
	finish
fi
for folder in "a-b_c.d" "odd % = : ; , + @ ~ # \$x 'q\" (p) *"; do
	sources "$tmp/$folder" || exit 1
	KBUILD_TMPDIR=$tmp sh "$kbuild" "${kdir%/Makefile}" "$tmp/$folder" -s modules \
		>"$tmp/out" 2>&1
	[ -s "$tmp/$folder/adept.ko" ] && pass "built in $folder" ||
		fail "built in $folder: $(tail -n 1 "$tmp/out")"
done
objects=$(find "$tmp/a-b_c.d/kmod" -name '*.o' ! -name '*.mod.o')
# shellcheck disable=SC2086
if [ -n "$objects" ] && python3 "$top/scripts/check-cycles.py" $objects >"$tmp/out"; then
	pass "no file of the module calls one that calls it"
else
	fail "the module's files: $(head -n 4 "$tmp/out" | tr '\n' ' ')"
fi
finish

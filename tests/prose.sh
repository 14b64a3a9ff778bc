#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/check-words.py finds retired words in comments, messages and documents, and nothing else;
# scripts/reading-sample.py repeats a sample.
. "$(dirname "$0")/lib.sh"
top=$(realpath "$(dirname "$0")/..")
tree=$tmp/tree
mkdir -p "$tree/scripts" "$tree/part"
# Not the real words, which the check would find in this file.
printf '%s\n' '# a comment' '[Gg]adget	device' 'old way	new way' \
	>"$tree/scripts/retired-words"

check() {
	python3 "$top/scripts/check-words.py" "$tree" >"$tmp/out"
}

# found NAME FILE LINE WORD INSTEAD: the check fails for FILE with the text on stdin, and prints
# that WORD is at LINE
found() {
	cat >"$tree/part/$2"
	check
	status=$?
	rm "$tree/part/$2"
	if [ "$status" -eq 1 ] && [ "$(cat "$tmp/out")" = "part/$2:$3: '$4' is retired: $5" ]; then
		pass "$1"
	else
		fail "$1: status $status: $(cat "$tmp/out")"
	fi
}

found "a word in a comment of C" a.c 2 gadget device <<-'END'
	int gadget;
	int b;	/* a gadget */
END
found "a word in a message" b.c 1 Gadget device <<-'END'
	void f(void) { warn("Gadget %d is missing", gadget); }
END
found "a phrase across the lines of a comment" c.h 2 "old way" "new way" <<-'END'
	/*
	 * This is the old
	 * way.
	 */
END
found "a phrase across lines of // comments" c.cpp 1 "old way" "new way" <<-'END'
	// This is the old
	// way.
END
found "a phrase across two strings" strings.c 2 "old way" "new way" <<-'END'
	void f(void)
	{	warn("this is the old "
		     "way");
	}
END
found "a phrase across two lines of a message" lines.c 1 "old way" "new way" <<-'END'
	const char *const help = "This is the old\n"
		"way";
END
found "a word behind an escape sequence" escape.c 1 gadget device <<-'END'
	const char *const help = "This is the\ngadget";
END
found "a word in a shell script" d.sh 1 gadget device <<-'END'
	echo gadget
END
found "a word in a script whose name has no ending" d 1 gadget device <<-'END'
	echo gadget
END
found "a word in a manual page" e.1 2 gadget device <<-'END'
	.B b
	gadget
END
found "a word in a manual page of functions" e.3 1 gadget device <<-'END'
	gadget
END
found "a word in a document" f.rst 1 "old way" "new way" <<-'END'
	The old way.
END

cat >"$tree/part/g.c" <<-'END'
	#include "gadget.h"
	/* gadgetry, a gadget_list, an old highway */
	int gadget(void) { return 'g'; }	/* "quoted" // twice */
END
if check; then
	pass "identifiers, names of files and parts of words"
else
	fail "identifiers, names of files and parts of words: $(cat "$tmp/out")"
fi
if have git; then
	git init -q "$tree"
	echo /made >"$tree/.gitignore"
	echo gadget >"$tree/made"
	found "a git repository: only files that are not ignored" h.sh 1 gadget device <<-'END'
		echo gadget
	END
fi

cd "$top" || exit 1
# A copy of the sources need not be a git repository, which the sample is taken from.
if git ls-files >/dev/null 2>&1; then
	python3 scripts/reading-sample.py --seed 7 libdep/abi >"$tmp/one"
	python3 scripts/reading-sample.py --seed 7 libdep/abi >"$tmp/same"
	python3 scripts/reading-sample.py --seed 8 libdep/abi >"$tmp/other"
	if cmp -s "$tmp/one" "$tmp/same" && ! cmp -s "$tmp/one" "$tmp/other"; then
		pass "the seed decides the sample"
	else
		fail "the seed decides the sample"
	fi
	place=$(grep -m 1 '^libdep/abi/.*:[0-9]*:$' "$tmp/one")
	line=$(echo "$place" | cut -d : -f 2)
	if sed -n "${line}p" "${place%%:*}" | grep -q '/\*'; then
		pass "a comment has its place"
	else
		fail "a comment has its place: $place"
	fi
else
	skip "a sample: this is no git repository"
fi
if python3 scripts/check-words.py >"$tmp/out"; then
	pass "the words of this tree"
else
	fail "the words of this tree: $(head -n 3 "$tmp/out")"
fi
finish

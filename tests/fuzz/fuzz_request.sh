#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bounded run of the fuzzer on requests of the control socket, starting with one request of each
# kind.
. "$(dirname "$0")/../lib.sh"
. "$tests/fuzz/fuzz.sh"
max_len=4096
fuzz_build fuzz_request daemon/control/request.c daemon/control/request_triggers.c \
	daemon/control/json_scan.c -lcjson

# seed NAME REST
seed() {
	printf '{"v":1,"op":"%s"%s}' "$1" "$2" | tr -d '\n' >"$tmp/corpus/$1${3:-}"
}

for op in status sessions policy reload; do
	seed $op
done
seed watch ',"session":1'
seed stop ',"session":4294967295'
seed ended ',"session":7,"status":256'
seed launched ',"session":7,"pid":1234,"native":true,"why":"set-uid"'
seed record ',"argv":["ls","-l","\u00e4\"\\"],"cwd":"/tmp","store":"/tmp/ls.dep"'
seed record ',"argv":["a"],"cwd":"/","store":"/s","options":{"null":true,"drop":true,
"self_check":true,"strict":true,"no_follow":true,"no_children":true,
"no_functions":true,"ring_size":65536,"max_size":1000000,"level":3,
"aslr":false,"transport":"shm"}' .options
seed record ',"argv":["a"],"cwd":"/","options":{"no_record":true}' .none
seed record ',"argv":["a"],"cwd":"/","store":"/s","options":{"last_ns":30000000000,
"last_bytes":4194304,"snapshots":3,"keep_if":"crash","triggers":[{"glob":"handle_*",
"slow_ns":20000000,"offsets":[4096,8192]},{"glob":"f?"}],
"trigger_file":{"major":8,"minor":1,"inode":"131"}}' .triggers
seed trigger ',"session":7,"event":"page-faults","count":10000'
seed snapshot ',"pid":7,"store":"/tmp/s.dep"'
for word in v op session argv cwd store options pid native why status no_record null drop \
	keep_translations log_translate log_signal log_thread log_exec log_memory \
	self_check strict no_follow no_children no_functions ring_size max_size level aslr \
	transport auto kmod shm last_bytes last_ns snapshots keep_if always failure crash triggers \
	glob slow_ns offsets trigger_file major minor inode event count trigger snapshot; do
	echo "\"\\\"$word\\\"\""
done >"$tmp/words"
fuzz_run -dict="$tmp/words"

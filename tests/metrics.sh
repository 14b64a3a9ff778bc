#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# depd's metrics conform to OpenMetrics and to Prometheus.
. "$(dirname "$0")/lib.sh"

coproc DEPD { "$build/tests/fake_depd" "$tmp/depd.sock" "$tmp/metrics.sock" 4; }
read -r line <&"${DEPD[0]}"
if [ "$line" != ready ]; then
	fail "fake_depd does not start"
	finish
fi

# get ACCEPT: print the body of an HTTP response
get() {
	/usr/bin/python3 - "$tmp/metrics.sock" "$1" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: %s\r\n\r\n" % sys.argv[2].encode())
	data = b""
	while True:
	    part = s.recv(65536)
	    if not part:
	        break
	    data += part
	sys.stdout.buffer.write(data.split(b"\r\n\r\n", 1)[1])
	END
}

openmetrics() {
	/usr/bin/python3 - "$1" <<-'END'
	import sys
	from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
	text = open(sys.argv[1], encoding="utf-8").read()
	families = list(parse(text))
	assert len(families) > 40, len(families)
	assert all(f.name.startswith("adept_") and f.documentation for f in families)
	print(len(families), "families,", sum(len(f.samples) for f in families), "samples")
	END
}

if have /usr/bin/python3; then
	get 'application/openmetrics-text; version=1.0.0' >"$tmp/open"
	get 'text/plain;version=0.0.4' >"$tmp/classic"
	if ! /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; then
		skip "python3's prometheus_client is not installed"
	elif openmetrics "$tmp/open" >"$tmp/out" 2>&1; then
		pass "OpenMetrics: $(cat "$tmp/out")"
	else
		fail "OpenMetrics: $(tail -n 1 "$tmp/out")"
	fi
	# promtool supports only the older format.
	promtool=$(command -v promtool || echo "$top/build/promtool/promtool")
	if [ ! -x "$promtool" ]; then
		skip "promtool is not installed"
	elif timeout 60 "$promtool" check metrics <"$tmp/classic" >"$tmp/out" 2>&1 &&
		[ ! -s "$tmp/out" ]; then
		pass "promtool: $(grep -c '^[^#]' "$tmp/classic") samples"
	else
		fail "promtool: $(head -n 3 "$tmp/out")"
	fi
	# Except for names of families and missing parts it is the same.
	sed -E -e '/^# (UNIT|EOF)/d' -e 's/^(# (TYPE|HELP) .*)/x/' "$tmp/open" >"$tmp/a"
	sed -E -e 's/^(# (TYPE|HELP) .*)/x/' "$tmp/classic" >"$tmp/b"
	if cmp -s "$tmp/a" "$tmp/b"; then
		pass "both formats have the same samples"
	else
		fail "formats differ: $(diff "$tmp/a" "$tmp/b" | head -n 3)"
	fi
fi
if [ -x "$DEPCTL" ]; then
	if timeout 20 "$DEPCTL" metrics --socket="$tmp/metrics.sock" >"$tmp/text" 2>"$tmp/err" &&
		[ "$(tail -n 1 "$tmp/text")" = "# EOF" ]; then
		pass "depctl metrics: $(wc -l <"$tmp/text") lines"
	else
		fail "depctl metrics: $(head -n 1 "$tmp/err")"
	fi
fi
pid=$DEPD_PID
eval "exec ${DEPD[1]}>&-"
if wait "$pid"; then pass "fake_depd ends"; else fail "fake_depd ends with status $?"; fi
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real servers under load, attached to and detached from again and again: their clients see no
# wrong response and no error, and the servers have the mappings, descriptors and signal actions
# that they had.  CYCLES for each server: 2, LONG=1: 60.  Arguments are names of servers.
. "$(dirname "$0")/lib.sh"
. "$tests/attach_lib.sh"
need_depctl
cd "$tmp" || exit 1
wanted=" ${*:-redis memcached nginx postgres node java python} "
cycles=${CYCLES:-2} connections=4 seed=${ADEPT_TEST_SEED:-1}
[ "$LONG" != 1 ] || cycles=${CYCLES:-60}
servers=$tests/servers
# Some servers do not run as root, and root cannot record processes of others.
as=''
chmod 755 "$tmp"
mkdir theirs
if [ "$(id -u)" = 0 ] && have setpriv; then
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chown 65534:65534 theirs
fi
cp "$DEPCTL" "$servers/cycles.py" theirs
pid='' load=''
trap 'kill -9 $pid $load 2>/dev/null; wait; drop_tmp' EXIT

# chosen NAME COMMAND...: is the server selected, and are the commands installed?
chosen() {
	[[ $wanted = *" $1 "* ]] || return
	for command in "${@:2}"; do
		have "$command" || return
	done
}

# cycle N PID...: N cycles as the servers' user, whose result is $said
cycle() {
	said=$($as timeout 3000 /usr/bin/python3 theirs/cycles.py "$tmp/theirs/depctl" \
		"$tmp/theirs/store" "$seed" "$@" 2>&1)
}

# files PID: what of its memory does not change while it serves
files() {
	awk '$6 ~ /^\// { print }' "/proc/$1/maps"
	grep -E "^(SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt|NoNewPrivs|Threads)" "/proc/$1/status"
	ls "/proc/$1/fd"
}

# states FUNCTION PID...
states() {
	for p in "${@:2}"; do
		$1 "$p"
	done
}

# are_still FUNCTION PID...: write the states to the file before; are they what it had?
are_still() {
	mv before earlier
	sleep 0.1
	states "$@" >before
	cmp -s before earlier
}

# states_before FUNCTION PID...: write the states to the file before, when they do not change: a
# signal that a process has just got is still pending
states_before() {
	states "$@" >before
	wait_for 10 are_still "$@"
}

# are_as_before FUNCTION PID...: are the states what the file before has?
are_as_before() {
	states "$@" >after
	cmp -s before after
}

# idle NAME PID...: without load all of the state is as before
idle() {
	states_before state "${@:2}"
	cycle $(($# - 1)) "${@:2}" && pass "$1, without load: $said" ||
		fail "$1, without load: $said"
	wait_for 10 are_as_before state "${@:2}" && pass "$1: its state is as before" ||
		fail "$1: $(diff before after | head -n 4 | paste -s -d '|')"
}

# load_begins KIND ADDRESS [PATH...]; load_ends NAME: the result of the clients
load_begins() {
	rm -f over
	: >load.out
	timeout 3000 /usr/bin/python3 "$servers/clients.py" "$1" "$2" $connections over \
		"${@:3}" >load.out 2>&1 &
	load=$!
	wait_for 60 grep -q ready load.out && sleep 0.3
}

load_ends() {
	sleep 0.3
	touch over
	wait $load
	local status=$?
	load=''
	[ $status = 0 ] && grep -q ^right: load.out && pass "$1: $(tail -n 1 load.out)" ||
		fail "$1: status $status: $(tail -n 1 load.out)"
}

# loaded NAME KIND ADDRESS [PATH...]: cycles of the processes $pids under load.  In a first load,
# without a cycle, a server makes what it keeps.
loaded() {
	load_begins "${@:2}" && load_ends "$1, natively"
	# shellcheck disable=SC2086
	states_before files $pids
	load_begins "${@:2}"
	# shellcheck disable=SC2086
	cycle $cycles $pids && pass "$1: $said" || fail "$1: $said"
	load_ends "$1, clients"
	# A server closes connections when it notices that their clients have ended.
	# shellcheck disable=SC2086
	wait_for 10 are_as_before files $pids &&
		pass "$1: files, descriptors, signals and threads are as before" ||
		fail "$1: $(diff before after | head -n 4 | paste -s -d '|')"
}

# ends NAME SIGNAL STATUS...: it ends as it does natively
ends() {
	kill -"$2" "$pid"
	wait "$pid" 2>/dev/null
	local status=$?
	pid=''
	[[ " ${*:3} " = *" $status "* ]] && pass "$1 ends" || fail "$1: status $status"
}

# begins SECONDS TEST... -- COMMAND...: start a server, in the background, and wait until the test
# succeeds
begins() {
	local seconds=$1 test=()
	shift
	while [ "$1" != -- ]; do
		test+=("$1")
		shift
	done
	shift
	$as "$@" >server.out 2>&1 &
	pid=$!
	pids=$pid
	wait_for "$seconds" "${test[@]}" && return
	fail "$1 does not start: $(tail -n 1 server.out)"
	return 1
}

test_redis() {
	begins 20 [ -S theirs/redis ] -- redis-server --port 0 --unixsocket "$tmp/theirs/redis" \
		--unixsocketperm 777 --save '' --dir theirs || return
	idle redis $pids
	loaded redis redis "$tmp/theirs/redis"
	ends redis TERM 0
}

test_memcached() {
	local user=root
	[ -z "$as" ] || user=nobody
	begins 20 [ -S theirs/memcached ] -- memcached -u $user -m 64 -t 4 -a 777 \
		-s "$tmp/theirs/memcached" || return
	idle memcached $pids
	loaded memcached memcached "$tmp/theirs/memcached"
	ends memcached TERM 0
}

# nginx_conf USER: for a server whose workers run as USER, or as the master
nginx_conf() {
	local kind
	mkdir -p html "theirs/nginx$1"
	[ -s html/large ] || { echo small >html/small && text 2000000 >html/large; }
	[ -z "$as" ] || chown 65534:65534 "theirs/nginx$1"
	cat <<-END
		daemon off;
		${1:+user $1 $(id -gn "$1");}
		worker_processes 2;
		pid $tmp/theirs/nginx$1/pid;
		events { worker_connections 64; }
		http {
			access_log $tmp/theirs/nginx$1/access.log;
			$(for kind in client_body proxy fastcgi uwsgi scgi; do
				echo "${kind}_temp_path $tmp/theirs/nginx$1/$kind;"
			done)
			server {
				listen unix:$tmp/theirs/nginx$1/socket;
				root $tmp/html;
			}
		}
	END
}

nginx_begins() {
	nginx_conf "$1" >"nginx$1.conf"
	begins 20 eval "[ -S theirs/nginx$1/socket ] && [ \"\$(pgrep -c -P \$pid)\" = 2 ]" -- \
		nginx -e "$tmp/theirs/nginx$1/log" -c "$tmp/nginx$1.conf" || return
	pids="$pid $(pgrep -P "$pid" | paste -s -d ' ')"
}

# refused NAME PID PATTERN USER...: an attach by the user is refused, with a reason
refused() {
	rm -rf theirs/refused
	timeout 20 "${@:4}" "$tmp/theirs/depctl" attach -o theirs/refused "$2" >refused.out 2>&1
	[ $? = 1 ] && grep -Eq "rocess $2 .*$3" refused.out && pass "$1 is refused" ||
		fail "$1: $(cat refused.out)"
}

# A master whose workers have given up its privileges: each is attached to by its own user.
nginx_with_user() {
	local root='' worker
	as=$root nginx_begins nobody || return
	load_begins http "$tmp/theirs/nginxnobody/socket" /small /large
	worker=${pids##* }
	refused "a worker of another user" "$worker" "privileges must be those of depctl" env
	refused "a master of another user" "$pid" "belongs to another user" $as
	cycle 2 "$worker" && pass "nginx, a worker by its user: $said" ||
		fail "nginx, a worker by its user: $said"
	load_ends "nginx with a user, clients"
	ends nginx TERM 0
}

test_nginx() {
	nginx_begins "" || return
	idle nginx $pids
	loaded nginx http "$tmp/theirs/nginx/socket" /small /large
	ends nginx TERM 0
	[ -z "$as" ] || nginx_with_user
}

test_node() {
	begins 20 [ -S theirs/node ] -- node "$servers/server.js" "$tmp/theirs/node" || return
	idle node $pids
	loaded node http "$tmp/theirs/node" /10 /2000 /100000
	ends node TERM 143
}

test_java() {
	javac -d . "$servers/Server.java" || return
	# The number of compiling threads changes with their work.
	begins 60 [ -s theirs/java ] -- java -Xmx64m -XX:-UseDynamicNumberOfCompilerThreads \
		-cp "$tmp" Server "$tmp/theirs/java" || return
	idle java $pids
	loaded java http "$(cat theirs/java)" /10 /2000 /100000
	ends java TERM 143
}

test_python() {
	begins 20 [ -s theirs/python ] -- /usr/bin/python3 "$servers/server.py" \
		"$tmp/theirs/python" || return
	idle python $pids
	loaded python http "$(cat theirs/python)" /10 /2000 /30000
	ends python TERM 143
}

sql() {
	"$pg/psql" -h "$tmp/theirs" -U test -tA -c "$1" postgres
}

# pgbench_begins NAME OPTION...; pgbench_ends NAME: it ends regularly when its time is over, which
# SIGALRM says; $transactions counts
pgbench_begins() {
	"$pg/pgbench" -h "$tmp/theirs" -U test -n -c 4 -j 2 "${@:2}" -T 100000 postgres \
		>bench.out 2>&1 &
	load=$!
	wait_for 20 eval '[ "$(pgrep -c -P $pid -f "postgres: test")" -gt 1 ]' ||
		fail "$1: no load: $(tail -n 1 bench.out)"
}

pgbench_ends() {
	local n status
	kill -ALRM $load
	wait $load
	status=$?
	load=''
	n=$(sed -n 's/^number of transactions actually processed: //p' bench.out)
	[ $status = 0 ] && grep -q "failed transactions: 0 " bench.out &&
		pass "$1: $n transactions, none failed" ||
		fail "$1: status $status: $(tail -n 2 bench.out | paste -s -d '|')"
	transactions=$((transactions + n))
}

# A backend; then the postmaster, which creates a process for each transaction meanwhile.
postgres_loaded() {
	transactions=0
	pgbench_begins postgres
	# shellcheck disable=SC2046
	cycle $cycles $(pgrep -P "$pid" -f 'postgres: test') && pass "backends: $said" ||
		fail "backends: $said"
	pgbench_ends backends
	wait_for 20 eval '! pgrep -P $pid -f "postgres: test" >/dev/null'
	states_before files $pids
	pgbench_begins postmaster -C
	cycle $cycles "$pid" && pass "postmaster: $said" || fail "postmaster: $said"
	pgbench_ends postmaster
	wait_for 10 are_as_before files $pids &&
		pass "postgres: files, descriptors, signals and threads are as before" ||
		fail "postgres: $(diff before after | head -n 4 | paste -s -d '|')"
	is "postgres: what it holds" "$(sql 'select count(*), count(distinct s) from
		(select sum(abalance) s from pgbench_accounts union all
		 select sum(tbalance) from pgbench_tellers union all
		 select sum(bbalance) from pgbench_branches union all
		 select sum(delta) from pgbench_history) x')" "4|1"
	is "postgres: transactions" "$(sql 'select count(*) from pgbench_history')" $transactions
}

test_postgres() {
	pg=$(echo /usr/lib/postgresql/*/bin)
	pg=${pg##* }
	[ -x "$pg/pgbench" ] || { skip "postgres is not installed" && return; }
	$as "$pg/initdb" -N -A trust -U test --no-locale -E UTF8 "$tmp/theirs/pg" >out 2>&1 || {
		fail "postgres: initdb: $(tail -n 1 out)"
		return
	}
	cat >>theirs/pg/postgresql.conf <<-END
		listen_addresses = ''
		unix_socket_directories = '$tmp/theirs'
		shared_buffers = 8MB
		fsync = off
	END
	begins 60 "$pg/pg_isready" -q -h "$tmp/theirs" -- "$pg/postgres" -D "$tmp/theirs/pg" ||
		return
	"$pg/pgbench" -h "$tmp/theirs" -U test -i -q postgres >out 2>&1 ||
		fail "pgbench -i: $(tail -n 1 out)"
	idle postgres $pids
	postgres_loaded
	ends postgres INT 0
}

chosen redis redis-server && test_redis
chosen memcached memcached && test_memcached
chosen nginx nginx && test_nginx
chosen postgres && test_postgres
chosen node node && test_node
chosen java java javac && test_java
chosen python && test_python
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The race detector on real programs: races_programs.sh [PROGRAM...]
#
# Programs that are held to be correct must stay silent, but for what is argued in
# tests/races/real/suppressions; then bugs are planted in some and must be found, with both lines.
# What is not in Debian's binaries with names is built from Debian's source packages, which
# SOURCES keeps.  KEEP names a folder for recordings and reports.  LONG=1 takes all programs, else those that need no source, and of them little.
. "$(dirname "$0")/lib.sh"
need_depctl
have python3 || finish
real=$tests/races/real
python=/usr/bin/python3
jobs=$(nproc)
src=$build/races/sources
export SOURCES=${SOURCES:-$src/packages}
quick="pigz zstd xz sqlite queue redis"
long="threading futures memcached nginx postgres"
limit=${LIMIT:-150}
[ "$LONG" != 1 ] || limit=$((limit * 4))
mkdir -p "$src"

# size SHORT LONG: what of it is for this run
size() {
	[ "$LONG" = 1 ] && echo "$2" || echo "$1"
}

# record NAME COMMAND...
record() {
	local name=$1
	shift
	timeout -k 5 "$limit" "$DEPCTL" record -q -o "$tmp/$name.dep" -- "$@" 2>"$tmp/$name.err"
}

# judged NAME silent|found...: ask the store for races and judge them, see judge.py
judged() {
	local name=$1 word
	shift
	if ! timeout -k 5 "$limit" "$DEPCTL" query races --json "$tmp/$name.dep" \
		--suppressions="$real/suppressions" >"$tmp/$name.json" 2>"$tmp/$name.err"; then
		fail "$name: query races: $(tail -n 3 "$tmp/$name.err" | paste -s -d ' ')"
	else
		word=$($python "$real/judge.py" "$1" "$tmp/$name.json" "${@:2}" 2>&1 | tail -n 1)
		case $word in
		good:*) pass "$name:${word#good:}" ;;
		*) fail "$name: $word" ;;
		esac
	fi
	[ -z "${KEEP:-}" ] || { rm -rf "$KEEP/$name".* && cp -r "$tmp/$name".{dep,json} "$KEEP"; }
	rm -rf "$tmp/$name.dep"
}

# threads NAME: did several threads of a process run?  Otherwise nothing is tested.
threads() {
	"$DEPCTL" ls "$tmp/$1.dep" | awk '$1 == "process" { n = 0 } $1 == "thread" && ++n > 1 { m = 1 }
		END { exit !m }' || fail "$1: has no threads"
}

# same NAME A B: are these outputs equal?
same() {
	cmp -s "$2" "$3" || fail "$1: recorded, it does something else than natively"
}

# source PACKAGE [COPY]: its source in $src/COPY, made anew for a copy with a planted bug
source_of() {
	local dir=$src/${2:-$1}
	[ -z "${2:-}" ] || rm -rf "$dir"
	[ ! -e "$dir/.complete" ] || return 0
	if ! "$real/fetch.sh" "$1" "$dir" >"$tmp/fetch" 2>&1; then
		skip "${2:-$1}: Debian's source package cannot be had: $(tail -n 1 "$tmp/fetch")"
		return 1
	fi
	: >"$dir/.complete"
}

# built NAME PROGRAM COMMAND: build in the source's folder what is not there yet
built() {
	local dir=$src/$1 program=$2
	[ ! -x "$dir/$program" ] || return 0
	(cd "$dir" && timeout 600 sh -c "$3") >"$tmp/make" 2>&1 && [ -x "$dir/$program" ] && return
	skip "${dir##*/} cannot be built: $(tail -n 2 "$tmp/make" | paste -s -d ' ' | cut -c 1-150)"
	return 1
}

# until_there PATH
until_there() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

# ---- compressors: their output is what they natively make ----

compressor() {
	local name=$1 input=$2
	shift 2
	have "$1" || return
	text "$input" >"$tmp/input"
	"$@" "$tmp/input" >"$tmp/native"
	record "$name" "$@" "$tmp/input" >"$tmp/recorded" || fail "$name: exit status $?"
	same "$name" "$tmp/native" "$tmp/recorded"
	threads "$name"
	judged "$name" silent
}

test_pigz() {
	compressor pigz "$(size 400000 3000000)" pigz -p2 -n -c
}

test_zstd() {
	compressor zstd "$(size 800000 3000000)" zstd -T2 -q -3 -B400KB -c
}

test_xz() {
	compressor xz "$(size 100000 600000)" xz -T2 -0 --block-size="$(size 40000 200000)" -c
}

# ---- a library ----

test_sqlite() {
	if ! gcc -O2 -g -Wall -Wextra -Werror -pthread -o "$tmp/sqlite" "$real/sqlite_threads.c" \
		-lsqlite3 2>"$tmp/make"; then
		skip "sqlite: cannot be built: $(head -n 1 "$tmp/make")"
		return
	fi
	"$tmp/sqlite" "$tmp/native.db" >"$tmp/native"
	record sqlite "$tmp/sqlite" "$tmp/recorded.db" >"$tmp/recorded" ||
		fail "sqlite: exit status $?"
	same sqlite "$tmp/native" "$tmp/recorded"
	threads sqlite
	judged sqlite silent
}

# ---- Python's own tests ----

# suite_of NAME MODULE TEST...
suite_of() {
	local name=$1
	shift
	if ! $python -c "import $1" 2>/dev/null; then
		skip "$name: $python has no $1"
		return
	fi
	record "$name" $python -S "$real/unittests.py" "$@" >"$tmp/out" 2>&1 ||
		fail "$name: exit status $?: $(tail -n 3 "$tmp/$name.err" | paste -s -d ' ')"
	threads "$name"
	judged "$name" silent
}

test_queue() {
	suite_of queue test.test_queue PyQueueTest.test_basic \
		$(size "" "LifoQueueTest.test_basic CSimpleQueueTest.test_many_threads")
}

test_threading() {
	suite_of threading test.test_threading ThreadTests.test_various_ops \
		LockTests.test_acquire_contended LockTests.test_with ConditionTests.test_notify \
		SemaphoreTests.test_multirelease EventTests.test_notify BarrierTests.test_barrier
}

test_futures() {
	suite_of futures test.test_concurrent_futures ThreadPoolExecutorTest.test_map \
		ThreadPoolExecutorTest.test_submit ThreadPoolAsCompletedTest.test_no_timeout \
		ThreadPoolWaitTests.test_all_completed ThreadPoolWaitTests.test_first_completed
}

# ---- servers ----

# served NAME SOCKET STOP CLIENT -- SERVER...: the function CLIENT must succeed, then STOP ends it
served() {
	local name=$1 socket=$2 stop=$3 client=$4 recorder
	shift 5
	record "$name" "$@" >"$tmp/$name.out" &
	recorder=$!
	if ! until_there "$socket"; then
		fail "$name: does not begin: $(tail -n 2 "$tmp/$name".{out,err} | paste -s -d ' ')"
		kill $recorder
		wait $recorder
		return
	fi
	"$client" "$socket" >"$tmp/$name.client" 2>&1 ||
		fail "$name: its client: $(tail -n 3 "$tmp/$name.client" | paste -s -d ' ')"
	"$stop"
	wait $recorder || fail "$name: exit status $?: $(tail -n 2 "$tmp/$name.err")"
	[ "$name" = postgres ] || threads "$name"
	judged "$name" silent
}

redis_client() {
	redis-benchmark -s "$1" -n "$(size 150 1000)" -c 20 -P 8 -q -t set,get,lpush,sadd,mset &&
		redis-cli -s "$1" <<-'END' | tee "$tmp/redis.answers"
			eval "for i = 1, 1000 do redis.call('sadd', 'big', i) end" 0
			unlink big
			flushall async
			set x y
			bgrewriteaof
			get x
		END
	grep -qx y "$tmp/redis.answers"
}

redis_stop() {
	sleep 0.3
	redis-cli -s "$tmp/redis.socket" shutdown
}

test_redis() {
	have redis-server && have redis-benchmark || return
	cat >"$tmp/redis.conf" <<-END
		port 0
		unixsocket $tmp/redis.socket
		dir $tmp
		save ""
		appendonly yes
		io-threads 3
		io-threads-do-reads yes
		lazyfree-lazy-user-del yes
		lazyfree-lazy-expire yes
	END
	served redis "$tmp/redis.socket" redis_stop redis_client -- redis-server "$tmp/redis.conf"
}

memcached_client() {
	$python "$real/memcached.py" "$1" 150 | grep good
}

memcached_stop() {
	kill "$(cat "$tmp/memcached.pid")"
}

# memcached_at DIRECTORY: how it is run
memcached_at() {
	echo "$1/memcached" -u "$(id -un)" -t 4 -m 8 -s "$tmp/memcached.socket" \
		-P "$tmp/memcached.pid" -o hashpower=13,slab_reassign,slab_automove=1
}

make_memcached="./configure --disable-docs --disable-dependency-tracking CFLAGS='-g -O2' &&
	make -j$jobs memcached"

test_memcached() {
	source_of memcached && built memcached memcached "$make_memcached" || return
	# shellcheck disable=SC2046
	served memcached "$tmp/memcached.socket" memcached_stop memcached_client -- \
		$(memcached_at "$src/memcached")
}

make_nginx="./configure --with-threads --without-http_rewrite_module \
	--without-http_gzip_module --with-cc-opt='-O2 -g' && make -j$jobs"

nginx_client() {
	$python "$real/nginx.py" "$1" 30 /large 200000 /small 5 | grep good
}

nginx_stop() {
	kill -QUIT "$(cat "$tmp/nginx.pid")"
}

test_nginx() {
	source_of nginx && built nginx objs/nginx "$make_nginx" || return
	mkdir -p "$tmp/nginx/html"
	text 200000 >"$tmp/nginx/html/large"
	echo text >"$tmp/nginx/html/small"
	cat >"$tmp/nginx.conf" <<-END
		daemon off;
		worker_processes 1;
		error_log $tmp/nginx.log;
		pid $tmp/nginx.pid;
		user $(id -un) $(id -gn);
		thread_pool default threads=4;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $tmp/nginx/body;
			proxy_temp_path $tmp/nginx/proxy;
			fastcgi_temp_path $tmp/nginx/fastcgi;
			uwsgi_temp_path $tmp/nginx/uwsgi;
			scgi_temp_path $tmp/nginx/scgi;
			server {
				listen unix:$tmp/nginx.socket;
				root $tmp/nginx/html;
				sendfile off;
				aio threads;
				output_buffers 2 16k;
			}
		}
	END
	served nginx "$tmp/nginx.socket" nginx_stop nginx_client -- "$src/nginx/objs/nginx" \
		-e "$tmp/nginx.log" -c "$tmp/nginx.conf" -p "$tmp/nginx"
}

postgres_client() {
	local i
	for ((i = 0; i < 200; i++)); do
		! "$pg/pg_isready" -q -h "$tmp" || break
		sleep 0.1
	done
	"$pg/pgbench" -h "$tmp" -U test -i -q postgres &&
		"$pg/pgbench" -h "$tmp" -U test -c 3 -t 20 postgres &&
		"$pg/psql" -h "$tmp" -U test -t -c 'select count(*) from pgbench_accounts' \
			postgres | grep -w 100000
}

postgres_stop() {
	kill -INT "$(head -n 1 "$tmp/pg/postmaster.pid")"
}

# It does not run as root, and its socket needs a folder that is its own.
test_postgres() {
	local as=
	pg=$(echo /usr/lib/postgresql/*/bin)
	pg=${pg##* }
	[ -x "$pg/pgbench" ] || { skip "postgres is not installed" && return; }
	if [ "$(id -u)" = 0 ]; then
		as="setpriv --reuid=postgres --regid=postgres --clear-groups"
		chmod 1777 "$tmp"
	fi
	if ! $as "$pg/initdb" -N -A trust -U test --no-locale -E UTF8 "$tmp/pg" >"$tmp/out" 2>&1
	then
		fail "postgres: initdb: $(tail -n 1 "$tmp/out")"
		return
	fi
	cat >>"$tmp/pg/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$tmp'
		shared_buffers = 1MB
		max_connections = 10
		fsync = off
		jit = off
		min_parallel_table_scan_size = 0
		parallel_setup_cost = 0
		parallel_tuple_cost = 0
	END
	# shellcheck disable=SC2086
	served postgres "$tmp/.s.PGSQL.5432" postgres_stop postgres_client -- \
		$as "$pg/postgres" -D "$tmp/pg"
}

if [ $# = 0 ]; then
	# shellcheck disable=SC2046,SC2086
	set -- $(size "$quick" "$quick $long")
fi
for name; do
	if declare -F "test_$name" >/dev/null; then
		begun=$SECONDS
		"test_$name"
		echo "     $name: $((SECONDS - begun)) s"
	else
		fail "there is no $name, but: $quick $long"
	fi
done
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The race detector on real programs: races_programs.sh [PROGRAM...]
#
# Programs that are held to be correct must stay silent, but for what is argued in
# tests/races/real/suppressions; then bugs are planted in some and must be found, with both lines.
# What is not in Debian's binaries with names is built from Debian's source packages, which
# SOURCES keeps.  KEEP_IN names a folder for recordings and reports.  LONG=1 takes all programs,
# else those that need no source, and of them little.
. "$(dirname "$0")/lib.sh"
need_depctl
have python3 || finish
real=$tests/races/real
python=/usr/bin/python3
jobs=$(nproc)
src=$build/races/sources
export SOURCES=${SOURCES:-$src/packages}
quick="pigz zstd xz sqlite queue redis"
long="threading futures memcached nginx postgres pbzip2"
planted="pbzip2_join pbzip2_lock memcached_lock nginx_atomic"
limit=${LIMIT:-150}
[ "$LONG" != 1 ] || limit=$((limit * 4))
mkdir -p "$src"

# size SHORT LONG: print the value for this run
size() {
	[ "$LONG" = 1 ] && echo "$2" || echo "$1"
}

# record NAME COMMAND...
record() {
	local name=$1
	shift
	timeout -k 5 "$limit" "$DEPCTL" record -q -o "$tmp/$name.dep" -- "$@" 2>"$tmp/$name.err"
}

# judged NAME silent|found...: query the races and evaluate them, see judge.py
tries=1
judged() {
	local name=$1 word good=1
	shift
	if ! timeout -k 5 "$limit" "$DEPCTL" query races --json "$tmp/$name.dep" \
		--suppressions="$real/suppressions" >"$tmp/$name.json" 2>"$tmp/$name.err"; then
		fail "$name: query races: $(tail -n 3 "$tmp/$name.err" | paste -s -d ' ')"
	else
		word=$($python "$real/judge.py" "$1" "$tmp/$name.json" "${@:2}" 2>&1 | tail -n 1)
		case $word in
		good:*) pass "$name:${word#good:}" && good=0 ;;
		*) [ $tries -gt 1 ] || fail "$name: $word" ;;
		esac
	fi
	if [ -n "${KEEP_IN:-}" ]; then
		rm -rf "$KEEP_IN/$name".*
		cp -r "$tmp/$name".{dep,json} "$KEEP_IN"
	fi
	rm -rf "$tmp/$name.dep"
	return $good
}

# threads NAME: check that one process had several threads; otherwise nothing is tested.
threads() {
	"$DEPCTL" ls "$tmp/$1.dep" | awk '$1 == "process" { n = 0 }
		$1 == "thread" && ++n > 1 { m = 1 } END { exit !m }' || fail "$1: has no threads"
}

# same NAME A B: the outputs must be equal
same() {
	cmp -s "$2" "$3" || fail "$1: recorded, it does something else than natively"
}

# source PACKAGE [COPY]: unpack the source to $src/COPY; again for a copy with a planted bug
source_of() {
	local dir=$src/${2:-$1}
	[ -z "${2:-}" ] || rm -rf "$dir"
	[ ! -e "$dir/.complete" ] || return 0
	if ! "$tests/races/source.sh" "$1" "$dir" >"$tmp/fetch" 2>&1; then
		skip "${2:-$1}: Debian's source package cannot be had: $(tail -n 1 "$tmp/fetch")"
		return 1
	fi
	: >"$dir/.complete"
}

# header NAME HEADER PACKAGE: does the compiler find it?
header() {
	echo "#include <$2>" | gcc -E -x c - >/dev/null 2>&1 && return
	skip "$1: there is no $2 (package $3)"
	return 1
}

# built NAME PROGRAM COMMAND: build PROGRAM in its source directory if it is missing
built() {
	local dir=$src/$1 program=$2
	[ ! -x "$dir/$program" ] || return 0
	(cd "$dir" && timeout 600 sh -c "$3") >"$tmp/make" 2>&1 && [ -x "$dir/$program" ] && return
	fail "$1 cannot be built: $(tail -n 2 "$tmp/make" | paste -s -d ' ' | cut -c 1-150)"
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

# ---- compressors: their output equals that of a native run ----

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
	header sqlite sqlite3.h libsqlite3-dev || return
	if ! gcc -O2 -g -Wall -Wextra -Werror -pthread -o "$tmp/sqlite" "$real/sqlite_threads.c" \
		-lsqlite3 2>"$tmp/make"; then
		fail "sqlite: cannot be built: $(head -n 1 "$tmp/make")"
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
		$(size "" "PyLifoQueueTest.test_basic CSimpleQueueTest.test_many_threads")
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

# served NAME SOCKET STOP CLIENT -- SERVER...: record a server; the function CLIENT must succeed,
# then STOP ends the server. $verdict has the races that must be found.
verdict=(silent)
served() {
	local name=$1 socket=$2 stop=$3 client=$4 recorder
	shift 5
	# left by the last server, which does not remove them
	rm -f "$socket" "$tmp"/*.pid
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
	judged "$name" "${verdict[@]}"
}

redis_client() {
	redis-benchmark -s "$1" -n "$(size 50 1000)" -c 10 -P 8 -q -t set,get,lpush,sadd,mset &&
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
		io-threads $(size 2 3)
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

# memcached_of NAME: use the memcached that was built in NAME's directory
memcached_of() {
	served "$1" "$tmp/memcached.socket" memcached_stop memcached_client -- \
		"$src/$1/memcached" -u "$(id -un)" -t 4 -m 8 -s "$tmp/memcached.socket" \
		-P "$tmp/memcached.pid" -o hashpower=13,slab_reassign,slab_automove=1
}

make_memcached="./configure --disable-docs --disable-dependency-tracking CFLAGS='-g -O2' &&
	make -j$jobs memcached"

test_memcached() {
	header memcached event.h libevent-dev && source_of memcached &&
		built memcached memcached "$make_memcached" && memcached_of memcached
}

make_nginx="./configure --with-threads --without-http_rewrite_module \
	--without-http_gzip_module --with-cc-opt='-O2 -g' && make -j$jobs"

nginx_client() {
	$python "$real/nginx.py" "$1" 30 /large 200000 /small 5 | grep good
}

nginx_stop() {
	kill -QUIT "$(cat "$tmp/nginx.pid")"
}

# nginx_of NAME: use the nginx that was built in NAME's directory
nginx_of() {
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
	served "$1" "$tmp/nginx.socket" nginx_stop nginx_client -- "$src/$1/objs/nginx" \
		-e "$tmp/nginx.log" -c "$tmp/nginx.conf" -p "$tmp/nginx"
}

test_nginx() {
	source_of nginx && built nginx objs/nginx "$make_nginx" && nginx_of nginx
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

# postgres does not run as root, and its socket needs a directory that belongs to it.
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

# ---- another compressor, built from its source ----

make_pbzip2="make pbzip2 CXXFLAGS='-O2 -g -w -pthread -D_LARGEFILE64_SOURCE=1 \
	-D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE=1'"

# pbzip2_of NAME
pbzip2_of() {
	text 300000 >"$tmp/input"
	record "$1" "$src/$1/pbzip2" -p2 -b1 -k -q -c "$tmp/input" >"$tmp/recorded" ||
		fail "$1: exit status $?"
	bzip2 -d -c "$tmp/recorded" | cmp -s - "$tmp/input" ||
		fail "$1: what it compressed is something else"
	threads "$1"
	judged "$1" "${verdict[@]}"
}

test_pbzip2() {
	header pbzip2 bzlib.h libbz2-dev && source_of pbzip2 &&
		built pbzip2 pbzip2 "$make_pbzip2" && pbzip2_of pbzip2
}

# ---- planted bugs: both lines must be found ----

# plant NAME PACKAGE FILE SED-EXPRESSION: unpack Debian's source to NAME's directory and change FILE
plant() {
	case $2 in
	memcached) header "$1" event.h libevent-dev ;;
	pbzip2) header "$1" bzlib.h libbz2-dev ;;
	esac || return
	source_of "$2" "$1" || return
	cp "$src/$1/$3" "$tmp/before"
	sed -i -e "$4" "$src/$1/$3"
	! cmp -s "$tmp/before" "$src/$1/$3" && return
	fail "$1: there is nothing in $3 to plant it"
	return 1
}

# hunted FUNCTION NAME: repeat until the bug is found, since threads may be ordered by chance
hunted() {
	for ((tries = 5; tries > 0; tries--)); do
		! "$1" "$2" || break
	done
	tries=1
}

# at NAME FILE FUNCTION TEXT: print FILE:LINE of the first line with TEXT after the start of
# FUNCTION
at() {
	awk -v function_="$3" -v text="$4" -v file="${2##*/}" 'index($0, function_) == 1 { on = 1 }
		on && index($0, text) { print file ":" NR; exit }' "$src/$1/$2"
}

# The bug of pbzip2 0.9.4: the queue and its mutex are destroyed before the consumers end.  Debian's
# version waits for them, and locks the mutex once more.
test_pbzip2_join() {
	local name=pbzip2_join
	plant $name pbzip2 pbzip2.cpp '
		s/ret = pthread_join(fifo->consumers\[i\], NULL);/ret = 0;/
		/^\t\/\/ wake up all other possibly blocked/,/^\t}/d' || return
	built $name pbzip2 "$make_pbzip2" || return
	verdict=(found "$(at $name pbzip2.cpp 'inline void safe_mutex_unlock' 'unlock(mutex')"
		"$(at $name pbzip2.cpp 'void queueDelete (' 'pthread_mutex_destroy(q->mut)')")
	hunted pbzip2_of $name
}

test_pbzip2_lock() {
	local name=pbzip2_lock
	plant $name pbzip2 pbzip2.cpp \
		'/^inline void syncSetProducerDone(int newValue)$/,/^}/s/safe_mutex_.*//' || return
	built $name pbzip2 "$make_pbzip2" || return
	verdict=(found "$(at $name pbzip2.cpp 'inline int syncGetProducerDone' 'ret = producer')"
		"$(at $name pbzip2.cpp 'inline void syncSetProducerDone' 'producerDone = new')")
	hunted pbzip2_of $name
}

test_memcached_lock() {
	local name=memcached_lock where
	plant $name memcached slabs.c '/^void slabs_free(/,/^}/s/pthread_mutex_.*//' || return
	built $name memcached "$make_memcached" || return
	where='static void do_slabs_free(void *ptr, const size_t size, unsigned int id) {'
	verdict=(found "$(at $name slabs.c "$where" 'p->slots = it;')"
		"$(at $name slabs.c "$where" 'it->next = p->slots;'),$(at $name slabs.c \
			'static void *do_slabs_alloc(' 'it = (item *)p->slots;')")
	hunted memcached_of $name
}

test_nginx_atomic() {
	local name=nginx_atomic file=src/core/ngx_thread_pool.c
	plant $name nginx $file 's/ngx_spinlock(&ngx_thread_pool_done_lock, 1, 2048);//' || return
	built $name objs/nginx "$make_nginx" || return
	verdict=(found "$(at $name $file ngx_thread_pool_cycle '*ngx_thread_pool_done.last = task')"
		"$(at $name $file ngx_thread_pool_handler 'ngx_thread_pool_done.last = &')")
	hunted nginx_of $name
}

if [ $# = 0 ]; then
	# shellcheck disable=SC2046,SC2086
	set -- $(size "$quick" "$quick $long $planted")
fi
for name; do
	if declare -F "test_$name" >/dev/null; then
		begun=$SECONDS verdict=(silent)
		"test_$name"
		echo "     $name: $((SECONDS - begun)) s"
	else
		fail "there is no $name, but: $quick $long $planted"
	fi
done
finish

# SPDX-License-Identifier: GPL-2.0-or-later
# depd itself under its unit: recordings of nobody's go on when it is killed, and when it
# hangs.  Sourced by systemd_guest.sh.

# command: works, waits, works
command='i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; sleep 9
	while [ $i -lt 4000 ]; do i=$((i + 1)); done; echo $i'

adopted() {
	journalctl -b -q -u $u -o cat | grep -c 'adopted from an earlier depd'
}

# What an instance has of a session is in its user's directory.
has_session() {
	ls /run/adept/user/*/session-* >/dev/null 2>&1
}

no_session() {
	! has_session
}

# survives NAME HOW SIGNAL
survives() {
	before=$(adopted)
	dir=/tmp/n/$2-$3.dep
	as_nobody depctl record -q --transport="$2" -o "$dir" -- sh -c "$command" \
		>/tmp/recorded 2>/tmp/record.err &
	record=$!
	soon has_session
	sleep 2
	pid=$(prop MainPID)
	kill "-$3" "$pid"
	check "depd $1, $2: another one" another "$pid"
	check "depd $1, $2: the session is adopted" soon equal $((before + 1)) adopted
	wait $record
	status=$?
	check "depd $1, $2: status $status $(tail -n 1 /tmp/record.err)" [ $status = 0 ]
	check "depd $1, $2: output" equal 4000 cat /tmp/recorded
	check "depd $1, $2: verifies" depctl verify -q "$dir"
	check "depd $1, $2: whole" sh -c "depctl info --quick $dir | grep 'loss: *none'"
	check "depd $1, $2: its user's" equal nobody stat -c %U "$dir"
	check "depd $1, $2: nothing left" soon no_session
}

# The tracer outlives depd in its control group: what it has in hand is recorded, too.
storm() {
	dir=/tmp/n/storm.dep
	as_nobody depctl record -q -o $dir -- sh -c 'i=0; while [ $i -lt 20 ]; do
		/bin/true || echo "true: $?"; i=$((i + 1)); done; exec echo end' \
		>/tmp/recorded 2>/tmp/record.err &
	record=$!
	soon has_session
	sleep 1
	for i in 1 2; do
		pid=$(prop MainPID)
		kill -KILL "$pid"
		check "storm: another depd" another "$pid"
	done
	wait $record
	status=$?
	check "storm: status $status $(tail -n 1 /tmp/record.err)" [ $status = 0 ]
	check "storm: nobody dies" equal end cat /tmp/recorded
	check "storm: all are recorded" equal 22 sh -c "depctl ls $dir | grep -c ^process"
	check "storm: verifies" depctl verify -q $dir
}

systemctl reset-failed
check "depd starts" systemctl start depd.socket depd-metrics.socket $u
survives killed shm KILL
storm
if [ -e /dev/adept ]; then
	# What the udev rule does, and what it is for.
	chgrp adept /dev/adept
	chmod 660 /dev/adept
	as_nobody depctl record -q --transport=kmod -o /tmp/n/no.dep -- true >/tmp/refused 2>&1
	check "kmod: not for those outside of the group" grep 'Permission denied' /tmp/refused
	groups=--groups=$(getent group adept | cut -d: -f3)
	survives stopped kmod STOP
	groups=--clear-groups
else
	survives stopped shm STOP
fi

# ---- rules ----

# status TEXT: depd says so of itself
status() {
	depctl status --json | grep -q "$1"
}

stores() {
	ls -d /var/lib/adept/0/*.dep 2>/dev/null | wc -l
}

# all_good: each of them is whole
all_good() {
	for s in /var/lib/adept/0/*.dep; do
		depctl verify -q "$s" || return 1
		depctl info --quick "$s" | grep -q 'loss: *none' || return 1
	done
}

mkdir -p /etc/adept
printf '[rule readers]\ncomm = cat\nargv = cat -\nring-size = 64K\n' >/etc/adept/depd.conf
check "depd reloads" systemctl reload $u
check "rules are active" soon status '"active":true'
# They all wait for the end of the same pipe.  One by one, for the emulated machine's sake: nobody
# is held for more than ten seconds.
mkfifo /tmp/fifo
exec 9<>/tmp/fifo
for i in $(seq 50); do
	cat - </tmp/fifo 9>&- &
	readers="${readers:-} $!"
	perl -e 'select undef, undef, undef, 0.2' 9>&-
done
for i in $(seq 20); do
	soon status '"open":50' && break
done
check "50 sessions at once" status '"open":50'
exec 9>&-
bad=0
for p in $readers; do
	wait "$p" || bad=$((bad + 1))
done
check "50 at once end as ever" [ $bad = 0 ]
for i in $(seq 20); do
	soon status '"open":0' && break
done
check "50 sessions end" status '"open":0'
check "50 stores" equal 50 stores
check "all of them are whole" all_good
for i in $(seq 300); do
	/bin/true &
done
wait
check "others are not recorded" equal 50 stores
printf '[rule readers]\ncomm = cat\n[rule wrong]\ncolour = red\n' >/etc/adept/depd.conf
systemctl reload $u
check "a wrong file: where" soon status 'depd.conf:4:1'
check "a wrong file: the old rules stay" status '"rule_count":1'
rm -r /etc/adept/depd.conf /var/lib/adept/0/*.dep
check "depd stops" systemctl stop $u
check "depd stopped well" equal success prop Result

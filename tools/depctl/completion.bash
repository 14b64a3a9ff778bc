# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for depctl(1)

_depctl_commands="record attach detach pause resume snapshot ls info dump report query export diff
	where verify module status sessions top stop metrics policy"

# Complete the name of a store, or of a directory that may contain stores.
_depctl_store()
{
	local IFS=$'\n'

	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$1")
}

_depctl_threads()
{
	local word
	for word in "${COMP_WORDS[@]:2}"; do
		[ -f "$word/manifest.json" ] || continue
		depctl ls --json "$word" 2>/dev/null | grep -o '"tid":[0-9]*' | cut -d: -f2
	done
}

_depctl_races_options="--all --all-frames --predict --error-exitcode= --suppressions= --new-since=
	--baseline= --json --sarif --print-suppressions= --report= --verbose --jobs= --live"

# Print the names of the analyzers that the help of `depctl query' lists.
_depctl_analyzers()
{
	depctl query --help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p'
}

# Print the options of the query of profiles $1.
_depctl_profile_options()
{
	case $1 in
	methods) echo --inclusive --per= ;;
	calls | pairs | blocks) echo --per= ;;
	contexts) echo --min= --per= --table= --memory= ;;
	paths) echo --min= --iterations= --table= --against= --memory= ;;
	edges) echo --annotate= --per= ;;
	coverage) echo --all --files --per= ;;
	streams)
		echo --threshold= --min-length= --max-length= --symbol= --memory= --table= \
			--process= --thread= --from= --to= --top= --json --csv --jobs= --help
		return
		;;
	esac
	[ "$1" = contexts ] || [ "$1" = paths ] || echo --live --every= --socket=
	echo --function= --process= --thread= --from= --to= --top= --json --csv --jobs= --help
}

# Print the formats that the help of `depctl export' lists.
_depctl_formats()
{
	depctl export --help 2>/dev/null | sed -n '/^Formats:/,$s/^  \([a-z-]*\) .*/\1/p'
}

# Print the numbers of depd's sessions that have not ended.
_depctl_sessions()
{
	depctl sessions 2>/dev/null | awk '$2 != "ended" && $1 ~ /^[0-9]+$/ { print $1 }'
}

# Print the ids of the user's own processes, for depctl attach and detach.
_depctl_pids()
{
	local p
	for p in /proc/[0-9]*; do
		[ -O "$p" ] && echo "${p##*/}"
	done
}

# _depctl_races CURRENT PREVIOUS: complete the argument of an option of `depctl query races';
# `depctl record --races' has the same options
_depctl_races()
{
	case $2 in
	--new-since) _depctl_store "$1" ;;
	--print-suppressions) mapfile -t COMPREPLY < <(compgen -W "tsan valgrind" -- "$1") ;;
	--suppressions | --baseline | --report)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$1")
		;;
	--error-exitcode | -j | --jobs) ;;
	*) return 1 ;;
	esac
}

_depctl_record()
{
	local cur=$1 prev=$2 races= i w

	case $prev in
	-o | --output)
		_depctl_store "$cur"
		return
		;;
	--on-full)
		mapfile -t COMPREPLY < <(compgen -W "wait drop" -- "$cur")
		return
		;;
	--transport)
		mapfile -t COMPREPLY < <(compgen -W "auto kmod shm" -- "$cur")
		return
		;;
	--last)
		mapfile -t COMPREPLY < <(compgen -W "64M 1G 30s 5m" -- "$cur")
		return
		;;
	--keep-if)
		mapfile -t COMPREPLY < <(compgen -W "always failure crash" -- "$cur")
		return
		;;
	--on-perf)
		mapfile -t COMPREPLY < <(compgen -W "page-faults:10000 major-faults:100
			context-switches:10000 cpu-migrations:100" -- "$cur")
		return
		;;
	--ring-size | --max-size)
		mapfile -t COMPREPLY < <(compgen -W "1M 4M 16M 64M 1G" -- "$cur")
		return
		;;
	--share)
		mapfile -t COMPREPLY < <(compgen -g -- "$cur")
		return
		;;
	--level)
		mapfile -t COMPREPLY < <(compgen -W "1 3 6 9 19" -- "$cur")
		return
		;;
	esac
	_depctl_races "$cur" "$prev" && return
	# After the first word that is not an option, use the completion of the recorded command.
	for ((i = 2; i < COMP_CWORD; i++)); do
		w=${COMP_WORDS[i]}
		case $w in
		--) i=$((i + 1)) ;;
		-o | --output | --on-full | --ring-size | --max-size | --last | --keep-if | --level | \
			--on-call | --on-slow | --on-perf | --snapshots | \
			--transport | \
			--socket | --new-since | --print-suppressions | --suppressions | \
			--baseline | --report | --error-exitcode | -j | --jobs)
			i=$((i + 1))
			continue
			;;
		=) i=$((i + 1)) && continue ;;
		-*) continue ;;
		esac
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			compopt -o default
		fi
		return
	done
	if [[ $cur == -* ]]; then
		[[ " ${COMP_WORDS[*]} " == *" --races "* ]] && races=$_depctl_races_options ||
			races=--report
		mapfile -t COMPREPLY < <(compgen -W "--output= --share --ring-size= --max-size= --last= --last-on-disk --keep-if=
			--on-call= --on-slow= --on-perf= --snapshots=
			--on-full= --level= --transport= --alone --socket= --null --no-record --self-check
			--keep-translations --strict --no-follow --children= --no-functions --no-aslr
			--quiet --races --help $races" -- "$cur")
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	fi
}

# _depctl_color CURRENT: complete the argument of --color before the command.  If it is complete,
# remove --color and its argument from the words, and return false
_depctl_color()
{
	local n=2

	[ "${COMP_WORDS[1]}" = --color ] && [ "$COMP_CWORD" -gt 1 ] || return 1
	[ "${COMP_WORDS[2]}" != = ] || n=3
	if [ "$COMP_CWORD" -le $n ]; then
		mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "${1#=}")
		return 0
	fi
	COMP_WORDS=("${COMP_WORDS[0]}" "${COMP_WORDS[@]:n+1}")
	COMP_CWORD=$((COMP_CWORD - n))
	return 1
}

_depctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options

	COMPREPLY=()
	_depctl_color "$cur" && return
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$_depctl_commands help --color= --help --version" \
			-- "$cur")
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	# bash splits --option=value into three words.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case ${COMP_WORDS[1]} in
	record)
		_depctl_record "$cur" "$prev"
		return
		;;
	help)
		if [ "$COMP_CWORD" = 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$_depctl_commands" -- "$cur")
		fi
		return
		;;
	attach) options="--output --for --last --last-on-disk --on-call= --on-slow= --on-perf= --snapshots= --burst
		--children --transport= --background --alone --socket --quiet --dry --json --help" ;;
	detach) options="--session --socket --quiet --help" ;;
	pause | resume) options="--socket --quiet --help" ;;
	snapshot) options="--output --session --socket --quiet --help" ;;
	ls) options="--modules --json --help" ;;
	info) options="--attach --formats --compress --output= --quick --json --csv --jobs --help" ;;
	dump) options="--refs --blocks --events --timestamps --functions --segments --fragments --log
		--thread --segment
		--fields= --json --jobs --help" ;;
	query)
		if [ "$COMP_CWORD" = 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_depctl_analyzers) --help" -- "$cur")
			return
		fi
		if [ "${COMP_WORDS[2]}" = races ]; then
			_depctl_races "$cur" "$prev" && return
			options="$_depctl_races_options --socket= --help"
		else
			options=$(_depctl_profile_options "${COMP_WORDS[2]}")
		fi
		;;
	report) options="--process= --thread= --from= --to= --paths --memory= --top= --html=
			--no-source --json --jobs= --help" ;;
	export)
		if [ "$COMP_CWORD" = 2 ] && [[ $cur != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_depctl_formats)" -- "$cur")
			return
		fi
		options="--output= --weight= --axis= --process= --thread= --function= --module= --jobs=
			--help"
		;;
	diff) options="--contexts --overlap --threshold= --top= --json --csv --jobs=
		--help" ;;
	where) options="--process= --time= --json --help" ;;
	verify) options="--quiet --json --jobs --contexts= --rebuild --help" ;;
	module) options="--json --help" ;;
	status) options="--users --json --socket= --help" ;;
	sessions) options="--json --socket= --help" ;;
	top) options="--number --once --socket= --help" ;;
	stop) options="--all --socket= --help" ;;
	metrics) options="--socket= --help" ;;
	policy)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "--json --help" -- "$cur")
		elif [[ " ${COMP_WORDS[*]:2:COMP_CWORD-2} " == *" check "* ]]; then
			compopt -o default
		else
			mapfile -t COMPREPLY < <(compgen -W "check" -- "$cur")
		fi
		return
		;;
	*) return ;;
	esac
	case $prev in
	--socket)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--session)
		mapfile -t COMPREPLY < <(compgen -W "$(_depctl_sessions)" -- "$cur")
		return
		;;
	-o | --output)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--weight)
		mapfile -t COMPREPLY < <(compgen -W "instructions calls" -- "$cur")
		return
		;;
	--axis)
		mapfile -t COMPREPLY < <(compgen -W "time instructions" -- "$cur")
		return
		;;
	-t | --thread)
		mapfile -t COMPREPLY < <(compgen -W "$(_depctl_threads)" -- "$cur")
		return
		;;
	-j | --jobs | --segment | -p | --process | --time | --from | --to | --per | --top | \
		--min | --function | --annotate) return ;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		return
	fi
	case ${COMP_WORDS[1]} in
	snapshot)
		_depctl_store "$cur"
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(_depctl_pids)" -- "$cur")
		;;
	attach | detach | pause | resume)
		mapfile -t COMPREPLY < <(compgen -W "$(_depctl_pids)" -- "$cur") ;;
	stop) mapfile -t COMPREPLY < <(compgen -W "$(_depctl_sessions)" -- "$cur") ;;
	query)
		if [[ " ${COMP_WORDS[*]} " == *" --live "* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_depctl_sessions)" -- "$cur")
		else
			_depctl_store "$cur"
		fi
		;;
	status | sessions | top | metrics | module) ;;
	*) _depctl_store "$cur" ;;
	esac
}

complete -F _depctl depctl

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data shared by exec.bpf.c in the kernel and exec_watch.c: compiled rules, events, counters.
 *
 * Plain data.  The including file must define u32 and u64.
 */
#ifndef DEPD_PENDING_EXEC_BPF_H
#define DEPD_PENDING_EXEC_BPF_H

#define EXEC_RULES	64
#define EXEC_COMM	16
#define EXEC_TEXT	1024	/* bytes of a path; a power of 2 */
#define EXEC_ARGV	4096
#define EXEC_WORDS	8	/* number of 8-byte words compared at each end of a text */
#define EXEC_PENDING	8192	/* limit of processes stopped and not yet released or attached */
#define EXEC_RING	(4u << 20)

/**
 * struct exec_pattern - literal beginning and end of a pattern
 *
 * Every text that matches the pattern begins and ends with this literal text.  It is compared in
 * words of 8 bytes with masks; the words of the end are right-aligned.
 */
struct exec_pattern {
	u64 head[EXEC_WORDS], head_mask[EXEC_WORDS];
	u64 tail[EXEC_WORDS], tail_mask[EXEC_WORDS];
	u32 min, max;		/* limits of the length of a matching text */
};

#define EXEC_RULE_COMM		0x01u
#define EXEC_RULE_PATH		0x02u
#define EXEC_RULE_CGROUP	0x04u
#define EXEC_RULE_UID		0x08u
#define EXEC_RULE_TERMINAL	0x10u	/* matches in the foreground of a terminal, too */

/** struct exec_rule - compiled rule; a process that matches no compiled rule is not stopped */
struct exec_rule {
	u32 flags, uid;
	u64 comm[2], comm_mask[2];
	struct exec_pattern path, cgroup;
};

#define EXEC_FOREGROUND	0x01u
#define EXEC_EXE_CUT	0x02u	/* exec_event.exe is truncated: longer than EXEC_TEXT */
#define EXEC_NAME_CUT	0x04u
#define EXEC_CGROUP_CUT	0x08u

/** struct exec_event - a process that has been stopped; texts are not NUL-terminated */
struct exec_event {
	u64 ns;			/* time of the exec; CLOCK_MONOTONIC */
	u64 start;		/* start time of the process; CLOCK_BOOTTIME */
	u32 pid;		/* pid in depd's pid namespace */
	u32 uid, flags;
	u32 exe_len, name_len, cgroup_len, argv_len;
	char comm[EXEC_COMM];
	char exe[EXEC_TEXT];	/* executed file; for a script, its interpreter */
	char name[EXEC_TEXT];	/* file name given to execve */
	char cgroup[EXEC_TEXT];
	char argv[EXEC_ARGV];	/* arguments, each followed by a NUL */
};

/** struct exec_pending - entry of the map of pending processes; the key is the pid */
struct exec_pending {
	u64 ns;			/* time of the stop; CLOCK_MONOTONIC.  0: it is being resumed */
	u64 start;		/* start time of the process; CLOCK_BOOTTIME */
};

enum exec_count {
	EXEC_SEEN,		/* all execs */
	EXEC_STOPPED,
	/* Processes that were not stopped, though a rule may match */
	EXEC_FULL,		/* not stopped: no room in the ring buffer or the map */
	EXEC_FAILED,		/* not stopped: the signal could not be sent */
	EXEC_OTHER_NS,		/* not stopped: in another pid namespace */
	EXEC_IMAGE32,		/* not stopped: not an x86-64 program */
	EXEC_PRIVILEGED,	/* not stopped: raises privileges, such as set-uid */
	EXEC_TRACED,		/* not stopped: traced by another process */
	EXEC_TERMINAL,		/* not stopped: in the foreground of a terminal */
	/* Processes that were stopped */
	EXEC_ENDED,		/* ended while it was pending */
	EXEC_COUNTS
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between exec.bpf.c in the kernel and exec_watch.c: rules as the kernel can test them, what it
 * tells of a process, what it counts.  Plain data; u32 and u64 are the includer's.
 */
#ifndef DEPD_PENDING_EXEC_BPF_H
#define DEPD_PENDING_EXEC_BPF_H

#define EXEC_RULES	64
#define EXEC_COMM	16
#define EXEC_TEXT	1024	/* of a path; a power of 2 */
#define EXEC_ARGV	4096
#define EXEC_WORDS	8	/* of 8 bytes, that are compared at either end of a text */
#define EXEC_PENDING	8192	/* processes held at a time, at most */
#define EXEC_RING	(4u << 20)

/**
 * struct exec_pattern - what any text that fits a pattern begins and ends with
 *
 * Words are compared under masks; the end's are right-aligned.
 */
struct exec_pattern {
	u64 head[EXEC_WORDS], head_mask[EXEC_WORDS];
	u64 tail[EXEC_WORDS], tail_mask[EXEC_WORDS];
	u32 min, max;		/* length of the text */
};

#define EXEC_RULE_COMM		0x01u
#define EXEC_RULE_PATH		0x02u
#define EXEC_RULE_CGROUP	0x04u
#define EXEC_RULE_UID		0x08u
#define EXEC_RULE_TERMINAL	0x10u	/* also in the foreground of a terminal */

/** struct exec_rule - one rule; a process that this rules out is not stopped */
struct exec_rule {
	u32 flags, uid;
	u64 comm[2], comm_mask[2];
	struct exec_pattern path, cgroup;
};

#define EXEC_FOREGROUND	0x01u
#define EXEC_EXE_CUT	0x02u	/* longer than there is room.. */
#define EXEC_NAME_CUT	0x04u
#define EXEC_CGROUP_CUT	0x08u

/** struct exec_event - a process that has been stopped; texts without a 0 at their end */
struct exec_event {
	u64 ns;			/* CLOCK_MONOTONIC */
	u64 start;		/* of the process; CLOCK_BOOTTIME */
	u32 pid;		/* in depd's namespace */
	u32 uid, flags;
	u32 exe_len, name_len, cgroup_len, argv_len;
	char comm[EXEC_COMM];
	char exe[EXEC_TEXT];	/* the image's file, for a script its interpreter's */
	char name[EXEC_TEXT];	/* as it was given to execve */
	char cgroup[EXEC_TEXT];
	char argv[EXEC_ARGV];	/* a 0 after each */
};

/** struct exec_pending - of a process that is stopped, by its pid */
struct exec_pending {
	u64 ns;			/* since when; CLOCK_MONOTONIC */
	u64 start;		/* of the process; CLOCK_BOOTTIME */
};

enum exec_count {
	EXEC_SEEN,		/* execs */
	EXEC_STOPPED,
	EXEC_FULL,		/* might fit, and there was no room to tell of it */
	EXEC_FAILED,		/* ..and it could not be stopped */
	EXEC_OTHER_NS,		/* might fit; in another pid namespace */
	EXEC_IMAGE32,		/* ..no 64-bit image */
	EXEC_PRIVILEGED,	/* ..with privileges by its file */
	EXEC_TRACED,		/* ..traced by somebody */
	EXEC_TERMINAL,		/* fits but for the terminal */
	EXEC_ENDED,		/* ended while it was held */
	EXEC_COUNTS
};

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF program: stop a process that a rule may match, before its first instruction.
 *
 * The tracepoint sched_process_exec is in the middle of execve, when the new image exists.  A
 * SIGSTOP sent there takes effect when execve returns.  The comparison here only excludes
 * processes: it tests the literal text at the ends of patterns, see kernel_rules.c.  If it cannot
 * decide, the process is stopped and user space decides.
 *
 * User space must know every stopped process, since it has to resume the process.  So room in the
 * ring buffer and an entry in the map of pending processes are reserved before the signal is sent.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

#include "exec_bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SIGSTOP		19
#define PIDTYPE_PGID	2
#define ELFCLASS64	2
#define EM_X86_64	62
#define DEPTH		40	/* maximum number of directories in a path */

/* Only the members used here; libbpf relocates their offsets when it loads the program. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct kernfs_node {
	struct kernfs_node *parent;
	const char *name;
};

/* struct kernfs_node since Linux 6.15, which has renamed `parent` */
struct kernfs_node___rcu {
	struct kernfs_node *__parent;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct tty_struct {
	struct {
		struct pid *pgrp;
	} ctrl;
};

/* struct tty_struct before Linux 5.15, which has moved `pgrp` */
struct tty_struct___old {
	struct pid *pgrp;
};

struct signal_struct {
	struct pid *pids[4];
	struct tty_struct *tty;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
};

struct task_struct {
	unsigned int ptrace;
	int pid, tgid;
	u64 start_boottime;
	char comm[EXEC_COMM];
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct mm_struct *mm;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
	unsigned int secureexec : 1;
	char buf[32];
};

#pragma clang attribute pop

/* Constants that depd sets before it loads the program. */
const volatile u32 self_pid;		/* pid of depd in its pid namespace */
const volatile u32 self_ns;		/* inode number of depd's pid namespace */

/* Number of rules in effect; depd writes it. */
volatile u32 nrules;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EXEC_RULES);
	__type(key, u32);
	__type(value, struct exec_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EXEC_PENDING);
	__type(key, u32);
	__type(value, struct exec_pending);
} held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EXEC_RING);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EXEC_COUNTS);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

/** struct text - a text in @s, from @start to @end; @pad makes 64 bytes before @end readable */
struct text {
	char pad[8 * EXEC_WORDS];
	char s[EXEC_TEXT + 256];
	u32 start, end;
	bool cut;		/* the text is truncated and cannot be compared */
};

/** struct subject - the process that is tested */
struct subject {
	struct text exe, name, cgroup;
	u64 comm[2];
	u32 uid, nrules;
	s32 known;		/* number of last bytes of @name that an absolute path also has */
	bool foreground;
	/* Results: a rule may match; a rule may match, but not in a terminal's foreground */
	bool fits, terminal;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct subject);
} scratch SEC(".maps");

static __always_inline void count(u32 what)
{
	u64 *n = bpf_map_lookup_elem(&counts, &what);

	if (n)
		++*n;
}

/* Get the pid of @task in depd's pid namespace; 0: the task is in another namespace. */
static __always_inline u32 number_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct pid_namespace *ns = NULL;
	struct upid *at;
	u32 nr = 0;

	at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	     (u64)level * bpf_core_type_size(struct upid);
	bpf_core_read(&ns, sizeof(ns), &at->ns);
	bpf_core_read(&nr, sizeof(nr), &at->nr);
	return BPF_CORE_READ(ns, ns.inum) == self_ns ? nr : 0;
}

static __always_inline bool is_foreground(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct tty_struct *tty = BPF_CORE_READ(signal, tty);
	struct pid *pgrp;

	if (!tty)
		return false;
	if (bpf_core_field_exists(tty->ctrl.pgrp))
		pgrp = BPF_CORE_READ(tty, ctrl.pgrp);
	else
		pgrp = BPF_CORE_READ((struct tty_struct___old *)tty, pgrp);
	return pgrp == BPF_CORE_READ(signal, pids[PIDTYPE_PGID]);
}

/* Prepend a slash and a name of at most 255 bytes to @t. */
static __always_inline bool prepend(struct text *t, const void *name, u32 len)
{
	u32 at;

	if (len > 255 || t->start < len + 1) {
		t->cut = true;
		return false;
	}
	at = (t->start - len - 1) & (EXEC_TEXT - 1);
	t->s[at] = '/';
	bpf_probe_read_kernel(&t->s[at + 1], len & 255, name);
	t->start = at;
	return true;
}

/* Get the path of a file, up to the root of its mount namespace. */
static __always_inline void read_path(struct text *t, struct file *file)
{
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry), *up;
	struct vfsmount *v = BPF_CORE_READ(file, f_path.mnt);
	struct mount *m = (void *)v - bpf_core_field_offset(struct mount, mnt), *below;
	int i;

	t->start = t->end = EXEC_TEXT;
	t->cut = true;
	for (i = 0; i < DEPTH; i++) {
		up = BPF_CORE_READ(d, d_parent);
		if (d != BPF_CORE_READ(m, mnt.mnt_root) && d != up) {
			if (!prepend(t, BPF_CORE_READ(d, d_name.name),
				     BPF_CORE_READ(d, d_name.len)))
				return;
			d = up;
			continue;
		}
		below = BPF_CORE_READ(m, mnt_parent);
		if (below == m) {
			t->cut = false;
			return;
		}
		d = BPF_CORE_READ(m, mnt_mountpoint);
		m = below;
	}
}

static __always_inline struct kernfs_node *parent_of(struct kernfs_node *kn)
{
	if (bpf_core_field_exists(kn->parent))
		return BPF_CORE_READ(kn, parent);
	return BPF_CORE_READ((struct kernfs_node___rcu *)kn, __parent);
}

static __always_inline void read_cgroup(struct text *t, struct task_struct *task)
{
	struct kernfs_node *kn = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn), *up;
	const char *name;
	char buf[256];
	long n;
	int i;

	t->start = t->end = EXEC_TEXT;
	t->cut = true;
	for (i = 0; i < DEPTH; i++) {
		up = parent_of(kn);
		if (!up) {
			if (t->start == t->end)
				prepend(t, "", 0);
			t->cut = false;
			return;
		}
		name = BPF_CORE_READ(kn, name);
		n = bpf_probe_read_kernel_str(buf, sizeof(buf), name);
		if (n <= 0 || !prepend(t, buf, n - 1))
			return;
		kn = up;
	}
}

static __always_inline void read_name(struct text *t, const char *name)
{
	long n = bpf_probe_read_kernel_str(t->s, EXEC_TEXT, name);

	t->start = 0;
	t->end = n > 0 ? (n - 1) & (EXEC_TEXT - 1) : 0;
	t->cut = n <= 0 || n == EXEC_TEXT;
}

/* Length of a relative path's last component and its slash: the absolute path ends so, too. */
static __always_inline u32 known_tail(const struct text *t)
{
	u32 end = t->end & (EXEC_TEXT - 1), i;

	for (i = 1; i < 8 * EXEC_WORDS && i <= end; i++)
		if (t->s[(end - i) & (EXEC_TEXT - 1)] == '/')
			break;
	return i <= end ? i : end;
}

/* True if the end of @t can match @p; only the last @known bytes are compared. */
static __always_inline bool tail_fits(const struct text *t, const struct exec_pattern *p,
				      s32 known)
{
	const char *base = (const char *)t;
	u32 end = t->end, i;
	u64 diff = 0, mask;
	s32 n;

	if (end > EXEC_TEXT)
		return true;
	for (i = 0; i < EXEC_WORDS; i++) {
		n = known - 8 * (s32)(EXEC_WORDS - 1 - i);
		mask = n >= 8 ? ~0ull : n <= 0 ? 0 : ~0ull << (64 - 8 * n);
		diff |= (*(const u64 *)&base[end + 8 * i] ^ p->tail[i]) & p->tail_mask[i] & mask;
	}
	return !diff;
}

static __always_inline bool may_fit(const struct text *t, const struct exec_pattern *p)
{
	u32 start = t->start & (EXEC_TEXT - 1), len = t->end - start, i;
	u64 diff = 0;

	if (t->cut)
		return true;
	if (len < p->min || len > p->max)
		return false;
	for (i = 0; i < EXEC_WORDS; i++)
		diff |= (*(const u64 *)&t->s[start + 8 * i] ^ p->head[i]) & p->head_mask[i];
	return !diff && tail_fits(t, p, 8 * EXEC_WORDS);
}

/* True if the file's path, or the name given to execve (of a link or script), can match @p. */
static __always_inline bool path_may_fit(const struct subject *s, const struct exec_pattern *p)
{
	if (may_fit(&s->exe, p))
		return true;
	if (s->name.s[0] == '/' || s->name.cut)
		return may_fit(&s->name, p);
	return tail_fits(&s->name, p, s->known);
}

struct bpf_map;
static long try_rule(struct bpf_map *map, const void *key, void *value, void *ctx)
{
	const struct exec_rule *r = value;
	struct subject *s;
	u32 none = 0;

	(void)map;
	(void)ctx;
	s = bpf_map_lookup_elem(&scratch, &none);
	if (!s || *(const u32 *)key >= s->nrules)
		return 1;
	if ((r->flags & EXEC_RULE_UID) && r->uid != s->uid)
		return 0;
	if ((r->flags & EXEC_RULE_COMM) &&
	    (((s->comm[0] ^ r->comm[0]) & r->comm_mask[0]) |
	     ((s->comm[1] ^ r->comm[1]) & r->comm_mask[1])))
		return 0;
	if ((r->flags & EXEC_RULE_PATH) && !path_may_fit(s, &r->path))
		return 0;
	if ((r->flags & EXEC_RULE_CGROUP) && !may_fit(&s->cgroup, &r->cgroup))
		return 0;
	if (s->foreground && !(r->flags & EXEC_RULE_TERMINAL)) {
		s->terminal = true;
		return 0;
	}
	s->fits = true;
	return 1;
}

/* True if the process is never stopped, whatever the rules are. */
static __always_inline bool leave_alone(struct task_struct *task, struct linux_binprm *bprm,
					u32 *pid)
{
	u16 machine = 0;

	*pid = number_of(task);
	if (!*pid) {
		count(EXEC_OTHER_NS);
		return true;
	}
	if (task->ptrace) {
		count(EXEC_TRACED);
		return true;
	}
	bpf_core_read(&machine, sizeof(machine), &bprm->buf[18]);
	if (BPF_CORE_READ(bprm, buf[4]) != ELFCLASS64 || machine != EM_X86_64) {
		count(EXEC_IMAGE32);
		return true;
	}
	if (BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec)) {
		count(EXEC_PRIVILEGED);
		return true;
	}
	return false;
}

static __always_inline u32 copy_text(char *to, const struct text *t)
{
	u32 start = t->start & (EXEC_TEXT - 1), len = (t->end - t->start) & (EXEC_TEXT - 1);

	bpf_probe_read_kernel(to, len, &t->s[start]);
	return len;
}

static __always_inline void describe(struct exec_event *e, const struct subject *s,
				     struct task_struct *task)
{
	unsigned long from = BPF_CORE_READ(task, mm, arg_start);
	unsigned long len = BPF_CORE_READ(task, mm, arg_end) - from;

	e->uid = s->uid;
	e->flags = (s->foreground ? EXEC_FOREGROUND : 0) | (s->exe.cut ? EXEC_EXE_CUT : 0) |
		   (s->name.cut ? EXEC_NAME_CUT : 0) | (s->cgroup.cut ? EXEC_CGROUP_CUT : 0);
	__builtin_memcpy(e->comm, s->comm, sizeof(e->comm));
	e->exe_len = copy_text(e->exe, &s->exe);
	e->name_len = copy_text(e->name, &s->name);
	e->cgroup_len = copy_text(e->cgroup, &s->cgroup);
	if (len > EXEC_ARGV)
		len = EXEC_ARGV;
	e->argv_len = bpf_probe_read_user(e->argv, len, (void *)from) ? 0 : len;
}

/* Stop the process.  Event and map entry are reserved first: user space must know the process. */
static __always_inline void hold(struct task_struct *task, const struct subject *s, u32 pid)
{
	struct exec_pending h = { .ns = bpf_ktime_get_ns(), .start = task->start_boottime };
	struct exec_event *e;

	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		count(EXEC_FULL);
		return;
	}
	e->pid = pid;
	e->ns = h.ns;
	e->start = h.start;
	describe(e, s, task);
	if (bpf_map_update_elem(&held, &pid, &h, BPF_ANY)) {
		count(EXEC_FULL);
		bpf_ringbuf_discard(e, 0);
		return;
	}
	if (bpf_send_signal(SIGSTOP)) {
		count(EXEC_FAILED);
		bpf_map_delete_elem(&held, &pid);
		bpf_ringbuf_discard(e, 0);
		return;
	}
	count(EXEC_STOPPED);
	bpf_ringbuf_submit(e, 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	u32 none = 0, pid;
	struct subject *s;

	(void)old_pid;
	count(EXEC_SEEN);
	s = bpf_map_lookup_elem(&scratch, &none);
	if (!s || !nrules)
		return 0;
	pid = number_of(task);
	if (pid == self_pid ||
	    number_of(BPF_CORE_READ(task, real_parent, group_leader)) == self_pid)
		return 0;
	s->nrules = nrules;
	s->uid = bpf_get_current_uid_gid();
	s->foreground = is_foreground(task);
	s->fits = s->terminal = false;
	bpf_probe_read_kernel(s->comm, sizeof(s->comm), task->comm);
	read_path(&s->exe, BPF_CORE_READ(bprm, file));
	read_name(&s->name, BPF_CORE_READ(bprm, filename));
	s->known = known_tail(&s->name);
	read_cgroup(&s->cgroup, task);
	bpf_for_each_map_elem(&rules, try_rule, NULL, 0);
	if (!s->fits) {
		if (s->terminal)
			count(EXEC_TERMINAL);
		return 0;
	}
	if (!leave_alone(task, bprm, &pid))
		hold(task, s, pid);
	return 0;
}

/* A pending process has one thread, so the end of that thread is the end of the process. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct exec_pending *h;
	bool resumed;
	u32 pid;

	if (task->pid != task->tgid)
		return 0;
	pid = number_of(task);
	h = pid ? bpf_map_lookup_elem(&held, &pid) : NULL;
	if (!h)
		return 0;
	resumed = !h->ns;
	if (!bpf_map_delete_elem(&held, &pid) && !resumed)
		count(EXEC_ENDED);
	return 0;
}

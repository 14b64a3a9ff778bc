/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between depctl and the collector of `depctl record --alone'.
 *
 *	shell
 *	  depctl ------- socket ------- collector
 *	    command  ===== rings ======>    |
 *	      children  =================>  v
 *	    witness                       store
 *
 *	depctl, command, witness:	the process group that the shell has made
 *	collector:			a session of its own
 *
 * depctl is the process that the shell started.  It stays in the terminal's process group for
 * job control, launches the command, whose parent it is, passes signals on, and reports how the
 * command ended.  The collector is a child of depctl that no signal to the group or from the
 * terminal reaches.  It makes the session and the store, and records until all programs have
 * ended:
 *
 *	depctl is killed	the collector goes on and closes the store in order; how the
 *				command ended is not known then
 *	collector is killed	the programs go on natively; depctl says so and waits for the
 *				command
 *
 * The collector follows execve by ptrace.  It is no ancestor of the command, which matters to
 * Yama only: the programs then name the collector as the process that may trace them.
 *
 * The socket is a SOCK_SEQPACKET pair; a message is one packet.
 */
#ifndef DEPCTL_RECORD_RECORDER_H
#define DEPCTL_RECORD_RECORDER_H

#include "libdep/inject/inject.h"
#include "record.h"

enum recorder_kind {
	/* collector to depctl */
	RECORDER_READY = 1,	/* there is a store and a session: its descriptor, the rings' */
	RECORDER_DONE,		/* all is stored */
	/* depctl to collector */
	RECORDER_LAUNCHED,
	RECORDER_NOT_LAUNCHED,	/* there is no command: remove the store */
	RECORDER_ENDED,		/* the command has */
	RECORDER_STOP,		/* record no more, whatever lives */
};

/** struct recorder_message - all messages have this size */
struct recorder_message {
	uint32_t kind;
	union {
		struct {
			pid_t ptracer;	/* of struct dep_target */
		} ready;
		struct {
			pid_t pid;
			bool native, privileged;
			char why[DEP_WHY_SIZE];
		} launched;
		struct {
			int status;	/* of the command, as wait() gives it */
		} ended;
		struct {
			struct recorded recorded;
			int ret;	/* as of record_here() */
		} done;
	};
};

/** recorder_send() - with @nfds descriptors; 0 or a negative errno */
int recorder_send(int sock, const struct recorder_message *m, const int *fds, int nfds);
/**
 * recorder_receive() - the next message
 * @fds: of two, or NULL; receives descriptors or -1
 * @flags: of recvmsg()
 *
 * Return: 0, -EAGAIN (only with MSG_DONTWAIT), -EPIPE: the other side is gone.
 */
int recorder_receive(int sock, struct recorder_message *m, int fds[2], int flags);

/**
 * collector_main() - be the collector; ends the process
 * @dir: where the store is to be made; "" without one
 */
__attribute__((noreturn))
void collector_main(const struct record_options *o, const char *dir, int sock);

#endif

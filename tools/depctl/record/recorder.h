/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of `depctl record --alone', and the messages between depctl and the collector.
 *
 *	shell
 *	  depctl ------- socket ------- collector
 *	    command  ===== rings ======>    |
 *	      children  =================>  v
 *	    witness                       store
 *
 *	depctl, command, witness:	in the process group that the shell created
 *	collector:			in a separate session (setsid)
 *
 * The shell starts depctl.  depctl stays in the terminal's process group for job control.  It
 * launches the command as its child, passes signals on, and reports how the command ended.
 *
 * The collector is another child of depctl.  Signals to the group or from the terminal do not reach
 * it.  It creates the session and the store, and records until all programs have ended:
 *
 *	depctl is killed	the collector continues and closes the store; the exit status of
 *				the command is not known
 *	collector is killed	the programs continue unrecorded; depctl prints a message and
 *				waits for the command
 *
 * The collector follows execve by ptrace.  It is not an ancestor of the command.  If Yama allows
 * ptrace only to ancestors, the programs name the collector as their tracer (PR_SET_PTRACER).
 *
 * The socket is a SOCK_SEQPACKET pair; a message is one packet.
 */
#ifndef DEPCTL_RECORD_RECORDER_H
#define DEPCTL_RECORD_RECORDER_H

#include "libdep/inject/inject.h"
#include "record.h"

enum recorder_kind {
	/* collector to depctl */
	/* session and store exist; the message has descriptors of the session file and the rings */
	RECORDER_READY = 1,
	RECORDER_DONE,		/* everything is stored */
	/* depctl to collector */
	RECORDER_LAUNCHED,
	RECORDER_NOT_LAUNCHED,	/* the command was not launched: remove the store */
	RECORDER_ENDED,		/* the command has ended */
	RECORDER_STOP,		/* stop recording, even if programs still run */
};

/** struct recorder_message - all messages have this size */
struct recorder_message {
	uint32_t kind;
	union {
		struct {
			pid_t ptracer;	/* value for dep_target.ptracer: the collector, or 0 */
		} ready;
		struct {
			pid_t pid;
			bool native, privileged;
			char why[DEP_WHY_SIZE];
		} launched;
		struct {
			int status;	/* wait() status of the command */
		} ended;
		struct {
			struct recorded recorded;
			int ret;	/* result of record_here() */
		} done;
	};
};

/** recorder_send() - send a message with @nfds descriptors; 0 or a negative errno */
int recorder_send(int sock, const struct recorder_message *m, const int *fds, int nfds);
/**
 * recorder_receive() - receive the next message
 * @fds: receives two descriptors, each -1 if it was not sent; NULL: none are expected
 * @flags: flags of recvmsg()
 *
 * Return: 0; -EAGAIN (only with MSG_DONTWAIT): no message; -EPIPE: the other process has ended.
 */
int recorder_receive(int sock, struct recorder_message *m, int fds[2], int flags);

/**
 * collector_main() - main function of the collector's process
 * @dir: directory for the store; "": no store
 */
__attribute__((noreturn))
void collector_main(const struct record_options *o, const char *dir, int sock);

#endif

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals and the terminal pass through depctl record.

    tests/terminal.py DEPCTL

Plays the shell: runs depctl as a foreground job of a terminal of its own.
"""
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

depctl = os.path.realpath(sys.argv[1])
results = {"passed": 0, "failed": 0}


def check(name, good, more=""):
    results["passed" if good else "failed"] += 1
    if not good:
        print("FAILED:", name, more)


class Job:
    """A command under depctl, in the foreground of a new terminal."""

    def __init__(self, *command, options=()):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # The session leader acts as the shell; the job gets a process group of its own.
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.execv(depctl, [depctl, "record", "-q", *options, "--", *command])
            self.shell(job)

    @staticmethod
    def shell(job):
        """Report what the job does; continue it when it has stopped."""
        while True:
            _, st = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(st):
                os.write(1, b"<stopped %d>" % os.WSTOPSIG(st))
                time.sleep(0.3)
                os.killpg(job, signal.SIGCONT)
            elif os.WIFSIGNALED(st):
                os.write(1, b"<signal %d>" % os.WTERMSIG(st))
                break
            else:
                os.write(1, b"<exit %d>" % os.WEXITSTATUS(st))
                break
        time.sleep(0.2)
        os._exit(0)

    def expect(self, text, seconds=10):
        end = time.time() + seconds
        while text not in self.seen and time.time() < end:
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                self.seen += os.read(self.fd, 4096)
            except OSError:
                break
        return text in self.seen

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def terminal_tests():
    job = Job("sh", "-c", "trap 'echo got-int; exit 3' INT; echo ready; "
              "while :; do sleep 0.05; done")
    check("ready", job.expect(b"ready"), job.seen)
    job.type(b"\x03")
    check("Ctrl-C reaches the command", job.expect(b"got-int"), job.seen)
    check("its exit status is passed on", job.expect(b"<exit 3>"), job.seen)
    job.end()

    job = Job("sh", "-c", "echo ready; exec sleep 100")
    job.expect(b"ready")
    job.type(b"\x03")
    check("ends by the signal of the command", job.expect(b"<signal 2>"), job.seen)
    job.end()

    job = Job("sh", "-c", "echo ready; exec sleep 100", options=["--races"])
    job.expect(b"ready")
    job.type(b"\x03")
    check("races are reported after Ctrl-C", job.expect(b"0 races in"), job.seen)
    check("and it ends by the signal", job.expect(b"<signal 2>"), job.seen)
    job.end()

    job = Job("sh", "-c", "echo ready; sleep 1; echo after; exit 4")
    job.expect(b"ready")
    time.sleep(0.2)
    job.type(b"\x1a")
    check("Ctrl-Z stops the job", job.expect(b"<stopped 20>"), job.seen)
    check("and it goes on", job.expect(b"after") and job.expect(b"<exit 4>"), job.seen)
    job.end()

    job = Job("sh", "-c", "test -t 0 && test -t 1 && echo tty; read a; echo read-$a")
    check("the terminal is the command's", job.expect(b"tty"), job.seen)
    job.type(b"hello\n")
    check("and can be read", job.expect(b"read-hello"), job.seen)
    check("to the end", job.expect(b"<exit 0>"), job.seen)
    job.end()


def run(*command, **more):
    return subprocess.Popen([depctl, "record", "-q", "--", *command], stdout=subprocess.PIPE,
                            **more)


def signal_tests():
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT):
        name = sig.name[3:]
        p = run("sh", "-c", f"trap 'echo got; exit 7' {name}; echo ready; "
                "while :; do sleep 0.05; done")
        p.stdout.readline()
        p.send_signal(sig)
        check(f"{name} is handed on", p.stdout.readline() == b"got\n")
        check(f"{name}: status", p.wait() == 7)
        p.stdout.close()

        p = run("sh", "-c", "echo ready; exec sleep 100")
        p.stdout.readline()
        time.sleep(0.1)
        p.send_signal(sig)
        check(f"killed by {name}", p.wait() == -sig)
        p.stdout.close()

    # Ignored signals (nohup) stay ignored in both; depctl's handlers are not inherited. SigCgt also
    # has the engine's handlers for faults, so it is not compared.
    show = "grep -E 'Sig(Ign|Blk)' /proc/self/status"
    native = subprocess.run(["nohup", "sh", "-c", show], capture_output=True, check=False)
    ours = subprocess.run(["nohup", depctl, "record", "-q", "--", "sh", "-c", show],
                          capture_output=True, check=False)
    check("signal state is the native one", native.stdout == ours.stdout,
          (native.stdout, ours.stdout))

    p = run("cat", stdin=subprocess.PIPE)
    out, _ = p.communicate(b"through\0and through")
    check("standard input and output", out == b"through\0and through" and p.returncode == 0)


def main():
    where = tempfile.mkdtemp()
    os.chdir(where)
    try:
        terminal_tests()
        signal_tests()
    finally:
        os.chdir("/")
        shutil.rmtree(where)
    print(f"{results['passed']} passed, {results['failed']} failed, 0 skipped")
    return 1 if results["failed"] else 0


sys.exit(main())

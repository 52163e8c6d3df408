"""What Python's standard library has on Unix and not on Windows, and what Linux alone has: by the platform tests of typeshed's stubs."""

from __future__ import annotations

MODULES = frozenset(("fcntl", "grp", "pwd", "posix", "pty", "tty", "termios", "resource", "syslog", "readline", "_curses"))
_SIGNALS = (
    "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE", "SIGPROF", "SIGQUIT", "SIGSTOP", "SIGTSTP",
    "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "ITIMER_REAL", "SIG_BLOCK", "SIG_UNBLOCK",
    "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "getitimer", "sigwait", "siginterrupt",
)  # fmt: skip
_OF_OS = (
    "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "O_SYNC", "PRIO_PROCESS", "RTLD_GLOBAL", "RTLD_LAZY", "RTLD_LOCAL", "RTLD_NOW",
    "WEXITSTATUS", "WIFEXITED", "WIFSIGNALED", "WNOHANG", "WTERMSIG", "chown", "chroot", "ctermid", "fchdir", "fchown", "fork", "forkpty",
    "fstatvfs", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getsid", "getuid",
    "initgroups", "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "openpty", "pathconf", "posix_spawn", "pread", "pwrite",
    "readv", "register_at_fork", "sendfile", "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpgrp", "setpriority", "setsid",
    "setuid", "statvfs", "sync", "sysconf", "tcgetpgrp", "ttyname", "uname", "wait", "wait3", "wait4", "writev",
)  # fmt: skip
_OF_LINUX = (
    "eventfd", "getrandom", "memfd_create", "pidfd_open", "posix_fadvise", "sched_getaffinity", "sched_setaffinity", "setns", "splice",
    "unshare",
)  # fmt: skip
LINUX_NAMES = frozenset((*(f"os.{name}" for name in _OF_LINUX), "select.epoll"))
NAMES = frozenset(
    (
        *(f"os.{name}" for name in _OF_OS),
        *(f"signal.{name}" for name in _SIGNALS),
        "time.tzset", "time.clock_gettime", "time.CLOCK_MONOTONIC_RAW", "socket.AF_UNIX", "socket.SO_REUSEPORT", "select.poll",
        *LINUX_NAMES,
    )
)  # fmt: skip
# What to write in its place so that it runs on both.
INSTEAD = {
    "fcntl": "filelock (pip install filelock) for locks",
    "resource": "psutil for memory and limits",
    "pwd": "getpass.getuser() for the name of the user",
    "readline": "pip install pyreadline3",
    "_curses": "pip install windows-curses",
    "os.fork": "multiprocessing with its start method spawn",
    "os.uname": "platform.uname()",
    "os.getuid": "getpass.getuser() for the name of the user",
    "os.geteuid": "a test of os.name before it",
    "os.getloadavg": "psutil.getloadavg()",
    "os.killpg": "psutil.Process(pid).children(recursive=True), each ended",
    "os.setsid": "start_new_session=True of subprocess.Popen in place of preexec_fn",
    "os.statvfs": "shutil.disk_usage()",
    "os.sched_getaffinity": "os.cpu_count() or len(psutil.Process().cpu_affinity())",
    "os.nice": "psutil.Process().nice()",
    "signal.SIGKILL": "signal.SIGTERM, or Process.kill() of subprocess and psutil",
    "signal.SIGALRM": "threading.Timer, or a time limit of the call itself",
    "signal.alarm": "threading.Timer, or a time limit of the call itself",
    "socket.AF_UNIX": "a TCP socket on 127.0.0.1",
}

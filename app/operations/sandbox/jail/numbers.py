"""Numbers of the system calls used in filters, for both supported machines.

Calls missing on a machine are absent. `KNOWN` is the highest assigned number at the time of these
lists (Linux 6.18): later calls are answered as unsupported, because they have not been reviewed.
"""

from __future__ import annotations

import os

KNOWN = 470

_X86_64 = """
_sysctl=156 accept=43 accept4=288 acct=163 add_key=248 adjtimex=159 bind=49 bpf=321 brk=12
capget=125 capset=126 chmod=90 chown=92 chroot=161 clock_adjtime=305 clock_getres=229
clock_gettime=228 clock_nanosleep=230 clock_settime=227 clone=56 clone3=435 close=3
close_range=436 connect=42 creat=85 delete_module=176 dup=32 execve=59 execveat=322 exit=60
exit_group=231 fallocate=285 fanotify_init=300 fanotify_mark=301 fchmod=91 fchmodat=268
fchmodat2=452 fchown=93 fchownat=260 fcntl=72 file_setattr=469 finit_module=313 fork=57
fremovexattr=199 fsconfig=431 fsetxattr=190 fsmount=432 fsopen=430 fspick=433 fstat=5
futex=202 futimesat=261 getcpu=309 getcwd=79 getegid=108 geteuid=107 getgid=104 getpid=39
getrandom=318 getrusage=98 getsockopt=55 gettid=186 gettimeofday=96 getuid=102 init_module=175
inotify_init=253 inotify_init1=294 io_setup=206 io_submit=209 io_uring_enter=426
io_uring_register=427 io_uring_setup=425 ioctl=16 ioperm=173 iopl=172 ioprio_set=251 kcmp=312
kexec_file_load=320 kexec_load=246 keyctl=250 kill=62 landlock_add_rule=445
landlock_create_ruleset=444 landlock_restrict_self=446 lchown=94 listen=50 listmount=458
lookup_dcookie=212 lremovexattr=198 lseek=8 lsetxattr=189 lsm_set_self_attr=460 madvise=28
mbind=237 membarrier=324 memfd_create=319 memfd_secret=447 migrate_pages=256 mknod=133
mknodat=259 mmap=9 modify_ldt=154 mount=165 mount_setattr=442 move_mount=429 move_pages=279
mprotect=10 mq_getsetattr=245 mq_notify=244 mq_open=240 mq_timedreceive=243 mq_timedsend=242
mq_unlink=241 mremap=25 msgctl=71 msgget=68 msgrcv=70 msgsnd=69 munmap=11
name_to_handle_at=303 nanosleep=35 newfstatat=262 nfsservctl=180 open=2 open_by_handle_at=304
open_tree=428 open_tree_attr=467 openat=257 openat2=437 perf_event_open=298 personality=135
pidfd_getfd=438 pidfd_send_signal=424 pivot_root=155 poll=7 ppoll=271 prctl=157 prlimit64=302
process_madvise=440 process_mrelease=448 process_vm_readv=310 process_vm_writev=311
pselect6=270 ptrace=101 quotactl=179 quotactl_fd=443 read=0 readv=19 reboot=169
remap_file_pages=216 removexattr=197 removexattrat=466 renameat2=316 request_key=249
restart_syscall=219 rseq=334 rt_sigaction=13 rt_sigprocmask=14 rt_sigqueueinfo=129
rt_sigreturn=15 rt_tgsigqueueinfo=297 sched_getaffinity=204 sched_setaffinity=203 sched_setattr=314
sched_setparam=142 sched_setscheduler=144 sched_yield=24 seccomp=317 select=23 semctl=66
semget=64 semop=65 semtimedop=220 sendmmsg=307 sendmsg=46 sendto=44 set_mempolicy=238
set_mempolicy_home_node=450 set_robust_list=273 setdomainname=171 setfsgid=123 setfsuid=122
setgroups=116 sethostname=170 setns=308 setpgid=109 setpriority=141 setrlimit=160 setsid=112
settimeofday=164 setuid=105 setxattr=188 setxattrat=463 shmat=30 shmctl=31 shmdt=67 shmget=29
sigaltstack=131 socket=41 socketpair=53 stat=4 statmount=457 swapoff=168 swapon=167 sysfs=139
sysinfo=99 syslog=103 tgkill=234 time=201 times=100 tkill=200 umount2=166 uname=63 unshare=272
uselib=134 userfaultfd=323 ustat=136 utime=132 utimensat=280 utimes=235 vfork=58 vhangup=153
vserver=236 write=1 writev=20
"""

_AARCH64 = """
accept=202 accept4=242 acct=89 add_key=217 adjtimex=171 bind=200 bpf=280 brk=214 capget=90
capset=91 chroot=51 clock_adjtime=266 clock_getres=114 clock_gettime=113 clock_nanosleep=115
clock_settime=112 clone=220 clone3=435 close=57 close_range=436 connect=203 delete_module=106
dup=23 execve=221 execveat=281 exit=93 exit_group=94 fallocate=47 fanotify_init=262
fanotify_mark=263 fchmod=52 fchmodat=53 fchmodat2=452 fchown=55 fchownat=54 fcntl=25
file_setattr=469 finit_module=273 fremovexattr=16 fsconfig=431 fsetxattr=7 fsmount=432
fsopen=430 fspick=433 fstat=80 futex=98 getcpu=168 getcwd=17 getegid=177 geteuid=175
getgid=176 getpid=172 getrandom=278 getrusage=165 getsockopt=209 gettid=178 gettimeofday=169
getuid=174 init_module=105 inotify_init1=26 io_setup=0 io_submit=2 io_uring_enter=426
io_uring_register=427 io_uring_setup=425 ioctl=29 ioprio_set=30 kcmp=272 kexec_file_load=294
kexec_load=104 keyctl=219 kill=129 landlock_add_rule=445 landlock_create_ruleset=444
landlock_restrict_self=446 listen=201 listmount=458 lookup_dcookie=18 lremovexattr=15 lseek=62
lsetxattr=6 lsm_set_self_attr=460 madvise=233 mbind=235 membarrier=283 memfd_create=279
memfd_secret=447 migrate_pages=238 mknodat=33 mmap=222 mount=40 mount_setattr=442
move_mount=429 move_pages=239 mprotect=226 mq_getsetattr=185 mq_notify=184 mq_open=180
mq_timedreceive=183 mq_timedsend=182 mq_unlink=181 mremap=216 msgctl=187 msgget=186 msgrcv=188
msgsnd=189 munmap=215 name_to_handle_at=264 nanosleep=101 newfstatat=79 nfsservctl=42
open_by_handle_at=265 open_tree=428 open_tree_attr=467 openat=56 openat2=437
perf_event_open=241 personality=92 pidfd_getfd=438 pidfd_send_signal=424 pivot_root=41
ppoll=73 prctl=167 prlimit64=261 process_madvise=440 process_mrelease=448 process_vm_readv=270
process_vm_writev=271 pselect6=72 ptrace=117 quotactl=60 quotactl_fd=443 read=63 readv=65
reboot=142 remap_file_pages=234 removexattr=14 removexattrat=466 renameat2=276 request_key=218
restart_syscall=128 rseq=293 rt_sigaction=134 rt_sigprocmask=135 rt_sigqueueinfo=138
rt_sigreturn=139 rt_tgsigqueueinfo=240 sched_getaffinity=123 sched_setaffinity=122
sched_setattr=274 sched_setparam=118 sched_setscheduler=119 sched_yield=124 seccomp=277
semctl=191 semget=190 semop=193 semtimedop=192 sendmmsg=269 sendmsg=211 sendto=206
set_mempolicy=237 set_mempolicy_home_node=450 set_robust_list=99 setdomainname=162
setfsgid=152 setfsuid=151 setgroups=159 sethostname=161 setns=268 setpgid=154 setpriority=140
setrlimit=164 setsid=157 settimeofday=170 setuid=146 setxattr=5 setxattrat=463 shmat=196
shmctl=195 shmdt=197 shmget=194 sigaltstack=132 socket=198 socketpair=199 statmount=457
swapoff=225 swapon=224 sysinfo=179 syslog=116 tgkill=131 times=153 tkill=130 umount2=39
uname=160 unshare=97 userfaultfd=282 utimensat=88 vhangup=58 write=64 writev=66
"""

_MACHINES = {"x86_64": (_X86_64, 0xC000003E), "aarch64": (_AARCH64, 0xC00000B7)}

MACHINE = os.uname().machine
SUPPORTED = MACHINE in _MACHINES


def _numbers(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in text.split())
    return {name: int(number) for name, number in pairs}


_TEXT, ARCHITECTURE = _MACHINES.get(MACHINE, ("", 0))
NUMBERS = _numbers(_TEXT)
NAMES = frozenset(name for text, _ in _MACHINES.values() for name in _numbers(text))

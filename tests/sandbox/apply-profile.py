"""Does what a container engine does with a profile of system calls, with the library that engines use.

apply-profile.py PROFILE run PROGRAM ...   becomes the program under the profile
apply-profile.py PROFILE refused NAME ...  makes these calls without arguments and prints those that are not refused
"""

import ctypes
import errno
import json
import os
import sys


class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
ALLOW, ERRNO, NO_NEW_PRIVILEGES = 0x7FFF0000, 0x00050000, 38

seccomp = ctypes.CDLL("libseccomp.so.2")
seccomp.seccomp_init.restype = ctypes.c_void_p
seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
seccomp.seccomp_load.argtypes = [ctypes.c_void_p]
seccomp.seccomp_rule_add_array.argtypes = [
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.POINTER(Comparison),
]


def number_of(name):
    return seccomp.seccomp_syscall_resolve_name(name.encode())


def apply(profile):
    context = seccomp.seccomp_init(ERRNO | profile["defaultErrnoRet"])
    for rule in profile["syscalls"]:
        action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else ERRNO | rule["errnoRet"]
        tests = [
            Comparison(arg["index"], OPERATORS[arg["op"]], arg["value"], arg.get("valueTwo", 0))
            for arg in rule.get("args", [])
        ]
        for name in rule["names"]:
            # As an engine does with calls that this architecture, or the library, does not have.
            if number_of(name) < 0:
                continue
            added = seccomp.seccomp_rule_add_array(
                context, action, number_of(name), len(tests), (Comparison * len(tests))(*tests)
            )
            if added != 0:
                sys.exit(f"{name}: {os.strerror(-added)}")
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if seccomp.seccomp_load(context) != 0:
        sys.exit("the filter could not be loaded")


def list_open(names):
    libc = ctypes.CDLL(None, use_errno=True)
    for name in names:
        if number_of(name) < 0:
            continue
        ctypes.set_errno(0)
        if libc.syscall(number_of(name), 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
            print(name)


with open(sys.argv[1], encoding="utf-8") as file:
    apply(json.load(file))
if sys.argv[2] == "run":
    os.execvp(sys.argv[3], sys.argv[3:])
list_open(sys.argv[3:])

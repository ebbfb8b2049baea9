"""Runs a command on a host that refuses some system calls: refuse_calls.py RULE... -- COMMAND...

RULE is NUMBER=ERRNO, or NUMBER:ARGUMENT:HOW:VALUE=ERRNO for calls of which this argument has one of the bits of VALUE
(HOW `has`) or equals it (`is`).
"""
import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, IF_EQUAL, IF_BITS, RETURN = 0x20, 0x15, 0x45, 0x06  # BPF: a word at an offset, jumps, the result
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
CALL, ARGUMENTS = 0, 16  # offsets in struct seccomp_data


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def part(rule):
    """Refuses the calls of one rule; of an argument only the lower half is compared."""
    condition, error = rule.split("=")
    number, *argument = condition.split(":")
    refused = instruction(RETURN, REFUSE | int(error))
    program = instruction(LOAD, CALL)
    if not argument:
        return program + instruction(IF_EQUAL, int(number), 0, 1) + refused
    index, how, value = argument
    test = {"has": IF_BITS, "is": IF_EQUAL}[how]
    return (program + instruction(IF_EQUAL, int(number), 0, 3) + instruction(LOAD, ARGUMENTS + 8 * int(index))
            + instruction(test, int(value), 0, 1) + refused)


def refuse(rules):
    program = b"".join(map(part, rules)) + instruction(RETURN, ALLOW)
    code = ctypes.create_string_buffer(program, len(program))
    filter_of = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_of, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter was refused")


if __name__ == "__main__":
    at = sys.argv.index("--")
    refuse(sys.argv[1:at])
    os.execv(sys.argv[at + 1], sys.argv[at + 1:])

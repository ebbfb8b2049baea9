#!/usr/bin/env python3
"""Runs `kernelwright ARGUMENTS` without the arguments with which the service of KERNELWRIGHT_EVALUATOR was started.

KW_PROGRAM is the program. This lets tests that pass a device and audits themselves run against a service.
"""
import os
import sys

DECIDED_THERE = ("--device", "--audit", "--python")


def main():
    kept, words = [], iter(sys.argv[1:])
    for word in words:
        if word in DECIDED_THERE:
            next(words)
        else:
            kept.append(word)
    program = os.environ["KW_PROGRAM"]
    os.execv(program, [program, *kept])


main()

#!/usr/bin/env python3
"""`kernelwright WORDS`, with what the service named by KERNELWRIGHT_EVALUATOR was started with left out of the words.

KW_PROGRAM is the program. Tests that name a device and audits for themselves are asked of a service so.
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

#!/usr/bin/env bash
# Checks a commit message in FILE: a subject of at most 72 characters, an empty line, a body that says why.
set -euo pipefail

mapfile -t lines < <(grep -v '^#' "$1")
refuse() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}
subject=${lines[0]-}
if [ -z "$subject" ]; then refuse "the message has no subject"; fi
if [ ${#subject} -gt 72 ]; then refuse "the subject has ${#subject} characters, at most 72 are allowed"; fi
if [ -n "${lines[1]-}" ]; then refuse "the line after the subject must be empty"; fi
if [ -z "${lines[2]-}" ]; then refuse "the body is missing: say why the change is made"; fi

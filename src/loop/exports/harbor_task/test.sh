#!/bin/sh
# Harbor runs this in the verifier's container. -I: no file of the agent is imported.
exec python3 -I "$(dirname "$0")/judge.py"

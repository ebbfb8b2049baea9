"""The program on hosts that refuse one layer of the sandbox: it names the layer, and runs nothing without a required one."""
import errno
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from . import program

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64")

MOUNT, UNSHARE, SECCOMP, SETRESUID, PRCTL, PRLIMIT, LANDLOCK = 165, 272, 317, 117, 157, 302, 444
NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
SET_SECCOMP, SET_NO_NEW_PRIVS = 22, 38
EPERM, ENOSYS, EINVAL = errno.EPERM, errno.ENOSYS, errno.EINVAL


class Host(NamedTuple):
    rules: tuple
    reason: int
    also: tuple = ()  # layers that need this one


def without_namespace(flag, *also):
    return Host((f"{UNSHARE}:0:has:{flag}={EPERM}",), EPERM, also)


# Layer → a host without it. Cgroups are refused by files, which tests/native covers.
REQUIRED = {
    "pid_ns": without_namespace(NEWPID),
    "net_ns": without_namespace(NEWNET),
    "root": Host((f"{MOUNT}={EPERM}",), EPERM),
    "mount_ns": without_namespace(NEWNS, "pid_ns", "root"),
}
OTHERS = {
    "ipc_ns": without_namespace(NEWIPC),
    "uts_ns": without_namespace(NEWUTS),
    "landlock": Host((f"{LANDLOCK}={ENOSYS}",), ENOSYS),
    "seccomp": Host((f"{SECCOMP}={EINVAL}", f"{PRCTL}:0:is:{SET_SECCOMP}={EINVAL}"), EINVAL),
    "no_new_privs": Host((f"{PRCTL}:0:is:{SET_NO_NEW_PRIVS}={EINVAL}",), EINVAL, ("landlock", "seccomp")),
}
HOSTS = REQUIRED | OTHERS

# It says what it can do, and computes nothing.
CANDIDATE = """
import json
import os

state = dict(line.split(":", 1) for line in open("/proc/self/status").read().split("\\n") if ":" in line)
links = [line.split(":")[0].strip() for line in open("/proc/net/dev").read().split("\\n") if ":" in line]
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) > 1 and int(name) != os.getpid()]
try:
    os.mkdir("/usr/kernelwright-test")
    wrote = True
except OSError:
    wrote = False
print("FACTS", json.dumps(dict(uid=os.getuid(), capabilities=int(state["CapEff"], 16), links=links, others=others,
                               home=os.path.exists("/home"), wrote=wrote)), flush=True)


class ModelNew:
    pass


raise SystemExit
"""


@pytest.fixture(scope="module")
def on_host(scratch):
    """Runs the program on this host: (exit code, stdout, stderr)."""
    def call(host, *words):
        script = Path(__file__).parent / "refuse_calls.py"
        command = [sys.executable, str(script), *host.rules, "--", program.binary(), *map(str, words)]
        return program.finish(program.start(command, scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE))
    return call


@pytest.fixture(scope="module")
def facts(on_host, tmp_path_factory):
    """The verdict on a host, and what the candidate said there."""
    def call(host, *words):
        folder = tmp_path_factory.mktemp("layers")
        reference = program.ROOT / "tests" / "exploits" / "references" / "add_relu.py"
        batch = program.write_rows(folder / "rows.jsonl", [
            {"id": "probe", "reference_code": reference.read_text(encoding="utf-8"), "kernel_code": CANDIDATE}])
        ended = on_host(host, "verify", "--python", sys.executable, "--device", "cpu", "--batch", batch, "--json", *words)
        verdicts = program.read_verdicts(ended.stdout)
        assert verdicts, ended.stderr
        printed = verdicts[0]["printed"].split("FACTS ")[1].split("\n")[0]
        return verdicts[0], json.loads(printed)
    return call


@pytest.mark.parametrize("layer", HOSTS)
def test_doctor_names_the_layer_and_the_reason(on_host, layer):
    said = on_host(HOSTS[layer], "doctor", "--python", "/bin/false").stdout
    assert f"no {layer}: {os.strerror(HOSTS[layer].reason)}" in " ".join(said.split()), said


@pytest.mark.parametrize("layer", REQUIRED)
def test_nothing_is_run_without_a_required_layer(on_host, layer):
    ended = on_host(HOSTS[layer], "verify", "--device", "cpu", program.ROOT / "examples" / "sample")
    said = " ".join(ended.stderr.split())
    assert ended.code == 1 and not ended.stdout.strip()
    assert f"{layer}: {os.strerror(HOSTS[layer].reason)}" in said or f"no {layer}" in said, said
    assert "--allow-unsandboxed" in said


def test_without_a_user_of_its_own_nothing_is_run(on_host):
    if os.geteuid() != 0:
        pytest.skip("the program changes its user only as root")
    ended = on_host(Host((f"{SETRESUID}={EPERM}",), EPERM), "verify", "--device", "cpu", program.ROOT / "examples" / "sample")
    assert ended.code == 1 and "refused at uid" in ended.stderr


def protected(facts):
    """What holds by the layers that are always required."""
    return (facts["uid"] != 0 and facts["capabilities"] == 0 and facts["links"] == ["lo"] and not facts["others"]
            and not facts["home"] and not facts["wrote"])


def test_the_verdict_names_the_layers_that_are_left_and_they_still_protect(facts):
    host = HOSTS["no_new_privs"]
    verdict, found = facts(host)
    assert verdict["isolation"]["level"] == "partial"
    assert not {"no_new_privs", *host.also} & set(verdict["isolation"]["layers"])
    assert {"pid_ns", "net_ns", "root", "uid", "rlimits"} <= set(verdict["isolation"]["layers"])
    assert protected(found), found


def test_only_the_option_runs_it_without_a_required_layer(facts):
    verdict, found = facts(HOSTS["net_ns"], "--allow-unsandboxed")
    assert verdict["isolation"] == {"level": "process", "layers": []}
    assert not protected(found)

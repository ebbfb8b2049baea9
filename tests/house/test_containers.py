"""The script of the container image, as far as it goes without building one, and the Kubernetes manifest."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/image.sh"
PINS = (ROOT / "python/requirements.txt").read_text().split() if SCRIPT.exists() else []
TOOLS = ("bash", "cat", "cp", "cut", "dirname", "grep", "gzip", "mkdir", "mv", "rm", "sed", "sha256sum", "tar", "tr")


@pytest.fixture
def image(tmp_path):
    """Runs the script in a copy of the tree's few files that it reads; buildah and mmdebstrap record their arguments."""
    for name in ("scripts/image.sh", "scripts/lib.sh", "python/requirements.txt", "CMakeLists.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    for tool, more in (("buildah", '[ "$1" != from ] || echo working'), ("mmdebstrap", ':>"${@: -1}"')):
        path = tmp_path / "bin" / tool
        path.write_text(f'#!/bin/bash\necho "{tool} $*" >>"{tmp_path}/calls"\n{more}\n')
        path.chmod(0o755)
    subprocess.run(["tar", "-czf", tmp_path / "program.tar.gz", "-C", tmp_path, "--transform", "s,^,top/,", "CMakeLists.txt"],
                   check=True)

    def run(*words):
        done = subprocess.run([tmp_path / "scripts/image.sh", *words], capture_output=True, text=True, check=False, timeout=60,
                              cwd=tmp_path, env={"PATH": f"{tmp_path}/bin", "HOME": str(tmp_path)})
        calls = tmp_path / "calls"
        return done, calls.read_text() if calls.exists() else ""
    return run


def of(pin):
    return next(each for each in PINS if each.startswith(pin + "=="))


def test_a_suite_is_made_with_mmdebstrap_and_committed(image):
    done, calls = image("--tarball", "program.tar.gz")
    assert done.returncode == 0, done.stderr
    for part in ("mmdebstrap --variant=minbase", " bookworm ", "buildah from scratch", "install --disable-pip-version-check",
                 "-r /opt/requirements.txt", '--entrypoint ["/usr/bin/tini", "--", "kernelwright"]', "buildah commit"):
        assert part in calls
    assert "+cpu" not in calls and re.search(r" kernelwright:[0-9.]+\n", calls)
    assert calls.endswith("buildah rm working\n")


def test_a_made_suite_is_used_again(image):
    for _ in range(2):
        done, calls = image("--tarball", "program.tar.gz")
    assert done.returncode == 0 and calls.count("mmdebstrap") == 1


def test_a_base_with_a_colon_is_an_image(image):
    done, calls = image("--tarball", "program.tar.gz", "--base", "debian:12-slim")
    assert done.returncode == 0, done.stderr
    assert "buildah from debian:12-slim" in calls and "apt-get install" in calls and "mmdebstrap" not in calls


def test_slim_takes_the_cpu_build_of_the_same_pytorch(image):
    done, calls = image("--tarball", "program.tar.gz", "--slim", "--output", "image.tar")
    assert done.returncode == 0, done.stderr
    assert f"https://download.pytorch.org/whl/cpu {of('torch')}+cpu\n" in calls
    assert "oci-archive:image.tar:kernelwright:" in calls and "-slim" in calls


def test_a_dry_run_runs_nothing(image):
    done, calls = image("--dry-run", "--slim", "--tag", "mine:1")
    assert done.returncode == 0 and calls == ""
    assert "scripts/dist.sh" in done.stdout and f"{of('torch')}+cpu" in done.stdout and "mine:1" in done.stdout


@pytest.mark.parametrize("words", [["--base"], ["--tarball", ""], ["--nonsense"], ["--tarball", "gone.tar.gz"]])
def test_a_wrong_argument_runs_nothing(image, words):
    done, calls = image(*words)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and calls == ""


def test_a_failed_step_leaves_no_container(image, tmp_path):
    (tmp_path / "bin/buildah").write_text(f'#!/bin/bash\necho "buildah $*" >>"{tmp_path}/calls"\n'
                                          'case $1 in from) echo working ;; run) exit 1 ;; esac\n')
    done, calls = image("--tarball", "program.tar.gz")
    assert done.returncode == 1 and "buildah commit" not in calls and calls.endswith("buildah rm working\n")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing():
    done = subprocess.run(["shellcheck", "-x", "scripts/image.sh"], cwd=ROOT, capture_output=True, text=True, check=False,
                          timeout=60, env={**os.environ, "SHELLCHECK_OPTS": "-e SC1091"})
    assert done.returncode == 0, done.stdout


# ---- the manifest


@pytest.fixture(scope="module")
def manifest():
    """Its documents by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((ROOT / "examples/kubernetes/serve.yaml").read_text())}


@pytest.fixture(scope="module")
def pod(manifest):
    return manifest["Deployment"]["spec"]["template"]


@pytest.fixture(scope="module")
def container(pod):
    [only] = pod["spec"]["containers"]
    return only


def test_the_image_is_the_one_of_this_version(container):
    version = re.search(r"project\(kernelwright VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert container["image"] == f"REGISTRY/kernelwright:{version}"


def test_its_arguments_are_flags_of_serve(container):
    flags = set(re.findall(r'"(--[a-z-]+)"', (ROOT / "app/options/serve_flags.cpp").read_text()))
    verb, *words = container["args"]
    assert verb == "serve" and {word.partition("=")[0] for word in words} <= flags


def test_its_probes_ask_a_path_of_the_service_at_its_port(container):
    paths = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    [port] = container["ports"]
    assert f"--port={port['containerPort']}" in container["args"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in paths and asked["port"] == port["name"]


def test_the_service_finds_the_pod(manifest, pod, container):
    labels = pod["metadata"]["labels"]
    assert manifest["Service"]["spec"]["selector"] == labels
    assert manifest["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert [each["targetPort"] for each in manifest["Service"]["spec"]["ports"]] == [container["ports"][0]["name"]]


def test_one_pod_at_a_time_has_the_store(manifest, pod, container):
    assert manifest["Deployment"]["spec"]["replicas"] == 1
    assert manifest["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert set(mounts) == set(volumes)
    assert volumes["store"]["persistentVolumeClaim"]["claimName"] == manifest["PersistentVolumeClaim"]["metadata"]["name"]
    assert any(word.startswith(f"--store={mounts['store']}/") for word in container["args"])
    assert any(word.startswith(f"--api-key-file={mounts['key']}/") for word in container["args"])
    assert "secret" in volumes["key"]


def test_it_has_a_gpu_and_no_more_rights_than_the_sandbox_needs(container):
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
    context = container["securityContext"]
    assert not context["privileged"] and context["capabilities"] == {
        "drop": ["ALL"], "add": ["SYS_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL"]}

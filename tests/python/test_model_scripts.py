"""The launch scripts of model servers, with stand-ins for nvidia-smi, uv and vllm on PATH that record their arguments."""
import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
GLM, OSS, QWEN = "run_glm45_air.sh", "run_gpt_oss.sh", "serve_qwen3_235b.sh"
# A packed set of tests is used on other machines without scripts/.
pytestmark = pytest.mark.skipif(not (SCRIPTS / GLM).exists(), reason="scripts/ is not here")

NVIDIA_SMI = """#!/bin/bash
echo "nvidia-smi $*" >>"$WORLD/calls"
cat "$WORLD/gpus"
"""
VLLM = """#!/bin/bash
if [ "$1" = --version ]; then cat "$WORLD/version"; exit; fi
printf '%s\\n' "$@" >"$WORLD/served"
"""
# Creates the environments and programs that it is asked to install.
UV = """#!/bin/bash
echo "uv $*" >>"$WORLD/calls"
if [ "$1" = venv ]; then mkdir -p "${@: -1}/bin"; touch "${@: -1}/bin/python"; chmod +x "${@: -1}/bin/python"; fi
if [ "$1" = pip ] && [[ "$*" == *vllm* ]]; then cp "$WORLD/vllm.later" "$KW_VLLM_ENV/bin/vllm"; fi
"""
TOOLS = ("awk", "bash", "cat", "cp", "df", "dirname", "env", "grep", "head", "mkdir", "sort", "tail", "touch", "chmod")


class World:
    def __init__(self, folder):
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.gpus(8)
        (folder / "version").write_text("INFO 11-21 a line of log\n0.33.0\n")
        self.tool("nvidia-smi", NVIDIA_SMI)
        self.tool("vllm", VLLM)
        for model in ("zai-org/GLM-4.5-Air", "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
                      "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8"):
            (self.cached(model)).mkdir(parents=True)
        self.environment = {"PATH": str(self.bin), "HOME": str(folder), "WORLD": str(folder),
                            "KW_VLLM_ENV": str(folder / "env")}

    def cached(self, model):
        return self.folder / ".cache/huggingface/hub" / f"models--{model.replace('/', '--')}" / "snapshots"

    def tool(self, name, text, folder=None):
        path = (folder or self.bin) / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def gpus(self, count, total=81559, used=3):
        (self.folder / "gpus").write_text(f"NVIDIA H100 80GB HBM3, {total}, {used}\n" * count)

    def run(self, script, *words, **environment):
        done = subprocess.run([str(SCRIPTS / script), *words], capture_output=True, text=True, timeout=30,
                              env={**self.environment, **environment})
        return done.returncode, done.stdout, done.stderr

    def refusal(self, script, *words, **environment):
        status, _, said = self.run(script, *words, **environment)
        assert status == 1 and "error: " in said and "\n  -> " in said, said
        assert not (self.folder / "served").exists()
        return said

    def served(self):
        return (self.folder / "served").read_text().splitlines()

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def port():
    """A port that is probably free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_glm_is_served_with_its_flags(world, port):
    status, _, said = world.run(GLM, "--port", port)
    assert status == 0, said
    assert world.served() == ["serve", "zai-org/GLM-4.5-Air", "--tensor-parallel-size", "4", "--dtype", "bfloat16",
                              "--reasoning-parser", "glm45", "--max-model-len", "65536", "--host", "127.0.0.1",
                              "--port", "8000", "--port", port]


def test_gpt_oss_names_no_parser(world, port):
    world.gpus(2)
    assert world.run(OSS, "--port", port)[0] == 0
    assert world.served()[:4] == ["serve", "openai/gpt-oss-120b", "--tensor-parallel-size", "2"]
    assert "--reasoning-parser" not in world.served()


def test_qwen_is_two_replicas_with_whole_experts(world, port):
    assert world.run(QWEN, "--port", port)[0] == 0
    words = " ".join(world.served())
    assert "Instruct-2507-FP8 --tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel" in words
    assert "--reasoning-parser" not in words


def test_qwen_thinking_has_its_parser(world, port):
    assert world.run(QWEN, "--thinking", "--port", port)[0] == 0
    assert "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8" in world.served()
    assert "--reasoning-parser qwen3" in " ".join(world.served())
    assert "--thinking" not in world.served()


def test_further_flags_come_last_as_they_are(world, port):
    more = ["--gpu-memory-utilization", "0.85", "--max-model-len=32768", "--served-model-name", "a b", "--port", port]
    assert world.run(GLM, *more)[0] == 0
    assert world.served()[-len(more):] == more


@pytest.mark.parametrize("script, needed", [(GLM, 4), (OSS, 2), (QWEN, 8)])
def test_too_few_gpus_are_refused(world, script, needed):
    world.gpus(needed - 1)
    assert f"{needed - 1} GPUs are visible; the model needs {needed}" in world.refusal(script)


def test_fewer_gpus_do_where_the_flags_say_so(world, port):
    world.gpus(2, total=143771)
    assert world.run(GLM, "-tp", "2", "--port", port)[0] == 0


def test_only_visible_gpus_are_asked_for(world, port):
    world.run(OSS, "--port", port, CUDA_VISIBLE_DEVICES="2,3")
    assert "-i 2,3" in world.calls()[0]


def test_no_visible_gpu_is_refused(world):
    assert "CUDA_VISIBLE_DEVICES is empty" in world.refusal(OSS, CUDA_VISIBLE_DEVICES="")


def test_small_gpus_are_refused(world):
    world.gpus(4, total=46068)
    assert "has 44 GiB; the model needs 61 GiB" in world.refusal(GLM)


def test_gpus_in_use_are_refused(world):
    world.gpus(4, used=20000)
    assert "19 of 79 GiB in use; vLLM asks for 0.92" in world.refusal(GLM)


def test_a_smaller_share_of_gpus_in_use_is_enough(world, port):
    world.gpus(4, used=20000)
    assert world.run(GLM, "--gpu-memory-utilization=0.7", "--port", port)[0] == 0


def test_no_driver_is_refused(world):
    (world.bin / "nvidia-smi").unlink()
    assert "no NVIDIA driver" in world.refusal(GLM)


def test_a_driver_that_fails_is_refused(world):
    world.tool("nvidia-smi", "#!/bin/bash\necho 'Failed to initialize NVML'\nexit 9\n")
    assert "Failed to initialize NVML" in world.refusal(GLM)


@pytest.mark.parametrize("script", [GLM, OSS, QWEN])
def test_a_busy_port_is_refused(world, script):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        said = world.refusal(script, f"--port={port}")
    assert f"port {port} of 127.0.0.1 is in use" in said and f"--port {port + 1}" in said


def test_an_old_vllm_is_refused(world, port):
    (world.folder / "version").write_text("0.8.5\n")
    assert "is version 0.8.5; 0.11.0 or newer is needed" in world.refusal(GLM, "--port", port)


def test_a_vllm_that_cannot_say_its_version_is_refused(world, port):
    world.tool("vllm", "#!/bin/bash\nexit 1\n")
    assert "--version fails" in world.refusal(GLM, "--port", port)


def test_vllm_is_installed_by_uv_where_there_is_none(world, port):
    (world.bin / "vllm").rename(world.folder / "vllm.later")
    world.tool("uv", UV)
    status, _, said = world.run(GLM, "--port", port)
    assert status == 0, said
    env = world.environment["KW_VLLM_ENV"]
    assert world.calls()[1:] == [f"uv venv --python 3.12 {env}",
                                 f"uv pip install --python {env}/bin/python --torch-backend=auto vllm==0.33.0"]
    assert world.served()[0] == "serve"


def test_another_version_can_be_asked_for(world, port):
    (world.bin / "vllm").rename(world.folder / "vllm.later")
    world.tool("uv", UV)
    world.run(GLM, "--port", port, KW_VLLM="vllm==0.30.0")
    assert world.calls()[-1].endswith("--torch-backend=auto vllm==0.30.0")


def test_an_installation_that_fails_is_an_error(world, port):
    (world.bin / "vllm").unlink()
    world.tool("uv", "#!/bin/bash\n[ \"$1\" != pip ]\n")
    assert "uv could not install vllm==0.33.0" in world.refusal(GLM, "--port", port)


def test_the_environment_of_our_own_comes_before_path(world, port):
    (world.folder / "env/bin").mkdir(parents=True)
    world.tool("vllm", VLLM.replace('"$WORLD/served"', '"$WORLD/served.own"'), world.folder / "env/bin")
    assert world.run(GLM, "--port", port)[0] == 0
    assert (world.folder / "served.own").exists()


def test_offline_without_weights_is_refused(world, port):
    world.cached("zai-org/GLM-4.5-Air").rmdir()
    said = world.refusal(GLM, "--port", port, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE" in said and "models--zai-org--GLM-4.5-Air" in said


def test_a_full_disk_is_refused(world, port):
    world.cached("zai-org/GLM-4.5-Air").rmdir()
    (world.bin / "df").unlink()
    world.tool("df", "#!/bin/bash\necho Filesystem\necho /dev/x 300000000 1 104857600 1% /\n")
    assert "100 GiB free; zai-org/GLM-4.5-Air takes 206 GiB" in world.refusal(GLM, "--port", port)


def test_a_dry_run_prints_the_command_and_runs_nothing(world):
    world.gpus(0)
    status, out, _ = world.run(QWEN, "--dry-run", "--served-model-name", "a b")
    assert status == 0
    assert out.startswith(str(world.bin / "vllm") + " serve Qwen/") and "--served-model-name a\\ b" in out
    assert world.calls() == [] and not (world.folder / "served").exists()


@pytest.mark.parametrize("script", [GLM, OSS, QWEN])
def test_help_says_how(world, script):
    status, out, _ = world.run(script, "--help")
    assert status == 0 and "--dry-run" in out and "KW_VLLM_ENV" in out
    assert ("--thinking" in out) == (script == QWEN)


def test_a_port_that_is_no_number_is_refused(world):
    assert "whole numbers" in world.refusal(GLM, "--port", "http")


KERNELWRIGHT = """#!/bin/bash
echo "kernelwright $*" >>"$WORLD/calls"
echo https://somebody--kernelbench-triton-service.modal.run
exit "${DEPLOY_STATUS:-0}"
"""


TOKEN = {"MODAL_TOKEN_ID": "ak-1", "MODAL_TOKEN_SECRET": "as-1"}


@pytest.fixture
def deployer(world):
    """A stand-in for the program, under a name that a user may give it, and a python3 that has Modal's library."""
    world.tool("deployer", KERNELWRIGHT)
    world.tool("python3", "#!/bin/bash\n")
    world.environment.update(KERNELWRIGHT=str(world.bin / "deployer"), KW_MODAL_ENV=str(world.folder / "modal"))
    return world


def deployments(world):
    return [call for call in world.calls() if call.startswith("kernelwright")]


def test_without_a_token_nothing_is_deployed(deployer, port):
    status, _, said = deployer.run(GLM, "--port", port)
    assert status == 0 and deployments(deployer) == []
    assert "no Modal token is set" in said and "--evaluator" not in said


def test_with_a_token_the_verifier_is_deployed_before_the_server_starts(deployer, port):
    status, out, said = deployer.run(GLM, "--port", port, **TOKEN)
    assert status == 0, said
    assert deployments(deployer) == [f"kernelwright deploy modal --python {deployer.bin}/python3"]
    assert "modal.run" in said and not out
    assert f"kernelwright run --vllm-url http://localhost:{port}/v1 --evaluator modal" in said
    assert deployer.served()[0] == "serve"


def test_a_configured_token_counts_as_well(deployer, port):
    (deployer.folder / ".modal.toml").write_text("[default]\n")
    assert deployer.run(OSS, "--port", port)[0] == 0
    assert deployments(deployer) == [f"kernelwright deploy modal --python {deployer.bin}/python3"]


def test_deploying_can_be_left_out(deployer, port):
    assert deployer.run(QWEN, "--no-deploy", "--port", port, MODAL_TOKEN_ID="ak-1")[0] == 0
    assert deployments(deployer) == [] and "--no-deploy" not in deployer.served()


def test_a_proxy_token_is_asked_for_where_none_is_set(deployer, port):
    assert "MODAL_KEY and MODAL_SECRET" in deployer.run(GLM, "--port", port, **TOKEN)[2]
    assert "MODAL_KEY" not in deployer.run(GLM, "--port", port, MODAL_KEY="wk-1", **TOKEN)[2]
    assert "MODAL_KEY" not in deployer.run(GLM, "--port", port)[2]


def test_modal_is_installed_by_uv_where_no_python_has_it(deployer, port):
    deployer.tool("python3", "#!/bin/bash\nexit 1\n")
    deployer.tool("uv", UV)
    status, _, said = deployer.run(GLM, "--port", port, **TOKEN)
    assert status == 0, said
    env = deployer.environment["KW_MODAL_ENV"]
    assert deployer.calls()[1:] == [f"uv venv --python 3.12 {env}", f"uv pip install --python {env}/bin/python modal==1.6.4",
                                    f"kernelwright deploy modal --python {env}/bin/python"]
    assert deployer.served()[0] == "serve"


def test_the_modal_of_our_own_comes_before_path(deployer, port):
    (deployer.folder / "modal/bin").mkdir(parents=True)
    deployer.tool("python", "#!/bin/bash\n", deployer.folder / "modal/bin")
    assert deployer.run(GLM, "--port", port, **TOKEN)[0] == 0
    assert deployments(deployer) == [f"kernelwright deploy modal --python {deployer.folder}/modal/bin/python"]


@pytest.mark.parametrize("uv, word", [("#!/bin/bash\n[ \"$1\" != pip ]\n", "uv could not install modal==1.6.4"),
                                      ("#!/bin/bash\nexit 1\n", "uv cannot make"), (None, "python3 cannot make")])
def test_without_modal_the_model_is_served_with_a_warning(deployer, port, uv, word):
    deployer.tool("python3", "#!/bin/bash\nexit 1\n")
    if uv:
        deployer.tool("uv", uv)
    status, _, said = deployer.run(GLM, "--port", port, **TOKEN)
    assert status == 0 and word in said and "warning: the model is served without a verifier on Modal" in said
    assert "--evaluator" not in said and deployments(deployer) == []
    assert deployer.served()[0] == "serve"


def test_a_deployment_that_fails_is_said_and_the_model_is_served(deployer, port):
    status, _, said = deployer.run(GLM, "--port", port, MODAL_TOKEN_ID="ak-1", DEPLOY_STATUS="1")
    assert status == 0 and "error: the verifier could not be deployed" in said and "--no-deploy" in said
    assert "warning: the model is served without a verifier on Modal" in said and "--evaluator" not in said
    assert deployer.served()[0] == "serve"


def test_a_program_that_is_not_there_is_said_and_the_model_is_served(deployer, port, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copy(SCRIPTS / GLM, folder / GLM)
    done = subprocess.run([folder / GLM, "--port", port], capture_output=True, text=True, timeout=30,
                          env={**deployer.environment, **TOKEN, "KERNELWRIGHT": ""})
    assert done.returncode == 0 and "kernelwright, which deploys the verifier, is not found" in done.stderr
    assert deployer.served()[0] == "serve"


def test_scripts_install_the_modal_that_is_tested():
    pins = (SCRIPTS.parent / "python/requirements-peers.txt").read_text().split()
    [wanted] = [pin for pin in pins if pin.startswith("modal==")]
    assert all(f"modal_requirement={wanted}\n" in (SCRIPTS / each).read_text() for each in (GLM, OSS, QWEN))


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("script", [GLM, OSS, QWEN])
def test_shellcheck_finds_nothing(script):
    done = subprocess.run(["shellcheck", str(SCRIPTS / script)], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ))
    assert done.returncode == 0, done.stdout

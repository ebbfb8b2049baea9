"""Deployment up to the platform's interface; tests/peers tests the rest."""
import subprocess
import sys

import pytest

LACKS = {"ray": "ray[serve]==", "modal": "modal=="}


def test_beyond_this_machine_a_key_is_needed(run):
    code, stdout, stderr = run("deploy", "ray", "--host", "0.0.0.0", limit=10)
    assert (code, stdout) == (2, "") and "--api-key-file" in stderr


@pytest.mark.parametrize("where", LACKS)
def test_a_missing_package_is_named_with_the_command_that_installs_it(run, where):
    if subprocess.run([sys.executable, "-c", f"import {where}"], capture_output=True, check=False).returncode == 0:
        pytest.skip(f"this Python has {where}")
    code, stdout, stderr = run("deploy", where, "--python", sys.executable, limit=20)
    assert (code, stdout) == (1, "")
    assert f"{sys.executable} -m pip install '{LACKS[where]}" in stderr


def test_a_dry_run_of_ray_needs_no_ray(run):
    code, stdout, _ = run("deploy", "ray", "--python", sys.executable, "--replicas", "2:4", "--dry-run", "--", "--timeout", "9",
                          limit=20)
    assert code == 0
    for part in ('"import_path": "kernelwright.ray_app:application"', '"min_replicas": 2', '"max_replicas": 4', '"--timeout"'):
        assert part in stdout


def test_a_tarball_that_is_none_is_said(run, tmp_path):
    (tmp_path / "x.tar.gz").write_text("nothing")
    code, _, stderr = run("deploy", "modal", "--python", sys.executable, "--program", tmp_path / "x.tar.gz", limit=20)
    assert code == 1 and ("cannot be unpacked" in stderr or "modal is missing" in stderr)

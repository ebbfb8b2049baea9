"""One name has one meaning: the code does not use names that were replaced."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The old name, and the name that replaced it.
GIVEN_UP = {
    r"\b(Lease|Verdict|Evaluation|Modal)?Desk\b": "DeviceLeases, SharedVerifier, EvaluationBackend, ModalBackend, Ingress",
    r"\bstruct Refusal\b": "WorkerFailure, ApiError, ScriptedError",
    r"\bstruct Trouble\b": "RequestFailure, ServiceFailure, ReplayFailure",
    r"\bstruct Facts\b": "ServiceSetup, ServiceInfo, BuildSummary",
    r"\bstruct Record\b": "EvaluationState, ScoredAnswer, RawRecord",
    r"\b(Job|Task)Source\b": "Source",
}


def old_names(root):
    """"file: name -> present name" of every replaced name that still occurs."""
    found = []
    for folder in ("src", "app", "python"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".py", ".in"):
                text = path.read_text(encoding="utf-8")
                found += [f"{path.relative_to(root)}: {match[0]} -> {new}"
                          for old, new in GIVEN_UP.items() if (match := re.search(old, text))]
    return found


def test_names_that_were_given_up_stay_out():
    assert old_names(ROOT) == []


def test_a_name_that_comes_back_is_seen(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.h").write_text("struct Trouble {};\n")
    assert old_names(tmp_path) == ["src/a.h: struct Trouble -> RequestFailure, ServiceFailure, ReplayFailure"]

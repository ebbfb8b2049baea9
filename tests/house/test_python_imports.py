"""The Python package: public modules at its top, private packages below, and imports that follow a table."""
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "kernelwright"
PUBLIC = {"__main__", "api", "client", "client_batch", "client_conversation", "client_http", "client_types", "fields",
          "judging", "launcher", "modal_app", "outcomes", "program", "pytest_plugin", "ray_app", "rewards", "slime", "tinker",
          "trl", "verdict", "verdict_html", "verifiers", "verl", "words"}

# Package or module → packages and modules that it may import. A module that is missing here may import what its package
# may; a public one may import public ones. In a wheel the public modules, _fleet and _source are installed without the rest.
MAY_IMPORT = {
    "_engine": {"_engine.cpu", "_engine.oracle"},
    "_engine.cpu": {"_engine"},
    "_engine.oracle": {"_engine"},
    "_dataset": {"_engine", "_engine.cpu", "_figures"},
    "_dataset.synth": {"_dataset.synth.cuda_pairs", "_dataset.synth.products"},
    "_dataset.synth.cuda_pairs": {"_dataset.synth.cuda_pairs.families"},
    "_dataset.synth.cuda_pairs.families": {"_dataset.synth.cuda_pairs"},
    "_dataset.synth.products": {"_dataset.synth.cuda_pairs", "_dataset.synth.cuda_pairs.families",
                                "_dataset.synth.kernel_text"},
    "_train": {"_dataset", "_figures"},
    "_fleet": {"api", "client_http"},
    "_fleet.deploy_modal": {"modal_app"},
    "_fleet.deploy_ray": {"ray_app"},
    "judging": {"_source"},
    "modal_app": {"_fleet"},
    "ray_app": {"_fleet"},
}


def modules(package):
    """File by module name, relative to the package: "" is the package itself, "_engine.cpu" its sub-package."""
    return {".".join(path.relative_to(package).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
            for path in sorted(package.rglob("*.py"))}


def imported(name, path, known):
    """The package's modules that this one imports, in functions too."""
    root = "kernelwright"
    parts = [root, *name.split(".")] if name else [root]
    folder = parts if path.name == "__init__.py" else parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = folder[:len(folder) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            within = {f"{base}.{each.name}" for each in node.names}
            found |= {each if each.removeprefix(root + ".") in known else base for each in within}
    found = {each.removeprefix(root).removeprefix(".") for each in found if each.split(".")[0] == root}
    return (found & known) - {name}


def graph(package):
    files = modules(package)
    return {name: imported(name, path, set(files)) for name, path in files.items()}


def circles(package):
    """Modules that import themselves through others."""
    links = graph(package)

    def reaches(name):
        found, queue = set(), [name]
        while queue:
            more = links[queue.pop()] - found
            found |= more
            queue.extend(more)
        return found

    return [name for name in links if name in reaches(name)]


def home(name, package):
    """The package of a module, or the module itself at the top level."""
    return name if name in PUBLIC or (package / name.replace(".", "/")).is_dir() else name.rpartition(".")[0]


def wrong_imports(package):
    wrong = []
    for name, found in graph(package).items():
        at = home(name, package)
        allowed = {at} | MAY_IMPORT.get(at, set()) | MAY_IMPORT.get(name, set())
        if at in PUBLIC | {""}:
            allowed |= PUBLIC
        wrong += [f"{name} imports {each}" for each in sorted(found)
                  if each not in allowed and home(each, package) not in allowed]
    return wrong


def public(package):
    """Names of the modules at the top level."""
    return {path.stem for path in package.glob("*.py")} - {"__init__"}


def lost_names(folders, package):
    """Private modules that files of other languages name and that do not exist."""
    name = re.compile(r"kernelwright[./](_[a-z]\w*(?:[./][a-z_]\w*)*)")
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".h", ".cpp", ".cmake")]
    lost = []
    for path in files:
        for found in name.findall(path.read_text(encoding="utf-8")):
            place = package / found.removesuffix(".py").replace(".", "/")
            if not (place.is_dir() or place.with_suffix(".py").is_file()):
                lost.append(f"{path.name} names {found}")
    return lost


def test_there_are_no_circles():
    assert circles(PACKAGE) == []


def test_imports_follow_the_table():
    assert wrong_imports(PACKAGE) == []


def test_the_top_holds_what_users_import():
    assert public(PACKAGE) == PUBLIC


def test_modules_named_elsewhere_exist():
    assert lost_names([ROOT / each for each in ("app", "src", "native", "cmake", "tests")], PACKAGE) == []


def planted(tmp_path, sources):
    """A package of these files."""
    package = tmp_path / "kernelwright"
    for file, source in sources.items():
        path = package / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source + "\n")
    return package


def test_a_circle_is_seen(tmp_path):
    package = planted(tmp_path, {"_engine/arena.py": "def f():\n    from .cuda_arena import C",
                                 "_engine/cuda_arena.py": "from . import layout\nfrom .arena import A",
                                 "_engine/layout.py": "import kernelwright._engine.wire",
                                 "_engine/wire.py": ""})
    assert circles(package) == ["_engine.arena", "_engine.cuda_arena"]


def test_a_private_module_that_imports_a_public_one_is_seen(tmp_path):
    package = planted(tmp_path, {"api.py": "",
                                 "_engine/runner.py": "def f():\n    from ..api import benchmark",
                                 "_fleet/child.py": "from .. import api"})
    assert wrong_imports(package) == ["_engine.runner imports api"]


def test_a_package_that_imports_another_is_seen(tmp_path):
    package = planted(tmp_path, {"_engine/runner.py": "from kernelwright._dataset import hub",
                                 "_engine/cpu/scope.py": "from ..oracle.load import load",
                                 "_engine/oracle/load.py": "from .. import runner",
                                 "_dataset/hub.py": "from .._engine import runner",
                                 "_train/session.py": "import kernelwright._engine.runner"})
    assert wrong_imports(package) == ["_engine.cpu.scope imports _engine.oracle.load", "_engine.runner imports _dataset.hub",
                                      "_train.session imports _engine.runner"]


def test_a_public_module_that_imports_the_engine_is_seen(tmp_path):
    package = planted(tmp_path, {"api.py": "",
                                 "client.py": "from . import api\nfrom ._engine import wire",
                                 "ray_app.py": "from ._fleet import front",
                                 "rewards.py": "from ._fleet.front import application",
                                 "_engine/wire.py": "",
                                 "_fleet/front.py": ""})
    assert wrong_imports(package) == ["client imports _engine.wire", "rewards imports _fleet.front"]


def test_an_exception_is_for_one_module(tmp_path):
    package = planted(tmp_path, {"ray_app.py": "",
                                 "_fleet/deploy_ray.py": "from .. import ray_app",
                                 "_fleet/relay.py": "from .. import ray_app"})
    assert wrong_imports(package) == ["_fleet.relay imports ray_app"]


def test_a_private_module_at_the_top_is_seen(tmp_path):
    assert public(planted(tmp_path, {"api.py": "", "runner.py": "", "_engine/wire.py": ""})) == {"api", "runner"}


def test_a_name_without_a_module_is_seen(tmp_path):
    package = planted(tmp_path, {"_engine/runner.py": ""})
    (tmp_path / "a.cpp").write_text('"kernelwright._engine.runner" "kernelwright/_engine/gone.py" "kernelwright._train.job" '
                                    '"kernelwright/_engine" "kernelwright.verdict/1"')
    assert lost_names([tmp_path], package) == ["a.cpp names _engine/gone.py", "a.cpp names _train.job"]

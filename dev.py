#!/usr/bin/env python3
"""Everything a newcomer needs, with nothing but Python 3.11+: makes an environment here and runs a task in it.

python3 dev.py verify [OPTIONS]   the main job: `dpassay verify` (see --help)
python3 dev.py run ...            any other `dpassay` command
python3 dev.py test [--fast]      lint, types, tests, notebooks, documentation; --fast: without those in tests/slow.txt
python3 dev.py docs               build the documentation into site/; `docs serve` shows it while you write
python3 dev.py kernel             have Rocq's kernel check the theorems, or says what to install; --coqchk: and coqchk
python3 dev.py adapters [NAME...] test the adapters (all, or those named), each in an environment of its own
python3 dev.py size               install the base alone, from an index, and print what each package takes
python3 dev.py lock               rewrite the pinned, hashed dependency files (needs `uv`)
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
RUNTIME, DEVELOPMENT = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
ADAPTERS = ("opendp", "diffprivlib", "opacus", "dp-accounting")  # extras, each with a lock file of its own
# Most of the tests' time is compilation, of small programs that then run for milliseconds. XLA's plain emitters compile
# most of them faster than its default ones, some in a quarter of the time. `XLA_FLAGS= python3 dev.py test` tests with
# the defaults.
QUICK_COMPILATION = ["--xla_cpu_parallel_codegen_split_count=1"]
if sys.version_info < (3, 12):  # with later ones the lock has a JAX that does not know the older emitters
    QUICK_COMPILATION.append("--xla_cpu_use_fusion_emitters=false")


def main() -> int:
    """Runs the task named on the command line and returns its exit code."""
    task, *arguments = sys.argv[1:] or ["help"]
    if sys.version_info < (3, 11):  # noqa: UP036 - the one file that older versions can read and run
        print(f"dpassay needs Python 3.11 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # then all would be compiled again in every process that starts
        os.environ["PYTHONPYCACHEPREFIX"] = str(ENVIRONMENT / "bytecode")
    if task == "verify":
        install(RUNTIME)
        return call("dpassay", "verify", *arguments, folder=Path.cwd())
    if task == "run":
        install(RUNTIME)
        return call("dpassay", *arguments, folder=Path.cwd())
    if task == "test":
        install(DEVELOPMENT)
        return test(arguments)
    if task == "kernel":
        install(RUNTIME)
        return call("dpassay", "replay", "--kernel", *arguments)
    if task == "docs":
        install(DEVELOPMENT)
        os.environ["NO_MKDOCS_2_WARNING"] = "1"
        return call("mkdocs", *(arguments or ("build", "--strict", "--quiet")))
    if task == "adapters":
        return adapters(arguments or list(ADAPTERS))
    if task == "size":
        return size()
    if task == "lock":
        return lock()
    print(__doc__)
    return 0 if task == "help" else 2


def test(arguments: list[str]) -> int:
    """Runs lint, then the tests with types checked beside them; returns the exit code of the first that fails.

    Types are checked with Python 3.11 alone: later ones have a NumPy whose types need later syntax.
    """
    os.environ.setdefault("XLA_FLAGS", " ".join(QUICK_COMPILATION))
    tier = ("-m", "not slow") if "--fast" in arguments else ()
    arguments = [argument for argument in arguments if argument != "--fast"]
    for check in (("ruff", "format", "--check", "."), ("ruff", "check", ".")):
        if code := call(*check):
            return code
    with ThreadPoolExecutor() as beside:
        types = beside.submit(call, "mypy") if sys.version_info[:2] == (3, 11) else None
        # A process gets tests that follow each other, so a file's tests mostly share what it computed.
        tests = call("pytest", "--numprocesses=auto", "--dist=worksteal", "--durations=10", *tier, *arguments)
    if types is None:
        print("types were not checked: that takes Python 3.11", file=sys.stderr)
    elif types.result():
        print("mypy found errors; they are above", file=sys.stderr)
        return types.result()
    return tests


def adapters(names: list[str]) -> int:
    """Runs each adapter's tests against the library its lock file pins; a missing library fails instead of skipping."""
    for name in names:
        if name not in ADAPTERS:
            print(f"there is no adapter {name!r}; choose from {', '.join(ADAPTERS)}", file=sys.stderr)
            return 2
    for name in names:
        module = name.replace("-", "_")
        environment = ROOT / f".venv-{name}"
        install(ROOT / f"requirements-{name}.lock", environment)
        tests = ("pytest", "--numprocesses=0", f"tests/adapters/test_{module}.py")
        for command in (("python", "-c", f"import {module}"), tests):
            if code := call(*command, environment=environment):
                return code
    return 0


def install(requirements: Path, environment: Path = ENVIRONMENT) -> None:
    """Makes the environment when it is missing or the pinned versions changed."""
    stamp = environment / f"{requirements.name}.sha256"
    wanted = hashlib.sha256(requirements.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(
        f"installing {requirements.name} into {environment.name} (once; a minute or two)", file=sys.stderr, flush=True
    )
    folder = programs(environment)
    if not (folder / "python").exists() and not (folder / "python.exe").exists():
        venv.create(environment, with_pip=True)
        (environment / ".gitignore").write_text("*\n")
    pip = (str(folder / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    # Bytecode is written when a module is first imported: pip would compile all there are, on one core.
    subprocess.run([*pip, "--no-compile", "--require-hashes", "-r", str(requirements)], check=True)
    # The build backend is pinned above, so the package itself is installed without fetching anything more.
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    stamp.write_text(wanted)


def call(*command: str, folder: Path = ROOT, environment: Path = ENVIRONMENT) -> int:
    """Runs a program of the environment in a folder: the caller's where paths are given, else this one."""
    print(f"$ {' '.join(command)}", file=sys.stderr, flush=True)
    variables = {
        **os.environ,
        "PATH": f"{programs(environment)}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(environment),
    }
    return subprocess.run([str(programs(environment) / command[0]), *command[1:]], env=variables, cwd=folder).returncode


def size() -> int:
    """Installs the package without extras into a new environment; 1 when it takes more than 22 packages or 720 MB."""
    listing = """
import importlib.metadata, sys
sizes = {
    found.name: sum(file.locate().stat().st_size for file in found.files if file.locate().is_file()) / 1e6
    for found in importlib.metadata.distributions()
    if found.name not in ("pip", "setuptools")
}
for name in sorted(sizes, key=sizes.get, reverse=True):
    print(f"{sizes[name]:8.1f} MB  {name} {importlib.metadata.version(name)}")
print(f"{sum(sizes.values()):8.1f} MB  in {len(sizes)} packages, bytecode counted, pip and setuptools not")
sys.exit(len(sizes) > 22 or sum(sizes.values()) > 720)
"""
    shutil.rmtree(ROOT / "build", ignore_errors=True)  # an older build's modules would be installed with ours
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(programs(Path(folder)) / "python")
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)], check=True
        )
        return subprocess.run([python, "-c", listing]).returncode


def programs(environment: Path) -> Path:
    """The folder of an environment's programs."""
    return environment / ("Scripts" if os.name == "nt" else "bin")


def lock() -> int:
    """Resolves every dependency set for every supported Python; the files name versions and hashes, no host."""
    compile_command = ("uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes")
    quiet = ("--no-header", "--no-annotate", "--no-emit-index-url", "--quiet", "--upgrade")
    tests = ("--group", "build", "--group", "test")
    whole = ("--extra", "all", "--group", "build")
    targets = {RUNTIME.name: whole, DEVELOPMENT.name: (*whole, "--extra", "opendp", *tests, "--group", "docs")}
    targets.update({f"requirements-{name}.lock": ("--extra", name, *tests) for name in ADAPTERS})
    for target, options in targets.items():
        command = [*compile_command, *quiet, *options, "pyproject.toml", "--output-file", target]
        if code := subprocess.run(command, cwd=ROOT).returncode:
            return code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print(f"installing failed (exit code {error.returncode}); see the message above", file=sys.stderr)
        sys.exit(2)

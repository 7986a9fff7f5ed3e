"""Goal: what works in an editable clone works from the wheel.

A forgotten package or data file is found by the editable install and missing from the wheel, so
these tests compare the declaration, and then the wheel itself, with the folders.
Method: the wheel is built from a copy of the repository's files, so that nothing stale from an
earlier build gets in, and installed into a fresh environment that borrows the third-party packages
of this one, but not its editable Pointsman.
"""

import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.tidy.source_files import LAYERS, ROOT, repository_files


def _package_below(folder: Path) -> str:
    return ".".join(("pointsman", *folder.parts))


def test_every_package_is_declared() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = settings["tool"]["setuptools"]["packages"]
    found = {
        _package_below(path.parent)
        for path in repository_files()
        if path.name == "__init__.py" and path.parts[0] in LAYERS and "_root" not in path.parts
    }
    # Folders below examples/ are data, even where they are packages of a sample project.
    assert sorted(declared) == sorted(found | {"pointsman", "pointsman.examples"})


def _run(*command: str | Path, cwd: Path) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command} ended with {ended.returncode}:\n{ended.stderr}"
    return ended.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("copy")
    for path in repository_files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy / path)
    pip_wheel = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    _run(sys.executable, *pip_wheel, "--wheel-dir", "dist", ".", cwd=copy)
    (built,) = (copy / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    pip_install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
    _run(sys.executable, *pip_install, wheel, cwd=home)
    own = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
    # Paths from a .pth file come after the environment's own, and .pth files there are not read:
    # the third-party packages are borrowed, the editable Pointsman beside them is not.
    (Path(own) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


@pytest.fixture
def foreign_repository(tmp_path: Path) -> Path:
    """A folder with a `graph` package of its own, as a repository under work may have."""
    for layer in LAYERS:
        (tmp_path / layer).mkdir()
        (tmp_path / layer / "__init__.py").write_text(
            "raise ImportError('the wrong package was imported')\n", encoding="utf-8"
        )
    return tmp_path


@pytest.mark.slow
def test_wheel_carries_every_file_of_the_layers_and_the_examples(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        f"pointsman/{path.name}" if path.parts[:2] == ("runtime", "_root") else f"pointsman/{path}"
        for path in repository_files()
        if path.parts[0] in {*LAYERS, "examples"}
    }
    assert carried == expected


@pytest.mark.slow
def test_installed_package_is_imported_in_a_folder_with_its_own_graph_package(
    installed_python: Path, foreign_repository: Path
) -> None:
    imports = "import pointsman, pointsman.graph.decisions as found; print(found.__file__)"
    found = Path(_run(installed_python, "-c", imports, cwd=foreign_repository))
    assert found.is_relative_to(installed_python.parents[1])


@pytest.mark.slow
@pytest.mark.skipif(
    not (ROOT / "runtime" / "cli" / "main.py").exists(), reason="there is no command line yet"
)
def test_installed_command_tells_its_version_in_a_folder_with_its_own_graph_package(
    installed_python: Path, foreign_repository: Path
) -> None:
    version = "import pointsman; print(pointsman.__version__)"
    expected = _run(installed_python, "-c", version, cwd=foreign_repository)
    script = (installed_python.parent / "pointsman",)
    module = (installed_python, "-m", "pointsman")
    for command in (script, module):
        assert expected in _run(*command, "--version", cwd=foreign_repository)

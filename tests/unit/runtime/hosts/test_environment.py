"""Goal: only a short list of variables is passed on."""

from pointsman.runtime.processes.environment import inherited

OURS = {
    "PATH": "/bin",
    "LC_TIME": "C",
    "GIT_DIR": "/x",
    "RAY_ADDRESS": "x",
    "PYTHONPATH": "/x",
    "POINTSMAN_TOKEN": "x",
    "ANTHROPIC_API_KEY": "k",
    "PATHOLOGICAL": "x",
}


def test_what_every_program_needs_is_inherited_and_nothing_else() -> None:
    assert inherited(source=OURS) == {"PATH": "/bin", "LC_TIME": "C"}


def test_a_provider_names_what_it_needs_beside() -> None:
    assert inherited(("ANTHROPIC_*",), OURS)["ANTHROPIC_API_KEY"] == "k"

"""Goal: comments are read as people write them, and what is no comment is told with its place."""

from pathlib import Path

import pytest

from pointsman.graph.results import GateComment
from pointsman.runtime.cli.comments import given_comments, refuse_misplaced
from pointsman.runtime.problems import PointsmanError
from pointsman.runtime.views.queries import view_of
from tests.harness.core import Process
from tests.harness.hosts import git, make_repository


@pytest.mark.parametrize(
    "written, expected",
    [
        ("src/a.py:12:Why: twice?", ("src/a.py", 12, "Why: twice?")),
        ("src/a.py:No tests.", ("src/a.py", None, "No tests.")),
        ("src/a.py: 12 is too many", ("src/a.py", None, "12 is too many")),
        ("a b.md:1:two\nlines", ("a b.md", 1, "two\nlines")),
    ],
)
def test_a_comment_is_a_path_maybe_a_line_and_a_text(
    written: str, expected: tuple[str, int | None, str]
) -> None:
    (found,) = given_comments([written], None)
    assert (found.path, found.line, found.text) == expected


@pytest.mark.parametrize("written", ["", "no colon", ":3:text", "path:"])
def test_what_is_no_comment_is_told(written: str) -> None:
    with pytest.raises(PointsmanError, match="path:line:text"):
        given_comments([written], None)


@pytest.mark.parametrize(
    "text",
    [
        "- {path: a.py, line: 3, text: 'yes: this'}\n- path: b.py\n  text: no\n",
        '[{"path":"a.py","line":3,"text":"yes: this"},{"path":"b.py","text":"no"}]',
    ],
)
def test_a_file_of_comments_is_yaml_or_json_and_comes_after_the_others(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "comments.yaml"
    file.write_text(text)
    assert given_comments(["c.py:1:first"], file) == [
        GateComment(path="c.py", line=1, text="first"),
        GateComment(path="a.py", line=3, text="yes: this"),
        GateComment(path="b.py", line=None, text="no"),
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("path: a.py", "the file"),
        ("- {path: a.py, line: '3', text: x}", "0.line"),
        ("- {path: a.py, text: x, who: me}", "0.who"),
        ("- [", ":1:"),
        ("", "comments.yaml"),
    ],
)
def test_a_file_of_something_else_is_told_with_its_place(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "comments.yaml"
    file.write_text(text)
    with pytest.raises(PointsmanError) as refused:
        given_comments([], file)
    assert refused.value.code == "usage_invalid"
    assert told in refused.value.message


def test_a_missing_file_of_comments_is_told(tmp_path: Path) -> None:
    with pytest.raises(PointsmanError, match="cannot be read"):
        given_comments([], tmp_path / "nowhere.yaml")


def test_a_comment_on_a_file_or_line_that_is_not_there_is_refused_where_git_can_tell(
    tmp_path: Path,
) -> None:
    view = view_of(Process().work(data={"risk": "low"}).run_check().state)
    assert view.gate is not None
    repository = make_repository(tmp_path / "repository", {"a.py": "1\n2", "old.py": "1\n"})
    base = git(repository, "rev-parse", "HEAD")
    git(repository, "rm", "--quiet", "old.py")
    git(repository, "commit", "--quiet", "--message", "Without")
    gate = view.gate.model_copy(update={"head_commit": git(repository, "rev-parse", "HEAD")})
    changes = {"gate": gate, "base_commit": base, "repository": str(repository)}
    here = view.model_copy(update=changes)
    fine = given_comments(["a.py:2:Why?", "./a.py:No.", "old.py:1:Why remove it?"], None)
    refuse_misplaced(here, fine)
    wrong = given_comments(["a.py:3:Why?", "nofile.py:1:x"], None)
    with pytest.raises(PointsmanError) as refused:
        refuse_misplaced(here, wrong)
    assert refused.value.code == "usage_invalid"
    assert "a.py has 2 lines" in str(refused.value)
    assert "there is no file nofile.py" in str(refused.value)
    assert str(refused.value).endswith("Nothing was decided.")
    refuse_misplaced(here.model_copy(update={"repository": "/nonexistent"}), wrong)

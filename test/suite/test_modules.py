"""Which modules a commit runs."""

import collections
import re
import subprocess

import modules
import pytest
import run
from modules import Module, of_pytest

TRIED = [Module("e2e: always"), *of_pytest("e2e", 1, "first", r"pkg/|docs/a\.md"), Module("image: second", 2), Module("realnodes: first", 1)]


def names(choices):
    return [one.module.name for one in choices if one.runs]


def test_what_always_runs_and_the_part_of_the_hash_are_chosen():
    assert names(modules.choose(TRIED, set(), 1)) == ["e2e: always", "e2e: first", "realnodes: first"]
    assert names(modules.choose(TRIED, set(), 2)) == ["e2e: always", "image: second"]


def test_a_module_of_another_part_runs_if_its_test_or_a_path_of_it_changed():
    assert names(modules.choose(TRIED, {"test/e2e/test_first.py"}, 2)) == ["e2e: always", "e2e: first", "image: second"]
    assert names(modules.choose(TRIED, {"pkg/http/gate.h", "README.md"}, 3)) == ["e2e: always", "e2e: first"]
    assert names(modules.choose(TRIED, {"docs/b.md", "a/pkg/x"}, 3)) == ["e2e: always"]
    assert modules.choose(TRIED, {"pkg/x", "docs/a.md"}, 3)[1].why == "docs/a.md changed"


def test_a_module_runs_if_a_file_changed_that_it_imports_and_no_module_that_always_runs():
    tried = [*of_pytest("e2e", 0, "always"), *of_pytest("e2e", 1, "first")]
    texts = {"test/e2e/test_always.py": "from waiting import eventually\n", "test/e2e/test_first.py": "import pytest\nfrom permissions import a\n",
             "test/e2e/permissions.py": "from waiting import eventually\nimport tokens\n", "test/e2e/tokens.py": "", "test/e2e/waiting.py": ""}
    found = modules.helpers(tried, texts)
    assert found == {"test/e2e/test_always.py": set(), "test/e2e/test_first.py": {"test/e2e/permissions.py", "test/e2e/tokens.py"}}
    assert names(modules.choose(tried, {"test/e2e/tokens.py"}, 2, found)) == ["e2e: always", "e2e: first"]
    assert names(modules.choose(tried, {"test/e2e/waiting.py"}, 2, found)) == ["e2e: always"]


def test_everything_runs_if_it_is_unknown_what_changed():
    assert names(modules.choose(TRIED, None, 3)) == [one.name for one in TRIED]


def test_a_module_that_does_not_run_says_why():
    assert modules.choose(TRIED, set(), 2)[1].why == (
        "none of its paths changed, and it is of part 1, where the commit's hash chose part 2 of 5")


def test_a_pattern_chooses_by_name_alone():
    assert names(modules.select(TRIED, "first")) == ["e2e: first", "realnodes: first"]
    assert names(modules.select(TRIED, "^image: ")) == ["image: second"]
    assert names(modules.select(TRIED, "e2e: clusters")) == ["e2e: first"], "those of a step of that name"


def test_hashes_choose_each_part_as_often():
    parts = collections.Counter(modules.part_of(f"{i:040x}") for i in range(100))
    assert parts == {1: 20, 2: 20, 3: 20, 4: 20, 5: 20}


def test_the_list_has_each_test_module_once_and_no_other():
    files = sorted(one.file for one in modules.MODULES if one.file)
    assert files == sorted(str(one.relative_to(run.REPO)) for one in (run.REPO / "test/e2e").glob("test_*.py"))
    assert {one.part for one in modules.MODULES} == set(range(modules.PARTS + 1))


def test_pages_are_read_on_real_nodes_before_a_module_removes_what_is_installed():
    order = [one.name for one in modules.MODULES if one.label == "realnodes" and one.file]
    assert order.index("realnodes: pages_on_real_nodes") < order.index("realnodes: real_nodes")


def test_each_other_module_is_a_step_of_that_name_and_each_path_leads_somewhere():
    steps = set(re.findall(r'step\("([^"]+)"', (run.REPO / "test/suite/commit.cmake").read_text()))
    assert {one.name for one in modules.MODULES if not one.file} <= steps
    tracked = run.git("ls-files").splitlines()
    for one in modules.MODULES:
        for path in re.split(r"\|(?![^(]*\))", one.paths) if one.paths else []:
            assert any(re.match(path, file) for file in tracked), f"{one.name}: no file is matched by {path}"


STEPS = {"build: a": {"build"}, "lint: a": {"lint"}, "e2e: clusters": {"e2e"}, "quiet: cases that look at a clock": {"quiet"}, "image: second": {"image", "left"},
         "e2e: clusters, on Kubernetes 1.36.3": {"e2e", "nightly"}}


def test_a_commit_runs_all_steps_but_builds_what_is_left_and_nightly_ones():
    assert run.wanted(STEPS, "commit", None, []) == ["lint: a", "e2e: clusters", "quiet: cases that look at a clock"]
    assert run.wanted(STEPS, "nightly", None, []) == [name for name in STEPS if name not in ("build: a", "image: second")]
    assert run.wanted(STEPS, "match", "^build", modules.select(TRIED, "^build")) == ["build: a"]


def test_a_pattern_chooses_steps_and_those_that_run_chosen_modules():
    chosen = modules.select(TRIED, "e2e: first")
    assert run.wanted(STEPS, "match", "e2e: first", chosen) == ["e2e: clusters", "quiet: cases that look at a clock"]
    assert run.wanted(STEPS, "match", "^lint", modules.select(TRIED, "^lint")) == ["lint: a"]
    assert run.wanted(STEPS, "nightly", "1.36.3", modules.choose(TRIED, None, 1)) == ["e2e: clusters, on Kubernetes 1.36.3"]


@pytest.fixture
def repo(tmp_path):
    """A repository with one commit; git(...) runs a command in it."""
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], check=True, capture_output=True)
    git("init", "-q", "-b", "main")
    commit(git, tmp_path, "first")
    return tmp_path, git


def commit(git, folder, name):
    (folder / name).write_text("")
    git("add", ".")
    git("commit", "-qm", name)


def test_a_commit_without_a_parent_is_compared_with_nothing(repo):
    folder, _ = repo
    assert run.base(folder) is None
    assert run.changed_since(None, folder) is None


def test_a_commit_is_compared_with_its_parent_and_a_branch_with_where_it_left_main(repo):
    folder, git = repo
    commit(git, folder, "second")
    assert run.base(folder) == run.git("rev-parse", "HEAD^", repo=folder)
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert run.base(folder) == run.git("rev-parse", "HEAD^", repo=folder), "it is main itself"
    commit(git, folder, "third")
    commit(git, folder, "fourth")
    assert run.base(folder) == run.git("rev-parse", "HEAD^^", repo=folder)
    (folder / "first").write_text("changed\n")
    (folder / "fifth").write_text("")
    assert run.changed_since(run.base(folder), folder) == {"first", "third", "fourth", "fifth"}


def test_the_quiet_lane_runs_each_case_that_looks_at_a_clock():
    """It has none of real nodes, whose step leaves them out."""
    of_nodes = [one.file for one in modules.MODULES if one.label == "realnodes" and one.file]
    assert of_nodes and [one for one in of_nodes if "mark.timing" in (run.REPO / one).read_text()] == []

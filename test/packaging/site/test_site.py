"""The documentation as a site: each link leads somewhere, and a page loads nothing from elsewhere."""

import html
import html.parser
import itertools
import pathlib
import re
import subprocess
import urllib.parse

import pytest
import yaml

REPO = pathlib.Path(__file__).resolve().parents[3]
PICTURES = sorted((REPO / "docs/pictures").glob("*.dot"))


class Page(html.parser.HTMLParser):
    """Ids, links and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        if tag in ("script", "img", "iframe") and attributes.get("src"):
            self.loads.add(attributes["src"])
        if tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.add(attributes["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Its pages by their paths."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--site-dir", folder], cwd=REPO, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return {path: Page(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def is_elsewhere(link):
    return urllib.parse.urlsplit(link).scheme != ""


def test_each_link_leads_to_a_file_and_a_heading_of_the_site(site):
    broken = []
    for path, page in site.items():
        for link in filter(lambda link: not is_elsewhere(link), page.links):
            parts = urllib.parse.urlsplit(link)
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            has_heading = not parts.fragment or target not in site or urllib.parse.unquote(parts.fragment) in site[target].ids
            if not target.exists() or not has_heading:
                broken.append((path.name, link))
    assert not broken, "\n".join(f"{page}: {link}" for page, link in broken)


def test_a_page_loads_only_files_of_the_site(site):
    assert len(site) > 15
    assert [(path.name, load) for path, page in site.items() for load in page.loads if is_elsewhere(load) or load.startswith("//")] == []


def test_each_page_of_docs_is_in_the_navigation():
    """So that nobody has to know its name."""
    def pages(entry):
        if isinstance(entry, str):
            return {entry}
        return set().union(*map(pages, entry.values() if isinstance(entry, dict) else entry))
    navigation = yaml.safe_load((REPO / "mkdocs.yml").read_text())["nav"]
    assert {path.name for path in (REPO / "docs").glob("*.md")} - pages(navigation) == set()


@pytest.mark.parametrize("source", PICTURES, ids=lambda path: path.stem)
def test_a_picture_was_drawn_from_its_source(source):
    """Not compared byte by byte: places depend on the fonts of a machine."""
    drawn = map(html.unescape, re.findall(r"<text[^>]*>(.*?)</text>", source.with_suffix(".svg").read_text()))
    labels = [part for label in re.findall(r'label="([^"]*)"', source.read_text()) for part in label.split("\\n")]
    assert sorted(word for text in drawn for word in text.split()) == sorted(word for text in labels for word in text.split())


def test_pages_that_are_generated_say_what_their_sources_say():
    done = subprocess.run([REPO / "scripts/site/reference.py", "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_reason_has_its_meaning_and_each_warning_its_impact_and_fix():
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", (REPO / "docs/reasons.md").read_text(), re.MULTILINE | re.DOTALL))
    warnings = re.findall(r"^\| \[(\w+)\]\(.*\| Warning \|$", (REPO / "docs/events.md").read_text(), re.MULTILINE)
    assert len(sections) > 60 and len(warnings) > 40
    wanted = [(name, "Meaning") for name in sections] + [(name, word) for name in warnings for word in ("Impact", "Fix")]
    assert [(name, word) for name, word in wanted if f"**{word}.**" not in sections[name]] == []


def test_no_list_begins_again_after_a_block():
    """A block in a list is indented by four spaces, and no line of its text begins with a number and a dot."""
    found = [f"{path.name}:{number}" for path in [*(REPO / "docs").glob("*.md"), REPO / "manifests/README.md", REPO / "examples/README.md"]
             for number, (before, line) in enumerate(itertools.pairwise(path.read_text().splitlines()), 2)
             if re.match(r" {1,3}```", line) or (re.match(r" +\d+\. ", line) and before.strip())]
    assert found == []

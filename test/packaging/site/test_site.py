"""The documentation as a site: each link leads somewhere, a page loads nothing from elsewhere, and anyone can find and read it."""

import html
import html.parser
import itertools
import json
import os
import pathlib
import re
import subprocess
import urllib.parse

import lunr
import pytest
from colors import Scheme, contrast, darkened, parsed
from lunr.builder import Builder
from lunr.stop_word_filter import stop_word_filter
from lunr.trimmer import trimmer
from mkdocs.utils import yaml_load

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


def built(folder, repository=""):
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--site-dir", folder], cwd=REPO, check=False,
                          env={**os.environ, "CDOM_REPOSITORY": repository}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(folder):
    """Its pages by their paths."""
    return {path: Page(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def search_of(folder):
    """A function from a query to the pages that the site's search lists, best first: what its worker does, with lunr in Python."""
    entries = json.loads((folder / "search/search_index.json").read_text())["docs"]
    builder = Builder()
    builder.pipeline.add(trimmer, stop_word_filter)
    index = lunr.lunr("location", [{"field_name": "title", "boost": 1000}, "text"], entries, builder=builder)

    def search(query):
        words = query.lower().split()

        def score(result):
            has_all = all(any(term.startswith(word) for term in result["match_data"].metadata) for word in words)
            return result["score"] * (1 + ("#" not in result["ref"]) + has_all)
        results = sorted(index.search(query + "*"), key=score, reverse=True)
        return list(dict.fromkeys(result["ref"].partition("#")[0] for result in results))
    return search


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
    navigation = yaml_load((REPO / "mkdocs.yml").read_text())["nav"]
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


FOUND_FIRST = {"pods pending": "symptoms", "pods pen": "symptoms", "pull secret": "install", "imagePullSecrets": "install",
               "NoChannelFree": "reasons", "upgrade": "upgrade", "drain": "maintenance"}


def test_search_finds_the_right_page_first(folder):
    found = search_of(folder)
    assert {query: found(query)[0] for query in FOUND_FIRST} == {query: f"{page}.html" for query, page in FOUND_FIRST.items()}


def test_search_finds_the_pages_of_the_navigation_and_no_others(folder):
    found = {entry["location"].partition("#")[0] for entry in json.loads((folder / "search/search_index.json").read_text())["docs"]}
    linked = set(re.findall(r'<a href="([^"#]+)"[^>]*class="md-nav__link', (folder / "index.html").read_text()))
    assert found == linked and len(found) > 30
    assert [page for page in found if page.startswith("repository/test/")] == []


def test_search_works_where_a_page_was_opened_as_a_file(folder, site):
    """There a page can fetch nothing: a script has the index and the worker."""
    script = (folder / "search/offline.js").read_text()
    assert (folder / "search/search_index.json").read_text() in script
    assert json.dumps(next(folder.glob("assets/javascripts/workers/search.*.js")).read_text()) in script
    for path in site:
        [source] = re.findall(r'if \(location.protocol === "file:"\) document.write\(.<script src="(\S+)"', path.read_text())
        assert (path.parent / source).resolve() == folder / "search/offline.js"


# The rule that gives a text its color, and the elements behind it, from the page on.
TEXTS = [("body",), (".md-typeset h1",), (".md-typeset a",), (".md-typeset .headerlink",), (".md-header", ".md-header"),
         (".md-typeset a", ".md-typeset code"), (".md-typeset pre", ".md-typeset code"), (".md-footer", ".md-footer"),
         (".md-copyright", ".md-footer", ".md-footer-meta"), (".md-search__input::placeholder", ".md-header", ".md-search__form"),
         (".md-search__suggest",), (".md-search-result__teaser",), (".md-search-result__meta", ".md-search-result__meta"),
         (".md-search-result mark",), (".md-nav__source", ".md-nav__source")]


@pytest.fixture(scope="module", params=["default", "slate"])
def scheme(request, folder):
    page = (folder / "index.html").read_text()
    [option] = re.findall(rf'<input class="md-option"[^>]* (data-md-color-scheme="{request.param}"[^>]*) aria-label', page)
    css = "".join((folder / link).read_text() for link in re.findall(r'<link rel="stylesheet" href="([^"]+)"', page))
    return Scheme(css, re.findall(r'data-\S+="\w[^"]*"', option))


def test_text_has_contrast(scheme):
    code = [name for name in scheme.variables if re.fullmatch(r"--md-code-hl-\w+-color", name)]
    texts = {"active link": ("var(--md-accent-fg-color)",), **{name: (f"var({name})", ".md-typeset code") for name in code},
             **{" on ".join(text): (scheme.said(text[0], "color"), *text[1:]) for text in TEXTS}}
    found = {name: round(contrast(scheme.color(color), scheme.ground(*behind)), 2) for name, (color, *behind) in texts.items()}
    assert len(found) > 25 and {name: value for name, value in found.items() if value < 4.5} == {}


@pytest.mark.parametrize("source", PICTURES, ids=lambda path: path.stem)
def test_a_phone_shows_letters_of_a_picture(source):
    """It has 358 pixels for it."""
    picture = source.with_suffix(".svg").read_text()
    shrunk = min(1, 358 / (float(re.search(r'width="(\d+)pt"', picture)[1]) * 4 / 3))
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', picture))) * 4 / 3 * shrunk >= 8


@pytest.mark.parametrize("scheme", ["slate"], indirect=True)
def test_pictures_have_contrast_in_the_light_and_dark(scheme):
    fills = {parsed(fill) for source in PICTURES for fill in re.findall(r'<path fill="(#\w+)"', source.with_suffix(".svg").read_text())}
    dark = "[data-md-color-scheme=slate] .md-typeset img"
    assert (scheme.said(dark, "filter"), scheme.said(dark, "mix-blend-mode")) == ("invert(1) hue-rotate(180deg)", "screen")
    page = scheme.ground()
    assert fills and [fill for fill in fills if contrast(parsed("#000"), fill) < 4.5] == []
    assert [fill for fill in fills if contrast(darkened(parsed("#000"), page), darkened(fill, page)) < 4.5] == []


@pytest.mark.parametrize("scheme", ["default"], indirect=True)
def test_commands_wrap(scheme):
    code = ".md-typeset .highlight:not(.drawing) pre > code"
    assert (scheme.said(code, "white-space"), scheme.said(code, "overflow-wrap")) == ("pre-wrap", "anywhere")


@pytest.mark.parametrize("scheme", ["default"], indirect=True)
def test_a_phone_shows_the_cells_of_a_row_below_each_other(folder, scheme):
    cell = ".md-typeset table:not([class]) td"
    assert (scheme.said(cell, "display"), scheme.said(f"{cell}:nth-child(n + 3)::before", "content")) == ("block", "attr(data-column)")
    page = (folder / "symptoms.html").read_text()
    table = page[page.index("<table>"):page.index("</table>")]
    assert re.findall(r'<td data-column="([^"]*)"', table) == ["You see", "Look", "Then"] * 3
    assert [path for path in folder.rglob("*.html") if re.search(r"<td(?! data-column=)", path.read_text())] == []


def test_the_page_of_promises_names_the_tests_that_carry_an_id(folder):
    assert "Cache.B33_" not in (REPO / "test/promises.md").read_text()
    assert "Cache.B33_" in (folder / "repository/test/promises.html").read_text()


def test_pages_are_read_in_the_order_of_the_navigation(folder):
    def neighbour(page, which):
        return re.findall(rf'<a href="([^"]+)"[^>]* rel="{which}"', (folder / page).read_text())
    assert [neighbour(page, "next") for page in ("index.html", "try.html")] == [["try.html"], ["concepts.html"]]
    assert neighbour("concepts.html", "prev") == ["try.html"]


def test_each_page_names_the_version_of_the_sources(site):
    [version] = re.findall(r"project\(cdom VERSION (\S+)", (REPO / "CMakeLists.txt").read_text())
    assert [path for path in site if not re.search(rf"<title>.*cdom {re.escape(version)}</title>", path.read_text())] == []


def test_pages_link_to_the_repository_if_it_is_set(folder, tmp_path):
    page = (built(tmp_path, "https://github.com/example/cdom") / "concepts.html").read_text()
    assert '<a href="https://github.com/example/cdom" title="Go to repository"' in page
    assert 'data-md-component="source"' not in page  # With it, the page asks github.com for stars.
    assert "md-source" not in (folder / "concepts.html").read_text()

"""Puts pages of the repository that are outside of docs/ into the site, and makes links to files and folders work there.

The page of promises names the tests that show each. A link from a page to a file of the repository leads to a copy of that file; a link to a folder leads to its README.
Search finds the pages of the navigation, also where they are opened as files.
"""

import html
import itertools
import json
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/suite"))
import traceability  # noqa: E402

DOCS = "docs/"
PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md", "manifests/README.md",
         "manifests/chart/README.md")
OUTSIDE = "repository/"  # Where on the site what is outside of docs/ stands.
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def place(path):
    """Where a file of the repository is among the sources of the site."""
    return path.removeprefix(DOCS) if path.startswith(DOCS) else OUTSIDE + path


def origin(place):
    """The path in the repository of a source of the site."""
    return place.removeprefix(OUTSIDE) if place.startswith(OUTSIDE) else DOCS + place


def on_config(config):
    [version] = re.findall(r"^project\(cdom VERSION ([0-9.]+)", (REPO / "CMakeLists.txt").read_text(), re.MULTILINE)
    config["site_name"] += " " + version
    return config


class Outside(File):
    """A file of the repository that is not in docs/."""

    def __init__(self, path, config):
        super().__init__(place(path), str(REPO), config["site_dir"], config["use_directory_urls"])
        self.abs_src_path = str(REPO / path)


def targets(markdown, page):
    """(path in the repository, link, fragment) of each relative link of a page, which is a path in the repository."""
    for link, fragment in LINK.findall(markdown):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link)), link, fragment


def resolved(path):
    """The file that a link to this path leads to: of a folder its README, or that of the folder around it."""
    folder = REPO / path
    while folder.is_dir() and not (folder / "README.md").is_file():
        folder = folder.parent
    return str((folder / "README.md").relative_to(REPO)) if folder.is_dir() else path


def on_files(files, config):
    for path in PAGES:
        files.append(Outside(path, config))
    known = {file.src_path for file in files}
    pages = list(files.documentation_pages())
    while pages:
        page = pages.pop()
        markdown = pathlib.Path(page.abs_src_path).read_text(encoding="utf-8")
        for path, _, _ in targets(markdown, origin(page.src_path)):
            path = resolved(path)
            if place(path) in known or not (REPO / path).is_file():
                continue
            known.add(place(path))
            file = Outside(path, config)
            files.append(file)
            if file.is_documentation_page():
                pages.append(file)
    return files


def on_page_markdown(markdown, page, config, files):
    if origin(page.file.src_path) == "test/promises.md":
        markdown = traceability.generate(markdown, traceability.all_tests())[0]
    here = page.file.src_path

    def rewritten(match):
        [(path, _, fragment)] = targets(f"]({match[0]})", origin(here))
        target = place(resolved(path))
        if files.get_file_from_path(target) is None:
            return match[0]  # mkdocs warns of it, and --strict refuses it.
        return posixpath.relpath(target, posixpath.dirname(here) or ".") + fragment
    return LINK.sub(rewritten, markdown)


def on_nav(nav, config, files):
    config["extra"]["searched"] = {page.url for page in nav.pages}
    return nav


def on_page_content(content, page, config, files):
    """Tells site.css the column of each cell, which a phone shows, and which blocks are drawn with characters."""
    def named(table):
        names = (re.sub(r"<[^>]*>", "", name) for name in re.findall(r"<th\b[^>]*>(.*?)</th>", table[0]))
        columns = itertools.cycle(html.escape(html.unescape(name)) for name in names)
        return re.sub(r"<td\b", lambda _: f'<td data-column="{next(columns)}"', table[0])
    content = re.sub(r'<div class="highlight">(?=(?:(?!</div>).)*─)', '<div class="highlight drawing">', content, flags=re.DOTALL)
    return re.sub(r"<table>.*?</table>", named, content, flags=re.DOTALL)


def on_post_build(config):
    """Leaves other pages out of the search index, and puts it and its worker into a script for pages that are opened as files."""
    site = pathlib.Path(config["site_dir"])
    path = site / "search/search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index["docs"] = [entry for entry in index["docs"] if entry["location"].partition("#")[0] in config["extra"]["searched"]]
    path.write_text(json.dumps(index), encoding="utf-8")
    [worker] = (site / "assets/javascripts/workers").glob("search.*.min.js")
    blob = f"new Blob([{json.dumps(worker.read_text(encoding='utf-8'))}])"
    (site / "search/offline.js").write_text(
        f"var __search = {{index: Promise.resolve({json.dumps(index)}), worker: URL.createObjectURL({blob})}}\n", encoding="utf-8")

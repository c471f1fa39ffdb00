#!/usr/bin/env python3
"""The book as a site: every Markdown page of the repository, with docs/README.md as its table of contents and a search,
made by MkDocs. Each link of what was made is followed: to a page or file of the site, and to a place in it.
Usage: tools/site.py <directory>   (which is replaced; ends with 1, and says why, when a link leads nowhere)"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile

from markdown_pages import FENCE, LINK, anchor

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# What is written for those who change the code is not part of the book.
LEFT_OUT = ("redis-tests/", "tests/", "web/", ".github/")


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return out.split()


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def with_anchors(text):
    """Headings have the names that links use, which are GitHub's."""
    parts = []
    for line in text.split("\n"):
        heading = re.match(r"#{2,} (.*)", line)
        if heading:
            parts.append(f'<a id="{anchor(heading[1])}"></a>\n')
        parts.append(line)
    return "\n".join(parts)


def outside_fences(text, change):
    parts = []
    end = 0
    for block in FENCE.finditer(text):
        parts += [change(text[end:block.start()]), block[0]]
        end = block.end()
    return "".join(parts) + change(text[end:])


def with_blank_lines(text):
    """Markdown as GitHub reads it lets a list follow a paragraph at once; here a blank line is between them."""
    lines = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        is_item = re.match(r"[-*] |\d+\. ", line)
        was_item = re.match(r"\s*[-*] |\s*\d+\. |\s{2,}|\|", before)
        if is_item and before.strip() and not was_item:
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


class Stage:
    """The pages, and the files that they link to, as MkDocs takes them."""

    def __init__(self, directory):
        self.directory = directory
        self.pages = [p for p in tracked("*.md") if not p.startswith(LEFT_OUT)]
        self.files = set()

    def copy(self, path):
        target = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, path), target)

    def link(self, page, target):
        """What a link of the page is here. A directory is its README, or that of the one around it."""
        path, mark, place = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        full = os.path.normpath(os.path.join(os.path.dirname(page), path))
        while os.path.isdir(os.path.join(ROOT, full)):
            readme = os.path.join(full, "README.md")
            full = readme if os.path.exists(os.path.join(ROOT, readme)) else os.path.dirname(full)
        if full not in self.pages:
            (self.pages.append if full.endswith(".md") else self.files.add)(full)
        return os.path.relpath(full, os.path.dirname(page) or ".") + mark + place

    def page(self, path):
        def change(text):
            return with_anchors(with_blank_lines(LINK.sub(lambda m: m[1] + self.link(path, m[2]) + m[3], text)))

        target = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as f:
            f.write(outside_fences(read(path), change))

    def make(self):
        for path in self.pages:
            self.page(path)
        for path in sorted(self.files):
            if os.path.isfile(os.path.join(ROOT, path)):
                self.copy(path)


def contents(pages):
    """The parts of the book, as docs/README.md has them; each page once."""
    told = {"README.md", "docs/README.md"}
    parts = []
    for section in re.split(r"^## ", read("docs/README.md"), flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        found = []
        for _, target, _ in LINK.findall(text):
            page = os.path.normpath(os.path.join("docs", target.partition("#")[0]))
            if page in pages and page not in told:
                told.add(page)
                found.append(page)
        if found:
            parts.append((title, found))
    parts.append(("More", [p for p in pages if p not in told]))
    return parts


def configuration(pages):
    lines = ["site_name: tupled", "docs_dir: pages", "site_dir: site", "use_directory_urls: false",
             "theme: {name: mkdocs, highlightjs: false}", "plugins: [search]", "markdown_extensions: [tables, fenced_code]", "nav:",
             "  - Start: README.md", "  - The book: docs/README.md"]
    for title, found in contents(pages):
        lines.append(f"  - {title}:")
        lines += [f"      - {page}" for page in found]
    return "\n".join(lines) + "\n"


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.places = [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places.update(v for v in (attrs.get("id"), attrs.get("name")) if v)
        link = attrs.get("href") or attrs.get("src")
        if link:
            self.links.append(link)


def faults_of(site):
    pages = {}
    for directory, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html") and name != "404.html":
                path = os.path.join(directory, name)
                pages[path] = Page()
                with open(path, encoding="utf-8") as f:
                    pages[path].feed(f.read())
    count = 0
    for path, page in sorted(pages.items()):
        for link in page.links:
            if re.match(r"[a-z]+:|//", link) or link in ("#", ".", "/"):
                continue
            count += 1
            name, _, place = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                yield f"{os.path.relpath(path, site)}: {link}: no such file"
            elif place and target in pages and place not in pages[target].places:
                yield f"{os.path.relpath(path, site)}: {link}: no such place"
    if count == 0:
        yield "no links are found"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        stage = Stage(os.path.join(scratch, "pages"))
        stage.make()
        with open(os.path.join(scratch, "mkdocs.yml"), "w", encoding="utf-8") as f:
            f.write(configuration(stage.pages))
        made = subprocess.run(["mkdocs", "build", "--strict"], cwd=scratch, check=False)
        site = os.path.join(scratch, "site")
        faults = list(faults_of(site)) if made.returncode == 0 else ["mkdocs failed"]
        for fault in faults:
            print(f"site: {fault}")
        if faults:
            sys.exit(1)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(site, out)
    print(f"site: {len(stage.pages)} pages in {os.path.relpath(out)}")


main()

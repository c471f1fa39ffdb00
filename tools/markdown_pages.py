"""markdown_pages: what the tools know of the documents: links, blocks of code, and the names of headings."""

import re

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```", flags=re.S | re.M)


def anchor(title):
    """The name of a heading within its page, as GitHub makes it."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip().lower())
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")

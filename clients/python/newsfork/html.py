"""What an HTML page says about itself, in one pass."""

import codecs
import re
import time
from collections import Counter
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from urllib.parse import urlsplit

from .web import absolute

MAX_LINKS = 200  # reported of one page
MAX_URL = 2083  # bytes
MAX_TITLE = 200  # characters
MAX_HEADINGS = 20
MAX_TEXT = 600  # characters that are reported
MAX_DEPTH = 512  # of nested boilerplate
PART = 16_384  # characters that are parsed at once
MAX_TAG = 65_536  # characters of a tag or comment
MAX_TIME = 2  # seconds for a page: the parser is slow with what is made to be slow
BOILERPLATE = {"script", "style", "nav", "header", "footer", "aside", "iframe", "noscript", "template"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
PUBLISHED = {"article:published_time", "datepublished", "date", "pubdate", "publishdate", "dc.date", "dcterms.created"}
MODIFIED = {"article:modified_time", "datemodified", "last-modified", "og:updated_time", "dcterms.modified"}
DOCUMENT = re.compile(r"\.(pdf|docx?|xlsx?|pptx?|hwpx?|csv|zip)$", re.I)
# The whitespace of the package for Node: both must find the same text in a page.
SPACE = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
# What browsers take charsets for, where Python takes them literally.
SUPERSETS = {"ascii": "cp1252", "iso8859-1": "cp1252", "euc_kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030",
             "shift_jis": "cp932", "big5": "big5hkscs"}
NO_CHARSETS = {"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "utf-7"}


class Reader(HTMLParser):
    def __init__(self, url):
        super().__init__()
        self.url = self.base = url
        self.evidence = {"title": "", "h1": "", "headings": [], "lang": "", "canonical": "", "noindex": False}
        self.evidence.update(forms=0, documents=0)
        self.words, self.links = [], {}
        self._open, self._counts = [], Counter()  # elements
        self._skipped, self._link, self._heading, self._title = 0, None, None, False

    def handle_starttag(self, tag, attributes):
        given, page = {}, self.evidence
        for name, value in attributes:
            given.setdefault(name, value or "")
        self.words.append(" ")
        if tag in BOILERPLATE and self._skipped < MAX_DEPTH:
            self._skipped += 1
        if tag == "html":
            page["lang"] = given.get("lang", "")
        elif tag == "title":
            self._title = not page["title"] and not self._skipped
        elif tag == "base" and given.get("href"):
            self.base = absolute(self.url, given["href"]) or self.url
        elif tag == "link" and "canonical" in given.get("rel", "").lower().split():
            page["canonical"] = absolute(self.base, given.get("href", "")) or ""
        elif tag == "meta":
            self._read_meta(given)
        elif tag == "form":
            page["forms"] += 1
        elif tag in ("h1", "h2", "h3"):
            self._heading = [tag, ""]
        elif tag in ("a", "area"):
            self._open_link(given)
        elif tag == "img" and self._link and not self._link[1]:
            self._link[1] = given.get("alt", "")
        if tag not in VOID:
            self._open.append(tag)
            self._counts[tag] += 1

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)  # a slash closes nothing in HTML

    def handle_endtag(self, tag):
        if self._counts[tag] or tag in ("br", "p"):  # which stray ones open
            self.words.append(" ")
        while self._counts[tag]:
            last = self._open.pop()  # those within it end as well
            self._counts[last] -= 1
            self._end(last)
            if last == tag:
                break

    def _end(self, tag):
        if tag in BOILERPLATE and self._skipped:
            self._skipped -= 1
        if tag == "title":
            self._title = False
        elif tag == "a":
            self.close_link()
        elif self._heading and tag == self._heading[0]:
            text = line(self._heading[1])
            if tag == "h1":
                self.evidence["h1"] = self.evidence["h1"] or text
            elif text and len(self.evidence["headings"]) < MAX_HEADINGS:
                self.evidence["headings"].append(text)
            self._heading = None

    def handle_data(self, text):
        if self._title:
            self.evidence["title"] += text
            return
        if self._link and len(self._link[1]) < MAX_TITLE:
            self._link[1] += text
        if self._heading and len(self._heading[1]) < MAX_TITLE:
            self._heading[1] += text
        if not self._skipped:
            self.words.append(text)

    def _read_meta(self, given):
        key = (given.get("name") or given.get("property") or given.get("itemprop") or "").lower()
        for field, names in (("published", PUBLISHED), ("modified", MODIFIED)):
            if key in names and field not in self.evidence and (date := instant(given.get("content", ""))):
                self.evidence[field] = date
        if key == "robots" and re.search(r"\bnoindex\b", given.get("content", ""), re.I):
            self.evidence["noindex"] = True

    def _open_link(self, given):
        self.close_link()
        target = absolute(self.base, given["href"]) if "href" in given else None
        if target and len(target) <= MAX_URL:
            self.evidence["documents"] += bool(DOCUMENT.search(urlsplit(target).path))
            self._link = [target, "", given.get("title", "")]

    def close_link(self):
        if self._link:
            url, text, title = self._link
            if len(self.links) < MAX_LINKS or url in self.links:
                self.links[url] = self.links.get(url) or line(text) or line(title)
        self._link = None


def read_page(html, url):
    """Reads a page. Returns its text without menus and advertisements, its links, each once, and the `page` of a
    report. The package for Node finds the same text."""
    reader, ends = Reader(url), time.monotonic() + MAX_TIME
    for start in range(0, len(html), PART):
        reader.feed(html[start:start + PART])
        if len(reader.rawdata) > MAX_TAG or time.monotonic() > ends:
            reader.rawdata = ""
        if time.monotonic() > ends:
            break
    reader.close()
    reader.close_link()
    text = SPACE.sub(" ", "".join(reader.words)).strip(" ")
    evidence = {**reader.evidence, "title": line(reader.evidence["title"]), "links": len(reader.links)}
    evidence.update(text=text[:MAX_TEXT], words=text.count(" ") + 1 if text else 0)
    links = [{"url": url, "title": title} if title else {"url": url} for url, title in reader.links.items()]
    return text, links, evidence


def line(text):
    return SPACE.sub(" ", text).strip(" ")[:MAX_TITLE]


def instant(text):
    """A date as the engine takes it, or None."""
    text = text.strip()[:100]
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return None
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    try:
        return date.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError):
        return None


def decode(body, content_type):
    """The text of an answer, in the charset of its header, its byte order mark or its beginning; else in UTF-8."""
    mark = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}.get(body[:2])
    stated = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", content_type or "", re.I)
    inside = re.search(rb"<meta[^>]+charset\s*=\s*[\"']?([\w.:-]+)", body[:2048], re.I)
    charset = mark or (stated and stated[1]) or (inside and inside[1].decode("latin-1")) or "utf-8"
    try:
        name = codecs.lookup(charset).name
        text = body.decode("utf-8" if name in NO_CHARSETS else SUPERSETS.get(name, name), errors="replace")
    except (LookupError, ValueError):
        text = body.decode(errors="replace")
    return text.removeprefix("\ufeff")

"""The loop of a scraper: lease, fetch politely, report."""

import hashlib
import math
import signal
import ssl
import sys
import threading
import time
import traceback
from collections import OrderedDict
from datetime import datetime, timezone
from urllib.parse import urlsplit

from protego import Protego

from .engine import Engine
from .html import decode, read_page
from .web import DAY, FAILURES, HostError, Web, location, retry_after

MARGIN = 30  # seconds before the end of a lease in which no request begins
MAX_LEASE = 900  # seconds
MAX_ITEMS = 500  # of a lease
MAX_KEPT = 10_000  # robots.txt files, hosts, and texts whose pages are remembered
MAX_ROBOTS = 512_000  # bytes; what comes after them is not read (RFC 9309)
MAX_REDIRECTS = 5
MIN_TEXT = 200  # characters of a text that says which page it is
SOON = 50  # seconds: an engine that expects nothing so soon may have nothing left, and has nothing if
QUIET = 10  # seconds later it still expects nothing so soon
STOP = 5  # seconds for which the pages under way are waited for when the program is stopped
ENDED = "ended, for nothing is left now; of a site with more pages than wait at once the next come within minutes"
UNCERTIFIED = "every request failed for its certificate; NEWSFORK_VERIFY=0 accepts any, for the sample web alone"
WANTED = {"country", "category", "types", "kinds", "domain", "host", "min_score"}


class Stopped(Exception):
    """The program was stopped before a request began."""


class Page:
    """A page that was received with 200. html, text, title and evidence are None unless it is HTML."""

    def __init__(self, url, item, answer):
        self.url, self.item = url, item
        self.status, self.headers, self.body = answer.status, answer.headers, answer.body
        self.sha256 = hashlib.sha256(answer.body).hexdigest()
        self.html = self.text = self.title = self.evidence = None
        self.links = []
        kind = answer.headers.get("content-type") or ""
        if not kind or "html" in kind.lower():
            self.html = decode(answer.body, kind)
            self.text, self.links, self.evidence = read_page(self.html, url)
            self.title = self.evidence["h1"] or self.evidence["title"]


class Lease:
    """A lease at work. Its end is by this machine's clock, which need not agree with the engine's."""

    def __init__(self, answer, ends, hosts):
        self.id, self.expires_at, self.hosts = answer["lease_id"], answer["expires_at"], answer.get("hosts") or {}
        self.ends, self.left, self.lock = ends, hosts, threading.Lock()

    def fits(self, wait):
        return time.monotonic() + wait < self.ends - MARGIN

    def prolong(self, expires_at):
        self.ends += max(parse(expires_at) - parse(self.expires_at), 0)
        self.expires_at = expires_at


class Visit:
    """What one host is asked in a lease."""

    def __init__(self, lease, items):
        self.lease, self.items, self.results = lease, items, []
        self.host, self.agent = items[0]["host"], items[0]["user_agent"]
        self.delay, self.crawl_delay, self.rules = items[0]["crawl_delay_seconds"], None, {}


class Cache(OrderedDict):
    """Keeps the newest MAX_KEPT values."""

    def keep(self, key, value):
        self.pop(key, None)
        self[key] = value
        if len(self) > MAX_KEPT:
            self.popitem(last=False)


def parse(text):
    """Seconds since 1970 of a time of the engine."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def counted(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def failures(results, items):
    """Which pages were not received, and why, each reason with an example: the three most frequent."""
    urls, pages = {item["id"]: item["url"] for item in items}, {}
    for result in results:
        why = result.get("error") or f"HTTP {result['status']}"
        if not 200 <= result.get("status", 0) < 400 and why != "not_fetched":
            pages.setdefault(why, []).append(urls[result["id"]])
    told = sorted(pages.items(), key=lambda reason: -len(reason[1]))[:3]
    return "".join(f"; {len(of)} not received ({printable(why)}), such as {of[0]}" for why, of in told)


def held_back(answer):
    """Says who keeps everything back, as "; operators keep it back: pause by main, for maintenance", or nothing."""
    stop = answer.get("stopped_by")
    if not stop:
        return ""
    by = f" by {stop['by']}" if stop.get("by") else ""
    why = f", {stop['reason']}" if stop.get("reason") else ""
    return f"; operators keep it back: {stop['kind']}{by}{why}"


def printable(message):
    """A message that cannot control the terminal."""
    return "".join(c if c.isprintable() else "?" for c in str(message) or type(message).__name__)


def to_stderr(message):
    print(message, file=sys.stderr, flush=True)


class Frontier:
    """Fetches what it leases. Keyword arguments of a lease (country, category, types, kinds, domain, host, min_score)
    say which URLs it wants. fetch sends requests in place of this package: it is called with a URL, headers, and the
    item, or None for a robots.txt, and returns an Answer or raises one of FAILURES."""

    def __init__(self, url=None, token=None, *, hosts=16, per_host=5, lease_seconds=300, robots_seconds=DAY,
                 until_idle=False, verify=None, fetch=None, scraper=None, log=to_stderr, **wanted):
        if unknown := set(wanted) - WANTED:
            raise TypeError(f"Frontier has no option {unknown.pop()!r}")
        self._engine, self._log = Engine(url, token, log, scraper), log
        self._fetch = fetch or (lambda url, headers, item, web=Web(verify): web.get(url, headers))
        self._wanted = {**wanted, "per_host": per_host, "lease_seconds": lease_seconds}
        self._most, self._per_host, self._seconds, self._until_idle = hosts, per_host, lease_seconds, until_idle
        self._robots_age = min(robots_seconds, DAY)
        self._robots, self._asked, self._texts = Cache(), Cache(), Cache()
        self._leases, self._visits, self._failure = set(), set(), None
        self._uncertified = self._others = 0  # requests that failed for the certificate, and all others
        self._lock = threading.Lock()  # of what the visits share
        self._handling = threading.Lock()
        self._changed, self._stopping = threading.Event(), threading.Event()

    def run(self, handler=lambda page: None):
        """Calls the handler with each page that was received with 200, one at a time. Returns when the program was
        stopped (SIGINT, SIGTERM, or stop()), or with until_idle when no domain is being collected, nobody paused the
        pipeline, and two leases ten seconds apart are empty and expect nothing within 50 s; more pages of a large site
        may come later. Two are needed: one also comes while pages are being put, or a host has a short rest. Raises an
        EngineError when the engine refuses a call, for want of a token, say, or is not there."""
        # A signal interrupts this thread. It must hold no lock that stop() needs, so another one works.
        worker = threading.Thread(target=self._work, args=(handler,), daemon=True)
        before = self._catch_signals()
        worker.start()
        try:
            while worker.is_alive() and not self._stopping.is_set():
                worker.join(0.2)
            self._finish()
            if self._uncertified and not self._others:
                self._log(UNCERTIFIED)
        finally:
            for number, old in before.items():
                signal.signal(number, old)
        if self._failure:
            raise self._failure

    def stop(self):
        """Begins no more requests. run() reports what was fetched, gives the rest back, and returns."""
        self._stopping.set()
        self._changed.set()

    def _catch_signals(self):
        """Has the first signal stop the run; the second does what it did before."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, lambda n, _: (signal.signal(n, before[n]), self.stop()))
        return before

    def _finish(self):
        self._stopping.set()
        ends = time.monotonic() + STOP
        while self._visits and time.monotonic() < ends:
            time.sleep(0.02)
        self._engine.close()
        with self._lock:
            visits, leases = list(self._visits), list(self._leases)
        calls = [(self._report, visit) for visit in visits] + [(self._engine.release, lease.id) for lease in leases]
        for call, given in calls:
            try:
                call(given)
            except Exception as error:  # the lease ends by itself
                self._log(str(error))

    def _work(self, handler):
        try:
            self._loop(handler)
        except Exception as error:
            if not self._stopping.is_set():
                self._failure = self._failure or error

    def _loop(self, handler):
        idle = False  # by the lease before
        while True:
            self._changed.clear()
            if self._stopping.is_set() or self._failure:
                return
            spare = self._most - len(self._visits)
            if spare * 4 < self._most:
                self._changed.wait(60)  # too few for a call
                continue
            sent = time.monotonic()
            answer = self._engine.lease(max=min(spare * self._per_host, MAX_ITEMS),
                                        max_hosts=min(spare, MAX_ITEMS), **self._wanted)
            again = answer["retry_after_seconds"]
            was_idle, idle = idle, False
            if answer["items"]:
                self._begin(answer, sent, handler)
            elif self._visits:
                self._changed.wait(again)
            elif not self._until_idle or again <= SOON:
                self._log(f"nothing to fetch for {again} s{held_back(answer)}")
                self._stopping.wait(again)
            else:
                collecting = self._engine.collecting(self._wanted.get("country"), self._wanted.get("category"))
                why = f"; domains that are being collected: {collecting}" if collecting else ""
                self._log(f"nothing to fetch for {again} s{why}{held_back(answer)}")
                idle = not collecting and (answer.get("stopped_by") or {}).get("kind") != "pause"
                if idle and was_idle:
                    self._log(ENDED)
                    return
                self._stopping.wait(QUIET)

    def _begin(self, answer, sent, handler):
        """Has hosts visited side by side, the pages of one host one after another."""
        groups = {}
        for item in answer["items"]:
            groups.setdefault(item["host"], []).append(item)
        lease = Lease(answer, sent + self._seconds, len(groups))
        if self._stopping.is_set():
            self._engine.release(lease.id)
            return
        visits = [Visit(lease, items) for items in groups.values()]
        with self._lock:
            self._leases.add(lease)
            self._visits.update(visits)
        for visit in visits:
            threading.Thread(target=self._visit, args=(visit, handler), daemon=True).start()

    def _visit(self, visit, handler):
        """Fetches the items of one host one after another, and reports them together: the host is free then."""
        try:
            self._fetch_all(visit, handler)
            self._report(visit)
        except Exception as error:
            if not self._stopping.is_set():
                self._failure = self._failure or error
        finally:
            with self._lock:
                self._visits.discard(visit)
                visit.lease.left -= 1
                if visit.lease.left == 0 and not self._stopping.is_set():
                    self._leases.discard(visit.lease)  # else it is released
            self._changed.set()

    def _report(self, visit):
        with self._lock:
            results, visit.results = visit.results, []
        if results:
            counts = self._engine.report(visit.lease.id, results)
            told = f"{counted(counts['accepted'], 'page')} reported, {counted(counts['added'], 'new URL')} found"
            self._log(told + failures(results, visit.items))

    def _fetch_all(self, visit, handler):
        host_error = last = None
        for item in visit.items:
            tired = last and (last.get("status") in (429, 503) or last.get("error") == "not_fetched")
            if host_error:
                last = {"error": host_error}
            elif tired or not self._in_time(visit, self._wait(visit)):
                if self._stopping.is_set():
                    return
                if not last:  # it would only be leased once more
                    self._stopping.wait(max(visit.lease.ends - MARGIN - time.monotonic(), 0))
                last = {"error": "not_fetched"}
            else:
                try:
                    last = self._obtain(item, visit, handler)
                except Stopped:
                    return
                except HostError as error:
                    last = {"error": error.code}
                    host_error = error.code
                except FAILURES as error:  # an answer that breaks off is none
                    last = {"error": (str(error) or type(error).__name__)[:200]}
            result = {"id": item["id"], **last, "crawl_delay_seconds": visit.crawl_delay}
            with self._lock:
                visit.results.append({name: value for name, value in result.items() if value is not None})

    def _obtain(self, item, visit, handler):
        """Fetches an item as robots.txt and the host's delay allow it."""
        url, result = item["url"], None
        for i in range(MAX_REDIRECTS + 1):
            rules, again = self._rules_for(url, visit)
            if rules is None:
                return result or {"error": "robots_unknown", "retry_after_seconds": again}
            product = visit.agent.split("/")[0]
            if not rules.can_fetch(url, product):
                return result or {"error": "robots_disallowed"}
            delay = rules.crawl_delay(product) or 0
            if delay > 0 and math.isfinite(delay):
                visit.crawl_delay = min(delay, DAY)
                visit.delay = max(visit.delay, visit.crawl_delay)
            if not self._in_time(visit, self._wait(visit)):
                return result or {"error": "not_fetched"}
            headers = {"User-Agent": visit.agent}
            if i == 0:
                headers.update({"If-None-Match": item["etag"], "If-Modified-Since": item["last_modified"]})
            at = datetime.now(timezone.utc).isoformat()
            answer = self._ask(visit, url, headers, item)
            result = {"status": answer.status, "fetched_at": at,
                      "retry_after_seconds": retry_after(answer.headers.get("retry-after"))}
            if url != item["url"]:
                result["redirected_to"] = url
            if answer.status == 200:
                return {**result, **self._read(item, url, answer, handler)}
            target = location(answer, url)
            if not target or target == url:
                return result
            if urlsplit(target).hostname != urlsplit(item["url"]).hostname:
                return {**result, "urls": [{"url": target}]}  # a page of its own
            if i < MAX_REDIRECTS:
                # On its host it is followed: as a found URL, http and https of a page are one.
                url = result["redirected_to"] = target
        return result

    def _rules_for(self, url, visit):
        """The rules for a URL, or None and when to ask again, as they were read first in this visit."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in visit.rules:
            visit.rules[origin] = self._read_rules(origin, visit)
        return visit.rules[origin]

    def _read_rules(self, origin, visit):
        """The engine's copy while that is fresh, else the host's own."""
        until, rules = self._robots.get(visit.host, (0, None))
        if time.time() < until:
            return rules, None
        of = (visit.lease.hosts.get(visit.host) or {}).get("robots") or {}
        if of.get("status") == "fresh" and of.get("url") and parse(of["expires_at"]) > time.time():
            text = self._engine.robots(of["url"])
            if text is not None:
                return self._keep_rules(visit.host, text, parse(of["expires_at"])), None
        until, rules = self._robots.get(origin, (0, None))
        if time.time() < until:
            return rules, None
        text, again = self._read_robots(origin, visit)
        return (None, again) if text is None else (self._keep_rules(origin, text, math.inf), None)

    def _keep_rules(self, key, text, until):
        rules = Protego.parse(text)
        with self._lock:
            self._robots.keep(key, (min(until, time.time() + self._robots_age), rules))
        return rules

    def _read_robots(self, origin, visit):
        url = f"{origin}/robots.txt"
        for _ in range(MAX_REDIRECTS + 1):
            try:
                answer = self._ask(visit, url, {"User-Agent": visit.agent}, None)
            except HostError:
                raise
            except FAILURES as error:
                self._log(f"{origin}/robots.txt: {printable(error)}")
                return None, None  # no answer forbids everything for now
            if answer.status < 200 or answer.status == 429 or answer.status >= 500:
                return None, retry_after(answer.headers.get("retry-after"))
            if not 300 <= answer.status < 400:
                return answer.body[:MAX_ROBOTS].decode(errors="replace"), None
            url = location(answer, url)
            if not url or urlsplit(url).hostname != urlsplit(origin).hostname:  # nobody gave us that host
                break
        return None, None

    def _ask(self, visit, url, headers, item):
        """Sends a request when the host's delay is over."""
        if self._stopping.wait(self._wait(visit)):
            raise Stopped
        uncertified = False
        try:
            return self._fetch(url, headers, item)
        except ssl.SSLCertVerificationError:
            uncertified = True
            raise
        finally:
            with self._lock:
                self._uncertified += uncertified
                self._others += not uncertified
                self._asked.keep(visit.host, time.monotonic())

    def _wait(self, visit):
        """Seconds until a request to the host may begin."""
        return max(self._asked.get(visit.host, -math.inf) + visit.delay - time.monotonic(), 0)

    def _in_time(self, visit, wait):
        """Whether a request may begin after a wait. A lease that runs short is renewed, if it can be."""
        lease, seconds = visit.lease, max(self._seconds, math.ceil(wait) + 60)
        with lease.lock:
            if not lease.fits(wait) and seconds <= MAX_LEASE and not self._stopping.is_set():
                self._report(visit)
                expires_at = self._engine.renew(lease.id, seconds)
                if expires_at:
                    lease.prolong(expires_at)
        return lease.fits(wait) and not self._stopping.is_set()

    def _read(self, item, url, answer, handler):
        """Reads a page, has the handler see it, and says what the frontier wants to know about it."""
        page = Page(url, item, answer)
        result = {"sha256": page.sha256, "page": page.evidence}
        for name, header in (("etag", "etag"), ("last_modified", "last-modified")):
            result[name] = answer.headers.get(header) or ""
        if page.text is not None:
            result["text_sha256"] = hashlib.sha256(page.text.encode(errors="replace")).hexdigest()
            result["duplicate_of"] = self._original(page.text, result["text_sha256"], item["url"])
        told = answer.told
        with self._handling:
            try:
                told = {**told, **(handler(page) or {})}
            except Exception:  # the page was fetched
                self._log(f"{url}: {traceback.format_exc()}")
        result.update({name: told[name] for name in ("type", "paywalled", "duplicate_of") if name in told})
        titled = {link["url"]: link for link in page.links}
        urls = [link if link.get("title") else titled.get(link["url"], link) for link in told.get("urls", page.links)]
        return {**result, "urls": urls}

    def _original(self, text, digest, url):
        """The page that showed the same text first: another one, or None. Many pages have next to no text."""
        if len(text) < MIN_TEXT:
            return None
        with self._lock:
            first = self._texts.get(digest, url)
            self._texts.keep(digest, first)
        return first if first != url else None

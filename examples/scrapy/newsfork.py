"""A Scrapy spider that works from the Seed Engine's frontier (docs/frontier.md): copy this file, and derive from FrontierSpider."""

import hashlib
import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import scrapy
from protego import Protego
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import DeferredList, succeed
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IResolverSimple
from twisted.internet.threads import deferToThread
from zope.interface import implementer

DAY = 24 * 3600
MARGIN = 30  # seconds before the end of a lease in which no request begins
MAX_KEPT = 10_000  # robots.txt files, and hosts with the time of their last answer
MAX_LEASE = 500  # items
MAX_REDIRECTS = 5
MAX_LINKS = 200  # reported of one page
MAX_URL = 2083  # bytes
MAX_REPORT = 900_000  # bytes; the engine takes 1 MB
MIN_TEXT = 200  # characters of a text that says which page it is
RENEW = 30  # seconds before a lease runs short at which it is renewed
PUBLIC_IPV6 = ip_network("2000::/3")


# One request at a time and the frontier's delay, which Scrapy's own settings cannot express: the spider paces itself.
# Redirects, repetitions and robots.txt count as requests, so they are the spider's, too.
SETTINGS = {
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_MAXSIZE": 5_000_000,
    "DOWNLOAD_TIMEOUT": 20,
    "HTTPCACHE_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "REFERER_ENABLED": False,
    "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
}


class LeaseOver(Exception):
    """The engine renews a lease for an hour at most, and not after its end."""


class Lease:
    """A lease, and until when requests may begin. That is counted from before the call by this machine's clock, which need
    not agree with the engine's on expires_at."""

    def __init__(self, answer, ends):
        self.id, self.expires_at, self.ends = answer["lease_id"], answer["expires_at"], ends

    def prolong(self, expires_at):
        """Takes over a new end, and says whether it is later than the one before."""
        more = (instant(expires_at) - instant(self.expires_at)).total_seconds() if expires_at else 0
        self.expires_at, self.ends = expires_at or self.expires_at, self.ends + max(more, 0)
        return more > 1


class FrontierClient:
    """Calls the frontier. What got no answer, or 503, is repeated: that does no harm."""

    def __init__(self, engine, token):
        self.engine, self.token = engine.rstrip("/"), token
        self.closing = threading.Event()

    def lease(self, **wanted):
        return self._call("lease", wanted)

    def renew(self, lease_id, seconds):
        """Prolongs a lease. Gives its new end; None when it is over."""
        try:
            return self._call(f"lease/{lease_id}/renew", {"lease_seconds": seconds})["expires_at"]
        except LeaseOver:
            return None

    def release(self, lease_id):
        self._call(f"lease/{lease_id}/release", {})

    def report(self, lease_id, results):
        """Reports results, in as many calls as their size needs. Gives how many URLs were new."""
        added, part, size = 0, [], 0
        for result in results:
            length = len(json.dumps(result))
            if part and size + length > MAX_REPORT:
                added += self._call("report", {"lease_id": lease_id, "results": part})["added"]
                part, size = [], 0
            part.append(result)
            size += length
        return added + self._call("report", {"lease_id": lease_id, "results": part})["added"]

    def _call(self, operation, body):
        request = urllib.request.Request(
            f"{self.engine}/api/v1/frontier/{operation}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        wait = 1
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)["data"]
            except urllib.error.HTTPError as error:
                why = error.read(10_000).decode(errors="replace")
                if error.code == 409:
                    raise LeaseOver(why) from None
                if error.code not in (429, 502, 503, 504):
                    raise RuntimeError(f"{operation}: {error.code} {why}") from None
            except (OSError, ValueError) as error:
                why = str(error)
            if self.closing.wait(wait):
                raise RuntimeError(f"{operation}: {why}")
            wait = min(wait * 2, 60)


class FrontierSpider(scrapy.Spider):
    """Fetches what it leases, and reports it. parse() is given each page that was received with 200; items that it yields
    are Scrapy's, requests are links: they are reported to the frontier, which gives them out when their time has come."""

    lease = {}  # which URLs: country, category, types, kinds
    hosts = 16  # asked at once, each one request at a time
    per_host = 5
    lease_seconds = 300
    robots_seconds = DAY  # how long a robots.txt is good for, a day at most

    @classmethod
    def update_settings(cls, settings):
        super().update_settings(settings)
        settings.setdict({**SETTINGS, "CONCURRENT_REQUESTS": cls.hosts}, priority="spider")

    @classmethod
    def from_crawler(cls, crawler, *args, until_idle="0", **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        engine = os.environ.get("SEED_API_URL", "http://localhost:8787")
        spider.frontier = FrontierClient(engine, os.environ.get("SEED_API_TOKEN", ""))
        spider.until_idle = until_idle != "0"
        spider.robots = {}  # by origin: when it was read, its rules
        spider.asked = {}  # by host: when it answered last
        spider.texts = {}  # by digest: the page that showed the text first
        spider.visits, spider.reporting = set(), 0
        spider.leasing, spider.timer, spider.over = False, None, False
        crawler.signals.connect(spider._open, signals.spider_opened)
        crawler.signals.connect(spider._idle, signals.spider_idle)
        crawler.signals.connect(spider._close, signals.spider_closed)
        return spider

    def start_requests(self):
        return []  # the frontier says where to start

    def _open(self):
        from twisted.internet import reactor  # not before Scrapy has installed the one of its settings

        # Scrapy installs its own resolver before the reactor runs.
        reactor.callWhenRunning(reactor.installResolver, PublicResolver())
        self._lease()

    def _idle(self):
        if not self.over:
            raise DontCloseSpider

    def _close(self):
        """Gives back what was not fetched, so that others need not wait for the end of the lease."""
        self.over = True
        self.frontier.closing.set()
        leases = {visit.lease.id for visit in self.visits}
        reported = DeferredList([visit.finish() for visit in list(self.visits)])
        return reported.addCallback(lambda _: DeferredList([self._release(lease_id) for lease_id in leases]))

    def _release(self, lease_id):
        released = deferToThread(self.frontier.release, lease_id)
        return released.addErrback(lambda failure: self.logger.error(failure.getErrorMessage()))

    # ---- leases

    def _lease(self):
        """Leases URLs when there are hosts enough to spare for a call to be worth it."""
        spare = self.hosts - len(self.visits)
        if self.over or self.leasing or spare * 4 < self.hosts:
            return
        self.leasing = True
        sent = time.monotonic()
        ask = {"max": min(spare * self.per_host, MAX_LEASE), "per_host": self.per_host, "lease_seconds": int(self.lease_seconds)}
        leased = deferToThread(self.frontier.lease, **ask, **self.lease)
        leased.addCallback(self._leased, sent)
        leased.addErrback(self._fail)

    def _leased(self, lease, sent):
        self.leasing = False
        by_host = {}
        for item in lease["items"]:
            by_host.setdefault(item["host"], []).append(item)
        if by_host and self.over:  # it was closed meanwhile
            return self._release(lease["lease_id"])
        again = lease["retry_after_seconds"]
        if by_host:
            taken = Lease(lease, sent + int(self.lease_seconds) - MARGIN)
            visits = [Visit(self, taken, items) for items in by_host.values()]
            self.visits.update(visits)
            for visit in visits:
                visit.next()
            self._keep(taken)
            self._lease_in(5)
        elif self.until_idle and again > 30 and not self.visits and not self.reporting:
            self.over = True
        else:
            self._lease_in(again)

    def _keep(self, lease):
        """Renews a lease shortly before it runs short, as long as pages of it are left."""
        if any(visit.lease is lease for visit in self.visits):
            self._later(max(lease.ends - RENEW - time.monotonic(), 0), self._renew, lease)

    def _renew(self, lease):
        if self.over or not any(visit.lease is lease for visit in self.visits):
            return
        renewed = deferToThread(self.frontier.renew, lease.id, int(self.lease_seconds))
        renewed.addCallback(lambda expires_at: lease.prolong(expires_at) and self._keep(lease))
        renewed.addErrback(self._fail)

    def _lease_in(self, seconds):
        if self.timer and self.timer.active():
            self.timer.cancel()
        self.timer = self._later(seconds, self._lease)

    def _report(self, lease_id, results):
        self.reporting += 1
        reported = deferToThread(self.frontier.report, lease_id, results)
        reported.addCallback(self._reported, len(results))
        reported.addErrback(self._fail)
        return reported

    def _reported(self, added, count):
        self.reporting -= 1
        self.logger.info("%d reported, %d new URLs found", count, added)
        self._lease_in(0)

    def _fail(self, failure):
        """The engine refuses what it is sent, for want of a token, say: repeating would not help."""
        self.logger.error(failure.getErrorMessage())
        if not self.over:
            self.over = True
            self.crawler.engine.close_spider(self, "the frontier refused")

    @staticmethod
    def _later(seconds, call, *args):
        from twisted.internet import reactor  # not before Scrapy has installed the one of its settings

        return reactor.callLater(seconds, call, *args)


class Visit:
    """The items of one host, fetched one after another and reported together."""

    def __init__(self, spider, lease, items):
        self.spider, self.lease, self.items = spider, lease, items
        self.results, self.unreadable, self.read = [], set(), set()
        self.redirects = 0  # in a row
        self.host, self.agent = items[0]["host"], items[0]["user_agent"]
        self.delay = items[0]["crawl_delay_seconds"]
        self.crawl_delay = None  # of robots.txt

    def next(self):
        """Does what is to be done about the next item: nothing, a request for its robots.txt, or one for itself."""
        while self.items:
            item = self.items[0]
            origin = "{0.scheme}://{0.netloc}".format(urlsplit(item["url"]))
            read, rules = self.spider.robots.get(origin, (None, None))
            expired = read is None or time.monotonic() - read >= min(float(self.spider.robots_seconds), DAY)
            if origin in self.unreadable:
                self._done({"error": "robots_unknown"})
            elif expired and origin not in self.read:
                return self._send(f"{origin}/robots.txt", self._robots, origin)
            elif not rules.can_fetch(item["url"], product(self.agent)):
                self._done({"error": "robots_disallowed"})
            else:
                delay = rules.crawl_delay(product(self.agent)) or 0
                self.crawl_delay = min(delay, DAY) if delay > 0 else None  # it may say inf or nan, which JSON has not
                self.delay = max(self.delay, self.crawl_delay or 0)
                headers = {"If-None-Match": item.get("etag"), "If-Modified-Since": item.get("last_modified")}
                return self._send(item["url"], self._page, None, headers)
        self.finish()

    def finish(self):
        """Reports all items; those that were not fetched go to others. A spider that is closed releases them with its
        leases."""
        if self not in self.spider.visits:
            return succeed(None)
        self.spider.visits.discard(self)
        results = list(self.results)
        if not self.spider.over:
            results += [{"id": item["id"], "error": "not_fetched"} for item in self.items]
        if self.crawl_delay:
            results = [{**result, "crawl_delay_seconds": self.crawl_delay} for result in results]
        return self.spider._report(self.lease.id, results) if results else succeed(None)

    def _send(self, url, callback, origin, headers={}):
        """Sends a request when the host's delay is over, unless the lease is over before and is not renewed. Then the host is
        given back at the end of the lease: nobody could ask it sooner, and it would only be leased once more."""
        now = time.monotonic()
        wait = max(self.spider.asked.get(self.host, float("-inf")) + self.delay - now, 0)
        if now >= self.lease.ends:
            return self.finish()
        if now + wait >= self.lease.ends:
            return self.spider._later(self.lease.ends - now, self._send, url, callback, origin, headers)
        request = scrapy.Request(
            url,
            callback,
            errback=lambda failure: callback(None, failure=failure, origin=origin),
            cb_kwargs={"origin": origin},
            headers={"User-Agent": self.agent, **{name: value for name, value in headers.items() if value}},
            meta={"handle_httpstatus_all": True},
            dont_filter=True,
        )
        self.spider._later(wait, self._crawl, request)

    def _crawl(self, request):
        slot = self.spider.crawler.engine.slot
        if slot is None or slot.closing:  # Ctrl-C
            self.finish()
        else:
            self.spider.crawler.engine.crawl(request)

    def _robots(self, response, origin, failure=None):
        """A robots.txt arrived. Where one cannot be read, nothing may be fetched; where there is none, everything."""
        keep(self.spider.asked, self.host, time.monotonic())
        status = response.status if response else 500
        if 300 <= status < 400 and self.redirects < MAX_REDIRECTS:
            target = redirect(response)
            if urlsplit(target).hostname == urlsplit(origin).hostname:  # no other host was given to this visit
                self.redirects += 1
                return self._send(target, self._robots, origin)
        self.redirects = 0
        if status == 429 or status >= 500 or 300 <= status < 400:
            self.unreadable.add(origin)
        else:
            text = response.body.decode(errors="replace") if response.status == 200 else ""
            self.read.add(origin)
            keep(self.spider.robots, origin, (time.monotonic(), Protego.parse(text)))
        self.next()

    def _page(self, response, origin=None, failure=None):
        """A page arrived: what the spider makes of it is Scrapy's, but for links."""
        keep(self.spider.asked, self.host, time.monotonic())
        if response is None:
            self._done({"error": "unresolved" if failure.check(DNSLookupError) else failure.getErrorMessage()[:200]})
            self.next()
            return
        if self._follow(response):
            self.next()
            return
        result = {"status": response.status, "retry_after_seconds": retry_after(response.headers.get("Retry-After"))}
        links = []
        try:
            if response.status == 200:
                for name, field in (("ETag", "etag"), ("Last-Modified", "last_modified")):
                    result[field] = (response.headers.get(name) or b"").decode(errors="replace")
                result["sha256"] = hashlib.sha256(response.body).hexdigest()
                if text := plain_text(response):
                    result["text_sha256"] = hashlib.sha256(text.encode()).hexdigest()
                    result["duplicate_of"] = self._original(text, result["text_sha256"])
                for output in iterate_spider_output(self.spider.parse(response)):
                    if isinstance(output, scrapy.Request):
                        links.append(output.url)
                    else:
                        yield output
            elif 300 <= response.status < 400:
                links.append(redirect(response))  # to another host: the frontier says when it may be asked
        finally:  # also when parse() raised: the page was fetched
            links = [url for url in dict.fromkeys(links) if url.startswith("http") and len(url.encode()) <= MAX_URL]
            self._done({**result, "urls": [{"url": url} for url in links[:MAX_LINKS]]})
            if response.status in (429, 503):  # the host wants to be left alone
                self.finish()
            else:
                self.next()

    def _original(self, text, digest):
        """The page that showed the same text first: another one, or None. Many pages have next to no text."""
        if len(text) < MIN_TEXT:
            return None
        url = self.items[0]["url"]
        first = self.spider.texts.get(digest, url)
        keep(self.spider.texts, digest, first)
        return first if first != url else None

    def _follow(self, response):
        """Whether a redirect leads to the same host. It is followed as any other request, at the host's delay, if robots.txt
        allows it. http and https of a page are the same to the frontier, so to report it as a link would lose it."""
        item, target = self.items[0], redirect(response)
        leads = 300 <= response.status < 400 and urlsplit(target).hostname == item["host"] and target != response.url
        if not leads or self.redirects >= MAX_REDIRECTS:
            self.redirects = 0
            return False
        self.redirects += 1
        item["url"] = item["redirected_to"] = target
        return True

    def _done(self, result):
        item = self.items.pop(0)
        result = {"id": item["id"], "redirected_to": item.get("redirected_to"), **result}
        self.results.append({name: value for name, value in result.items() if value is not None})


@implementer(IResolverSimple)
class PublicResolver:
    """Looks up hosts for connections. Whoever controls a name can have it lead into your network, and change it at any time:
    what is checked must be the address that the connection uses, and all others of the name."""

    def __init__(self):
        # With a proxy only its own name is looked up here. It has to refuse addresses itself.
        self.proxies = {urlsplit(url).hostname for url in urllib.request.getproxies().values()}

    def getHostByName(self, name, timeout=None):
        return deferToThread(self._lookup, name)

    def _lookup(self, name):
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise DNSLookupError(f"{name}: {error}") from None
        addresses = [address for *_, (address, *_) in found]
        inside = [address for address in addresses if not is_public(address)]
        if inside and name not in self.proxies:
            raise DNSLookupError(f"{name} has the address {inside[0]}, which is not public")
        for address in addresses:
            if ":" not in address:  # as Scrapy's own resolver: IPv4 only
                return address
        raise DNSLookupError(f"{name} has no IPv4 address")


def is_public(text):
    """Whether an IP address is one of the internet, and leads nowhere else."""
    address = ip_address(text.split("%")[0])
    if address.version == 6 and (address not in PUBLIC_IPV6 or address.sixtofour or address.teredo):
        return False
    return address.is_global and not address.is_multicast


def keep(cache, key, value):
    """Puts a value into a cache of bounded size, as its newest."""
    cache.pop(key, None)
    cache[key] = value
    if len(cache) > MAX_KEPT:
        del cache[next(iter(cache))]


def instant(text):
    """The instant of an RFC 3339 text."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def product(agent):
    """The product token of a User-Agent, by which robots.txt names it."""
    return agent.split("/")[0]


def plain_text(response):
    """The text of an HTML page without what changes though the page does not; None for anything else."""
    if not isinstance(response, scrapy.http.HtmlResponse):
        return None
    noise = " or ".join(f"ancestor::{tag}" for tag in ("script", "style", "nav", "header", "footer", "aside", "iframe"))
    return " ".join(" ".join(response.xpath(f"//body//text()[not({noise})]").getall()).split())


def redirect(response):
    """Where an answer leads; without a Location, to itself."""
    return response.urljoin(response.headers.get("Location", b"").decode(errors="replace"))


def retry_after(value):
    """Retry-After in seconds: it is a number or a date."""
    if not value:
        return None
    text = value.decode(errors="replace").strip()
    try:
        seconds = int(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return int(min(seconds, DAY)) + 1 if seconds > 0 else None  # JSON takes longer numbers than the engine

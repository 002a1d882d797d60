"""Scrapy on the frontier: SCHEDULER = "newsfork.scrapy.Scheduler". Scrapy sends the requests, those for robots.txt too;
the frontier says which and when. examples/scrapy has a spider."""

import socket
import threading
import urllib.request
from collections import deque
from concurrent.futures import Future
from email.message import Message
from urllib.parse import urlsplit

import scrapy
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IResolverSimple
from twisted.internet.threads import deferToThread
from zope.interface import implementer

from .frontier import Cache, Frontier, Stopped
from .html import MAX_LINKS, MAX_URL
from .web import MAX_PAGE, TIMEOUT, Answer, HostError, is_address, public_addresses

# Redirects, repetitions and robots.txt count as requests, so the frontier decides about them, whatever settings say.
META = {
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "download_maxsize": MAX_PAGE,
    "download_timeout": TIMEOUT,
    "handle_httpstatus_all": True,
}


class Scheduler(BaseScheduler):
    """Gives Scrapy the requests of a Frontier. Requests of the spider are links: they are reported with their page, and
    come back as leases when their time has come. The item of a page is response.meta["newsfork"]."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def __init__(self, crawler):
        self._crawler = crawler
        self._requests, self._pending = deque(), set()
        self._over = self._closing = False
        self._ended, self._resolver = Deferred(), PublicResolver()

    def open(self, spider):
        from twisted.internet import reactor  # not before Scrapy has installed the one of its settings

        # Scrapy installs its own resolver before the reactor runs.
        reactor.callWhenRunning(reactor.installResolver, self._resolver)
        self._reactor = reactor
        self._frontier = Frontier(fetch=self._fetch, log=spider.logger.info, **options(self._crawler.settings))
        threading.Thread(target=self._run, daemon=True).start()

    def close(self, reason):
        self._closing = True
        self._frontier.stop()
        for future in list(self._pending):
            settle(future, error=Stopped())
        return self._ended

    def has_pending_requests(self):
        return not self._over

    def next_request(self):
        return self._requests.popleft() if self._requests else None

    def enqueue_request(self, request):
        """Takes requests of the frontier alone: it says where to start."""
        if "newsfork" not in request.meta:
            return False
        self._requests.append(request)
        return True

    def _run(self):
        failure = None
        try:
            self._frontier.run()
        except Exception as error:
            failure = error
        self._reactor.callFromThread(self._end, failure)

    def _end(self, failure):
        """Nothing is left to fetch, or the engine refused what it was sent, for want of a token, say."""
        self._over = True
        self._ended.callback(None)
        if failure:
            self._crawler.spider.logger.error(str(failure))
            if not self._closing:
                self._crawler.engine.close_spider(self._crawler.spider, "the frontier refused")

    def _fetch(self, url, headers, item):
        """Has Scrapy send a request of a thread of the frontier, which waits for the answer."""
        host = urlsplit(url).hostname
        if is_address(host):
            public_addresses(host)
        future = Future()
        request = scrapy.Request(
            url,
            self._received,
            cb_kwargs={"future": future, "item": item},
            errback=lambda failure: self._failed(failure, host, future),
            headers={name: value for name, value in headers.items() if value},
            meta={**META, "newsfork": item or {}},
            dont_filter=True,
        )
        self._reactor.callFromThread(self._crawl, request, future)
        return future.result()

    def _crawl(self, request, future):
        if self._closing:
            settle(future, error=Stopped())
            return
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        self._crawler.engine.crawl(request)

    def _received(self, response, future, item):
        """Has the spider parse a page, and passes its items on to Scrapy."""
        links = {}
        try:
            if item and response.status == 200:
                for output in iterate_spider_output(self._crawler.spider.parse(response)):
                    if not isinstance(output, scrapy.Request):
                        yield output
                    elif output.url.startswith("http") and len(output.url) <= MAX_URL and len(links) < MAX_LINKS:
                        links[output.url] = {"url": output.url}
        finally:  # also when parse() raised: the page was fetched
            headers = Message()
            for name, values in response.headers.items():
                for value in values:
                    headers[name.decode("latin-1")] = value.decode("latin-1")
            settle(future, Answer(response.status, headers, response.body, {"urls": list(links.values())}))

    def _failed(self, failure, host, future):
        error = OSError(failure.getErrorMessage()[:200])
        if failure.check(DNSLookupError):
            error = self._resolver.errors.get(host) or HostError("unresolved", str(error))
        settle(future, error=error)


@implementer(IResolverSimple)
class PublicResolver:
    """Looks up hosts for connections, which get public addresses only. With a proxy only its own name is looked up
    here: it has to refuse addresses itself."""

    def __init__(self):
        self.errors = Cache()  # of the names that were not found or refused: Twisted drops them
        self._proxies = {urlsplit(url).hostname for url in urllib.request.getproxies().values()}

    def getHostByName(self, name, timeout=None):
        return deferToThread(self._look_up, name)

    def _look_up(self, name):
        if name in self._proxies:
            return socket.gethostbyname(name)
        try:
            for address in public_addresses(name):
                if ":" not in address:  # as Scrapy's own resolver: IPv4 only
                    return address
            raise HostError("unresolved", f"{name} has no IPv4 address")
        except (OSError, UnicodeError) as error:
            self.errors.keep(name, error)
            raise DNSLookupError(str(error)) from None


def options(settings):
    """Those of Frontier, from NEWSFORK_COUNTRY and so on."""
    readers = {
        **dict.fromkeys(("url", "token", "scraper", "country", "category", "domain", "host"), settings.get),
        **dict.fromkeys(("types", "kinds"), settings.getlist),
        **dict.fromkeys(("hosts", "per_host", "lease_seconds"), settings.getint),
        **dict.fromkeys(("min_score", "robots_seconds"), settings.getfloat),
        "until_idle": settings.getbool,
    }
    names = {name: f"NEWSFORK_{name.upper()}" for name in readers}
    return {name: readers[name](key) for name, key in names.items() if settings.get(key) is not None}


def settle(future, result=None, error=None):
    if future.done():
        return
    if error:
        future.set_exception(error)
    else:
        future.set_result(result)

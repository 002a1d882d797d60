"""The routes of the frontier that a scraper calls."""

import http.client
import json
import os
import re
import sys
import threading
import urllib.error
import urllib.request
from urllib.parse import urlencode

MAX_FOUND = 5000  # links of one report
MAX_RESULTS = 500  # of one report
MAX_REPORT = 900_000  # bytes of one report; the engine takes 1 MB
MAX_WAIT = 60  # seconds between two attempts
MAX_STRANGE = 8  # seconds between two attempts at an engine that has never answered: 15 s in all
TIMEOUT = 60  # seconds
LAST_TIMEOUT = 5  # seconds, of a call after close()


TOKEN = "SEED_API_TOKEN, or the option token, must hold the engine's SCRAPER_TOKEN or API_TOKEN"
ADDRESS = "SEED_API_URL, or the option url, must be the engine's address"


class EngineError(Exception):
    """The engine refused a request, or is not there: status and field say why, the message also what to set. An engine
    that is not there has no status, and the code "unreachable". A program that does not catch it ends with the
    message: a traceback says nothing of a setting."""

    def __init__(self, message, status=None, error=None):
        error = error or {}
        self.status, self.code, self.field = status, error.get("code"), error.get("field")
        super().__init__(message)


def tell_uncaught():
    """Has the interpreter show an EngineError by its message, and all others as before."""
    before = sys.excepthook
    if getattr(before, "tells", None) is EngineError:
        return

    def tell(kind, error, trace):
        if isinstance(error, EngineError):
            print(error, file=sys.stderr)
        else:
            before(kind, error, trace)

    tell.tells = EngineError
    sys.excepthook = tell


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers a redirect as it is: the token is for the engine alone."""

    def redirect_request(self, *_):
        return None


class Engine:
    """Calls the frontier. A call that got no answer, or 429 or 502 to 504, is repeated: that does no harm. An engine
    that has never answered is given up after 15 s."""

    def __init__(self, url=None, token=None, log=lambda message: None, scraper=None):
        self._origin = (url or os.environ.get("SEED_API_URL") or "http://localhost:8787").rstrip("/")
        self._token = os.environ.get("SEED_API_TOKEN", "") if token is None else token
        self._scraper = scraper
        self._opener = urllib.request.build_opener(NoRedirects)
        self._log, self._answered = log, False
        self._closed = threading.Event()

    def close(self):
        """From now on no call is repeated. One that waits to be repeated fails."""
        self._closed.set()

    def lease(self, **wanted):
        return self._post("lease", {name: value for name, value in wanted.items() if value is not None})

    def renew(self, lease_id, seconds):
        """Prolongs a lease. Returns its new end, or None when the lease is over."""
        try:
            return self._post(f"lease/{lease_id}/renew", {"lease_seconds": seconds})["expires_at"]
        except EngineError as error:
            if error.status != 409:
                raise
            return None

    def release(self, lease_id):
        return self._post(f"lease/{lease_id}/release", {})["released"]

    def report(self, lease_id, results):
        """Reports results, in as many calls as they need. Returns the counts of all of them."""
        total = {"accepted": 0, "late": 0, "unknown": 0, "added": 0}
        for part in divide(results):
            counts = self._post("report", {"lease_id": lease_id, "results": part})
            for name in total:
                total[name] += counts.get(name) or 0
        return total

    def robots(self, path):
        """Returns a robots.txt that the engine has, by the `url` of a lease, or None if it has none any more."""
        try:
            status, body = self._send(path)
        except (OSError, http.client.HTTPException):
            return None  # the host has it
        return body.decode(errors="replace") if status == 200 else None

    def collecting(self, country=None, category=None):
        """Counts the domains that wait for their collection or are being collected; 0 if the engine does not say."""
        wanted = {name: value for name, value in (("country", country), ("category", category)) if value}
        try:
            _, received = self._send(f"/api/v1/seeds/status?{urlencode(wanted)}")
            return json.loads(received)["data"]["processing_stats"]["domains_pending"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return 0

    def _post(self, operation, body):
        if not re.match(r"https?://[^/]", self._origin):
            self._fail(f"{self._origin} is not an http or https URL; {ADDRESS}", error={"code": "unreachable"})
        data, wait = json.dumps(body).encode(), 1
        while True:
            status, error = None, {}
            try:
                status, received = self._send(f"/api/v1/frontier/{operation}", data)
                answer = json.loads(received)
                succeeded, self._answered = answer["success"], True
                if succeeded:
                    return answer["data"]
                error = answer["error"] or {}
            except (OSError, http.client.HTTPException) as failure:
                failure = getattr(failure, "reason", failure)
                error = {"message": str(failure) or type(failure).__name__}
            except (ValueError, KeyError, TypeError):  # it comes from something in between
                error = {"message": f"{status}, which is not the engine's JSON"}
                status = status if 400 <= status < 500 else None
            if status and status not in (429, 502, 503, 504):
                self._refuse(operation, status, error)
            why = error.get("message") or status
            if not self._answered and wait > MAX_STRANGE:
                self._fail(f"{self._origin} does not answer ({why}); {ADDRESS}", error={"code": "unreachable"})
            self._log(f"{operation}: {self._origin}: {why}; again in {wait} s")
            if self._closed.wait(wait):
                self._fail(f"{operation}: {self._origin}: {why}", status, error)
            wait = min(wait * 2, MAX_WAIT)

    def _refuse(self, operation, status, error):
        """Says what was refused, by whom, and what to set if it was the token."""
        why = " ".join(word for word in (error.get("field"), error.get("message")) if word)
        if error.get("code") in ("unauthorized", "forbidden"):
            why = f"{why.split(';')[0] if self._token else 'no token was sent'}; {TOKEN}"
        self._fail(f"{self._origin}: {operation} refused with {status}: {why}", status, error)

    def _fail(self, message, status=None, error=None):
        tell_uncaught()
        raise EngineError(message, status, error)

    def _send(self, path, data=None):
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if self._scraper:
            headers["X-Scraper"] = self._scraper
        request = urllib.request.Request(self._origin + path, data=data, headers=headers)
        timeout = LAST_TIMEOUT if self._closed.is_set() else TIMEOUT
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read()


def divide(results):
    """Divides results into reports that the engine takes."""
    parts, found, size = [], 0, 0
    for result in results:
        links, length = len(result.get("urls") or ()), len(json.dumps(result)) + 2
        full = found + links > MAX_FOUND or size + length > MAX_REPORT
        if not parts or full or len(parts[-1]) == MAX_RESULTS:
            parts.append([])
            found, size = 0, 100
        parts[-1].append(result)
        found, size = found + links, size + length
    return parts

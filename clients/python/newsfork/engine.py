"""The routes of the frontier that a scraper calls."""

import http.client
import json
import os
import threading
import urllib.error
import urllib.request
from urllib.parse import urlencode

MAX_FOUND = 5000  # links of one report
MAX_RESULTS = 500  # of one report
MAX_REPORT = 900_000  # bytes of one report; the engine takes 1 MB
MAX_WAIT = 60  # seconds between two attempts
TIMEOUT = 60  # seconds
LAST_TIMEOUT = 5  # seconds, of a call after close()


class EngineError(Exception):
    """The engine refused a request: status and field say why."""

    def __init__(self, operation, status, error=None):
        error = error or {}
        self.status, self.code, self.field = status, error.get("code"), error.get("field")
        words = (f"{operation}:", self.field, error.get("message") or str(status))
        super().__init__(" ".join(word for word in words if word))


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers a redirect as it is: the token is for the engine alone."""

    def redirect_request(self, *_):
        return None


class Engine:
    """Calls the frontier. A call that got no answer, or 429 or 502 to 504, is repeated: that does no harm."""

    def __init__(self, url=None, token=None, log=lambda message: None, scraper=None):
        self._origin = (url or os.environ.get("SEED_API_URL") or "http://localhost:8787").rstrip("/")
        self._token = os.environ.get("SEED_API_TOKEN", "") if token is None else token
        self._scraper = scraper
        self._opener = urllib.request.build_opener(NoRedirects)
        self._log = log
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
        data, wait = json.dumps(body).encode(), 1
        while True:
            status, error = None, None
            try:
                status, received = self._send(f"/api/v1/frontier/{operation}", data)
                answer = json.loads(received)
                if answer["success"]:
                    return answer["data"]
                error = answer["error"]
            except (OSError, http.client.HTTPException) as failure:
                failure = getattr(failure, "reason", failure)
                error = {"message": f"{self._origin}: {failure or type(failure).__name__}"}
            except (ValueError, KeyError, TypeError):  # it comes from something in between
                error = {"message": f"{self._origin}: {status}, which is not the engine's JSON"}
                status = status if 400 <= status < 500 else None
            if status and status not in (429, 502, 503, 504):
                raise EngineError(operation, status, error)
            self._log(f"{operation}: {(error or {}).get('message')}; again in {wait} s")
            if self._closed.wait(wait):
                raise EngineError(operation, status, error)
            wait = min(wait * 2, MAX_WAIT)

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

"""Requests to websites: to public addresses only, redirects not followed, bounded in bytes and time, through the proxy
of the environment."""

import base64
import http.client
import os
import socket
import ssl
import threading
import time
import urllib.request
import zlib
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

MAX_PAGE = 5_000_000  # bytes; the rest of a page is not read
TIMEOUT = 20  # seconds
DAY = 86_400
PUBLIC_IPV6 = ip_network("2000::/3")
NO_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
FAILURES = (OSError, http.client.HTTPException, ValueError, zlib.error)  # of a request


class HostError(OSError):
    """An error of a host rather than of a page; code is what is reported."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def is_public(text):
    """Whether an IP address is one of the internet, and leads nowhere else."""
    address = ip_address(text.split("%")[0])
    if address.version == 6 and (address not in PUBLIC_IPV6 or address.sixtofour or address.teredo):
        return False
    return address.is_global and not address.is_multicast


def public_addresses(host, port=None):
    """Looks up a host for a connection. Whoever controls a name can have it lead into your network, and change it at
    any time: what is checked must be the addresses that the connection uses, and all of them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in NO_NAME:
            raise HostError("unresolved", f"{host}: {error}") from None
        raise
    addresses = [address for *_, (address, *_) in found]
    for address in addresses:
        if not is_public(address):
            raise HostError("private_address", f"{host} has the address {address}, which is not public")
    return addresses


def connect(host, port, timeout):
    failure = None
    for address in public_addresses(host, port):
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            failure = error
    raise failure or OSError(f"{host} has no address")


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = connect(self.host, self.port, self.timeout)


class SecureConnection(http.client.HTTPSConnection):
    def __init__(self, *args, context, **options):
        super().__init__(*args, context=context, **options)
        self._tls = context

    def connect(self):
        sock = connect(self.host, self.port, self.timeout)
        self.sock = self._tls.wrap_socket(sock, server_hostname=self.host, do_handshake_on_connect=False)
        self.sock.do_handshake()  # which the deadline may break off


class Answer:
    """The answer of a website; headers as of http.client. The body is empty unless the status is 200. told goes into
    the report, as what a handler returns."""

    def __init__(self, status, headers, body, told=None):
        self.status, self.headers, self.body, self.told = status, headers, body, told or {}


class Web:
    """Sends requests to websites. A proxy looks names up itself, and has to refuse private addresses itself. Without
    verify, by default with NEWSFORK_VERIFY=0 in the environment, certificates are not checked."""

    def __init__(self, verify=None):
        self._tls = ssl.create_default_context()
        if verify is None:
            verify = os.environ.get("NEWSFORK_VERIFY") != "0"
        if not verify:
            self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    def get(self, url, headers):
        """Sends a GET request. Headers without a value are left out."""
        connection, target, more = self._open(urlsplit(url))
        sent = {"Accept-Encoding": "gzip, deflate", **headers, **more}
        late = threading.Event()
        deadline = threading.Timer(TIMEOUT, lambda: (late.set(), shut(connection)))
        deadline.daemon = True
        deadline.start()
        try:
            connection.request("GET", target, headers={name: value for name, value in sent.items() if value})
            answer = connection.getresponse()
            body = read(answer, late) if answer.status == 200 else b""
            return Answer(answer.status, answer.headers, body)
        except FAILURES:
            if late.is_set():
                raise TimeoutError(f"it takes longer than {TIMEOUT} s") from None
            raise
        finally:
            deadline.cancel()
            connection.close()

    def _open(self, parts):
        """A connection for a URL, what to ask it for, and headers for a proxy."""
        host, secure = parts.hostname, parts.scheme == "https"
        if is_address(host):
            public_addresses(host)
        target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        proxy = urllib.request.getproxies().get(parts.scheme)
        if not proxy or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
            if secure:
                return SecureConnection(host, parts.port, context=self._tls, timeout=TIMEOUT), target, {}
            return Connection(host, parts.port, timeout=TIMEOUT), target, {}
        by = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if by.scheme != "http":
            raise ValueError(f"the proxy {by.scheme}://{by.hostname} is not one of http")
        credentials = {}
        if by.username is not None:
            secret = f"{unquote(by.username)}:{unquote(by.password or '')}".encode()
            credentials["Proxy-Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        if not secure:
            whole = urlunsplit((parts.scheme, parts.netloc, parts.path or "/", parts.query, ""))
            return http.client.HTTPConnection(by.hostname, by.port or 80, timeout=TIMEOUT), whole, credentials
        tunnel = http.client.HTTPSConnection(by.hostname, by.port or 80, context=self._tls, timeout=TIMEOUT)
        tunnel.set_tunnel(host, parts.port or 443, credentials)
        return tunnel, target, {}


def is_address(host):
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def shut(connection):
    """Ends a connection that another thread reads from."""
    try:
        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
    except (OSError, TypeError):  # there is none yet, or no more
        pass


def read(answer, late):
    """Reads and decodes a body, MAX_PAGE bytes at most. One that breaks off is an error."""
    coding = (answer.headers.get("content-encoding") or "").strip().lower()
    decoder = zlib.decompressobj(47) if coding in ("gzip", "x-gzip", "deflate") else None
    body = bytearray()
    while len(body) < MAX_PAGE:
        chunk = answer.read(65_536)
        if not chunk:
            if answer.length or late.is_set() or (decoder and not decoder.eof and body):
                raise http.client.IncompleteRead(bytes(body[:100]))
            break
        if decoder and not body and coding == "deflate" and chunk[0] & 15 != 8:
            decoder = zlib.decompressobj(-15)  # as some send it, without zlib's header
        body += decoder.decompress(chunk, MAX_PAGE - len(body)) if decoder else chunk
        if decoder and decoder.eof:
            break
    return bytes(body[:MAX_PAGE])


def absolute(base, location):
    """Where a Location or link leads: a URL of http or https in ASCII without a fragment, or None."""
    try:
        parts = urlsplit(urljoin(base, location.strip()))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    host = parts.hostname
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return None
    host = f"[{host}]" if ":" in host else host
    path, query = (quote(part, safe="!#$%&'()*+,/:;=?@[]~") for part in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme, host + port, path, query, ""))


def location(answer, url):
    """Where a redirect leads, or None."""
    value = answer.headers.get("location")
    if not 300 <= answer.status < 400 or not value:
        return None
    try:
        value = value.encode("latin-1").decode()  # http.client reads headers as Latin-1, and many sites send UTF-8
    except UnicodeError:
        pass
    return absolute(url, value)


def retry_after(value):
    """Retry-After in seconds, which is a number or a date; None without one."""
    text = (value or "").strip()
    try:
        seconds = int(text[:9]) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return min(-int(-seconds // 1), DAY) if seconds > 0 else None

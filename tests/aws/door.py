"""Asks one host over HTTP and says what came of it: bytes as they were sent, and within a time limit."""
import dataclasses
import http.client
import socket
import ssl
import time

CHUNK = 64 * 1024


@dataclasses.dataclass
class Seen:
    """An answer, or what there was of it. `body` is without transfer coding, and with whatever content coding it has."""
    status: int | None = None
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    problem: str = ""

    def header(self, name):
        return self.headers.get(name.lower())

    def __str__(self):
        said = "no answer" if self.status is None else f"{self.status}, {len(self.body):,} bytes"
        return f"{said}, {self.seconds:.2f} s" + (f": {self.problem}" if self.problem else "")


class Connection(http.client.HTTPSConnection):
    """TLS with a host that is reached at another address."""

    def __init__(self, host, address, timeout, context):
        super().__init__(host, timeout=timeout, context=context)
        self.address = address

    def connect(self):
        plain = socket.create_connection(self.address, self.timeout)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)


class Door:
    """`host` is who is asked, `address` (host and port) where, by default there. `sign` returns the headers that sign a method
    and a path. With `is_plain` it is HTTP without TLS, which only an emulator speaks."""

    def __init__(self, host, address=None, sign=None, headers=None, is_plain=False, context=None):
        self.host, self.address, self.sign = host, address or (host, 443), sign
        self.headers, self.is_plain = headers or {}, is_plain
        self.context = context or ssl.create_default_context()

    def ask(self, path, headers=None, method="GET", limit=60):
        """Never fails: what goes wrong is in the answer."""
        answer, begun = Seen(), time.monotonic()
        left = lambda: max(0.01, begun + limit - time.monotonic())
        if self.is_plain:
            connection = http.client.HTTPConnection(*self.address, timeout=limit)
        else:
            connection = Connection(self.host, self.address, limit, self.context)
        try:
            sent = {"Host": self.host} | self.headers | (self.sign(method, path) if self.sign else {}) | (headers or {})
            connection.request(method, path, headers=sent)
            stream = connection.sock
            stream.settimeout(left())
            response = connection.getresponse()
            answer.status = response.status
            for name, value in response.getheaders():
                earlier = answer.headers.get(name.lower())
                answer.headers[name.lower()] = value if earlier is None else f"{earlier}, {value}"
            while True:
                if time.monotonic() > begun + limit:
                    raise TimeoutError
                stream.settimeout(left())
                chunk = response.read1(CHUNK)
                if not chunk:
                    break
                answer.body += chunk
            # read1 takes a connection that closed early for the end of the body.
            if response.length:
                answer.problem = f"the body broke off: {response.length:,} bytes of its Content-Length are missing"
        except TimeoutError:
            answer.problem = f"it did not end within {limit} s"
        except (OSError, http.client.HTTPException) as error:
            answer.problem = f"{type(error).__name__}: {error}"
        finally:
            connection.close()
        answer.seconds = time.monotonic() - begun
        return answer

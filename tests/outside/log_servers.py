"""Servers whose access logs are read: each on loopback, in a folder, with the configuration of a log as its users have it."""
import pathlib
import socket
import subprocess
import threading
import time

PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"
# Seconds in which a server starts or answers, and that the slow answer takes.
STARTS_WITHIN, ANSWERS_WITHIN, SLOW = 60, 10, 1.5
SLOW_PATH = b"/slow"


class Backend:
    """Answers whatever is asked with 200, and a slow path slowly."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        with client:
            client.settimeout(ANSWERS_WITHIN)
            asked = b""
            try:
                while b"\r\n\r\n" not in asked:
                    read = client.recv(65536)
                    if not read:
                        return
                    asked += read
                if SLOW_PATH in asked.split(b"\r\n")[0]:
                    time.sleep(SLOW)
                body = b"" if asked.startswith(b"HEAD") else b"hello\n"
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n" + body)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def has_v6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


class Server:
    """A server: its name, the programs that it needs, and the name under which its log's form is known."""
    programs: list
    form = "combined"
    # Whether lines say the host, and whether they are written long after the answer.
    has_host, is_buffered = False, False

    def __init__(self, folder, port, backend, v6):
        self.folder, self.port, self.backend = folder, port, backend
        self.addresses = ["127.0.0.1"] + (["[::1]"] if v6 else [])
        self.log = folder / "access.log"
        folder.mkdir()
        (folder / "empty").mkdir()
        (folder / "index.html").write_text("hello\n")
        self.processes = []
        self.out = (folder / "out").open("wb")

    def listens(self, text):
        """Returns a line for each address, with its port in place of `%`."""
        return "".join(text.replace("%", f"{address}:{self.port}") for address in self.addresses)

    def start(self):
        for command in self.commands():
            self.processes.append(subprocess.Popen(
                command, stdout=self.out, stderr=self.out, stdin=subprocess.DEVNULL, start_new_session=True,
                env={"PATH": PATHS, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}))
            self.wait(self.processes[-1])

    def wait(self, process):
        by = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < by and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), ANSWERS_WITHIN).close()
                return
            except OSError:
                time.sleep(0.1)
        said = (self.folder / "out").read_text(errors="replace")
        raise SystemExit(f"{process.args} has ended, or does not listen within {STARTS_WITHIN} s:\n{said[-3000:]}")


class Nginx(Server):
    name, programs = "nginx", ["nginx"]

    def commands(self):
        paths = "".join(f"{name}_temp_path {self.folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.gzip = self.folder / "access.log.gz"
        (self.folder / "conf").write_text(
            f"daemon off; pid {self.folder}/pid; error_log stderr; worker_processes 1;\nevents {{}}\n"
            f"http {{ {paths}\nlarge_client_header_buffers 4 16k;\n"
            f"access_log {self.log} combined;\naccess_log {self.gzip} combined gzip flush=1s;\n"
            f"server {{ {self.listens('listen %;')}\n"
            f"location / {{ return 200 'hello\\n'; }}\n"
            f"location {SLOW_PATH.decode()} {{ proxy_pass http://127.0.0.1:{self.backend}; }} }} }}\n")
        return [["nginx", "-p", str(self.folder), "-c", str(self.folder / "conf")]]


class Apache(Server):
    name, programs = "apache", ["apache2"]
    MODULES = pathlib.Path("/usr/lib/apache2/modules")

    def commands(self):
        self.with_host = self.folder / "vhost.log"
        modules = "".join(f"LoadModule {name}_module {self.MODULES}/mod_{name}.so\n"
                          for name in ("mpm_event", "authz_core", "proxy", "proxy_http"))
        (self.folder / "conf").write_text(
            f"{modules}ServerRoot {self.folder}\nPidFile {self.folder}/pid\nErrorLog /dev/stderr\n{self.listens('Listen %' + chr(10))}"
            f"ServerName www.example.com\nDefaultRuntimeDir {self.folder}\nDocumentRoot {self.folder}/empty\n"
            f"ProxyPass {SLOW_PATH.decode()} http://127.0.0.1:{self.backend}{SLOW_PATH.decode()}\n"
            'LogFormat "%v:%p %h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" vhost_combined\n'
            'LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined\n'
            f"CustomLog {self.log} combined\nCustomLog {self.with_host} vhost_combined\n")
        return [["apache2", "-X", "-f", str(self.folder / "conf")]]


class Caddy(Server):
    name, programs, form, has_host = "caddy", ["caddy"], "caddy", True

    def commands(self):
        binds = " ".join(address.strip("[]") for address in self.addresses)
        (self.folder / "Caddyfile").write_text(
            f"{{\nadmin off\nauto_https off\nstorage file_system {self.folder}\n}}\nhttp://:{self.port} {{\nbind {binds}\n"
            f"log {{\noutput file {self.log}\nformat json\n}}\n"
            f"handle {SLOW_PATH.decode()}* {{\nreverse_proxy 127.0.0.1:{self.backend}\n}}\nhandle {{\nrespond hello\n}}\n}}\n")
        return [["caddy", "run", "--adapter", "caddyfile", "--config", str(self.folder / "Caddyfile")]]


class Lighttpd(Server):
    name, programs, has_host, is_buffered = "lighttpd", ["lighttpd"], True, True

    def commands(self):
        sockets = f'$SERVER["socket"] == "[::1]:{self.port}" {{ }}\n' if len(self.addresses) > 1 else ""
        (self.folder / "conf").write_text(
            'server.modules = ("mod_accesslog", "mod_proxy")\n'
            f'server.document-root = "{self.folder}"\nserver.bind = "127.0.0.1"\nserver.port = {self.port}\n{sockets}'
            f'server.errorlog = "{self.folder}/errors"\naccesslog.filename = "{self.log}"\nindex-file.names = ("index.html")\n'
            f'$HTTP["url"] =~ "^{SLOW_PATH.decode()}" {{ proxy.server = ("" => (("host" => "127.0.0.1", "port" => {self.backend}))) }}\n')
        return [["lighttpd", "-D", "-f", str(self.folder / "conf")]]


class Varnish(Server):
    name, programs = "varnish", ["varnishd", "varnishncsa", "cc"]

    def commands(self):
        work = self.folder / "work"
        listens = [part for address in self.addresses for part in ("-a", f"{address}:{self.port}")]
        return [["varnishd", "-F", "-j", "none", "-n", str(work), *listens, "-b", f"127.0.0.1:{self.backend}", "-s", "malloc,16m"],
                ["varnishncsa", "-n", str(work), "-w", str(self.log), "-t", str(STARTS_WITHIN)]]


class HaProxy(Server):
    name, programs, form = "haproxy", ["haproxy"], None

    def commands(self):
        self.log = self.folder / "out"
        (self.folder / "conf").write_text(
            "global\nlog stdout len 8192 format raw local0\n"
            "defaults\nmode http\ntimeout client 10s\ntimeout server 10s\ntimeout connect 10s\noption httplog\nlog global\n"
            f"frontend fe\n{self.listens('bind %' + chr(10))}default_backend be\n"
            f"backend be\nserver s1 127.0.0.1:{self.backend}\n")
        return [["haproxy", "-db", "-f", str(self.folder / "conf")]]


class HaProxyCombined(HaProxy):
    """With combined lines, as the message for HAProxy's own form has them."""
    name, form = "haproxy-combined", "combined"

    def commands(self):
        commands = super().commands()
        text = (self.folder / "conf").read_text()
        (self.folder / "conf").write_text(text.replace(
            "default_backend be\n",
            "capture request header Referer len 4096\ncapture request header User-Agent len 4096\n"
            'log-format "%{+Q}o %{-Q}ci - - [%trg] %r %ST %B %[capture.req.hdr(0)] %[capture.req.hdr(1)]"\ndefault_backend be\n'))
        return commands


SERVERS = [Nginx, Apache, Caddy, Varnish, Lighttpd, HaProxy, HaProxyCombined]

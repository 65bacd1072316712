#!/usr/bin/env python3
"""What a cold start of each function costs, as it is deployed, against functions of the same libraries that do nothing.

    measure.py                   builds with cargo-lambda, measures, prints the tables of docs/BENCHMARKS.md
    measure.py --built           what is in target/lambda already
    measure.py --runs N          starts whose times are taken, in turn [20]

Instructions are callgrind's, so they hardly depend on the machine; milliseconds are medians. Each function gets the
environment that Lambda gives it, and no other. Needs cargo-lambda (PyPI has it), valgrind, strace and
openssl. Exit status: 1 if a bound is broken."""
import argparse
import io
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

from runtime_api import Measured

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import processes  # noqa: E402

BUILT = ROOT / "target/lambda"
PACKAGES = ["waymark-http", "waymark-ingest", "waymark-regenerate", "waymark-sweep", "waymark-cold"]

# Instructions from exec to the first GET /next, and of a redirect, against the bare function's.
MAX_START, MAX_REDIRECT = 2.0, 1.3
# A redirect's instructions are the difference between so many and so many more. The first ones fill pools.
WARM, MORE = 50, 200
# Of one run under callgrind, and of the build: seconds.
TIME_LIMIT, BUILD_LIMIT = 120, 3_600

# Where roots of trust are looked for (rustls-native-certs, openssl-probe).
CERTIFICATES = re.compile(r'"(/etc/ssl|/etc/pki|/etc/ca-certificates|/etc/certs|/usr/lib/ssl|/usr/share/ca-certificates|'
                          r'/usr/local/share/certs|/usr/local/ssl|/var/ssl)[/"]|cert|\.pem"')

SITE = "www.example.com"


def request(path):
    """A Function URL's event, as the CDN makes it come."""
    return {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "", "isBase64Encoded": False,
        "headers": {
            "x-waymark-host": SITE, "host": "abcdefghijklmnop.lambda-url.us-east-1.on.aws", "accept-encoding": "gzip",
            "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "accept": "*/*",
            "x-amzn-trace-id": "Root=1-5eb33c07-de25b420912dee103a5db434", "x-forwarded-for": "66.249.66.1",
            "x-forwarded-port": "443", "x-forwarded-proto": "https", "via": "2.0 a.cloudfront.net (CloudFront)",
        },
        "requestContext": {
            "accountId": "anonymous", "apiId": "abcdefghijklmnop", "requestId": "6d9f5a2c-3f3a-4a0e-9d0a-0c9d3c1f7a11",
            "domainName": "abcdefghijklmnop.lambda-url.us-east-1.on.aws", "domainPrefix": "abcdefghijklmnop",
            "routeKey": "$default", "stage": "$default", "time": "02/Jan/2026:03:04:05 +0000", "timeEpoch": 1767323045000,
            "http": {"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "66.249.66.1", "userAgent": "Googlebot"},
        },
    }


def changed(**keys):
    """A batch of one from a table's stream."""
    return {"Records": [{
        "eventID": "c4ca4238a0b923820dcc509a6f75849b", "eventName": "MODIFY", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1", "eventSourceARN": f"arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/2026-01-02T03:04:05.678",
        "dynamodb": {"ApproximateCreationDateTime": 1767323045.0, "SequenceNumber": "111", "SizeBytes": 26,
                     "StreamViewType": "KEYS_ONLY", "Keys": {name: {"S": value} for name, value in keys.items()}},
    }]}


REDIRECT, DOCUMENT = request("/sitemap.xml"), request("/sitemap_index.xml")
RECORD = changed(id="post/1")
# Name: what it is measured against, and an event that has it call AWS.
FUNCTIONS = {
    "bare-http": ("bare-http", None),
    "waymark-http": ("bare-http", DOCUMENT),
    "bare-stream": ("bare-stream", None),
    "waymark-ingest": ("bare-stream", RECORD),
    "waymark-regenerate": ("bare-stream", changed(pk=f"SEGMENT#{SITE}#post#1#0", sk="00000")),
    "waymark-sweep": ("bare-stream", {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}),
}
# What template.yaml sets, in a form that it could have. A function that reads more than this does not start, and says why.
VARIABLES = {"CONTENT_TABLE": "content", "SITEMAP_TABLE": "sitemap", "BUCKET_NAME": "bucket", "SITES": SITE, "STACK_NAME": "",
             "SOURCE_TABLE": "", "SOURCE_MAPPING": "", "FAILURE_BUCKET": "failures", "INDEXNOW_ENDPOINT": "https://127.0.0.1:9/",
             "AUDIT_HOURS": "24"}


class Wrong(Exception):
    """A run that did not do what is measured."""


def environment(api, more):
    return {
        "AWS_LAMBDA_RUNTIME_API": api.address, "AWS_LAMBDA_FUNCTION_NAME": "measured", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024", "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "INFO",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023",
        "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local", "LANG": "en_US.UTF-8", "TZ": ":UTC",
        "PATH": "/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/lib64:/usr/lib64",
        # Not Lambda's: nothing may leave this machine.
        "AWS_ENDPOINT_URL": f"http://{api.address}", "AWS_EC2_METADATA_DISABLED": "true",
        **VARIABLES, **dict(more),
    }


def run(name, events=(), wrapper=(), more=()):
    """Starts a function, lets it answer the events, and ends it once it asks for one more. Gives seconds to its first
    question, seconds to its first answer (or nothing), and the calls it made of AWS."""
    with Measured(events) as api, tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen([*wrapper, BUILT / name / "bootstrap"], env=environment(api, more), stdout=output,
                                   stderr=output, start_new_session=True)
        try:
            deadline = began + TIME_LIMIT
            while not api.idle.wait(0.02):
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise Wrong(f"{name} did not answer {len(events)} events:\n{output.read().decode(errors='replace')[-2000:]}")
        finally:
            processes.end(process, is_group=True)  # strace holds back what is sent to it alone
        if len(api.answers) != len(events):
            raise Wrong(f"{name}: {len(api.answers)} answers to {len(events)} events")
        for event, (_, body) in zip(events, api.answers):
            if event is REDIRECT and not (b'"statusCode":301' in body and body.endswith(b"Moved permanently\n")):
                raise Wrong(f"{name} did not redirect: {body}")
        return api.asked[0] - began, api.answered[0] - began if events else None, api.calls


def instructions(name, events=(), more=()):
    """Of a run with these events."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        run(name, events, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"], more)
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)[1])


def opened(name, events=()):
    """The files that a run with these events looked for."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "opened"
        run(name, events, ["strace", "-f", "-e", "trace=open,openat,stat,newfstatat,statx,access,readlink", "-o", log])
        lines = log.read_text().splitlines()
        if not any("libc.so" in line for line in lines):
            raise Wrong(f"{name}: strace saw no file, not even libc")
        return [line for line in lines if CERTIFICATES.search(line)]


def trusts_the_system():
    """Whether a function calls an AWS whose certificate comes from none of Amazon's roots, but is among the system's."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = pathlib.Path(folder) / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                        "-keyout", certificate.with_name("key.pem"), "-out", certificate], check=True, capture_output=True,
                       timeout=TIME_LIMIT)
        both = certificate.with_name("both.pem")
        both.write_text(certificate.read_text() + certificate.with_name("key.pem").read_text())
        with Measured([], both) as aws:
            run("waymark-ingest", [RECORD], more={"AWS_ENDPOINT_URL": f"https://{aws.address}", "SSL_CERT_FILE": certificate})
            return aws.calls > 0


def zipped(binary):
    """Bytes as Lambda is sent them."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(binary, "bootstrap")
    return len(archive.getvalue())


def build():
    """As `sam build` does for each function; in one go the SDK is compiled once."""
    packages = [word for package in PACKAGES for word in ("--package", package)]
    subprocess.run(["cargo", "lambda", "build", "--release", *packages], cwd=ROOT, check=True, timeout=BUILD_LIMIT)


def table(*rows):
    print()
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if not number:
            print("|---" * len(row) + "|")


def millions(count):
    return f"{count / 1e6:.2f} M"


def measure(runs):
    """Prints what is measured, and gives the bounds that are broken."""
    broken = []

    def bound(what, value, limit):
        if value > limit:
            broken.append(f"{what}: {value:.2f}, may be {limit}")
        return f"{value:.2f} ×"

    start = {name: instructions(name) for name in FUNCTIONS}
    first = {}
    for name, (_, event) in FUNCTIONS.items():
        if event:
            first[name] = instructions(name, [event]) - start[name]
            if not run(name, [event])[2]:
                raise Wrong(f"{name} made no call of AWS")
    first["bare-stream"] = instructions("bare-stream", [RECORD]) - start["bare-stream"]
    first["bare-http"] = instructions("bare-http", [REDIRECT]) - start["bare-http"]

    asked, answered = ({name: [] for name in FUNCTIONS} for _ in range(2))
    for _ in range(runs):
        for name, (bare, event) in FUNCTIONS.items():
            to_question, to_answer, _ = run(name, [event or (REDIRECT if bare == "bare-http" else RECORD)])
            asked[name].append(to_question * 1000)
            answered[name].append(to_answer * 1000)

    table(["function", "instructions to the first question", "against the bare one", "of the first answer that takes a client",
           "ms to the first question", "ms to that answer", "binary", "zipped"],
          *([name, millions(start[name]), bound(f"{name}, instructions to start", start[name] / start[bare], MAX_START),
             millions(first[name]), f"{statistics.median(asked[name]):.1f}", f"{statistics.median(answered[name]):.1f}",
             *(f"{size / 1e6:.2f} MB" for size in [(BUILT / name / "bootstrap").stat().st_size, zipped(BUILT / name / "bootstrap")])]
            for name, (bare, _) in FUNCTIONS.items()))

    redirects = {}
    for name in ["bare-http", "waymark-http"]:
        if run(name, [REDIRECT])[2]:
            raise Wrong(f"{name} made a call of AWS for a redirect")
        counts = [instructions(name, [REDIRECT] * count) for count in (WARM, WARM + MORE)]
        redirects[name] = (counts[1] - counts[0]) / MORE
    bare, ours = redirects["bare-http"], redirects["waymark-http"]
    table(["a redirect", "instructions", "against the bare one"],
          ["bare-http", f"{bare:,.0f}", "1.00 ×"],
          ["waymark-http", f"{ours:,.0f}", bound("waymark-http, instructions of a redirect", ours / bare, MAX_REDIRECT)])

    print()
    for name, (_, event) in FUNCTIONS.items():
        early = opened(name, [REDIRECT] if name.endswith("http") else [])
        if early:
            broken.append(f"{name} looks for certificates before a client is needed: {early[0]}")
        late = opened(name, [event]) if event else []
        if late:
            broken.append(f"{name} looks for certificates while AWS's own do: {late[0]}")
        print(f"{name}: files of certificates looked for before a client is needed: {len(early)}; with one: {len(late)}")
    if not trusts_the_system():
        broken.append("AWS with a certificate that the system trusts, and Amazon's roots do not, is not called")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    if not options.built:
        build()
    try:
        broken = measure(options.runs)
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 2
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""The WordPress plugin: run by php, with a double of the WordPress functions that it calls. What it sends is checked as AWS would:
its signature is compared with botocore's."""

import http.server
import json
import pathlib
import re
import threading
import urllib.request

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from stack import HOST, ROOT, TABLE

PLUGIN = ROOT / "examples/wordpress/waymark.php"
DOUBLE = pathlib.Path(__file__).parent / "wordpress_double.php"
KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-west-1"
# What PHP's client sends beside what the plugin signs.
UNSIGNED = {"connection", "content-length"}


def assert_signed(headers, body):
    """The signature is right, and covers every header of the plugin's."""
    sent = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^,]*), SignedHeaders=([^,]*), Signature=(\w+)", headers["authorization"])
    assert sent, headers["authorization"]
    credential, names, signature = sent.groups()
    names = names.split(";")
    assert set(headers) - UNSIGNED - {"authorization"} == set(names), (set(headers), names)
    signer = SigV4Auth(Credentials(KEY, SECRET), "dynamodb", REGION)
    request = AWSRequest("POST", f"http://{headers['host']}/", data=body, headers={name: headers[name] for name in names})
    request.context["timestamp"] = headers["x-amz-date"]
    assert credential == signer.scope(request), credential
    expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    assert signature == expected, f"signed with {signature}; botocore makes {expected}"


class Front:
    """DynamoDB as AWS shows it: only a request whose signature is right reaches the local stack's."""

    def __init__(self, dynamodb):
        front = self
        self.requests, self.fail, self.faults = [], 0, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                try:
                    assert_signed(headers, body)
                except AssertionError as fault:
                    front.faults.append(str(fault))
                    return self.answer(400, b'{"__type": "InvalidSignatureException"}')
                front.requests.append((headers["x-amz-target"], json.loads(body)))
                if front.fail:
                    front.fail -= 1
                    return self.answer(500, b'{"__type": "InternalServerError"}')
                with urllib.request.urlopen(urllib.request.Request(dynamodb, body, headers | {"host": dynamodb[7:]}), timeout=30) as answer:
                    self.answer(200, answer.read())

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def check(stack):
    front = Front(stack.dynamodb)
    work = stack.folder / "wordpress"
    work.mkdir()
    extra = {
        "WAYMARK_TABLE": TABLE,
        "WAYMARK_REGION": REGION,
        "WAYMARK_KEY": KEY,
        "WAYMARK_SECRET": SECRET,
        "WAYMARK_ENDPOINT": front.url,
    }

    def request(code, **more):
        """One request to the site, in which this code runs."""
        printed = stack.run("php", DOUBLE, PLUGIN, work / "posts.json", code, cwd=work, extra=extra | more)
        assert not front.faults, front.faults
        return printed

    def shows(*paths):
        stack.shows(*(f"/wordpress/{path}/" for path in paths), under="/wordpress/")

    def path(name):
        return f"'path' => '/wordpress/{name}/'"

    def id(number):
        return f"{HOST}/post/{number}"

    try:
        # Posts, a draft, what is no page; and saves of one post in one request, which are one write.
        request(
            f"""
            save_post(1, [{path('soup')}, 'post_title' => 'Soup für <em>nine</em> &amp; one',
                'terms' => ['category' => ['food'], 'post_tag' => ['soup', 'winter']], 'image' => 'https://img.example/soup.jpg']);
            save_post(2, [{path('bread')}]);
            save_post(3, [{path('draft')}, 'post_status' => 'draft', 'post_date_gmt' => '0000-00-00 00:00:00']);
            save_post(4, [{path('members')}, 'post_password' => 'larch']);
            save_post(5, [{path('hidden')}, 'meta' => ['_yoast_wpseo_meta-robots-noindex' => '1']]);
            save_post(6, ['post_status' => 'auto-draft']);
            save_post(7, ['post_type' => 'revision', 'post_status' => 'inherit']);
            save_post(2, ['post_title' => 'Bread']);
            """
        )
        shows("soup", "bread")
        soup = stack.record(id(1))
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", soup.pop("modified_at"))
        assert soup == {
            "id": id(1),
            "type": "post",
            "url": f"https://{HOST}/wordpress/soup/",
            "title": "Soup für nine & one",
            "status": "published",
            "visibility": "public",
            "noindex": False,
            "published_at": "2026-11-01T08:00:00Z",
            "terms": {"author": ["author-1"], "category": ["food"], "post_tag": ["soup", "winter"]},
            "images": [{"url": "https://img.example/soup.jpg"}],
        }, soup
        assert "published_at" not in stack.record(id(3)) and stack.record(id(4))["visibility"] == "password"
        written = [item["Item"]["id"]["S"] for target, item in front.requests if target.endswith(".PutItem")]
        assert written == [id(n) for n in (1, 2, 3, 4, 5)], written
        # The id is what `waymark import` gives the same post.
        export = stack.run(stack.waymark, "import", ROOT / "examples/wordpress/posts.csv")
        assert '"id":"www.lantern.example/post/10"' in export, export

        # Published, renamed, trashed; deleted for good.
        request(f"save_post(3, ['post_status' => 'publish']); save_post(2, [{path('rolls')}]); save_post(1, ['post_status' => 'trash']);")
        shows("draft", "rolls")
        request("delete_post(1); delete_post(3);")
        shows("rolls")
        assert stack.record(id(1)) is None and stack.record(id(3)) is None

        # WordPress answers 404 below a draft without a slug. What is below a page changes its address with it, and no hook tells of that.
        page = "'post_type' => 'page'"
        request(
            f"""
            save_post(20, [{page}, 'post_name' => '', 'post_status' => 'draft']);
            save_post(21, [{page}, 'post_name' => 'child', 'post_parent' => 20]);
            save_post(22, [{page}, 'post_name' => 'grandchild', 'post_parent' => 21]);
            """
        )
        shows("rolls")
        assert stack.record(f"{HOST}/page/22")["status"] == "draft" and "terms" not in stack.record(f"{HOST}/page/22")
        request("save_post(20, ['post_name' => 'top', 'post_status' => 'publish']);")
        shows("rolls", "top", "top/child", "top/child/grandchild")
        request("save_post(20, ['post_name' => 'tip']);")
        shows("rolls", "tip", "tip/child", "tip/child/grandchild")
        request("delete_post(20);")
        shows("rolls", "child", "child/grandchild")
        request("delete_post(22); delete_post(21);")
        shows("rolls")

        # Another request changes the post, or deletes it, while this one writes its record.
        request(
            f"""
            save_post(2, ['post_title' => 'Old']);
            save_post(8, [{path('lost')}]);
            $GLOBALS['overtaking'] = function () {{ store(2, ['post_title' => 'New'] + posts()[2]); store(8, null); }};
            """
        )
        shows("rolls")
        assert stack.record(id(2))["title"] == "New" and stack.record(id(8)) is None

        # DynamoDB fails, and cannot be reached: the request goes on, and cron tries again.
        front.fail = 1
        assert "PutItem failed: " in request(f"save_post(9, [{path('later')}]);")
        shows("rolls", "later")
        printed = request("save_post(9, ['post_status' => 'private']);", WAYMARK_ENDPOINT="http://127.0.0.1:9")
        assert "PutItem failed: no answer" in printed, printed
        request("store(2, null);")  # by SQL
        shows("rolls", "later")
        records = work / "posts.jsonl"
        records.write_text(request("(WP_CLI::$commands['waymark'])();", AS_CLI="1"))
        stack.load(records, "--if-changed", "--delete-missing", "--scope", f"type=post,site={HOST}", "--max-deletes", "1")
        shows()
    finally:
        front.server.shutdown()
        front.server.server_close()

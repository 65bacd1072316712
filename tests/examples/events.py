"""The examples of EventBridge and of Step Functions: their templates by cfn-lint; then deployed by sam onto an emulator of AWS,
where events and executions are started. The emulator's functions and state machines write into the local stack's table."""

import concurrent.futures
import json
import sys
import textwrap

import boto3

from stack import HOST, ROOT, TABLE

sys.path.insert(0, str(ROOT / "tests/deploy"))
from emulator import Emulator  # noqa: E402

EVENTBRIDGE = ROOT / "examples/eventbridge"
STEP_FUNCTIONS = ROOT / "examples/step-functions"
# An event may take a second or two; CI's machine is busy.
ARRIVES_WITHIN = 60

# The emulator, but for DynamoDB's items, which are the local stack's: that its state machines write there, too.
LAUNCHER = """\
    #!{python}
    import json
    import os
    import urllib.error
    import urllib.request

    from ministack.app import main
    from ministack.services import dynamodb


    def hand_on(operation):
        def call(data):
            headers = {{
                "Content-Type": "application/x-amz-json-1.0",
                "X-Amz-Date": "20260101T000000Z",
                "X-Amz-Target": f"DynamoDB_20120810.{{operation}}",
                "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            }}
            request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL_DYNAMODB"], json.dumps(data).encode(), headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.status, {{}}, answer.read()
            except urllib.error.HTTPError as error:
                return error.code, {{}}, error.read()

        return call


    dynamodb._put_item = hand_on("PutItem")
    dynamodb._update_item = hand_on("UpdateItem")
    main()
"""


def lint(stack):
    # cfn-lint looks at a state machine only if it stands in the template.
    machine = {"Definition": json.loads((STEP_FUNCTIONS / "page.asl.json").read_text()), "RoleArn": "arn:aws:iam::123456789012:role/machine"}
    inline = stack.folder / "machine.json"
    inline.write_text(json.dumps({"Resources": {"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": machine}}}))
    stack.run(stack.tools / "cfn-lint", EVENTBRIDGE / "template.yaml", STEP_FUNCTIONS / "template.yaml", inline)
    # It would have seen a fault there.
    broken = stack.folder / "broken.json"
    broken.write_text(inline.read_text().replace('"StartAt"', '"StartsAt"'))
    assert "E3601" in stack.run(stack.tools / "cfn-lint", broken, status=2)


def emulator(stack):
    """The emulator with the launcher above, in an environment whose DynamoDB is the local stack's."""
    tools = stack.folder / "tools"
    tools.mkdir()
    (tools / "sam").symlink_to(stack.tools / "sam")
    (tools / "ministack").write_text(textwrap.dedent(LAUNCHER).format(python=stack.tools / "python"))
    (tools / "ministack").chmod(0o755)
    made = Emulator(tools, stack.folder / "emulator")
    made.environment["AWS_ENDPOINT_URL_DYNAMODB"] = stack.dynamodb
    return made


def check(stack):
    # The tools start slowly, so they run beside each other.
    with concurrent.futures.ThreadPoolExecutor() as beside, emulator(stack) as aws:
        linted = beside.submit(lint, stack)

        def client(service):
            return boto3.client(
                service, endpoint_url=aws.endpoint, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
            )

        def deploy(name, folder):
            aws.run("sam", "deploy", "--template-file", folder / "template.yaml", "--stack-name", name, "--s3-bucket", "artifacts",
                    "--capabilities", "CAPABILITY_IAM", "--no-progressbar", "--parameter-overrides", f"ContentTable={TABLE}", cwd=aws.folder)

        def page(kind, name, revision, **fields):
            url = f"https://{HOST}/{kind}/{name}/"
            fields = {"title": name.title(), "modified_at": "2026-11-20T10:00:00Z"} | fields
            return {"id": f"{kind}/{name}", "revision": revision, "type": kind, "url": url} | fields

        client("s3").create_bucket(Bucket="artifacts")
        both = [beside.submit(deploy, "pages", EVENTBRIDGE), beside.submit(deploy, "workflow", STEP_FUNCTIONS)]
        for one in (*both, linted):
            one.result()
        eventbridge(stack, client("events"), page)
        machine = client("cloudformation").describe_stacks(StackName="workflow")["Stacks"][0]["Outputs"][0]["OutputValue"]
        step_function(stack, client("stepfunctions"), machine, page)


def eventbridge(stack, events, page):
    def put(kind, detail, source="com.example.cms"):
        entry = {"Source": source, "DetailType": kind, "Detail": json.dumps(detail)}
        answer = events.put_events(Entries=[entry])
        assert answer["FailedEntryCount"] == 0, answer

    def shows(*names):
        stack.shows(*(f"/product/{name}/" for name in names), under="/product/")

    def has(id, revision):
        holds = lambda: (stack.record(id) or {}).get("revision") == revision
        stack.wait_for(f"the record {id} has the revision {revision}", holds, ARRIVES_WITHIN)

    put("Page Published", page("product", "lamp", 1, priority=0.5))
    put("Page Published", page("product", "other", 1), source="com.example.shop")
    put("Page Viewed", page("product", "viewed", 1))
    put("Page Published", page("product", "chair", 1))
    shows("chair", "lamp")

    # Changed; then events that come late or twice, of a page that has changed and of one that has gone.
    put("Page Published", page("product", "lamp", 3, title="Lamp, green"))
    has("product/lamp", 3)
    put("Page Removed", {"id": "product/chair", "revision": 4})
    shows("lamp")
    put("Page Published", page("product", "lamp", 2, title="Late"))
    put("Page Published", page("product", "lamp", 3, title="Twice"))
    put("Page Published", page("product", "chair", 2))
    put("Page Removed", {"id": "product/lamp", "revision": 1})
    put("Page Published", page("product", "last", 1))
    shows("lamp", "last")
    assert stack.record("product/lamp")["title"] == "Lamp, green"
    # Published anew, and gone.
    put("Page Published", page("product", "chair", 5))
    shows("chair", "lamp", "last")
    for name in ("chair", "lamp", "last"):
        put("Page Removed", {"id": f"product/{name}", "revision": 9})
    shows()
    assert stack.record("product/other") is None and stack.record("product/viewed") is None


def step_function(stack, machines, machine, page):
    def run(page, removed=False):
        """The state in which an execution ended."""
        execution = machines.start_execution(stateMachineArn=machine, input=json.dumps({"removed": removed, "page": page}))["executionArn"]
        found = {}

        def ended():
            found.update(machines.describe_execution(executionArn=execution))
            return found["status"] != "RUNNING"

        stack.wait_for(f"an execution ends: {page}", ended, ARRIVES_WITHIN)
        assert found["status"] == "SUCCEEDED", found
        history = machines.get_execution_history(executionArn=execution)["events"]
        return [event["stateExitedEventDetails"]["name"] for event in history if "stateExitedEventDetails" in event][-1]

    def shows(*names):
        stack.shows(*(f"/recipe/{name}/" for name in names), under="/recipe/")

    assert run(page("recipe", "soup", 1)) == "Done"
    assert run(page("recipe", "bread", 10)) == "Done"
    shows("bread", "soup")
    assert run(page("recipe", "soup", 3, title="Soup for nine")) == "Done"
    assert run(page("recipe", "soup", 2, title="Late")) == "Newer"
    assert stack.record("recipe/soup")["title"] == "Soup for nine"
    assert run({"id": "recipe/bread", "revision": 9}, removed=True) == "Newer"
    assert run({"id": "recipe/bread", "revision": 11}, removed=True) == "Done"
    assert run({"id": "recipe/never", "revision": 2}, removed=True) == "Done"
    assert run(page("recipe", "bread", 10)) == "Newer"
    assert run(page("recipe", "never", 1)) == "Newer"
    shows("soup")
    assert run({"id": "recipe/soup", "revision": 12}, removed=True) == "Done"
    shows()

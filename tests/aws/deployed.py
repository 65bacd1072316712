"""A deployed stack: what it consists of, and smoke.py's own records in its content table."""
import boto3
import botocore.exceptions as failures
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config

import judge
import records
from table import NotShown

# Of each call of AWS; with all tries well under a minute.
CLIENTS = Config(connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 4},
                 ignore_configured_endpoint_urls=True) # an emulator is one only if we are told
# Digits of a hash, in whose partitions a site's pages are that it leaves out.
DIGITS = "0123456789abcdef"
# CloudFront's metrics are in this region, wherever the stack is.
CLOUDFRONT_REGION = "us-east-1"

NEEDED = ("ContentTableName", "SitemapTableName", "SitemapBucketName", "HttpFunctionUrl")


class Usage(Exception):
    """Nothing can be told at all; the message says what to do."""


class Taken(Usage):
    """What is in the table is not this run's."""


def explained(error, operation):
    """Why a call failed for a reason that no other call of its kind would survive, or nothing."""
    where = f"cannot {operation}"
    if isinstance(error, failures.NoRegionError):
        return f"{where}: no region is set; set AWS_REGION to the stack's"
    if isinstance(error, failures.ClientError):
        code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
        if code in ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
                    "SignatureDoesNotMatch", "AuthFailure"):
            return f"{where}: AWS refuses the credentials ({code}); log in again, or set AWS_PROFILE to another profile"
        return f"{where}: {code}: {message}"
    if isinstance(error, failures.ConnectionError | failures.HTTPClientError):
        return f"{where}: AWS does not answer ({error}); check the network and the region"
    # Of credentials there are many, and their texts say what to do.
    return f"{where}: {error}; check the credentials (AWS_PROFILE, `aws sts get-caller-identity`)"


def is_denied(error):
    return isinstance(error, failures.ClientError) and "AccessDenied" in error.response["Error"].get("Code", "")


class Deployed:
    def __init__(self, stack, endpoint=None):
        self.stack, self.endpoint, self.clients = stack, endpoint, {}
        try:
            self.session = boto3.Session()
            self.region = self.session.region_name
            if not self.region:
                raise failures.NoRegionError
            if self.session.get_credentials() is None:
                raise failures.NoCredentialsError
            described = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
            self.resources = self.resources_of(stack)
        except failures.ClientError as error:
            if "does not exist" in str(error):
                raise Usage(f"there is no stack {stack} in {self.region}; check --stack and AWS_REGION") from error
            raise Usage(explained(error, f"read the stack {stack} in {self.region}")) from error
        except failures.BotoCoreError as error:
            raise Usage(explained(error, f"read the stack {stack}")) from error
        if not described["StackStatus"].endswith("_COMPLETE"):
            raise Usage(f"the stack {stack} is {described['StackStatus']}; wait for the deployment to end")
        self.outputs = {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}
        self.parameters = {one["ParameterKey"]: one["ParameterValue"] for one in described.get("Parameters", [])}
        if missing := [name for name in NEEDED if name not in self.outputs]:
            raise Usage(f"the stack {stack} is not Waymark's: it has no output {', '.join(missing)}")

    def client(self, service, region=None):
        key = (service, region or self.region)
        if key not in self.clients:
            self.clients[key] = self.session.client(service, region_name=key[1], endpoint_url=self.endpoint, config=CLIENTS)
        return self.clients[key]

    def resources_of(self, stack):
        """Pairs of type and physical id, by logical id."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
        return {one["LogicalResourceId"]: (one["ResourceType"], one.get("PhysicalResourceId", ""))
                for page in pages for one in page["StackResourceSummaries"]}

    def resource(self, logical):
        if logical not in self.resources:
            raise NotShown(f"the stack has no {logical}")
        return self.resources[logical][1]

    def nested(self, logical):
        return self.resources_of(self.resource(logical))

    def list_of(self, parameter):
        return [one for one in self.parameters.get(parameter, "").split(",") if one]

    # -- Requests to the function's URL ------------------------------------------------------------------------------

    def signer(self, host, site):
        """Signs what names a site to the function's URL. No other header is signed: none that is added later can spoil it."""
        credentials = self.session.get_credentials()

        def sign(method, path):
            request = AWSRequest(method, f"https://{host}{path}", headers={"x-waymark-host": site})
            SigV4Auth(credentials.get_frozen_credentials(), "lambda", self.region).add_auth(request)
            return dict(request.headers.items())

        return sign

    # -- Records -----------------------------------------------------------------------------------------------------

    def transact(self, actions, operation):
        try:
            self.client("dynamodb").transact_write_items(TransactItems=actions)
        except failures.ClientError as error:
            reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", [])]
            if "ConditionalCheckFailed" in reasons or "ConditionalCheckFailed" in str(error):
                raise Taken(f"cannot {operation}: there are records of another run, or of yours, under the ids of this one. If no "
                            "other run is under way, remove what an interrupted one has left: --clean") from error
            raise Usage(explained(error, operation)) from error
        except failures.BotoCoreError as error:
            raise Usage(explained(error, operation)) from error

    def put(self, written, operation="write records"):
        """Writes records, none of which may be there."""
        table = self.outputs["ContentTableName"]
        self.transact([{"Put": {"TableName": table, "Item": item(record),
                                "ConditionExpression": "attribute_not_exists(id)"}} for record in written], operation)

    def change(self, record):
        """Replaces a record of this run, which must be there."""
        table = self.outputs["ContentTableName"]
        self.transact([{"Put": {"TableName": table, "Item": item(record)} | own(record, "#mark = :run")}], "edit a record")

    def delete(self, deleted, operation="delete records"):
        """Deletes records of one run. One that is gone is deleted."""
        table = self.outputs["ContentTableName"]
        self.transact([{"Delete": {"TableName": table, "Key": item({"id": record["id"]})} | own(record)}
                       for record in deleted], operation)

    def get(self, ids):
        """The records with these ids that there are."""
        try:
            request = {self.outputs["ContentTableName"]: {"Keys": [item({"id": one}) for one in ids], "ConsistentRead": True}}
            answer = self.client("dynamodb").batch_get_item(RequestItems=request)
        except (failures.ClientError, failures.BotoCoreError) as error:
            raise Usage(explained(error, "read the content table")) from error
        if answer.get("UnprocessedKeys"):
            raise Usage("cannot read the content table: DynamoDB throttles it; try again in a minute")
        found = answer["Responses"].get(self.outputs["ContentTableName"], [])
        return [{name: TypeDeserializer().deserialize(value) for name, value in one.items()} for one in found]

    def occupied(self, site):
        """Why a host cannot be this run's own site, or nothing. Its pages would be published with ours."""
        if site in self.list_of("Sites"):
            return f"{site} is in the parameter Sites"
        if any(records.MARK not in record for record in self.get([f"site/{site}"])):
            return f"{site} has a settings record, so it is a site of yours"
        try:
            for digit in DIGITS:
                page = self.client("dynamodb").query(
                    TableName=self.outputs["SitemapTableName"], KeyConditionExpression="pk = :pk", ConsistentRead=True,
                    ExpressionAttributeValues=item({":pk": f"OUT#{site}#{digit}"}), ProjectionExpression="sk")
                # All that fit into a page: ours are few.
                for row in page["Items"]:
                    if not row["sk"]["S"].startswith(records.PREFIX):
                        return f"{site} is the host of a record of yours, {row['sk']['S']}"
        except (failures.ClientError, failures.BotoCoreError) as error:
            raise Usage(explained(error, "look in the sitemap table whether a site is yours")) from error
        return None

    # -- What AWS says of the stack ----------------------------------------------------------------------------------

    def streams(self):
        """The event sources of the stack's functions, and the limits of concurrent executions."""
        found = []
        for function in ("IngestFunction", "RegenerateFunction"):
            pages = self.client("lambda").get_paginator("list_event_source_mappings").paginate(FunctionName=self.resource(function))
            for mapping in (one for page in pages for one in page["EventSourceMappings"]):
                arn = mapping["EventSourceArn"]
                found.append(judge.Stream(table=arn.split("/")[1], shards=self.open_shards(arn),
                                          factor=mapping.get("ParallelizationFactor", 1), state=mapping["State"]))
        return found

    def open_shards(self, arn):
        shards, after = 0, {}
        while True:
            answer = self.client("dynamodbstreams").describe_stream(StreamArn=arn, **after)["StreamDescription"]
            shards += sum("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in answer["Shards"])
            if not answer.get("LastEvaluatedShardId"):
                return shards
            after = {"ExclusiveStartShardId": answer["LastEvaluatedShardId"]}

    def limits(self):
        limit = self.client("lambda").get_account_settings()["AccountLimit"]
        return limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]

    def role_arn(self, function):
        return self.client("lambda").get_function_configuration(FunctionName=self.resource(function))["Role"]

    def arn_of(self, resource):
        """Of a table, or of the objects in a bucket under a prefix."""
        logical, _, rest = resource.partition("/")
        physical = self.resource(logical)
        if self.resources[logical][0] == "AWS::DynamoDB::Table":
            return self.client("dynamodb").describe_table(TableName=physical)["Table"]["TableArn"]
        partition = self.session.get_partition_for_region(self.region)
        return f"arn:{partition}:s3:::{physical}/{rest.replace('*', 'x')}"

    def decided(self, role_arn, resource_arn, question):
        """What IAM would decide of each action."""
        context = [{"ContextKeyName": "dynamodb:LeadingKeys", "ContextKeyType": "stringList",
                    "ContextKeyValues": [key.replace("*", "x") for key in question.keys]}] if question.keys else []
        answer = self.client("iam").simulate_principal_policy(
            PolicySourceArn=role_arn, ActionNames=question.actions, ResourceArns=[resource_arn], ContextEntries=context)
        return {one["EvalActionName"]: one["EvalDecision"] for one in answer["EvaluationResults"]}

    def alarms(self):
        """Names that the stack has, and pairs of name and state that there are."""
        names = [physical for kind, physical in self.nested("MonitoringStack").values() if kind == "AWS::CloudWatch::Alarm"]
        answer = self.client("cloudwatch").describe_alarms(AlarmNames=names, MaxRecords=100)
        return names, [(one["AlarmName"], one["StateValue"]) for one in answer["MetricAlarms"]]

    def subscriptions(self):
        """What the stack's own topic sends to: pairs of address and ARN, which is a word until the address has confirmed it."""
        topic = self.nested("MonitoringStack")["AlarmTopic"][1]
        answer = self.client("sns").list_subscriptions_by_topic(TopicArn=topic)
        return [(one["Endpoint"], one["SubscriptionArn"]) for one in answer["Subscriptions"]]

    def ceiling(self, table):
        """The most read units and write units a second of a table; -1 is none."""
        described = self.client("dynamodb").describe_table(TableName=self.resource(table))["Table"]
        maximum = described.get("OnDemandThroughput", {})
        return maximum.get("MaxReadRequestUnits", -1), maximum.get("MaxWriteRequestUnits", -1)

    def insights(self, table):
        """The status and the mode of a table's Contributor Insights."""
        answer = self.client("dynamodb").describe_contributor_insights(TableName=self.resource(table))
        return answer.get("ContributorInsightsStatus"), answer.get("ContributorInsightsMode")

    def sums(self, metrics, begin, end, region=None):
        """Sums of metrics, each given as a namespace, a name and its dimensions, by what they are called here; nothing for one
        of which nothing has arrived."""
        queries = [{"Id": f"m{at}", "MetricStat": {"Period": 60, "Stat": "Sum", "Metric": {
            "Namespace": namespace, "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions.items()]}}}
            for at, (namespace, name, dimensions) in enumerate(metrics.values())]
        answer = self.client("cloudwatch", region).get_metric_data(MetricDataQueries=queries, StartTime=begin, EndTime=end)
        values = {one["Id"]: one.get("Values", []) for one in answer["MetricDataResults"]}
        return {called: (sum(values[f"m{at}"]) if values.get(f"m{at}") else None) for at, called in enumerate(metrics)}

    # -- A published object ------------------------------------------------------------------------------------------

    def object(self, key):
        answer = self.client("s3").get_object(Bucket=self.outputs["SitemapBucketName"], Key=key)
        return answer["Body"].read(), answer

    def replace_object(self, key, body, like, etag):
        """Puts bytes in place of the object that has this ETag, under the headers and metadata of another. Returns the new ETag."""
        kept = {name: like[name] for name in ("ContentType", "ContentEncoding", "CacheControl", "Metadata") if name in like}
        return self.client("s3").put_object(Bucket=self.outputs["SitemapBucketName"], Key=key, Body=body, IfMatch=etag, **kept)["ETag"]


def item(record):
    return {name: TypeSerializer().serialize(value) for name, value in record.items()}


def own(record, condition="attribute_not_exists(id) OR #mark = :run"):
    """Only if what is there is of the same run."""
    return {"ConditionExpression": condition, "ExpressionAttributeNames": {"#mark": records.MARK},
            "ExpressionAttributeValues": item({":run": record[records.MARK]})}

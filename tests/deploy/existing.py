"""A distribution that a site already has, with the parts of examples/distribution pasted into it, for the model of CloudFront (cdn.py)."""
from cdn import Stack

FOLDER = "examples/distribution"
# What infra/cdn.yaml calls its distribution, in place of an id: the model's resources are their logical ids.
DISTRIBUTION = "Distribution"
FUNCTION_URL = "https://f.lambda-url.r.on.aws/"


def site_behaviour(pattern):
    return {"PathPattern": pattern, "TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https"}


# What a site may have had before. Two of its patterns also match sitemaps.
SITE = {
    "Origins": [{"Id": "site", "DomainName": "origin.example.com"}],
    "CacheBehaviors": [site_behaviour(pattern) for pattern in ["/assets/*", "/api/*", "/feed*", "*.txt", "*.xml"]],
    "DefaultCacheBehavior": {"TargetOriginId": "site"},
}


class Existing:
    """The stack of cloudformation.yaml, and the site's distribution: without Waymark's paths, or with them first or last."""

    def __init__(self, paste="first"):
        self.stack = Stack(f"{FOLDER}/cloudformation.yaml", HttpFunctionArn="arn", HttpFunctionUrl=FUNCTION_URL, DistributionId=DISTRIBUTION)
        outputs = {name: self.stack.resolve(one["Value"]) for name, one in self.stack.template["Outputs"].items()}
        snippet = Stack(f"{FOLDER}/distribution-config.yaml", **outputs)
        self.pasted = snippet.resolve(snippet.template["DistributionConfig"])
        ours, own = self.pasted["CacheBehaviors"], SITE["CacheBehaviors"]
        behaviours = {"first": ours + own, "last": own + ours, "no": own}[paste]
        origins = SITE["Origins"] + (self.pasted["Origins"] if paste != "no" else [])
        self.config = SITE | {"Origins": origins, "CacheBehaviors": behaviours}

    def resource(self, logical):
        if logical == DISTRIBUTION:
            return {"DistributionConfig": self.config}
        return self.stack.resource(logical)

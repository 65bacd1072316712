import { readFileSync } from "node:fs";
import { Duration, Fn } from "aws-cdk-lib";
import * as cloudfront from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { CfnPermission } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";

// A copy of infra/cdn/viewer-request.js, beside this file.
const VIEWER_REQUEST = readFileSync(new URL("viewer-request.js", import.meta.url), "utf8");

/** Waymark's paths, for a distribution of your own. */
export class WaymarkPaths extends Construct {
  /** @param {{functionUrl: string}} props the output `HttpFunctionUrl` of Waymark's stack */
  constructor(scope, id, { functionUrl }) {
    super(scope, id);
    const viewerRequest = new cloudfront.Function(this, "ViewerRequest", {
      code: cloudfront.FunctionCode.fromInline(VIEWER_REQUEST),
      runtime: cloudfront.FunctionRuntime.JS_2_0,
    });
    const headers = new cloudfront.ResponseHeadersPolicy(this, "HeadersPolicy", {
      removeHeaders: ["x-amzn-remapped-content-length", "x-amzn-trace-id", "cache-tag"],
      securityHeadersBehavior: { contentTypeOptions: { override: false } },
      customHeadersBehavior: { customHeaders: [{ header: "x-robots-tag", value: "noindex, follow", override: false }] },
    });
    const accessControl = new cloudfront.FunctionUrlOriginAccessControl(this, "OriginAccessControl");
    const behavior = {
      origin: new HttpOrigin(Fn.select(2, Fn.split("/", functionUrl)), {
        originId: "waymark",
        originAccessControlId: accessControl.originAccessControlId,
        readTimeout: Duration.seconds(60),
      }),
      viewerProtocolPolicy: cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
      compress: false,
      cachePolicy: cloudfront.CachePolicy.CACHING_OPTIMIZED,
      responseHeadersPolicy: headers,
      functionAssociations: [{ eventType: cloudfront.FunctionEventType.VIEWER_REQUEST, function: viewerRequest }],
    };
    /** For the distribution's `additionalBehaviors`, before your own: CloudFront takes the first pattern that matches. */
    this.behaviors = {
      "/*sitemap*.x?l": behavior,
      "/*-sitemap*.txt": behavior,
      "/*sitemap*.gz": behavior,
      "/sitemap-view.*": behavior,
      // What the function makes of paths. If your site answered such a path, CloudFront could cache that in the place of Waymark's file.
      "/waymark-edge/*": behavior,
    };
  }
}

/** Lets a distribution call the function's URL. Its stack must be in the region of Waymark's stack. */
export class WaymarkPermissions extends Construct {
  /** @param {{functionArn: string, distributionArn: string}} props the output `HttpFunctionArn`, and the distribution's ARN */
  constructor(scope, id, { functionArn, distributionArn }) {
    super(scope, id);
    const both = { functionName: functionArn, principal: "cloudfront.amazonaws.com", sourceArn: distributionArn };
    new CfnPermission(this, "Url", { ...both, action: "lambda:InvokeFunctionUrl", functionUrlAuthType: "AWS_IAM" });
    new CfnPermission(this, "Function", { ...both, action: "lambda:InvokeFunction", invokedViaFunctionUrl: true });
  }
}

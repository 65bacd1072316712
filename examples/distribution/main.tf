# Waymark's paths, on a distribution of your own.

terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.29" # the first with invoked_via_function_url
    }
  }
}

# In the region of Waymark's stack.
data "aws_cloudformation_stack" "waymark" {
  name = "waymark-production"
}

# The last is what the function makes of paths. If your site answered such a path, CloudFront could cache that in the place of
# Waymark's file.
locals {
  waymark_paths = ["/*sitemap*.x?l", "/*-sitemap*.txt", "/*sitemap*.gz", "/sitemap-view.*", "/waymark-edge/*"]
}

# Yours. Only the two blocks between the marks are Waymark's.
resource "aws_cloudfront_distribution" "site" {
  enabled = true

  # Waymark's, begin.
  origin {
    origin_id                = "waymark"
    domain_name              = split("/", data.aws_cloudformation_stack.waymark.outputs["HttpFunctionUrl"])[2]
    origin_access_control_id = aws_cloudfront_origin_access_control.waymark.id
    custom_origin_config {
      http_port              = 80
      https_port             = 443
      origin_protocol_policy = "https-only"
      origin_ssl_protocols   = ["TLSv1.2"]
      origin_read_timeout    = 60
    }
  }

  # Before your own: CloudFront takes the first pattern that matches.
  dynamic "ordered_cache_behavior" {
    for_each = local.waymark_paths
    content {
      path_pattern               = ordered_cache_behavior.value
      target_origin_id           = "waymark"
      viewer_protocol_policy     = "redirect-to-https"
      allowed_methods            = ["GET", "HEAD"]
      cached_methods             = ["GET", "HEAD"]
      compress                   = false
      cache_policy_id            = "658327ea-f89d-4fab-a63d-7e88639e58f6" # Managed-CachingOptimized
      response_headers_policy_id = aws_cloudfront_response_headers_policy.waymark.id
      function_association {
        event_type   = "viewer-request"
        function_arn = aws_cloudfront_function.waymark.arn
      }
    }
  }
  # Waymark's, end.

  origin {
    origin_id   = "site"
    domain_name = "origin.example.com"
    custom_origin_config {
      http_port              = 80
      https_port             = 443
      origin_protocol_policy = "https-only"
      origin_ssl_protocols   = ["TLSv1.2"]
    }
  }

  default_cache_behavior {
    target_origin_id       = "site"
    viewer_protocol_policy = "redirect-to-https"
    allowed_methods        = ["GET", "HEAD"]
    cached_methods         = ["GET", "HEAD"]
    cache_policy_id        = "658327ea-f89d-4fab-a63d-7e88639e58f6"
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = true
  }
}

resource "aws_cloudfront_function" "waymark" {
  name    = "waymark-viewer-request"
  runtime = "cloudfront-js-2.0"
  code    = file("${path.module}/viewer-request.js") # a copy of infra/cdn/viewer-request.js
  publish = true
}

resource "aws_cloudfront_origin_access_control" "waymark" {
  name                              = "waymark"
  origin_access_control_origin_type = "lambda"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

# CloudFront refuses to remove two more of Lambda's: x-amzn-requestid and x-amzn-errortype.
resource "aws_cloudfront_response_headers_policy" "waymark" {
  name = "waymark"
  remove_headers_config {
    items {
      header = "x-amzn-remapped-content-length"
    }
    items {
      header = "x-amzn-trace-id"
    }
    items {
      header = "cache-tag"
    }
  }
  # What the function sends itself, for the answers that Lambda and CloudFront give in its place.
  security_headers_config {
    content_type_options {
      override = false
    }
  }
  custom_headers_config {
    items {
      header   = "x-robots-tag"
      value    = "noindex, follow"
      override = false
    }
  }
}

# A function's URL asks for both: to be called, and to be called by its URL.
resource "aws_lambda_permission" "waymark_url" {
  function_name          = data.aws_cloudformation_stack.waymark.outputs["HttpFunctionArn"]
  action                 = "lambda:InvokeFunctionUrl"
  function_url_auth_type = "AWS_IAM"
  principal              = "cloudfront.amazonaws.com"
  source_arn             = aws_cloudfront_distribution.site.arn
}

resource "aws_lambda_permission" "waymark_function" {
  function_name            = data.aws_cloudformation_stack.waymark.outputs["HttpFunctionArn"]
  action                   = "lambda:InvokeFunction"
  invoked_via_function_url = true
  principal                = "cloudfront.amazonaws.com"
  source_arn               = aws_cloudfront_distribution.site.arn
}

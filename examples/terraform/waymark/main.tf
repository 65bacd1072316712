# Waymark's packaged template (`sam package`) as a CloudFormation stack.

terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "name" {
  description = "Name of the stack."
  type        = string
  default     = "waymark"
}

variable "template" {
  description = "Path of the packaged template."
  type        = string
}

variable "bucket" {
  description = "A bucket of this region for the template, such as the one that `sam package` used."
  type        = string
}

variable "parameters" {
  description = "The template's parameters. Those that are not named have their defaults."
  type        = map(string)
  default     = {}
}

variable "tags" {
  description = "Tags of all that the stack creates."
  type        = map(string)
  default     = {}
}

data "aws_s3_bucket" "artifacts" {
  bucket = var.bucket
}

# CloudFormation takes a template of more than 51,200 bytes from S3 alone, and `sam package` may make one.
resource "aws_s3_object" "template" {
  bucket = var.bucket
  key    = "waymark/${filesha256(var.template)}.yaml" # another template has another address, so the stack is updated
  source = var.template
}

resource "aws_cloudformation_stack" "waymark" {
  name         = var.name
  template_url = "https://${data.aws_s3_bucket.artifacts.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  parameters   = var.parameters
  tags         = var.tags

  timeouts {
    create = "60m"
    update = "60m"
    delete = "60m"
  }
}

output "outputs" {
  description = "The stack's outputs."
  value       = aws_cloudformation_stack.waymark.outputs
}

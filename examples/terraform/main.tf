module "waymark" {
  source = "./waymark"

  name     = "waymark-production"
  template = "packaged.yaml"
  bucket   = "my-artifacts-eu-west-1"
  parameters = {
    LogRetentionDays = "90"
    HttpConcurrency  = "50"
  }
}

# What may write records.
data "aws_iam_policy_document" "write_records" {
  statement {
    actions   = ["dynamodb:PutItem", "dynamodb:DeleteItem"]
    resources = ["arn:aws:dynamodb:*:*:table/${module.waymark.outputs["ContentTableName"]}"]
  }
}

output "distribution_domain" {
  value = module.waymark.outputs["DistributionDomain"]
}

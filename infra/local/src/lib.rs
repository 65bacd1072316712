//! The local stack, embedded DynamoDB and S3 with the same functions, and the operator's command.

"""Ports made real: DynamoDB, SQS, the clock."""

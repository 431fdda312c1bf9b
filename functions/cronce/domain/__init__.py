"""The rules of scheduling: pure, no AWS, no environment, no clock."""

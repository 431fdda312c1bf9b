"""cronce: a distributed job scheduler for one's own AWS account."""

__version__ = "0.1.0"

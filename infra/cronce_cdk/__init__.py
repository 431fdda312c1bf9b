"""The construct `Cronce`: a job scheduler as one part of a CDK app."""

from cronce_cdk.construct import Cronce
from cronce_cdk.props import CronceProps

__all__ = ["Cronce", "CronceProps"]

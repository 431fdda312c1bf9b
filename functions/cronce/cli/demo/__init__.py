"""``cronce demo``: a deployment of its own, runs, a killed worker, a judge."""

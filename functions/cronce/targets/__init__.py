"""What a run can call: one module per kind of target."""

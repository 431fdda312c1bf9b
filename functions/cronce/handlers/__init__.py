"""Lambda entry points and the composition root."""

"""Test kit: in-memory store and queue, settable clock, a driver for whole-system tests."""

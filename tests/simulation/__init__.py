"""The shipped modules under random schedules of crashes and losses, in virtual time."""

"""The limits of the design, in one place: domain, functions and construct read the same numbers.

Durations are whole seconds and sizes are bytes unless a name says otherwise.
"""

from typing import Final

# Functions. The worker's timeout is Lambda's own maximum.
WORKER_TIMEOUT: Final = 900
DISPATCHER_TIMEOUT: Final = 55
DISPATCHER_STOP_AFTER: Final = 45
API_TIMEOUT: Final = 29

# The tick. Far enough ahead that one lost tick at the worst spacing is invisible.
TICK_PERIOD: Final = 60
HORIZON: Final = 3 * TICK_PERIOD + 15
TICK_MAX_EVENT_AGE: Final = 60
TICK_RETRIES: Final = 0

# The run queue. Six times the function's timeout is what Lambda asks for; a message is hidden for
# its lease before any claim. Hiding and throttling count as receives, so the count is generous.
QUEUE_VISIBILITY: Final = 6 * WORKER_TIMEOUT
QUEUE_MAX_RECEIVE_COUNT: Final = 1000
QUEUE_RETENTION: Final = 14 * 86_400
QUEUE_MAX_DELAY: Final = 900
# SQS counts its 12 hours from the receive, and a worker may have had the message all its time.
QUEUE_MAX_HIDDEN: Final = 12 * 3600 - WORKER_TIMEOUT
QUEUE_BATCH_MESSAGES: Final = 10
QUEUE_BATCH_BYTES: Final = 1_048_576
QUEUE_RETRY_VISIBILITY: Final = (5, 30)

# The event source mapping.
BATCH_SIZE: Final = 10
MAX_CONCURRENCY: Final = 20
MIN_MAX_CONCURRENCY: Final = 2
MAX_MAX_CONCURRENCY: Final = 1000

# The lease of an attempt, and how often its owner renews it.
LEASE: Final = 30
RENEW_EVERY: Final = 10
CLOCK_DIFFERENCE: Final = 5

# The index.
SHARDS: Final = 16
SLICES: Final = 1

# Dispatch records.
RECORD_RUNS: Final = 100
RECONCILE_AFTER: Final = 120
RECONCILE_MAX_INTERVAL: Final = 600

# Jobs.
JOB_ID_LENGTH: Final = 128
JOB_ROW_BYTES: Final = 1024
PAYLOAD_BYTES: Final = 131_072
DOCUMENT_BYTES: Final = 65_536
TIMEOUT: Final = (1, 840)
TIMEOUT_DEFAULT: Final = 60
RATE_MIN: Final = 1
MAX_ATTEMPTS_DEFAULT: Final = 3
BACKOFF_DEFAULT: Final = 10
BACKOFF_FACTOR_DEFAULT: Final = 2
MAX_BACKOFF_DEFAULT: Final = 3600
GRACE_DEFAULT: Final = 90
LATE_LIMIT_DEFAULT: Final = 900
HISTORY: Final = (15 * 86_400, 400 * 86_400)
HISTORY_DEFAULT: Final = 30 * 86_400
DELETE_AFTER: Final = (3600, 400 * 86_400)
PAUSE_ON_FAILURE: Final = (1, 20)

# Runs.
RESULT_BYTES: Final = 512
ATTEMPT_ENTRIES: Final = 20
WAITING_RUNS: Final = 100

# Requests to the API.
BODY_BYTES: Final = 262_144
BODY_DEPTH: Final = 64

# The watch and the alarms. The alarms are made after a first look and a wait, so that the numbers
# whose absence is alarming are there before anybody can be alarmed by their absence.
WATCH_TIMEOUT: Final = 240
FIRST_LOOK_WAIT: Final = 150
ALARM_PERIODS: Final = 5
OVERDUE_ALARM: Final = 180
OLDEST_MESSAGE_ALARM: Final = 3600

# Announcements.
OVERDUE_ANNOUNCED: Final = 600

#!/usr/bin/env bash
# Chromium and its driver, from the system's own packages, only where they are missing.
set -euo pipefail

have() { command -v chromedriver >/dev/null && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; }

have && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo 'no Chromium with chromedriver on the PATH: install them (Debian: chromium chromium-driver)' >&2
  exit 1
fi
echo 'installing chromium and chromium-driver'
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null
have

#!/bin/sh
# A worker of a self-hosted environment by the CLI $ANT: it polls, and has each item served by a
# process of its own, which is this script again.
if [ -z "$ANTHROPIC_WORK_ID" ]; then
  exec "$ANT" beta:worker poll --environment-id "$ENVIRONMENT_ID" --environment-key "$ENVIRONMENT_KEY" \
    --base-url "$BASE_URL" --on-work "$0"
fi
exec "$ANT" beta:worker run --base-url "$BASE_URL" --workdir "$WORKDIR" --max-idle 1s

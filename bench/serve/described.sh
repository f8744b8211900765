#!/usr/bin/env bash
# Schemathesis against the description of the API: no 5xx, no answer that is not described.
#
#     bench/serve/described.sh target/release/cajole [SECONDS]
#
# Needs Schemathesis (pip install schemathesis).
set -euo pipefail
cd "$(dirname "$0")/../.."

cajole=$1
seconds=${2:-600}
log=$(mktemp)
"$cajole" serve --listen 127.0.0.1:0 --no-log --rules rules --deadline-ms 2000 > "$log" &
server=$!
trap 'kill "$server"; rm -f "$log"' EXIT
until grep -q listening "$log"; do sleep 0.1; done
url=$(sed -n 's/^listening at //p' "$log")

end=$((SECONDS + seconds))
seed=1
# Bodies that are refused for what no schema says are fine, and so are odd ones that are accepted: an
# input that cannot be worked on has a record that says so.
while [ "$SECONDS" -lt "$end" ]; do
  schemathesis run "${url}openapi.json" --seed "$seed" --max-examples 200 \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
  seed=$((seed + 1))
done
echo "no violation in $seconds s"

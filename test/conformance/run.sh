#!/usr/bin/env bash
# The conformance suite of connectrpc.com against Lintel's RPC door. Needs Go, and
# the modules that it fetches. Usage: test/conformance/run.sh [flags of connectconformance]
set -euo pipefail
cd "$(dirname "$0")/../.."
version=v1.0.6
here=test/conformance
work=$here/.work
mkdir -p "$work"
if ! [ -x "$work/connectconformance" ]; then
  GOBIN="$PWD/$work" go install "connectrpc.com/conformance/cmd/connectconformance@$version"
fi
module=$(go env GOMODCACHE)/connectrpc.com/conformance@$version
npx buf generate "$module/proto" --template '{"version":"v2","clean":true,"plugins":[{"local":"protoc-gen-es","out":"'"$here"'/gen","opt":["target=ts","import_extension=js","erasable_syntax=true"]}]}'
npx tsc -p "$here"
# One file starts in a moment, and the suite waits for none of its many servers.
npx esbuild "$here/server.ts" --bundle --platform=node --format=esm --packages=external --log-level=warning --outfile="$work/server.mjs"
exec "$work/connectconformance" --mode server --conf "$here/config.yaml" --known-failing "@$here/known-failing.txt" \
  --known-flaky "@$here/known-flaky.txt" \
  "$@" -- node "$work/server.mjs"

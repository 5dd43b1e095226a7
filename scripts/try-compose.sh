#!/bin/sh
# Starts docker-compose.yml as it is, has one task done in it and removes it again: sh scripts/try-compose.sh
# It needs curl and Docker Compose, or another one that COMPOSE names, and leaves the image `heddle` behind. NODE_IMAGE and
# VALKEY_IMAGE name other base images, for a machine that cannot fetch these. The stack has
# a name, a port, a token and a folder of its own: your `.env`, settings and volumes are not touched.
set -eu
umask 022
cd "$(dirname "$0")/.."
compose=${COMPOSE:-docker compose}
export COMPOSE_PROJECT_NAME=heddle-trial HEDDLE_PORT=18420
url=http://127.0.0.1:$HEDDLE_PORT
thread=trial$(date +%s)
token=$(od -A n -N 24 -t x1 /dev/urandom | tr -d ' \n')

folder=$(mktemp -d)
mkdir "$folder/config"
cp -R Dockerfile .dockerignore docker-compose.yml package.json package-lock.json LICENSE deploy scripts skills src "$folder"
cd "$folder"
echo "HEDDLE_CONSOLE_TOKEN=$token" >.env
if [ -n "${NODE_IMAGE:-}" ]; then
  build="{ build: { context: ., args: { NODE_IMAGE: \"$NODE_IMAGE\" } } }"
  printf 'services:\n  gateway: %s\n  worker: %s\n' "$build" "$build" >docker-compose.override.yml
fi

finish() {
  code=$?
  [ "$code" = 0 ] || $compose logs --tail 30 || true
  $compose down --volumes || code=1
  cd / && rm -rf "$folder"
  exit "$code"
}
trap finish EXIT
trap 'exit 1' INT TERM

api() {
  curl --silent --show-error --fail --header "Authorization: Bearer $token" "$@"
}

$compose up --detach --build --wait
for probe in healthz readyz; do
  api --output /dev/null "$url/$probe"
  echo "ok  /$probe"
done
# Without a key it is the demo model that answers: it writes a program and runs it in the sandbox of a worker.
api --output /dev/null --header 'Content-Type: application/json' \
  --data '{"text": "Write a calculator", "key": "calculator"}' "$url/api/v1/threads/$thread/messages"
# The events of the thread begin with what was said before, so the answer cannot be missed.
api --no-buffer --max-time 120 "$url/api/v1/events?thread=$thread" 2>/dev/null |
  grep --quiet 'This is what the run said.*6 \* 7 = 42'
echo "ok  a task was done in the sandbox and answered"

#!/bin/sh
# Starts Heddle with Docker Compose, also on a fresh clone: sh deploy/up.sh
# Makes .env with a random token for the console, and config/, where they are missing; builds the image, starts the stack,
# checks it and prints the console's address. Run it again after a change to .env, config/ or the code.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "deploy/up.sh: $*" >&2
  exit 1
}

if [ -n "${COMPOSE:-}" ]; then
  compose=$COMPOSE
elif docker compose version >/dev/null 2>&1; then
  compose='docker compose'
elif command -v docker-compose >/dev/null; then
  compose=docker-compose
else
  fail "there is no Docker Compose: install it (https://docs.docker.com/compose/install), or name another one with COMPOSE."
fi

# What .env says of a variable, without quotes; the last line counts.
setting() {
  sed -n "s/^$1=//p" .env | tail -n 1 | sed "s/^\"\(.*\)\"\$/\1/; s/^'\(.*\)'\$/\1/"
}

umask 077
if [ ! -e .env ]; then
  cp .env.example .env.new
  # Whatever the mode of the example is: a token and keys go into the copy.
  chmod 600 .env.new
  mv .env.new .env
  echo "Made .env: put the keys of the model and the chat platforms into it."
fi
if [ -z "$(setting HEDDLE_CONSOLE_TOKEN)" ]; then
  [ -z "$(tail -c 1 .env)" ] || echo >>.env
  echo "HEDDLE_CONSOLE_TOKEN=$(od -A n -N 24 -t x1 /dev/urandom | tr -d ' \n')" >>.env
  chmod 600 .env
  echo "Put a random HEDDLE_CONSOLE_TOKEN into .env, which the console asks for."
fi
# An engine would make it as root's; the program in the container, another user, reads it.
[ -d config ] || mkdir -m 755 config

$compose build
# Anew, because a change in config/ takes effect on the next start only. Running turns are handed over.
$compose up --detach --force-recreate gateway worker

echo "Waiting for the console ..."
left=60
until $compose exec -T gateway sh -c '
  [ ! -e /tmp/misconfigured ] || exit 0
  node -e "fetch(\"http://127.0.0.1:8420/healthz\").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
' >/dev/null 2>&1; do
  left=$((left - 1))
  if [ "$left" = 0 ]; then
    $compose logs --tail 20 gateway >&2
    fail "the console did not come up; the log of its container is above."
  fi
  sleep 1
done
if $compose exec -T gateway test -e /tmp/misconfigured; then
  $compose logs --tail 20 gateway >&2
  fail "the configuration cannot be used: correct what the log above names, and run this again."
fi

code=0
$compose exec -T worker heddle doctor || code=1

token=$(setting HEDDLE_CONSOLE_TOKEN)
port=${HEDDLE_PORT:-$(setting HEDDLE_PORT)}
address=http://127.0.0.1:${port:-8420}
case $token in
  *[!A-Za-z0-9._~-]*) echo "The console: $address (HEDDLE_CONSOLE_TOKEN in .env opens it)" ;;
  *) echo "The console: $address/#token=$token" ;;
esac
exit "$code"

#!/bin/sh
# Fills the empty volumes of a stack that does not run, and starts it: sh deploy/restore.sh FOLDER
set -eu
compose=${COMPOSE:-docker compose}
folder=${1:?name the folder of the backup}

$compose up --detach valkey
# Valkey reads nothing but its append-only file, which may begin with a snapshot. When it starts anew it takes this file
# for that of a Redis 6, and makes its folder of it. Without one it would write its own, empty snapshot over ours at its end.
# The shell in the container expands these.
# shellcheck disable=SC2016
$compose exec -T valkey sh -ec '
  until [ "$(valkey-cli ping)" = PONG ]; do sleep 1; done
  if [ "$(valkey-cli dbsize)" != 0 ]; then echo "Valkey is not empty." >&2; exit 1; fi
  if [ "$(valkey-cli config get appendonly | tail -n 1)" != yes ]; then
    echo "Valkey keeps no append-only file: start it with --appendonly yes, as docker-compose.yml does." >&2
    exit 1
  fi
  rm -rf appendonlydir
  cat >appendonly.aof
' <"$folder/redis.rdb"
$compose restart valkey
# Before any part of Heddle runs: at its start it would make keys of its own, and go on with them.
$compose run --rm --no-deps -T --entrypoint tar gateway --extract --directory /data <"$folder/data.tar"
$compose up --detach

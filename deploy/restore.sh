#!/bin/sh
# Fills the empty volumes of a stack that does not run, and starts it: sh deploy/restore.sh FOLDER
set -eu
compose=${COMPOSE:-docker compose}
folder=${1:?name the folder of the backup}

$compose up --detach valkey
# Valkey reads nothing but its append-only file, so the snapshot becomes the base of one; then it starts anew.
# The shell in the container expands these.
# shellcheck disable=SC2016
$compose exec -T valkey sh -ec '
  until [ "$(valkey-cli ping)" = PONG ]; do sleep 1; done
  if [ "$(valkey-cli dbsize)" != 0 ]; then echo "Valkey is not empty." >&2; exit 1; fi
  rm -r appendonlydir
  mkdir appendonlydir
  cat >appendonlydir/appendonly.aof.1.base.rdb
  echo "file appendonly.aof.1.base.rdb seq 1 type b" >appendonlydir/appendonly.aof.manifest
' <"$folder/redis.rdb"
$compose restart valkey
# Before any part of Heddle runs: at its start it would make keys of its own, and go on with them.
$compose run --rm --no-deps -T --entrypoint tar gateway --extract --directory /data <"$folder/data.tar"
$compose up --detach

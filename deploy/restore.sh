#!/bin/sh
# Puts a backup into the empty volumes of a stack that does not run: sh deploy/restore.sh FOLDER
set -eu
compose=${COMPOSE:-docker compose}
folder=${1:?name the folder of the backup}

# With an append-only file Valkey reads nothing else, so the snapshot becomes the base of one.
$compose run --rm -T --no-deps valkey sh -ec '
  if [ -e appendonlydir ]; then echo "The volume of Valkey is not empty." >&2; exit 1; fi
  mkdir appendonlydir
  cat >appendonlydir/appendonly.aof.1.base.rdb
  echo "file appendonly.aof.1.base.rdb seq 1 type b" >appendonlydir/appendonly.aof.manifest
' <"$folder/redis.rdb"
$compose run --rm -T --no-deps --entrypoint tar gateway --extract --directory /data <"$folder/data.tar"

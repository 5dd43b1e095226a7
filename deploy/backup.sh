#!/bin/sh
# Writes what Heddle keeps into FOLDER, while it runs: sh deploy/backup.sh FOLDER
# Redis first: files that are younger than their journal are what a crash leaves too, and Heddle goes on from there.
set -eu
umask 077
compose=${COMPOSE:-docker compose}
folder=${1:?name the folder to write to}
mkdir -p "$folder"
# By way of a file: to standard output valkey-cli adds the end mark of the transfer.
$compose exec -T valkey sh -ec '
  valkey-cli --rdb backup.rdb >&2
  cat backup.rdb
  rm backup.rdb
' >"$folder/redis.rdb.part"
# What fails on its way leaves an earlier backup as it is.
# Files may change meanwhile, and an agent may have locked some of its own, which tar names and leaves out.
$compose exec -T gateway sh -c 'tar --create --ignore-failed-read --directory /data . || [ $? = 1 ]' >"$folder/data.tar.part"
mv "$folder/redis.rdb.part" "$folder/redis.rdb"
mv "$folder/data.tar.part" "$folder/data.tar"
ls -l "$folder"

#!/bin/bash
# Copies the files below a folder into backup/ and prints how many there were.
mkdir -p backup
count=0
for file in $(find $1 -type f ! -name *.tmp); do
  mkdir -p backup/$(dirname $file)
  cp $file backup/$file && count=$((count + 1))
done
echo $count

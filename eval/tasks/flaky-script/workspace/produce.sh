#!/bin/bash
# Writes the figures, in its own time.
sleep "${PRODUCE_SECONDS:-0.1}"
echo "10" > figures.txt
sleep 0.05
echo "32" >> figures.txt

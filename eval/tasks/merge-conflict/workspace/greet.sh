#!/bin/bash
# Greets somebody.
name=$1
echo "Hello $name"

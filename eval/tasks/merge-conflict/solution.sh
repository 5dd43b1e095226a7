git merge -q colour
cat > greet.sh <<'S'
#!/bin/bash
# Greets somebody politely, in a colour if COLOUR names one (a number of the terminal's).
name=${1:-stranger}
if [ -n "$COLOUR" ]; then
  printf '\033[%sm%s\033[0m\n' "$COLOUR" "Good day, $name!"
else
  echo "Good day, $name!"
fi
S
git commit -qam "Merge colour"

git init -q -b main && git config user.email dev@example.com && git config user.name Dev
git add . && git commit -qm "Greet"
git checkout -q -b colour
cat > greet.sh <<'S'
#!/bin/bash
# Greets somebody, in a colour if COLOUR names one (a number of the terminal's).
name=$1
if [ -n "$COLOUR" ]; then
  printf '\033[%sm%s\033[0m\n' "$COLOUR" "Hello $name"
else
  echo "Hello $name"
fi
S
git commit -qam "Greet in a colour"
git checkout -q main
cat > greet.sh <<'S'
#!/bin/bash
# Greets somebody politely.
name=${1:-stranger}
echo "Good day, $name!"
S
git commit -qam "Greet politely"

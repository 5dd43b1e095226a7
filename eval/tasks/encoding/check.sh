[ "$(python3 names.py)" = "$(printf 'Anna\nJosé\nJürgen\nZoë')" ] &&
[ "$(python3 names.py new.txt)" = "$(printf 'José\nZoë\nŁukasz')" ] &&
[ "$(head -c 3 export.txt | od -An -tx1 | tr -d ' ')" = 5a6feb ]

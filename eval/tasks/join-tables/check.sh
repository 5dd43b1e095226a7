[ "$(sed 's/[[:space:]]*$//' orphans.txt)" = "$(printf '9\n27\n100')" ]

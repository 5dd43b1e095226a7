[ "$(git rev-parse --abbrev-ref HEAD)" = main ] &&
[ -z "$(git status --porcelain --untracked-files=no)" ] &&
git merge-base --is-ancestor colour main &&
[ "$(git rev-list --count --min-parents=2 main)" -ge 1 ] &&
! git grep -qE '^(<<<<<<<|>>>>>>>)' &&
[ "$(bash greet.sh Ada)" = "Good day, Ada!" ] &&
[ "$(bash greet.sh)" = "Good day, stranger!" ] &&
[ "$(COLOUR=31 bash greet.sh Ada)" = "$(printf '\033[31mGood day, Ada!\033[0m')" ]

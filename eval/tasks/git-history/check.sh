[ "$(tr -d '\n' < culprit.txt)" = "Prepare for June" ] &&
bash check-rate.sh && grep -q rounding=late rates.conf && ! grep -q june rates.conf &&
[ "$(git rev-list --count v1..HEAD)" = 11 ] &&
[ -z "$(git status --porcelain --untracked-files=no)" ] && ! git ls-files | grep -q culprit &&
grep -q "Translate notes" notes.txt

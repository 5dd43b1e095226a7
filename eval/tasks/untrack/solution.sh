printf '/local.env\n/cache/\n' >> .gitignore
git rm -rq --cached local.env cache
git add .gitignore && git commit -qm "Leave out local files"

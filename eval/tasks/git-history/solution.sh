culprit=$(git log --format=%h -S rate=16 -- rates.conf)
git log -1 --format=%s "$culprit" > culprit.txt
git revert --no-edit "$culprit" > /dev/null || {
  sed -i -e 's/rate=16/rate=19/' -e '/^june/d' -e '/^[<=>]\{7\}/d' -e '/^|\{7\}/d' rates.conf
  git checkout -q --ours notes.txt 2> /dev/null || git checkout -q HEAD -- notes.txt
  git add rates.conf notes.txt && git -c core.editor=true revert --continue > /dev/null
}

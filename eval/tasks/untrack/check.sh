[ "$(git rev-list --count HEAD)" = 2 ] && [ -z "$(git status --porcelain)" ] || exit 1
[ "$(git ls-files | sort | tr '\n' ' ')" = ".gitignore docs/cache/index.md example.env " ] || exit 1
grep -qx 'TOKEN=abc' local.env && [ "$(cat cache/deep/two)" = 2 ] || exit 1
git check-ignore -q local.env && git check-ignore -q cache/new && git check-ignore -q x.log || exit 1
! git check-ignore -q docs/cache/new.md

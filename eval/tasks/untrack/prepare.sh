git init -q -b main && git config user.email dev@example.com && git config user.name Dev
mkdir -p cache/deep docs/cache
echo 'TOKEN=abc' > local.env; echo 'TOKEN=' > example.env
echo 1 > cache/one; echo 2 > cache/deep/two; echo 'about caches' > docs/cache/index.md
echo '*.log' > .gitignore
git add . && git commit -qm "Begin"

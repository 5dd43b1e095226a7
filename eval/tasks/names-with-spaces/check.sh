rm -rf backup
touch here.tmp
[ "$(bash backup.sh photos | tail -n 1 | tr -d ' ')" = 5 ] || exit 1
[ "$(find backup -type f -print0 | tr -cd '\0' | wc -c)" = 5 ] || exit 1
cmp 'photos/summer 2026/-old/-x.jpg' 'backup/photos/summer 2026/-old/-x.jpg' &&
cmp $'photos/two\nlines.jpg' $'backup/photos/two\nlines.jpg' && cmp 'photos/*.jpg' 'backup/photos/*.jpg'

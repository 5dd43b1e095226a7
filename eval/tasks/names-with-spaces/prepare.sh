mkdir -p 'photos/summer 2026/-old'
echo 1 > photos/a.jpg; echo 2 > 'photos/my cat.jpg'; echo 3 > 'photos/summer 2026/-old/-x.jpg'
echo 4 > $'photos/two\nlines.jpg'; echo 5 > photos/draft.tmp; echo 6 > 'photos/*.jpg'

git init -q -b main && git config user.email dev@example.com && git config user.name Dev
echo 'rate=19' > rates.conf; echo 'base=100' >> rates.conf
printf '%s\n' '. ./rates.conf' '[ $((base * rate / 100 + base)) -eq 119 ]' > check-rate.sh
git add . && git commit -qm "Begin" && git tag v1
n=0
for subject in "Tidy up notes" "Explain the base" "Speed up start" "Prepare for June" "List the offices" \
  "Correct a typo" "Add a licence" "Say who helped" "Round later" "Translate notes"; do
  n=$((n + 1)); echo "$subject" >> notes.txt
  [ "$subject" = "Prepare for June" ] && sed -i 's/rate=19/rate=16/' rates.conf && echo 'june=1' >> rates.conf
  [ "$subject" = "Round later" ] && echo 'rounding=late' >> rates.conf
  git add . && git commit -qm "$subject"
done

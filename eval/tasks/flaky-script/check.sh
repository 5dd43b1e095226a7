grep -q 'PRODUCE_SECONDS:-0.1' produce.sh || exit 1
for seconds in 0 0.15 0.18 1.5; do
  [ "$(PRODUCE_SECONDS=$seconds timeout 8 bash collect.sh)" = 42 ] || exit 1
done

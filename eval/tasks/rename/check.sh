! grep -rnw --include='*.py' --include='*.md' calc_total . &&
grep -qw recalc_totals ledger/core.py README.md &&
python3 -m unittest -q &&
python3 - <<'P'
from ledger import compute_balance
from ledger.commands import run
assert compute_balance([{"amount": 4}]) == 4
assert run("total", [{"amount": 2}]) == 2
assert run("totals", {"a": [{"amount": 2}]}) == {"a": 2}
P

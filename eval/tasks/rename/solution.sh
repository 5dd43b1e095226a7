sed -i 's/\bcalc_total\b/compute_balance/g' ledger/*.py README.md test_ledger.py

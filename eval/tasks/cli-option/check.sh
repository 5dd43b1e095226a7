[ "$(python3 words.py sample.txt --most 2)" = "$(printf '    3 to\n    2 be')" ] || exit 1
grep -q -- --json README.md || exit 1
python3 words.py sample.txt --json --most 2 | python3 -c 'import json,sys; assert json.load(sys.stdin) == {"to": 3, "be": 2}' || exit 1
python3 words.py --json sample.txt | python3 -c 'import json,sys; d = json.load(sys.stdin); assert d["that'"'"'s"] == 1 and len(d) == 8, d'

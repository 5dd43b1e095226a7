python3 - <<'P'
import csv
rows = list(csv.reader(open("report.csv", newline="", encoding="utf-8-sig")))
assert rows == [
    ["region", "orders", "revenue"],
    ["South", "2", "57.00"],
    ["West, coastal", "1", "48.00"],
    ["North", "2", "16.25"],
    ["West", "1", "7.25"],
], rows
P

python3 - <<'P'
import csv
from decimal import Decimal
totals = {}
for row in csv.DictReader(open("sales.csv", newline="")):
    if row["status"].lower() == "cancelled":
        continue
    orders, revenue = totals.get(row["region"], (0, Decimal(0)))
    totals[row["region"]] = (orders + 1, revenue + int(row["quantity"]) * Decimal(row["price"]))
with open("report.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["region", "orders", "revenue"])
    for region, (orders, revenue) in sorted(totals.items(), key=lambda item: -item[1][1]):
        writer.writerow([region, orders, f"{revenue:.2f}"])
P

python3 - <<'P'
import csv, json, re
def normal(text):
    found = re.fullmatch(r"\s*([A-Za-z])0*(\d+)\s*", text)
    return found and found[1].upper() + found[2]
known = {normal(one["id"]) for one in json.load(open("customers.json")) if not one.get("deleted")}
orders = csv.DictReader(open("orders.csv"), delimiter=";")
lost = sorted(int(one["order"]) for one in orders if normal(one["customer"]) not in known)
open("orphans.txt", "w").write("".join(f"{order}\n" for order in lost))
P

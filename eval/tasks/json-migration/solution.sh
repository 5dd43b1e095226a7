python3 - <<'P'
import json, pathlib
for path in pathlib.Path("configs").rglob("*.json"):
    old = json.loads(path.read_text())
    if old.get("version") == 2:
        continue
    new = {"version": 2, "server": {"host": old.pop("host"), "port": old.pop("port", 8080)}}
    if "timeout" in old:
        new["timeoutMs"] = round(old.pop("timeout") * 1000)
    new["features"] = sorted({name.strip() for name in old.pop("features", "").split(",")} - {""})
    old.pop("version", None)
    path.write_text(json.dumps({**new, **old}, indent=2) + "\n")
P

python3 - <<'P'
import json
def read(path): return json.load(open("configs/" + path))
assert read("a.json") == {"version": 2, "server": {"host": "a.example", "port": 9000}, "timeoutMs": 1500, "features": ["export", "search"], "note": "keep me"}
assert read("b.json") == {"version": 2, "server": {"host": "b.example", "port": 8080}, "features": []}
assert read("nested/d.json") == {"version": 2, "server": {"host": "d.example", "port": 80}, "timeoutMs": 0, "features": [], "limits": {"timeout": 3}}
assert '"version": 2,   "server"' in open("configs/c.json").read()
P

python3 - <<'P'
import inspect
from basket import Basket
from tags import with_tags
one = Basket()
tea = {"name": "tea"}
one.add(tea, "hot", "hot", "green")
assert one.items[0]["tags"] == ["green", "hot"]
assert Basket().items == [] and Basket().options == {}
two = one.copy()
two.add({"name": "mug"}, "blue")
two.items[0]["name"] = "coffee"
two.options["gift"] = True
assert [item["name"] for item in one.items] == ["tea"], one.items
assert one.options == {} and two.items[1]["tags"] == ["blue"]
given = [{"name": "pen"}]
three = Basket(given)
three.add({"name": "ink"})
assert len(given) == 1
assert with_tags({"name": "x"}, ["a"])["tags"] == ["a"] and with_tags({"name": "y"}, [])["tags"] == []
assert list(inspect.signature(Basket).parameters) == ["items", "options"]
P

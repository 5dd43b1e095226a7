import copy

from tags import with_tags


class Basket:
    def __init__(self, items=None, options=None):
        self.items = copy.deepcopy(items or [])
        self.options = copy.deepcopy(options or {})

    def add(self, item, *tags):
        self.items.append(with_tags(item, tags))

    def copy(self):
        return Basket(self.items, self.options)

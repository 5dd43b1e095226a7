from tags import with_tags


class Basket:
    def __init__(self, items=[], options={}):
        self.items = items
        self.options = options

    def add(self, item, *tags):
        self.items.append(with_tags(item, tags))

    def copy(self):
        return Basket(self.items, self.options)

def page_count(entries, size):
    """How many pages there are; an empty list has one."""
    return max(1, -(-len(entries) // size))


def page(entries, number, size):
    """The entries of a page; the first one has number 1. Beyond the last page there are none."""
    start = (number - 1) * size
    return entries[start : start + size]

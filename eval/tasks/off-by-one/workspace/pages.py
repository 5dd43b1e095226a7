def page_count(entries, size):
    """How many pages there are; an empty list has one."""
    return len(entries) // size + 1


def page(entries, number, size):
    """The entries of a page; the first one has number 1. Beyond the last page there are none."""
    start = (number - 1) * size
    return entries[start : min(start + size, len(entries) - 1)]

def with_tags(item, tags, known=set()):
    """The item with its tags, sorted, each once."""
    for tag in tags:
        known.add(tag)
    item["tags"] = sorted(known)
    return item

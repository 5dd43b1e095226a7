def with_tags(item, tags, known=()):
    """The item with its tags, sorted, each once."""
    return {**item, "tags": sorted({*known, *tags})}

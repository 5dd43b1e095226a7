def calc_total(entries):
    """The sum of all amounts; see also `recalc_totals`."""
    return sum(entry["amount"] for entry in entries)


def recalc_totals(accounts):
    return {name: calc_total(entries) for name, entries in accounts.items()}

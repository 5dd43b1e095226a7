import calendar


def add_months(date, months):
    """The same day, so many months later; the last of the month where there is no such day."""
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date.replace(year=year, month=month + 1, day=min(date.day, last))

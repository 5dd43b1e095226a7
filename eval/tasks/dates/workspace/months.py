import datetime


def add_months(date, months):
    """The same day, so many months later."""
    return date.replace(month=date.month + months)

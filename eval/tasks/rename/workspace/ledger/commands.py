from . import core

COMMANDS = {"total": "calc_total", "totals": "recalc_totals"}


def run(command, argument):
    return getattr(core, COMMANDS[command])(argument)

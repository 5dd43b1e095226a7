from .core import calc_total

__all__ = ["calc_total"]

import unittest

from ledger import calc_total
from ledger.commands import run


class LedgerTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(calc_total([{"amount": 2}, {"amount": 3}]), 5)

    def test_command(self):
        self.assertEqual(run("total", [{"amount": 2}]), 2)


if __name__ == "__main__":
    unittest.main()

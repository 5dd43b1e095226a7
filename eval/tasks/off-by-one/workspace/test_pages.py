import unittest

from pages import page


class PagesTest(unittest.TestCase):
    def test_first_page(self):
        self.assertEqual(page([1, 2, 3, 4], 1, 2), [1, 2])


if __name__ == "__main__":
    unittest.main()

import unittest

from pages import page, page_count


class PagesTest(unittest.TestCase):
    def test_first_page(self):
        self.assertEqual(page([1, 2, 3, 4], 1, 2), [1, 2])

    def test_last_page(self):
        self.assertEqual(page([1, 2, 3], 2, 2), [3])

    def test_count(self):
        self.assertEqual([page_count([0] * n, 2) for n in range(4)], [1, 1, 1, 2])


if __name__ == "__main__":
    unittest.main()

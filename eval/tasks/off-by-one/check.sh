python3 -m unittest -q test_pages && [ "$(grep -c 'def test_' test_pages.py)" -ge 2 ] && python3 - <<'P'
from pages import page, page_count
for length in range(0, 12):
    entries = list(range(length))
    for size in range(1, 6):
        count = page_count(entries, size)
        assert count == max(1, -(-length // size)), (length, size, count)
        assert sum((page(entries, n, size) for n in range(1, count + 1)), []) == entries
        assert page(entries, count + 1, size) == []
P

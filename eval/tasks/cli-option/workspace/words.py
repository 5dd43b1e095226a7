"""Counts the words of a file."""
import argparse
import collections
import re


def count(text):
    return collections.Counter(re.findall(r"[a-z']+", text.lower()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--most", type=int, default=None, metavar="N", help="only the N most frequent")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        counts = count(file.read())
    for word, number in counts.most_common(options.most):
        print(f"{number:5} {word}")


if __name__ == "__main__":
    main()

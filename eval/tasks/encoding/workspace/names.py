import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


if __name__ == "__main__":
    for name in sorted(set(read(sys.argv[1] if len(sys.argv) > 1 else "export.txt"))):
        if name:
            sys.stdout.buffer.write(f"{name}\n".encode())

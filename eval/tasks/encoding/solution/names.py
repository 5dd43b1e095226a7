import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.splitlines()


if __name__ == "__main__":
    for name in sorted(set(read(sys.argv[1] if len(sys.argv) > 1 else "export.txt"))):
        if name:
            sys.stdout.buffer.write(f"{name}\n".encode())

"""Packs a corpus of the target `run` into the one file that tests read, and unpacks it into start corpora of both targets.

An input is a line `%%%% N`, where N is its first byte, and then its text.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKED = os.path.join(HERE, "..", "tests", "ptx", "corpus.txt")


def pack(folder):
    inputs = []
    for name in sorted(os.listdir(folder)):
        data = open(os.path.join(folder, name), "rb").read()
        try:
            text = data[1:].decode()
        except UnicodeDecodeError:
            continue
        # Control characters would make the file a binary one.
        if data and "%%%%" not in text and all(c in "\n\t" or c.isprintable() for c in text):
            inputs.append((data[0], text))
    with open(PACKED, "w", newline="\n") as out:
        for first, text in sorted(inputs, key=lambda i: (len(i[1]), i)):
            out.write(f"%%%% {first}\n{text}\n")
    print(len(inputs), "inputs")


def unpack():
    for target in ("load", "run"):
        os.makedirs(os.path.join(HERE, "corpus", target), exist_ok=True)
    for number, item in enumerate(open(PACKED, newline="\n").read().split("%%%% ")[1:]):
        first, text = item.split("\n", 1)
        text = text[:-1].encode()
        open(os.path.join(HERE, "corpus", "load", f"kept-{number}"), "wb").write(text)
        open(os.path.join(HERE, "corpus", "run", f"kept-{number}"), "wb").write(bytes([int(first)]) + text)


if sys.argv[1:] == ["unpack"]:
    unpack()
elif len(sys.argv) == 3 and sys.argv[1] == "pack":
    pack(sys.argv[2])
else:
    sys.exit(__doc__)

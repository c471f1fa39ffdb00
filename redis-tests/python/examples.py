"""The Python examples of each page (their lines after >>>) as a program, for a type checker:
examples.py <directory> <page>...

Of pages that use the package: what redis-py's own types leave open is not its to say.
"""

import doctest
import os
import sys


def pieces(text):
    for block in text.split("```python\n")[1:]:
        block = block.split("```")[0]
        if ">>>" in block:
            for example in doctest.DocTestParser().get_examples(block):
                yield example.source
        else:
            yield block + "\n"


for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        text = file.read()
    if "import tupled" not in text and "from tupled" not in text:
        continue
    program = os.path.splitext(os.path.basename(name))[0].lower().replace("-", "_") + ".py"
    with open(os.path.join(sys.argv[1], program), "w", encoding="utf-8") as file:
        file.writelines(pieces(text))

"""The Python examples of pages (their lines after >>>) as one program, for a type checker: examples.py <page>...

Of pages that use the package: what redis-py's own types leave open is not its to say.
"""

import doctest
import sys

for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        text = file.read()
    if "import tupled" not in text and "from tupled" not in text:
        continue
    for block in text.split("```python\n")[1:]:
        block = block.split("```")[0]
        if ">>>" not in block:
            print(block)
            continue
        for example in doctest.DocTestParser().get_examples(block):
            print(example.source, end="")

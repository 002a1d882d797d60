import json
import sys
from newsfork import Frontier


def show(page):
    print(json.dumps({"url": page.url, "title": page.title}), flush=True)


Frontier(country="sg", until_idle="--until-idle" in sys.argv).run(show)

"""Builds a template of three slow steps, and prints each message and at last how the build ended, as lines of JSON."""

import json
import os

from e2b import Template

name = os.environ["TEMPLATE_NAME"]


def tell(**what):
    print(json.dumps(what), flush=True)


template = Template().from_base_image()
for number in range(3):
    template = template.run_cmd(f"sleep 4; echo {number} of {name} >> /home/user/steps")
try:
    Template.build(template, name, cpu_count=1, on_build_logs=lambda entry: tell(message=entry.message))
    tell(end="ready")
except Exception as error:
    tell(end=repr(error))

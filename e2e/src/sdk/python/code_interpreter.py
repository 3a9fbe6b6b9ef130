"""The stock `e2b-code-interpreter` client against the template `code-interpreter-v1`."""

import unittest

from e2b_code_interpreter import Sandbox
from e2b_code_interpreter.charts import ChartType


class Code(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(timeout=300)
        cls.addClassCleanup(cls.sandbox.kill)

    def test_run_code_keeps_state_and_prints(self):
        self.sandbox.run_code("x = 41")
        printed = []
        execution = self.sandbox.run_code("print('at work')\nx + 1", on_stdout=lambda line: printed.append(line.line))
        self.assertEqual(execution.text, "42")
        self.assertEqual("".join(execution.logs.stdout), "at work\n")
        self.assertEqual("".join(printed), "at work\n")

    def test_a_pause_keeps_the_kernel(self):
        sandbox = Sandbox.create(timeout=300)
        self.addCleanup(sandbox.kill)
        sandbox.run_code("import random\nkept = random.random()\nopened = open('/tmp/opened', 'w')")
        before = sandbox.run_code("kept").text
        sandbox.pause()
        sandbox.connect()
        self.assertEqual(sandbox.run_code("kept").text, before)
        self.assertEqual(sandbox.run_code("opened.write('four')").text, "4")

    def test_errors_are_reported(self):
        error = self.sandbox.run_code("1 / 0").error
        self.assertEqual((error.name, error.value), ("ZeroDivisionError", "division by zero"))

    def test_pictures_are_results(self):
        execution = self.sandbox.run_code("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        self.assertEqual(execution.results[0].png[:8], "iVBORw0K")

    def test_charts_and_tables_are_data(self):
        chart = self.sandbox.run_code("import matplotlib.pyplot as plt\nplt.bar(['x'], [3])\nplt.show()").results[0].chart
        self.assertEqual(chart.type, ChartType.BAR)
        self.assertEqual([(one.label, one.value) for one in chart.elements], [("x", 3)])
        table = self.sandbox.run_code("import pandas as pd\npd.DataFrame({'n': [1, 2]})").results[0]
        self.assertEqual(table.data, {"n": [1, 2]})

    def test_contexts(self):
        context = self.sandbox.create_code_context(cwd="/tmp")
        self.sandbox.run_code("apart = 1", context=context)
        self.assertEqual(self.sandbox.run_code("apart").error.name, "NameError")
        self.assertIn(context.id, [one.id for one in self.sandbox.list_code_contexts()])
        self.sandbox.restart_code_context(context)
        self.assertEqual(self.sandbox.run_code("apart", context=context).error.name, "NameError")
        self.sandbox.remove_code_context(context)
        self.assertNotIn(context.id, [one.id for one in self.sandbox.list_code_contexts()])

    def test_other_languages(self):
        for language, code, text in (
            ("javascript", "const { size } = new Set([1, 2])\nawait size", "2"),
            ("typescript", "const size: number = 3\nsize", "3"),
        ):
            self.assertEqual(self.sandbox.run_code(code, language=language).text, text)
        self.assertEqual(self.sandbox.run_code("echo $((2 + 2))", language="bash").logs.stdout, ["4\n"])
        error = self.sandbox.run_code("null.x", language="js").error
        self.assertEqual((error.name, error.value), ("TypeError", "Cannot read properties of null (reading 'x')"))
        context = self.sandbox.create_code_context(language="ts", cwd="/tmp")
        self.assertEqual((context.language, context.cwd), ("typescript", "/tmp"))
        with self.assertRaisesRegex(Exception, "kernel for 'java' is not in this image"):
            self.sandbox.run_code("1", language="java")

    def test_envs_and_files(self):
        code = "import os\nprint(os.environ['ONE'], open('f.txt').read())"
        self.sandbox.files.write("f.txt", "two")
        self.assertEqual("".join(self.sandbox.run_code(code, envs={"ONE": "1"}).logs.stdout), "1 two\n")

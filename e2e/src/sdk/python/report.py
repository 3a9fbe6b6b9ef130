"""Runs the tests of a module and prints a line of JSON for each: its name and its error."""

import importlib
import json
import sys
import unittest


class Lines(unittest.TestResult):
    def tell(self, test, error=None):
        if isinstance(test, unittest.TestCase):
            print(json.dumps({"name": test._testMethodName, "error": error}), flush=True)
        else:
            print(json.dumps({"name": str(test), "error": error}), flush=True)

    def addSuccess(self, test):
        self.tell(test)

    def addError(self, test, err):
        self.tell(test, self._exc_info_to_string(err, test))

    addFailure = addError

    def addSkip(self, test, reason):
        self.tell(test, f"skipped: {reason}")


module = importlib.import_module(sys.argv[1])
unittest.defaultTestLoader.loadTestsFromModule(module).run(Lines())

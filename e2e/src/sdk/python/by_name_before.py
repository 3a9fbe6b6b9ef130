"""The previous major version of the stock `e2b` client, which supports domain mode only."""

import os
import unittest

from e2b import CommandExitException, Sandbox
from e2b.sandbox.sandbox_api import SandboxQuery

OPTIONS = {"proxy": os.environ["PROXY"]}
METADATA = {"client": f"older-python-{os.getpid()}"}


class Before(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox("base", timeout=300, metadata=METADATA, envs={"ONE": "1"}, **OPTIONS)
        cls.addClassCleanup(cls.sandbox.kill)

    def test_commands(self):
        seen = []
        result = self.sandbox.commands.run("whoami; echo $ONE", on_stdout=seen.append)
        self.assertEqual((result.stdout, "".join(seen)), ("user\n1\n", "user\n1\n"))
        with self.assertRaises(CommandExitException):
            self.sandbox.commands.run("exit 3")
        handle = self.sandbox.commands.run("read x; echo got $x", background=True)
        self.assertIn(handle.pid, [process.pid for process in self.sandbox.commands.list()])
        self.sandbox.commands.send_stdin(handle.pid, "it\n")
        self.assertEqual(handle.wait().stdout, "got it\n")

    def test_files(self):
        files = self.sandbox.files
        files.make_dir("older")
        files.write("older/a.txt", "text")
        self.assertEqual(files.read("older/a.txt"), "text")
        self.assertEqual([entry.name for entry in files.list("older")], ["a.txt"])
        files.remove("older/a.txt")
        self.assertFalse(files.exists("older/a.txt"))

    def test_connect_list_info_and_timeout(self):
        other = Sandbox.connect(self.sandbox.sandbox_id, **OPTIONS)
        self.assertEqual(other.commands.run("echo there").stdout, "there\n")
        self.assertTrue(self.sandbox.is_running())
        self.sandbox.set_timeout(3600)
        info = self.sandbox.get_info()
        self.assertEqual((info.template_id, info.metadata), ("base", METADATA))
        listed = Sandbox.list(query=SandboxQuery(metadata=METADATA), **OPTIONS)
        self.assertEqual([one.sandbox_id for one in listed], [self.sandbox.sandbox_id])

    def test_kill(self):
        gone = Sandbox("base", timeout=300, **OPTIONS)
        self.assertTrue(Sandbox.kill(gone.sandbox_id, **OPTIONS))
        self.assertFalse(Sandbox.kill(gone.sandbox_id, **OPTIONS))
        self.assertFalse(gone.is_running())

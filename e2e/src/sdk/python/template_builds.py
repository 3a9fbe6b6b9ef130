"""Template builds by the stock `e2b` client for Python."""

import os
import pathlib
import re
import tempfile
import traceback
import unittest

import httpx
from e2b import Sandbox, Template, wait_for_file
from e2b.exceptions import BuildException

RUN = str(os.getpid())
NAME = f"e2e-python-{RUN}"
STEPS = 17
FAILS = "echo why >&2; exit 7"


def name_of(what):
    return f"{NAME}-{what}"


def delete_template(name):
    headers = {"X-API-Key": os.environ["E2B_API_KEY"]}
    httpx.delete(f"{os.environ['E2B_API_URL']}/templates/{name}", headers=headers)


def build(template, name):
    """The messages of the client and of the build."""
    messages = []
    Template.build(template, name, cpu_count=1, on_build_logs=lambda entry: messages.append(entry.message))
    return messages


def steps(messages):
    """The lines that name the steps of a build."""
    return [message for message in messages if re.match(r"(CACHED )?\[builder \d+/\d+\] ", message)]


def fill(folder):
    (folder / "tree" / "deep").mkdir(parents=True)
    for path, content in {
        "empty.txt": "",
        "words.txt": RUN,
        "a name.txt": "spaced",
        "tree/deep/two.txt": "two",
        "a.conf": "a",
        "b.conf": "b",
        "hello": "#!/bin/sh\necho hello\n",
    }.items():
        (folder / path).write_text(content)
        (folder / path).chmod(0o640)
    (folder / "hello").chmod(0o755)
    (folder / "link").symlink_to("words.txt")


def every_step(folder):
    return (
        Template(file_context_path=folder)
        .from_base_image()
        .set_envs({"FIRST": RUN})
        .copy("empty.txt", "copied/empty.txt")
        .copy("tree", "/srv/tree", user="root", mode=0o750)
        .copy_items([{"src": "link", "dest": "/srv/link"}, {"src": "a name.txt", "dest": "spaced/"}])
        .copy("link", "/srv/resolved", resolve_symlinks=True, gzip=False)
        .copy("*.conf", "/srv/conf")
        .copy("hello", "/usr/local/bin/hello", user="root")
        .set_envs({"SECOND": "$FIRST and more"})
        .run_cmd('printf "%s" "$SECOND" > environment')
        .run_cmd(["cd /srv", "id -un > who"], user="root")
        .make_dir("made", mode=0o700)
        .make_symlink("made", "to-made")
        .rename("copied/empty.txt", "copied/renamed.txt")
        .remove("/srv/conf/b.conf", user="root")
        .set_user("ana")
        .set_workdir("/work")
        .set_start_cmd("touch /tmp/up; exec sleep infinity", wait_for_file("/tmp/up"))
    )


FILES = """
-rw-r----- user:user '/home/user/copied/renamed.txt'
-rwxr-x--- root:root '/srv/tree/deep/two.txt'
lrwxrwxrwx user:user '/srv/link' -> 'words.txt'
-rw-r----- user:user '/srv/resolved'
-rw-r----- user:user '/home/user/spaced/a name.txt'
-rw-r----- user:user '/srv/conf/a.conf'
-rwxr-xr-x root:root '/usr/local/bin/hello'
drwx------ user:user '/home/user/made'
lrwxrwxrwx user:user '/home/user/to-made' -> 'made'
drwxr-xr-x ana:ana '/work'
""".strip()


class TemplateBuilds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        fill(cls.folder)
        cls.addClassCleanup(delete_template, NAME)
        cls.first = build(every_step(cls.folder), NAME)
        cls.sandbox = Sandbox.create(NAME, timeout=300)
        cls.addClassCleanup(cls.sandbox.kill)

    def sh(self, command, user="root"):
        return self.sandbox.commands.run(command, user=user).stdout

    def test_runs_every_step(self):
        self.assertEqual([line.startswith("CACHED ") for line in steps(self.first)], [False] * STEPS)
        self.assertTrue(Template.exists(NAME))
        self.assertFalse(Template.exists(name_of("no")))

    def test_files_have_the_owners_rights_and_links_of_the_calls(self):
        paths = " ".join("'" + line.split("'")[1] + "'" for line in FILES.splitlines())
        self.assertEqual(self.sh(f"stat -c '%A %U:%G %N' {paths}").strip(), FILES)
        content = self.sh("cat /srv/resolved /home/user/environment /srv/who; ls /srv/conf")
        self.assertEqual(content, f"{RUN}{RUN} and moreroot\na.conf\n")

    def test_sandboxes_have_the_last_user_and_directory_and_the_process(self):
        result = self.sandbox.commands.run('id -un; pwd; echo "[$FIRST]"; ps -o user= -C sleep | sort -u')
        self.assertEqual(result.stdout.split()[:3], ["ana", "/work", "[]"])
        self.assertIn("ana", result.stdout.split()[3:])

    def test_comes_from_the_cache_when_it_is_built_again(self):
        again = build(every_step(self.folder), NAME)
        self.assertEqual([line.startswith("CACHED ") for line in steps(again)], [True] * STEPS)
        self.assertFalse([message for message in again if message.startswith("Uploaded ")])

    def test_a_failing_third_step_is_traced_to_the_third_call(self):
        failing = (
            Template()
            .from_base_image()
            .run_cmd("true")
            .run_cmd("echo second")
            .run_cmd(FAILS)
            .run_cmd("echo fourth")
        )
        name = name_of("failing")
        self.addCleanup(delete_template, name)
        # assertRaises would take the trace away.
        try:
            build(failing, name)
            self.fail("the build did not fail")
        except BuildException as error:
            self.assertEqual(str(error), f"failed to run command '{FAILS}': exit status 7")
            trace = traceback.extract_tb(error.__traceback__)
        self.assertIn(".run_cmd(FAILS)", [frame.line for frame in trace if frame.filename == __file__])

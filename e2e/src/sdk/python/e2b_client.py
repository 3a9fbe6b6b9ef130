"""The stock `e2b` client for Python with a real installation. Keys and URLs come from the environment."""

import asyncio
import os
import unittest

import httpx
from contents import until
from e2b import (
    AsyncSandbox,
    AuthenticationException,
    CommandExitException,
    FileNotFoundException,
    FileType,
    PtySize,
    Sandbox,
    SandboxNotFoundException,
    SandboxQuery,
    SandboxState,
    TimeoutException,
)

RUN = f"python-{os.getpid()}"


class Lifecycle(unittest.TestCase):
    def new(self, **options):
        sandbox = Sandbox.create("base", timeout=options.pop("timeout", 300), **options)
        self.addCleanup(sandbox.kill)
        return sandbox

    def test_create_get_info_and_kill(self):
        metadata = {"run": RUN, "odd key/=&": "a b%c+d"}
        sandbox = self.new(metadata=metadata, envs={"GREETING": "hello there"})
        self.assertEqual(sandbox.commands.run('echo "$GREETING"').stdout, "hello there\n")
        info = sandbox.get_info()
        self.assertEqual(info.metadata, metadata)
        self.assertEqual((info.sandbox_id, info.template_id), (sandbox.sandbox_id, "base"))
        self.assertEqual(info.state, SandboxState.RUNNING)
        self.assertIsInstance(sandbox.get_metrics(), list)
        self.assertTrue(sandbox.is_running())
        self.assertTrue(sandbox.kill())
        self.assertFalse(sandbox.kill())
        self.assertFalse(sandbox.is_running())
        with self.assertRaises(SandboxNotFoundException):
            sandbox.get_info()

    def test_set_timeout_and_connect(self):
        sandbox = self.new()
        before = sandbox.get_info().end_at
        sandbox.set_timeout(3600)
        after = sandbox.get_info().end_at
        self.assertGreater((after - before).total_seconds(), 3000)
        sandbox.files.write("note.txt", "from the first")
        other = Sandbox.connect(sandbox.sandbox_id, timeout=10)
        self.assertEqual(other.files.read("note.txt"), "from the first")
        self.assertEqual(sandbox.get_info().end_at, after)

    def test_list_with_pages_and_filters(self):
        metadata = {"run": RUN, "list": "a b%c=d&e+f"}
        ids = {self.new(metadata=metadata).sandbox_id for _ in range(2)}
        pages = Sandbox.list(query=SandboxQuery(metadata=metadata, state=[SandboxState.RUNNING]), limit=1)
        found = []
        while pages.has_next:
            page = pages.next_items()
            self.assertLessEqual(len(page), 1)
            found += [info.sandbox_id for info in page]
        self.assertEqual(sorted(found), sorted(ids))
        none = Sandbox.list(query=SandboxQuery(metadata=metadata, state=[SandboxState.PAUSED]))
        self.assertEqual(none.next_items(), [])

    def test_pause_and_connect(self):
        sandbox = self.new(envs={"KEPT": "yes"})
        self.assertTrue(sandbox.pause())
        self.assertFalse(sandbox.pause())
        self.assertEqual(sandbox.get_info().state, SandboxState.PAUSED)
        self.assertFalse(sandbox.is_running())
        self.assertEqual(sandbox.connect().commands.run('echo "$KEPT"').stdout, "yes\n")

    def test_auto_pause_and_auto_resume(self):
        sandbox = self.new(timeout=3, lifecycle={"on_timeout": "pause", "auto_resume": True})
        until(lambda: sandbox.get_info().state == SandboxState.PAUSED)
        self.assertEqual(sandbox.commands.run("echo awake").stdout, "awake\n")
        self.assertEqual(sandbox.get_info().state, SandboxState.RUNNING)

    def test_idempotency_key(self):
        key = f"{RUN}-once"
        first = self.new(idempotency_key=key)
        again = Sandbox.create("base", timeout=300, idempotency_key=key)
        self.assertEqual(again.sandbox_id, first.sandbox_id)

    def test_wrong_key(self):
        with self.assertRaises(AuthenticationException):
            Sandbox.create("base", api_key="e2b_" + "0" * 40)

    def test_other_tenant(self):
        sandbox = self.new()
        stranger = {"api_key": os.environ["E2B_API_KEY_2"]}
        self.assertFalse(Sandbox.kill(sandbox.sandbox_id, **stranger))
        with self.assertRaises(SandboxNotFoundException):
            Sandbox.connect(sandbox.sandbox_id, **stranger)
        self.assertTrue(sandbox.is_running())


class Inside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create("base", timeout=300)
        cls.addClassCleanup(cls.sandbox.kill)
        cls.commands, cls.files = cls.sandbox.commands, cls.sandbox.files

    def test_run_with_callbacks_user_cwd_and_envs(self):
        out, err = [], []
        result = self.commands.run(
            'echo "$(whoami) $(pwd) $ONE"; echo bad >&2',
            envs={"ONE": "1"},
            cwd="/tmp",
            user="root",
            on_stdout=out.append,
            on_stderr=err.append,
        )
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("root /tmp 1\n", "bad\n", 0))
        self.assertEqual(("".join(out), "".join(err)), ("root /tmp 1\n", "bad\n"))

    def test_failure_and_timeout(self):
        with self.assertRaises(CommandExitException) as failure:
            self.commands.run("echo half; exit 7")
        self.assertEqual((failure.exception.exit_code, failure.exception.stdout), (7, "half\n"))
        with self.assertRaises(TimeoutException):
            self.commands.run("sleep 4322", timeout=1)

    def test_background_list_connect_and_kill(self):
        handle = self.commands.run("sleep 1234", background=True)
        self.assertIn(handle.pid, [process.pid for process in self.commands.list()])
        handle.disconnect()
        again = self.commands.connect(handle.pid)
        self.assertTrue(self.commands.kill(handle.pid))
        with self.assertRaises(CommandExitException):
            again.wait()
        self.assertFalse(self.commands.kill(handle.pid))

    def test_stdin_by_parts_and_by_stream(self):
        handle = self.commands.run("cat", background=True, stdin=True)
        self.commands.send_stdin(handle.pid, "one\n")
        self.commands.stream_input(handle.pid, ["two\n", b"three\n"])
        self.commands.close_stdin(handle.pid)
        self.assertEqual(handle.wait().stdout, "one\ntwo\nthree\n")

    def test_pty(self):
        screen = bytearray()
        terminal = self.sandbox.pty.create(PtySize(rows=25, cols=90), cwd="/tmp")
        self.sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=120))
        self.sandbox.pty.send_stdin(terminal.pid, b"stty size; pwd\n")
        self.sandbox.pty.stream_input(terminal.pid, [b"exit 5\n"])
        with self.assertRaises(CommandExitException) as end:
            terminal.wait(on_pty=screen.extend)
        self.assertEqual(end.exception.exit_code, 5)
        self.assertIn(b"40 120", screen)

    def test_files_in_all_formats(self):
        data = bytes(range(256)) * 2000
        for name, more in {"plain": {}, "gzip": {"gzip": True}, "octets": {"use_octet_stream": True}}.items():
            written = self.files.write(f"formats/{name}", data, **more)
            self.assertEqual(written.path, f"/home/user/formats/{name}")
            self.assertEqual(bytes(self.files.read(written.path, format="bytes")), data)
            self.assertEqual(b"".join(self.files.read(written.path, format="stream")), data)
            self.assertEqual(bytes(self.files.read(written.path, format="bytes", gzip=True)), data)
        self.files.write("formats/text", "zażółć")
        self.assertEqual(self.files.read("formats/text"), "zażółć")
        many = self.files.write_files([{"path": "many/1", "data": "1"}, {"path": "many/deep/2", "data": b"2"}])
        self.assertEqual([one.path for one in many], ["/home/user/many/1", "/home/user/many/deep/2"])
        self.assertEqual(self.files.read("many/deep/2"), "2")

    def test_tree_of_files(self):
        self.assertTrue(self.files.make_dir("tree/sub"))
        self.assertFalse(self.files.make_dir("tree/sub"))
        self.files.write("tree/a.txt", "abc")
        listed = {entry.name: entry for entry in self.files.list("tree")}
        self.assertEqual(sorted(listed), ["a.txt", "sub"])
        self.assertEqual((listed["a.txt"].type, listed["a.txt"].size), (FileType.FILE, 3))
        self.assertEqual(listed["sub"].type, FileType.DIR)
        self.assertEqual(self.files.rename("tree/a.txt", "tree/b.txt").path, "/home/user/tree/b.txt")
        self.assertFalse(self.files.exists("tree/a.txt"))
        self.assertEqual(self.files.get_info("tree/b.txt").owner, "user")
        self.files.remove("tree")
        with self.assertRaises(FileNotFoundException):
            self.files.read("tree/b.txt")

    def test_watch_dir(self):
        self.files.make_dir("watched")
        watch = self.files.watch_dir("watched", recursive=True)
        self.files.write("watched/seen.txt", "x")
        names = []
        until(lambda: names.extend(event.name for event in watch.get_new_events()) or "seen.txt" in names)
        watch.stop()

    def test_port_by_the_host_of_get_host(self):
        self.files.write("site/index.html", "served")
        server = self.commands.run("python3 -m http.server 8000 --directory site", background=True, timeout=0)
        headers = {"Host": self.sandbox.get_host(8000)}
        url = os.environ["SANDLOT_GATEWAY_URL"]
        answer = until(lambda: (got := httpx.get(url, headers=headers)).status_code == 200 and got)
        self.assertEqual(answer.text, "served")
        server.kill()

    def test_git(self):
        git = self.sandbox.git
        git.init("/home/user/repo", initial_branch="main")
        git.configure_user("Ana", "ana@example.com")
        self.files.write("repo/a.txt", "1")
        git.add("/home/user/repo")
        git.commit("/home/user/repo", "first")
        self.assertTrue(git.status("/home/user/repo").is_clean)
        self.assertEqual(git.branches("/home/user/repo").current_branch, "main")


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_async_commands_files_and_watch(self):
        sandbox = await AsyncSandbox.create("base", timeout=300)
        try:
            seen = asyncio.Event()
            await sandbox.files.make_dir("watched")
            watch = await sandbox.files.watch_dir("watched", lambda event: seen.set())
            handle = await sandbox.commands.run("cat > watched/out", background=True, stdin=True)
            await sandbox.commands.send_stdin(handle.pid, "typed")
            await sandbox.commands.close_stdin(handle.pid)
            self.assertEqual((await handle.wait()).exit_code, 0)
            await asyncio.wait_for(seen.wait(), 60)
            await watch.stop()
            self.assertEqual(await sandbox.files.read("watched/out"), "typed")
            results = await asyncio.gather(*(sandbox.commands.run(f"echo {n}") for n in range(10)))
            self.assertEqual([result.stdout for result in results], [f"{n}\n" for n in range(10)])
        finally:
            self.assertTrue(await sandbox.kill())

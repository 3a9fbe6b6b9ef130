"""The kernel for JavaScript and TypeScript: `javascript/kernel.mjs` in Node, over pipes with lines of JSON."""

import asyncio
import codecs
import contextlib
import json
import os
import signal

from lines import error_of, number_of, output_of, result_of

NODE = os.environ.get("CODE_INTERPRETER_NODE", "/usr/local/bin/node")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "javascript", "kernel.mjs")
READ_BYTES = 65_536
LONGEST_REPLY_BYTES = 256 * 1024 * 1024
START_SECONDS = 60


class Output:
    """Passes on what the process and its children write to one file descriptor."""

    def __init__(self, name):
        self.name = name
        self.tell = None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        asyncio.get_running_loop().add_reader(self.reader, self.drain)

    def drain(self):
        """Reads all that is there, so that no output of a cell comes after its end."""
        while self.reader is not None:
            try:
                data = os.read(self.reader, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            text = self.decoder.decode(data)
            if text and self.tell is not None:
                self.tell(output_of(self.name, text))

    def close(self):
        if self.reader is not None:
            asyncio.get_running_loop().remove_reader(self.reader)
            os.close(self.reader)
            self.reader = None


class NodeKernel:
    def __init__(self, language):
        self.language = language
        self.process = None

    async def start(self, cwd):
        self.cwd = cwd
        self.outputs = [Output("stdout"), Output("stderr")]
        requests, self.requests = os.pipe()
        replies, replies_end = os.pipe()
        try:
            self.process = await asyncio.create_subprocess_exec(
                *(NODE, "--disable-warning=ExperimentalWarning", PROGRAM, self.language, str(requests), str(replies_end)),
                cwd=cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self.outputs[0].writer,
                stderr=self.outputs[1].writer,
                pass_fds=(requests, replies_end),
                start_new_session=True,
            )
        finally:
            for end in (requests, replies_end, *(output.writer for output in self.outputs)):
                os.close(end)
        self.replies = asyncio.StreamReader(limit=LONGEST_REPLY_BYTES)
        self.transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self.replies), os.fdopen(replies, "rb", 0)
        )
        if "ready" not in (await asyncio.wait_for(self.receive(), START_SECONDS) or {}):
            raise RuntimeError("the kernel ended while it started")

    async def receive(self):
        """Returns the next message, or None after the end of the kernel, or when it breaks the protocol."""
        try:
            return json.loads(await self.replies.readline())
        except ValueError:
            return None

    async def send(self, request):
        data = (json.dumps(request) + "\n").encode()
        # A cell may be longer than a pipe, and the kernel busy.
        await asyncio.get_running_loop().run_in_executor(None, write_all, self.requests, data)

    async def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        self.transport.close()
        os.close(self.requests)
        for output in self.outputs:
            output.close()

    async def restart(self):
        await self.stop()
        await self.start(self.cwd)

    async def interrupt(self):
        with contextlib.suppress(OSError):
            await self.send({"interrupt": True})

    async def run(self, code, variables, tell):
        """Passes the lines of an execution to `tell`. Returns False if the kernel died."""
        for output in self.outputs:
            output.drain()
            output.tell = tell
        try:
            await self.send({"code": code, "variables": variables})
            return await self.follow(tell)
        except OSError:
            return False
        finally:
            for output in self.outputs:
                output.tell = None

    async def follow(self, tell):
        while (message := await self.receive()) is not None:
            for output in self.outputs:
                output.drain()
            if "started" in message:
                tell(number_of(message["started"]))
            elif "text" in message:
                tell(result_of({"text/plain": message["text"]}, True))
            elif "error" in message:
                tell(error_of(**message["error"]))
            elif "idle" in message:
                return True
        return False


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]

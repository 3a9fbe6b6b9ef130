"""Serves Python kernels over HTTP, as the code interpreter's client libraries expect on port 49999.

A context is one IPython kernel, which runs one execution at a time. The response streams an execution as lines of JSON. A
client that disconnects interrupts it. Contexts live as long as this process, so a pause of the sandbox ends them.
"""

import asyncio
import json
import os
import sys
import uuid
from datetime import datetime, timezone

import tornado.httpclient
import tornado.web
from jupyter_client.manager import AsyncKernelManager

PORT = int(os.environ.get("CODE_INTERPRETER_PORT", "49999"))
ENVS_URL = "http://127.0.0.1:49983/envs"
HOME = "/home/user"
KEEPALIVE_SECONDS = 5
START_SECONDS = 60

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "application/vnd.sandlot.chart+json": "chart",
    "application/vnd.sandlot.table+json": "data",
}

KERNEL_ARGUMENTS = ["--IPKernelApp.extra_extensions=sandlot_charts"]

SET_VARIABLES = """
import os as _sandlot_os
_sandlot_before = {_name: _sandlot_os.environ.get(_name) for _name in %(variables)r}
_sandlot_os.environ.update(%(variables)r)
"""

RESTORE_VARIABLES = """
for _name, _value in _sandlot_before.items():
    if _value is None:
        _sandlot_os.environ.pop(_name, None)
    else:
        _sandlot_os.environ[_name] = _value
del _sandlot_before, _sandlot_os, _name, _value
"""


class Refused(Exception):
    """Rejects a request with this HTTP status and message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def timestamp():
    return datetime.now(timezone.utc).isoformat()


def unquoted(text):
    """Removes the pair of quotes from the representation of a string."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def result_of(data, is_main):
    """Converts a result to the clients' format. MIME types without their own field go to `extra`."""
    result = {"type": "result", "is_main_result": is_main}
    extra = {}
    for mime, value in data.items():
        field = FIELDS.get(mime)
        if field is None:
            extra[mime] = value
        elif isinstance(value, list):
            result[field] = "".join(value)
        else:
            result[field] = value
    if "text" in result:
        result["text"] = unquoted(result["text"])
    if extra:
        result["extra"] = extra
    return result


def line_of(message):
    """Converts a message of the kernel to a line of the response, or None if clients do not need it."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        return {"type": content["name"], "text": content["text"], "timestamp": timestamp()}
    if kind in ("display_data", "update_display_data"):
        return result_of(content["data"], False)
    if kind == "execute_result":
        return result_of(content["data"], True)
    if kind == "execute_input":
        return {"type": "number_of_executions", "execution_count": content["execution_count"]}
    if kind == "error":
        traceback = "\n".join(content["traceback"])
        return {"type": "error", "name": content["ename"], "value": content["evalue"], "traceback": traceback}
    return None


class Context:
    """One kernel. `run` passes the lines of an execution to `tell`. Executions wait for one another."""

    def __init__(self, language, cwd):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self.turn = asyncio.Lock()
        self.manager = AsyncKernelManager(kernel_name="python3")
        self.client = None

    def describe(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def start(self):
        env = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        await self.manager.start_kernel(cwd=self.cwd, env=env, extra_arguments=KERNEL_ARGUMENTS)
        await self.connect()

    async def connect(self):
        if self.client is not None:
            self.client.stop_channels()
        self.client = self.manager.client()
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=START_SECONDS)

    async def restart(self):
        await self.manager.restart_kernel(now=True)
        await self.connect()

    async def stop(self):
        if self.client is not None:
            self.client.stop_channels()
        await self.manager.shutdown_kernel(now=True)

    async def interrupt(self):
        await self.manager.interrupt_kernel()

    async def run(self, code, variables, tell):
        async with self.turn:
            if variables:
                await self.execute(SET_VARIABLES % {"variables": variables}, silent=True)
            try:
                await self.execute(code, tell)
            finally:
                if variables and await self.manager.is_alive():
                    await self.execute(RESTORE_VARIABLES, silent=True)

    async def execute(self, code, tell=None, silent=False):
        """Runs code to its end. If the kernel dies, reports that and restarts it for the next execution."""
        request = self.client.execute(code, silent=silent, store_history=not silent, allow_stdin=False)
        while True:
            try:
                message = await self.client.get_iopub_msg(timeout=1)
            except Exception:  # the queue was empty for a second
                if await self.manager.is_alive():
                    continue
                if tell is not None:
                    tell({"type": "unexpected_end_of_execution"})
                await self.restart()
                return
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            line = line_of(message)
            if line is not None and tell is not None:
                tell(line)


class Contexts:
    """The contexts of this sandbox. The default one, for executions without a context id, exists from the start."""

    def __init__(self):
        self.all = {}
        self.default = None

    async def create(self, language, cwd):
        if language not in ("python", None):
            raise Refused(400, f"language '{language}' is not supported by this image; it has python")
        if not os.path.isdir(cwd):
            raise Refused(400, f"cwd '{cwd}' does not exist")
        context = Context("python", cwd)
        await context.start()
        self.all[context.id] = context
        return context

    async def start(self):
        self.default = await self.create("python", HOME if os.path.isdir(HOME) else os.getcwd())

    def named(self, name):
        context = self.all.get(name)
        if context is None:
            raise Refused(404, f"Context {name} not found")
        return context

    async def wanted(self, name, language):
        if name and language:
            raise Refused(400, "Only one of context_id or language can be provided")
        if name:
            return self.named(name)
        if language not in ("python", None):
            raise Refused(400, f"language '{language}' is not supported by this image; it has python")
        if self.default.id not in self.all:
            await self.start()
        return self.default


class Handler(tornado.web.RequestHandler):
    def initialize(self, contexts):
        self.contexts = contexts

    def body(self):
        try:
            body = json.loads(self.request.body or b"{}")
        except ValueError:
            raise Refused(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refused(400, "the body is not a JSON object")
        return body

    def answer(self, value):
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def write_error(self, status_code, **kwargs):
        error = kwargs.get("exc_info", (None, None, None))[1]
        self.set_status(error.status if isinstance(error, Refused) else status_code)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(str(error) if error is not None else self._reason)

    def log_exception(self, typ, value, tb):
        if not isinstance(value, Refused):
            super().log_exception(typ, value, tb)


class Health(Handler):
    def get(self):
        self.answer("OK")


class ContextList(Handler):
    def get(self):
        self.answer([context.describe() for context in self.contexts.all.values()])

    async def post(self):
        body = self.body()
        context = await self.contexts.create(body.get("language") or "python", body.get("cwd") or HOME)
        self.answer(context.describe())


class ContextItem(Handler):
    async def delete(self, name):
        context = self.contexts.named(name)
        del self.contexts.all[name]
        await context.stop()
        self.answer(None)


class ContextRestart(Handler):
    async def post(self, name):
        await self.contexts.named(name).restart()
        self.answer(None)


class Execute(Handler):
    context = None
    running = None

    async def post(self):
        body = self.body()
        code = body.get("code")
        if not isinstance(code, str):
            raise Refused(400, "code is missing")
        context = await self.contexts.wanted(body.get("context_id"), body.get("language"))
        # Sends the headers at once: clients wait for them only as long as for any other response.
        self.set_header("Content-Type", "application/x-ndjson")
        await self.flush()
        variables = {**await self.global_variables(), **(body.get("env_vars") or {})}
        lines = asyncio.Queue()
        self.context = context
        self.running = asyncio.ensure_future(context.run(code, variables, lines.put_nowait))
        self.running.add_done_callback(lambda _: lines.put_nowait(None))
        await self.tell(lines)

    async def tell(self, lines):
        while True:
            try:
                line = await asyncio.wait_for(lines.get(), KEEPALIVE_SECONDS)
            except asyncio.TimeoutError:
                line = {"type": "keepalive"}
            if line is None:
                break
            await self.say(line)
        if self.running.exception() is not None:
            print(f"execution failed: {self.running.exception()!r}", file=sys.stderr)
            await self.say({"type": "unexpected_end_of_execution"})
        await self.say({"type": "end_of_execution"})

    async def say(self, line):
        self.write(json.dumps(line) + "\n")
        await self.flush()

    def on_connection_close(self):
        super().on_connection_close()
        if self.running is not None and not self.running.done():
            asyncio.ensure_future(self.context.interrupt())

    async def global_variables(self):
        """Returns the sandbox's variables from its daemon, or none if there is no daemon."""
        token = self.request.headers.get("X-Access-Token")
        headers = {} if token is None else {"X-Access-Token": token}
        try:
            client = tornado.httpclient.AsyncHTTPClient()
            answer = await client.fetch(ENVS_URL, headers=headers, request_timeout=2)
            return {str(name): str(value) for name, value in json.loads(answer.body).items()}
        except Exception:
            return {}


async def main():
    contexts = Contexts()
    await contexts.start()
    parts = {"contexts": contexts}
    application = tornado.web.Application(
        [
            ("/health", Health, parts),
            ("/contexts", ContextList, parts),
            ("/contexts/([^/]+)", ContextItem, parts),
            ("/contexts/([^/]+)/restart", ContextRestart, parts),
            ("/execute", Execute, parts),
        ],
        log_function=lambda handler: None,
    )
    application.listen(PORT, idle_connection_timeout=3600)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

"""Serves kernels over HTTP, as the code interpreter's client libraries expect on port 49999.

The response streams an execution as lines of JSON. A client that disconnects interrupts it. Contexts live as long as this
process, so a pause of the sandbox that does not keep memory ends them.
"""

import asyncio
import json
import os
import sys

import tornado.httpclient
import tornado.iostream
import tornado.web

from contexts import HOME, Contexts, Refused
from variables import SHELL_NAME

PORT = int(os.environ.get("CODE_INTERPRETER_PORT", "49999"))
ENVS_URL = "http://127.0.0.1:49983/envs"
KEEPALIVE_SECONDS = 5


def read_variables(given):
    """Returns the variables of a request. No process can have one with a `=` in its name, or with a zero byte."""
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Refused(400, "env_vars is not an object of strings")
    for name, value in given.items():
        if name == "" or "=" in name or "\0" in name + value:
            raise Refused(400, f"env_vars: {name!r} cannot be a variable")
    return given


def refuse_foreign_names(given, language):
    for name in given:
        if language == "bash" and not SHELL_NAME.fullmatch(name):
            raise Refused(400, f"env_vars: {name!r} cannot be a variable of bash")


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

    def text(self, name):
        """Returns a field of the body, or None."""
        value = self.body().get(name)
        if value is not None and not isinstance(value, str):
            raise Refused(400, f"{name} is not a string")
        return value

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
        language, cwd = self.text("language"), self.text("cwd")
        context = await self.contexts.create(language or "python", cwd or HOME)
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
        own = read_variables(body.get("env_vars") or {})
        context = await self.contexts.wanted(self.text("context_id"), self.text("language"))
        refuse_foreign_names(own, context.language)
        # Sends the headers at once: clients wait for them only as long as for any other response.
        self.set_header("Content-Type", "application/x-ndjson")
        await self.flush()
        variables = {**await self.global_variables(), **own}
        lines = asyncio.Queue()
        self.context = context
        self.running = asyncio.ensure_future(context.run(code, variables, lines.put_nowait))
        self.running.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            await self.tell(lines)
        except tornado.iostream.StreamClosedError:
            # The client is gone; `on_connection_close` ends the execution.
            return

    async def tell(self, lines):
        while True:
            try:
                line = await asyncio.wait_for(lines.get(), KEEPALIVE_SECONDS)
            except asyncio.TimeoutError:
                line = {"type": "keepalive"}
            if line is None:
                break
            await self.say(line)
        if self.running.cancelled():
            return
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
            asyncio.ensure_future(self.context.abandon(self.running))

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

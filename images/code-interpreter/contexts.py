"""Contexts: a kernel each, with one execution at a time."""

import asyncio
import os
import uuid

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

import variables
from jupyter_kernel import JupyterKernel
from lines import error_of
from node_kernel import NODE, NodeKernel

HOME = "/home/user"
ALIASES = {"js": "javascript", "ts": "typescript"}
# Those that clients expect without having asked for them.
AT_START = ("python", "javascript")


class Refused(Exception):
    """Rejects a request with this HTTP status and message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def build_jupyter(name, build_cells, arguments=()):
    try:
        KernelSpecManager().get_kernel_spec(name)
    except NoSuchKernel:
        return None
    return JupyterKernel(name, build_cells, arguments)


def build_node(language):
    return NodeKernel(language) if os.path.exists(NODE) else None


# Each builds a kernel, or returns None if the image lacks it.
KERNELS = {
    "python": lambda: build_jupyter("python3", variables.python, ["--IPKernelApp.extra_extensions=sandlot_charts"]),
    "javascript": lambda: build_node("javascript"),
    "typescript": lambda: build_node("typescript"),
    "bash": lambda: build_jupyter("bash", variables.bash),
    "r": lambda: build_jupyter("ir", variables.r),
    "java": lambda: build_jupyter("java", variables.java),
}


def normalise(language):
    name = language.strip().lower()
    return ALIASES.get(name, name)


def build_kernel(language):
    kernel = KERNELS.get(language, lambda: None)()
    if kernel is None:
        raise Refused(500, f"Failed to create context: kernel for '{language}' is not in this image")
    return kernel


class Context:
    def __init__(self, language, cwd):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self.turn = asyncio.Lock()
        self.kernel = build_kernel(language)
        # The execution that the kernel runs, and what ends it when the kernel is restarted.
        self.active = None
        self.report_restart = None
        self.restarting = asyncio.Lock()
        self.is_stopped = False

    def describe(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def start(self):
        try:
            await self.kernel.start(self.cwd)
        except Exception as error:
            raise Refused(500, f"Failed to create context: {error}") from error

    async def restart(self):
        async with self.restarting:
            if self.is_stopped:
                return
            if self.report_restart is not None:
                self.report_restart()
            await self.kernel.restart()

    async def stop(self):
        async with self.restarting:
            self.is_stopped = True
            await self.kernel.stop()

    async def abandon(self, execution):
        """Ends an execution whose client is gone. One that waits for its turn must not interrupt the one before it."""
        if self.active is execution:
            await self.kernel.interrupt()
        else:
            execution.cancel()

    async def run(self, code, variables, tell):
        """Passes the lines of an execution to `tell`. A kernel that died is replaced for the next one."""
        async with self.turn:
            self.active = asyncio.current_task()
            restarted = asyncio.Event()
            self.report_restart = restarted.set
            tasks = [asyncio.ensure_future(work) for work in (self.kernel.run(code, variables, tell), restarted.wait())]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                self.report_restart = None
                if restarted.is_set():
                    tell(error_of("ContextRestarting", "Context was restarted"))
                elif not tasks[0].result():
                    tell({"type": "unexpected_end_of_execution"})
                    await self.restart()
            finally:
                self.active = self.report_restart = None
                for task in tasks:
                    task.cancel()
            # The next execution is for the new kernel.
            async with self.restarting:
                pass


class Contexts:
    """The contexts of this sandbox. Each language has a default one, for executions without a context id."""

    def __init__(self):
        self.all = {}
        self.defaults = {}
        self.locks = {}

    async def create(self, language, cwd):
        if not os.path.isdir(cwd):
            raise Refused(400, f"cwd '{cwd}' does not exist")
        context = Context(normalise(language), cwd)
        await context.start()
        self.all[context.id] = context
        return context

    async def start(self):
        await asyncio.gather(*(self.get_default(language) for language in AT_START if KERNELS[language]() is not None))

    async def get_default(self, language):
        async with self.locks.setdefault(language, asyncio.Lock()):
            context = self.defaults.get(language)
            if context is None or context.id not in self.all:
                context = await self.create(language, HOME if os.path.isdir(HOME) else os.getcwd())
                self.defaults[language] = context
            return context

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
        language = normalise(language or "python")
        if language not in KERNELS:
            build_kernel(language)
        return await self.get_default(language)

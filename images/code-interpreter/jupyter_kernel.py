"""A kernel that speaks the Jupyter protocol."""

import os

from jupyter_client.manager import AsyncKernelManager

from lines import line_of

START_SECONDS = 60


class JupyterKernel:
    """`build_cells` returns the cells that set variables and take them back."""

    def __init__(self, name, build_cells, arguments=()):
        self.manager = AsyncKernelManager(kernel_name=name)
        self.build_cells = build_cells
        self.arguments = list(arguments)
        self.client = None

    async def start(self, cwd):
        env = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
        await self.manager.start_kernel(cwd=cwd, env=env, extra_arguments=self.arguments)
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
        """Passes the lines of an execution to `tell`. Returns False if the kernel died."""
        if not variables:
            return await self.execute(code, tell)
        before, after = self.build_cells(variables)
        if not await self.execute(before, silent=True):
            return False
        return await self.execute(code, tell) and await self.execute(after, silent=True)

    async def execute(self, code, tell=None, silent=False):
        request = self.client.execute(code, silent=silent, store_history=not silent, allow_stdin=False)
        while True:
            try:
                message = await self.client.get_iopub_msg(timeout=1)
            except Exception:  # the queue was empty for a second
                if await self.manager.is_alive():
                    continue
                return False
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return True
            line = line_of(message)
            if line is not None and tell is not None:
                tell(line)

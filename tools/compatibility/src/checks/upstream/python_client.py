"""Prints what the installed `k8s-agent-sandbox` offers: methods with their optional parameters, and names, as JSON."""

import inspect
import json
import typing

import k8s_agent_sandbox as package
from k8s_agent_sandbox import async_sandbox, constants, extensions, models, sandbox
from k8s_agent_sandbox._proto.process.v1 import process_pb2
from k8s_agent_sandbox.commands import async_command_executor, command_executor
from k8s_agent_sandbox.files import async_filesystem, filesystem
from k8s_agent_sandbox.gke_extensions import snapshots
from k8s_agent_sandbox.gke_extensions.snapshots import sandbox_with_snapshot_support, snapshot_engine

CONFIGS = typing.get_args(models.SandboxConnectionConfig)
# By the name that users have for an object of the class.
CLASSES = {
    "SandboxClient": package.SandboxClient,
    "AsyncSandboxClient": package.AsyncSandboxClient,
    "Sandbox": sandbox.Sandbox,
    "AsyncSandbox": async_sandbox.AsyncSandbox,
    "Sandbox.commands": command_executor.CommandExecutor,
    "AsyncSandbox.commands": async_command_executor.AsyncCommandExecutor,
    "Sandbox.files": filesystem.Filesystem,
    "AsyncSandbox.files": async_filesystem.AsyncFilesystem,
    "SandboxWithComputerUseSupport": extensions.SandboxWithComputerUseSupport,
    "SandboxWithSnapshotSupport": sandbox_with_snapshot_support.SandboxWithSnapshotSupport,
    "SnapshotEngine": snapshot_engine.SnapshotEngine,
}


def list_options(function):
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is not inspect.Parameter.empty]


def list_methods(owner, kind):
    """The public methods and properties that the class itself declares, with the optional parameters of each."""
    methods = {owner: list_options(kind)}
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, staticmethod) else member
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        methods[f"{owner}.{name}"] = list_options(function) if inspect.isfunction(function) else []
    return methods


def list_exports(module):
    """The functions and classes that a package offers, but for errors and configurations."""
    members = [member for name, member in vars(module).items() if not name.startswith("_")]
    classes = [one for one in members if inspect.isclass(one) and not issubclass(one, Exception)]
    return [one.__name__ for one in classes + [one for one in members if inspect.isfunction(one)]]


methods = {}
for owner, kind in CLASSES.items():
    methods |= list_methods(owner, kind)
for config in CONFIGS:
    methods[config.__name__] = [name for name, field in config.model_fields.items() if not field.is_required()]
for module in (package, extensions, snapshots):
    for name in list_exports(module):
        methods.setdefault(name, [])

services = process_pb2.DESCRIPTOR.services_by_name.values()
calls = [f"{service.full_name}/{method.name}" for service in services for method in service.methods]
print(json.dumps({"methods": methods, "reasons": sorted(constants.TERMINAL_CLAIM_READY_REASONS), "calls": calls}))

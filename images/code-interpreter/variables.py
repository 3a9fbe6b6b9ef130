"""Code by which kernels set the variables of one execution and take them back: a pair of cells for each language."""

import json
import re
import shlex

SHELL_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def python(variables):
    before = f"""
import os as _sandlot_os
_sandlot_before = {{_name: _sandlot_os.environ.get(_name) for _name in {variables!r}}}
_sandlot_os.environ.update({variables!r})
"""
    after = """
for _name, _value in _sandlot_before.items():
    if _value is None:
        _sandlot_os.environ.pop(_name, None)
    else:
        _sandlot_os.environ[_name] = _value
del _sandlot_before, _sandlot_os, _name, _value
"""
    return before, after


def bash(variables):
    """Names that no shell can have, which the daemon or a client may send, are left out."""
    before, after = [], []
    for number, (name, value) in enumerate((pair for pair in variables.items() if SHELL_NAME.fullmatch(pair[0]))):
        kept = f"__sandlot_{number}"
        before.append(f"{kept}=${{{name}+x${name}}}; export {name}={shlex.quote(value)}")
        after.append(f'if [ -n "${kept}" ]; then {name}="${{{kept}#x}}"; else unset {name}; fi; unset {kept}')
    return "\n".join(before), "\n".join(after)


def r(variables):
    names = ", ".join(quoted_in_r(name) for name in variables)
    pairs = ", ".join(f"{quoted_in_r(name)} = {quoted_in_r(value)}" for name, value in variables.items())
    before = f".sandlot_before <- Sys.getenv(c({names}), unset = NA, names = TRUE); invisible(Sys.setenv({pairs}))"
    after = (
        "Sys.unsetenv(names(.sandlot_before)); .sandlot_before <- .sandlot_before[!is.na(.sandlot_before)]; "
        "if (length(.sandlot_before) > 0) do.call(Sys.setenv, as.list(.sandlot_before)); rm(.sandlot_before)"
    )
    return before, after


def quoted_in_r(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def java(variables):
    """System properties: a Java process cannot change its environment. JSON's strings are Java's."""
    keep = "".join(f"sandlotBefore.put({json.dumps(name)}, System.getProperty({json.dumps(name)})); " for name in variables)
    put = "".join(f"System.setProperty({json.dumps(name)}, {json.dumps(value)}); " for name, value in variables.items())
    before = f"var sandlotBefore = new java.util.HashMap<String, String>(); {{ {keep}{put}}}"
    after = (
        "sandlotBefore.forEach((name, value) -> { if (value == null) System.clearProperty(name); "
        "else System.setProperty(name, value); });"
    )
    return before, after

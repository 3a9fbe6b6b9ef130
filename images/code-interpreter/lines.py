"""The lines of a response: results, output and errors of kernels in the clients' format."""

from datetime import datetime, timezone

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


def output_of(name, text):
    return {"type": name, "text": text, "timestamp": datetime.now(timezone.utc).isoformat()}


def error_of(name, value, traceback=""):
    return {"type": "error", "name": name, "value": value, "traceback": traceback}


def number_of(count):
    return {"type": "number_of_executions", "execution_count": count}


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
    """Converts a message of a Jupyter kernel to a line of the response, or None if clients do not need it."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        return output_of(content["name"], content["text"])
    if kind in ("display_data", "update_display_data"):
        return result_of(content["data"], False)
    if kind == "execute_result":
        return result_of(content["data"], True)
    if kind == "execute_input":
        return number_of(content["execution_count"])
    if kind == "error":
        return error_of(content["ename"], content["evalue"], "\n".join(content["traceback"]))
    return None

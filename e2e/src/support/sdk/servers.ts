import type { Sandbox } from 'e2b';

/** The ports of the servers; the last one listens on loopback only. */
export const PORTS = { echo: 8000, events: 8001, sockets: 8002, loopback: 8003 } as const;

/** Four servers in a sandbox, with Python's standard library. */
const SERVERS = `
import base64, hashlib, json, os, socketserver, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"method": self.command, "path": self.path, "body": body.decode(), "host": self.headers["Host"],
                "names": sorted(name.lower() for name in self.headers)}
        data = json.dumps(told).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Own", "kept")
        self.end_headers()
        self.wfile.write(data)
    do_GET = do_PUT = do_POST = do_DELETE = answer

class Events(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: first\\n\\n")
        self.wfile.flush()
        while not os.path.exists("/tmp/go-on"):
            time.sleep(0.05)
        self.wfile.write(b"data: second\\n\\n")

class Sockets(socketserver.StreamRequestHandler):
    def handle(self):
        key = b""
        while (line := self.rfile.readline().strip()) != b"":
            if line.lower().startswith(b"sec-websocket-key:"):
                key = line.split(b":")[1].strip()
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                         b"Sec-WebSocket-Accept: " + accept + b"\\r\\n\\r\\n")
        while (head := self.rfile.read(2)):
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([head[0], len(data)]) + data)

def serve(kind, server, host, port):
    threading.Thread(target=kind((host, port), server).serve_forever).start()

socketserver.ThreadingTCPServer.allow_reuse_address = True
serve(ThreadingHTTPServer, Echo, "0.0.0.0", ${PORTS.echo})
serve(ThreadingHTTPServer, Events, "0.0.0.0", ${PORTS.events})
serve(socketserver.ThreadingTCPServer, Sockets, "0.0.0.0", ${PORTS.sockets})
serve(ThreadingHTTPServer, Echo, "127.0.0.1", ${PORTS.loopback})
print("up", flush=True)
`;

/** Starts the servers in the sandbox and waits until they listen. */
export async function startServers(sandbox: Sandbox): Promise<void> {
  await sandbox.files.write('servers.py', SERVERS);
  const { promise: up, resolve } = Promise.withResolvers<undefined>();
  await sandbox.commands.run('exec python3 servers.py', {
    background: true,
    timeoutMs: 0,
    onStdout: () => {
      resolve(undefined);
    },
  });
  await up;
}

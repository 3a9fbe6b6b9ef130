/**
 * The thread that reads requests, because the main thread is busy while a cell runs. It passes them on, and stops a cell that
 * does not give way: code that never returns to the event loop.
 */
import { Session } from 'node:inspector/promises';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

/** How long a cell that waits has to be abandoned by the main thread, before V8 is asked to end what it executes. */
const GIVES_WAY_MS = 300;

const session = new Session();
session.connectToMainThread();

let abandoned = Promise.withResolvers();
parentPort.on('message', () => abandoned.resolve(true));

async function interrupt() {
  abandoned = Promise.withResolvers();
  parentPort.postMessage({ interrupt: true });
  if (!(await Promise.race([abandoned.promise, sleep(GIVES_WAY_MS, false)])))
    await session.post('Runtime.terminateExecution');
}

for await (const line of createInterface({ input: new Socket({ fd: workerData.requests, writable: false }) })) {
  const request = JSON.parse(line);
  if (request.interrupt) await interrupt();
  else parentPort.postMessage(request);
}
// The server is gone, and with it everyone who could want a result.
process.kill(process.pid, 'SIGKILL');

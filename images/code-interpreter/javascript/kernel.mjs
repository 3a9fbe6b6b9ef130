/**
 * A kernel for JavaScript and TypeScript: `node kernel.mjs LANGUAGE REQUESTS REPLIES`, the last two being file descriptors
 * with lines of JSON. Requests are `{code, variables}` and `{interrupt}`; replies `{ready}`, `{started}`, `{text}`, `{error}`
 * and, last of a cell, `{idle}`. V8's mode for consoles keeps declarations from cell to cell and lets a cell await.
 */
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { inspect } from 'node:util';
import { compileFunction, constants } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { importer, rewriteImports } from './imports.mjs';

const [language, requests, replies] = process.argv.splice(2);

class Interrupted extends Error {
  name = 'Interrupted';
  message = 'The execution was interrupted';
}

const session = new Session();
session.connect();
/** Formats values where the inspector calls it: a value may have code of its own for that, which never ends. */
const presenter = {
  shown: undefined,
  showValue: (value) => (presenter.shown = value === undefined ? undefined : { text: inspect(value) }),
  showError: (error) => (presenter.shown = { error: formatError(error) }),
};
const presenterId = await lend(presenter);
let cell;
let count = 0;

function reply(message) {
  writeSync(Number(replies), `${JSON.stringify(message)}\n`);
}

/** Returns the inspector's id of an object of this thread. */
async function lend(value) {
  globalThis.__lent = value;
  const { result } = await session.post('Runtime.evaluate', { expression: '__lent' });
  delete globalThis.__lent;
  return result.objectId;
}

/** Returns what `method` of the presenter makes of the value that the inspector describes. */
async function present(method, { objectId, unserializableValue, value }) {
  const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
  const functionDeclaration = `function (value) { this.${method}(value); }`;
  const call = { objectId: presenterId, functionDeclaration, arguments: [argument] };
  const { exceptionDetails } = await post('Runtime.callFunctionOn', call);
  if (objectId) await post('Runtime.releaseObject', { objectId });
  if (exceptionDetails === undefined) return presenter.shown;
  const traceback = String(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return { error: { name: 'Error', value: 'The value cannot be shown', traceback } };
}

/** Runs code in the inspector, which alone survives that V8 ends it. */
function post(method, parameters) {
  return session.post(method, parameters).catch(() => Promise.reject(new Interrupted()));
}

function removeTypes(code) {
  try {
    return stripTypeScriptTypes(code);
  } catch (error) {
    // Enums and parameter properties need code of their own; only then the text is made anew.
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw buildSyntaxError(error);
    return stripTypeScriptTypes(code, { mode: 'transform' });
  }
}

function buildSyntaxError({ message }) {
  const error = new SyntaxError(message);
  error.stack = `SyntaxError: ${message}`;
  return error;
}

/** Returns what to reply about a cell: `{text}`, `{error}`, or nothing. */
async function evaluate(code) {
  const expression = rewriteImports(language === 'typescript' ? removeTypes(code) : code);
  const answer = await post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true });
  return present(answer.exceptionDetails === undefined ? 'showValue' : 'showError', answer.result);
}

function formatError(error) {
  if (!(error instanceof Error))
    return { name: 'Uncaught', value: inspect(error), traceback: `Uncaught ${inspect(error)}` };
  const [own = ''] = inspect(error).split(/\n +at Session\.post \(node:inspector/u);
  // Code may give an error any name, and the server needs text.
  return { name: String(error.name), value: String(error.message), traceback: own };
}

function setVariables(variables) {
  const before = Object.keys(variables).map((name) => [name, process.env[name]]);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

/** Writes what a cell printed before its result. */
async function flush() {
  for (const stream of [process.stdout, process.stderr]) await new Promise((done) => stream.write('', done));
}

async function run({ code, variables }) {
  count += 1;
  reply({ started: count });
  const restore = setVariables(variables);
  const stopped = Promise.withResolvers();
  cell = { stop: () => stopped.reject(new Interrupted()) };
  try {
    const result = await Promise.race([evaluate(code), stopped.promise]);
    await flush();
    if (result !== undefined) reply(result);
  } catch (error) {
    await flush();
    reply({ error: formatError(error) });
  } finally {
    cell = undefined;
    restore();
    reply({ idle: true });
  }
}

const folder = process.cwd();
const options = {
  filename: join(folder, 'cell.mjs'),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
};
const importFromCell = compileFunction('return import(source, options);', ['source', 'options'], options);
Object.defineProperty(globalThis, importer, { value: importFromCell });
globalThis.require = createRequire(join(folder, 'cell.cjs'));

// Errors of timers and forgotten promises belong to no cell. They must not end the kernel, and the variables in it.
process.on('uncaughtException', (error) => console.error(formatError(error).traceback));
process.on('unhandledRejection', (error) => console.error(formatError(error).traceback));

const control = new Worker(new URL('control.mjs', import.meta.url), { workerData: { requests: Number(requests) } });
control.on('message', (request) => {
  if (!request.interrupt) return void run(request);
  control.postMessage('abandoned');
  cell?.stop();
});
await new Promise((resolve) => control.once('online', resolve));
reply({ ready: true });

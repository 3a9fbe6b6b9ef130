// `helm test`: makes a claim as a user would, waits until it is served, runs a command in its sandbox through the gateway,
// and removes everything. Node runs this file as it is, so it uses nothing but Node.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const { NAMESPACE = '', NAME = '', IMAGE: image = '', KUBE_URL = '', TOKEN_FILE = '', GATEWAY_URL = '', TIMEOUT_SECONDS = '120' } = process.env;
const PERIOD_MS = 500;
const API = `${KUBE_URL}/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${NAMESPACE}`;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

interface Claim {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly sandbox?: { readonly name?: string } };
}

const template = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxTemplate',
  metadata: { name: NAME },
  spec: {
    runtime: { inject: true },
    podTemplate: {
      spec: {
        terminationGracePeriodSeconds: 0,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'box',
            image,
            command: ['sleep', 'infinity'],
            resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '128Mi' } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    },
  },
};
const claim = {
  apiVersion: template.apiVersion,
  kind: 'SandboxClaim',
  metadata: { name: NAME },
  spec: { sandboxTemplateRef: { name: NAME }, warmpool: 'none' },
};

const deadline = AbortSignal.timeout(Number(TIMEOUT_SECONDS) * 1_000);

async function ask(method: string, url: string, body?: unknown): Promise<Response> {
  const headers = { Authorization: `Bearer ${(await readFile(TOKEN_FILE, 'utf8')).trim()}`, 'Content-Type': 'application/json' };
  return fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
}

/** Asks until an answer is given. A refused connection is one that a NetworkPolicy does not admit yet. */
async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
  let last = '';
  while (!deadline.aborted) {
    const found = await find().catch((error: unknown) => {
      last = error instanceof Error ? error.message : String(error);
      return undefined;
    });
    if (found !== undefined) return found;
    await sleep(PERIOD_MS);
  }
  throw new Error(`${what}: not within ${TIMEOUT_SECONDS} s${last === '' ? '' : `; ${last}`}`);
}

async function create(plural: string, object: object): Promise<void> {
  const answer = await ask('POST', `${API}/${plural}`, object);
  if (!answer.ok) throw new Error(`the API server refused the ${plural}: ${answer.status} ${await answer.text()}`);
}

async function remove(): Promise<void> {
  for (const plural of ['sandboxclaims', 'sandboxtemplates'])
    await until(`${plural} ${NAME} is gone`, async () => ((await ask('DELETE', `${API}/${plural}/${NAME}`)).status === 404 ? true : undefined));
}

async function waitForSandbox(): Promise<string> {
  return until('the claim is Ready', async () => {
    const { status } = (await (await ask('GET', `${API}/sandboxclaims/${NAME}`)).json()) as Claim;
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True' && status?.sandbox?.name !== undefined) return status.sandbox.name;
    throw new Error(ready?.message ?? 'the claim has no condition: is the claim-controller running?');
  });
}

async function execute(sandbox: string): Promise<string> {
  return until('the command runs', async () => {
    const answer = await fetch(`${GATEWAY_URL}/execute`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${(await readFile(TOKEN_FILE, 'utf8')).trim()}`,
        'Content-Type': 'application/json',
        'X-Sandbox-ID': sandbox,
        'X-Sandbox-Namespace': NAMESPACE,
      },
      body: JSON.stringify({ command: 'echo $((6 * 7))' }),
      signal: AbortSignal.timeout(30_000),
    });
    if (answer.status !== 200) throw new Error(`the gateway answered ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { readonly stdout: string }).stdout.trim();
  });
}

await remove();
try {
  await create('sandboxtemplates', template);
  await create('sandboxclaims', claim);
  const sandbox = await waitForSandbox();
  console.log(`The claim ${NAMESPACE}/${NAME} got the sandbox ${sandbox}.`);
  if (GATEWAY_URL === '') console.log('No command: the gateway is off, or takes no Kubernetes tokens.');
  else {
    const printed = await execute(sandbox);
    if (printed !== '42') throw new Error(`the command printed ${JSON.stringify(printed)} instead of 42`);
    console.log('A command ran in it through the gateway.');
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await remove();
}

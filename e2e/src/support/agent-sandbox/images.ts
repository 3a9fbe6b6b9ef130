import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries, ensureWheels, findAgentSandboxModule } from '@sandlot/local-cluster';
import { runKubectlOrFail } from '../kubectl.ts';
import { findCluster } from '../nodes/second-node.ts';
import { TENANT } from '../sdk/objects.ts';

const run = promisify(execFile);

/** Of the base image, and of the image that agent-sandbox publishes. */
const PYTHON_VERSION = '3.11';
/** What the image installs for the work of its users, and its server does without. */
const NOT_OF_SERVER =
  /^(joblib|lightgbm|numpy|pandas|python-dateutil|pytz|scikit-learn|scipy|six|threadpoolctl|tzdata)==/;

/** One layer and the command of an image. */
interface Image {
  readonly base: string;
  readonly name: string;
  readonly entrypoint: string;
  readonly flags?: readonly string[];
  /** Writes the files of the layer into a folder, which is the root. */
  readonly fill: (root: string) => Promise<void>;
}

/**
 * Puts the images of agent-sandbox's end-to-end suite into the local registry, which stands for all others: the program of the local
 * cluster that waits as `registry.k8s.io/pause:3.10`, and the runtime for Python of agent-sandbox on the Debian of our sandboxes.
 */
export async function publishImages(): Promise<void> {
  const host = (await findCluster()).registry?.host ?? '';
  await publish({
    base: `${host}/library/busybox:latest`,
    name: `${host}/pause:3.10`,
    entrypoint: '/pause',
    fill: async (root) => copyFile((await ensureBinaries(['pause']))('pause'), join(root, 'pause')),
  });
  await publish({
    base: (await readBaseImage()).replace(/^[^/]+/, host),
    name: `${host}/python-runtime-sandbox:latest`,
    entrypoint: 'python3,-m,uvicorn,main:app,--host,0.0.0.0,--port,8888',
    flags: ['--workdir', '/app', '--user', '1000', '--env', 'PYTHONPATH=/app/packages'],
    fill: fillPythonRuntime,
  });
}

/** The image with Python that the template `base` of the first tenant names. */
const readBaseImage = (): Promise<string> =>
  runKubectlOrFail([
    ...['--namespace', TENANT, 'get', 'sandboxtemplate', 'base'],
    ...['--output', 'jsonpath={.spec.podTemplate.spec.containers[0].image}'],
  ]);

async function publish({ base, name, entrypoint, flags = [], fill }: Image): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-image-'));
  const [root, layer] = [join(folder.path, 'root'), join(folder.path, 'layer.tar')];
  await mkdir(root);
  await fill(root);
  await run('tar', ['--create', '--file', layer, '--directory', root, '--owner=0', '--group=0', '.']);
  const crane = (await ensureBinaries(['crane']))('crane');
  await run(crane, ['append', '--insecure', '--base', base, '--new_layer', layer, '--new_tag', name]);
  await run(crane, ['mutate', '--insecure', '--entrypoint', entrypoint, ...flags, '--tag', name, name]);
}

/** The program and the packages of agent-sandbox's runtime for Python, as its Dockerfile has them. */
async function fillPythonRuntime(root: string): Promise<void> {
  const sources = join(await findAgentSandboxModule(), 'examples/python-runtime-sandbox');
  const [app, packages] = [join(root, 'app'), join(root, 'app/packages')];
  await mkdir(packages, { recursive: true });
  await copyFile(join(sources, 'main.py'), join(app, 'main.py'));
  const requirements = join(root, '..', 'requirements.txt');
  await writeFile(requirements, selectServer(await readFile(join(sources, 'requirements.txt'), 'utf8')));
  const wheels = await ensureWheels(requirements, PYTHON_VERSION);
  for (const name of await readdir(wheels)) {
    await run('python3', ['-m', 'zipfile', '--extract', join(wheels, name), packages]);
  }
}

/** The requirements of the server, each with the hashes that follow it. */
function selectServer(text: string): string {
  const requirements = text.split(/^(?=[a-z])/m).filter((requirement) => /^[a-z]/.test(requirement));
  return requirements.filter((requirement) => !NOT_OF_SERVER.test(requirement)).join('');
}

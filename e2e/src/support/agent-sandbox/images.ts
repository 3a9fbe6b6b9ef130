import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries, ensureWheels, findAgentSandboxModule } from '@sandlot/local-cluster';
import { findRegistry, findSandboxBase, publishImage, unpackWheels } from '../images/publish.ts';

/** Of the base image, and of the image that agent-sandbox publishes. */
const PYTHON_VERSION = '3.11';
/** What the image installs for the work of its users, and its server does without. */
const NOT_OF_SERVER =
  /^(joblib|lightgbm|numpy|pandas|python-dateutil|pytz|scikit-learn|scipy|six|threadpoolctl|tzdata)==/;

/**
 * Puts the images of agent-sandbox's end-to-end suite into the local registry, which stands for all others: the program of the local
 * cluster that waits as `registry.k8s.io/pause:3.10`, and the runtime for Python of agent-sandbox on the Debian of our sandboxes.
 */
export async function publishImages(): Promise<void> {
  const host = await findRegistry();
  await publishImage({
    base: `${host}/library/busybox:latest`,
    name: `${host}/pause:3.10`,
    entrypoint: '/pause',
    fill: async (root) => copyFile((await ensureBinaries(['pause']))('pause'), join(root, 'pause')),
  });
  await publishImage({
    base: await findSandboxBase(),
    name: `${host}/python-runtime-sandbox:latest`,
    entrypoint: 'python3,-m,uvicorn,main:app,--host,0.0.0.0,--port,8888',
    flags: ['--workdir', '/app', '--user', '1000', '--env', 'PYTHONPATH=/app/packages'],
    fill: fillPythonRuntime,
  });
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
  await unpackWheels(wheels, packages);
}

/** The requirements of the server, each with the hashes that follow it. */
function selectServer(text: string): string {
  const requirements = text.split(/^(?=[a-z])/m).filter((requirement) => /^[a-z]/.test(requirement));
  return requirements.filter((requirement) => !NOT_OF_SERVER.test(requirement)).join('');
}

import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, withHibernation } from './chart.ts';
import type { ContainerSpec, PodTemplate, Rendered } from './chart.ts';

const NODE = 'sandlot-node';
const REMOVER = 'sandlot-node-remover';

interface InstallerContainer extends ContainerSpec {
  readonly args: readonly string[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: true }[];
}

interface NodeSpec {
  readonly initContainers?: readonly InstallerContainer[];
  readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string; readonly type: string } }[];
}

/** Values with the installer and these settings of it. */
const withInstaller = (installer: object = {}, node: object = {}): object => ({
  ...withHibernation,
  hibernation: { enabled: true, installer: { enabled: true, ...installer }, node },
});

const remove = (installer: object = {}): object => ({ hibernation: { installer: { remove: true, ...installer } } });

function getPod(objects: readonly Rendered[], name: string): PodTemplate {
  const [, pod] = podTemplates(objects).find(([workload]) => workload === name) ?? [];
  if (pod === undefined) throw new Error(`no workload ${name}`);
  return pod;
}

function getInstaller(pod: PodTemplate): InstallerContainer {
  const [container] = (pod.spec as unknown as NodeSpec).initContainers ?? [];
  if (container === undefined) throw new Error('no installer');
  return container;
}

/** What a container may reach of its node, as "path", or "path (read-only)". */
function listHostPaths(pod: PodTemplate, container: Pick<InstallerContainer, 'volumeMounts'>): readonly string[] {
  const { volumes } = pod.spec as unknown as NodeSpec;
  return container.volumeMounts.flatMap(({ name, mountPath, readOnly }) => {
    const path = volumes.find((volume) => volume.name === name)?.hostPath?.path;
    if (path === undefined) return [];
    expect(mountPath).toBe(path);
    return [readOnly === true ? `${path} (read-only)` : path];
  });
}

describe('the installer of gVisor', () => {
  it('is off by default, also with hibernation', async () => {
    for (const values of [{}, withHibernation]) {
      expect(JSON.stringify(await render(values))).not.toMatch(/node-installer|RuntimeClass"|\/opt\/sandlot/);
    }
  });

  it('installs before the node component starts, which then uses the runsc that the shim uses', async () => {
    const pod = getPod(await render(withInstaller()), NODE);
    const installer = getInstaller(pod);
    expect(installer.image).toContain('/node-installer:');
    expect(installer.args).toEqual([
      'install',
      '-folder=/opt/sandlot/gvisor',
      '-handler=sandlot-gvisor',
      '-runsc-root=/run/containerd/runsc/k8s.io',
      '-containerd-config=/etc/containerd/config.toml',
      '-containerd-drop-ins=/etc/containerd/conf.d',
      '-containerd-socket=/run/containerd/containerd.sock',
      '-add-import=false',
    ]);
    const [agent] = pod.spec.containers as unknown as readonly InstallerContainer[];
    expect(agent?.args).toContain('-runsc=/opt/sandlot/gvisor/current/runsc');
    expect(agent?.args).toContain('-runsc-root=/run/containerd/runsc/k8s.io');
    expect(agent?.volumeMounts).toContainEqual({ name: 'gvisor', mountPath: '/opt/sandlot/gvisor', readOnly: true });
  });

  it('is root of its container without a capability, and reaches these paths of the node', async () => {
    const pod = getPod(await render(withInstaller()), NODE);
    const installer = getInstaller(pod);
    expect(installer.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    });
    for (const field of ['hostPID', 'hostNetwork', 'hostIPC']) expect(pod.spec).not.toHaveProperty(field);
    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false });
    expect(listHostPaths(pod, installer)).toEqual([
      '/opt/sandlot/gvisor',
      '/run/containerd/runsc/k8s.io (read-only)',
      '/etc/containerd (read-only)',
      '/etc/containerd/conf.d',
      '/run/containerd (read-only)',
    ]);
  });

  it('gives the node component nothing of what only the installer needs', async () => {
    const pod = getPod(await render(withInstaller({ restartContainerd: true, containerd: { addImport: true } })), NODE);
    const [agent] = pod.spec.containers as unknown as readonly InstallerContainer[];
    expect(listHostPaths(pod, { volumeMounts: agent?.volumeMounts ?? [] })).toEqual([
      '/var/lib/sandlot/snapshots',
      '/var/lib/sandlot/node',
      '/run/sandlot',
      '/opt/sandlot/gvisor (read-only)',
      '/run/containerd/runsc/k8s.io',
    ]);
  });

  it('reaches systemd, and writes the configuration of containerd, only if the values allow it', async () => {
    const containerd = { addImport: true, unit: 'k3s.service' };
    const pod = getPod(await render(withInstaller({ restartContainerd: true, containerd })), NODE);
    const installer = getInstaller(pod);
    expect(installer.args).toEqual(expect.arrayContaining(['-add-import=true', '-restart=k3s.service']));
    expect(listHostPaths(pod, installer)).toEqual(expect.arrayContaining(['/etc/containerd', '/run/systemd/private']));
    const { volumes } = pod.spec as unknown as NodeSpec;
    expect(volumes).toContainEqual({ name: 'systemd', hostPath: { path: '/run/systemd/private', type: 'Socket' } });
  });

  it('mounts a folder of containerd once that has more than one of its files', async () => {
    const containerd = { config: '/run/k/c.toml', dropIns: '/run/k', socket: '/run/k/c.sock' };
    const pod = getPod(await render(withInstaller({ containerd })), NODE);
    expect(listHostPaths(pod, getInstaller(pod)).filter((path) => path.startsWith('/run/k'))).toEqual(['/run/k']);
  });

  it.each<readonly [string, object, string]>([
    ['the node component is off', { hibernation: { installer: { enabled: true } } }, 'set hibernation.enabled as well'],
    ['the shim would ask elsewhere than the node component listens', withInstaller({}, { socketFolder: '/run/else' }), 'leave the default'],
    ['the shim would keep state elsewhere than the node component looks', withInstaller({}, { runscRoot: '/run/runsc' }), 'a folder k8s.io'],
    ['it would replace the runtime of all Pods', withInstaller({ handler: 'runc' }), '/hibernation/installer/handler'],
    ['it would install onto the whole disk', withInstaller({ folder: '/' }), '/hibernation/installer/folder'],
    ['it would restart something else than a service', withInstaller({ containerd: { unit: 'reboot.target' } }), '/hibernation/installer/containerd/unit'],
    ['it would remove what the node component needs', withInstaller({ enabled: false, remove: true }), 'turn hibernation.enabled'],
    ['it would remove what it installs', remove({ enabled: true }), 'set hibernation.enabled as well'],
  ])('is refused with a message if %s', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

describe('the RuntimeClass', () => {
  const placement = {
    nodeSelector: { 'example.com/sandboxes': 'true' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  };

  it('sends its Pods to the nodes of the node component, with the overhead of gVisor', async () => {
    expect(find(await render(withInstaller({}, placement)), 'RuntimeClass', 'sandlot-gvisor')).toMatchObject({
      handler: 'sandlot-gvisor',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: placement,
    });
  });

  it('names no nodes where the node component runs on all', async () => {
    const values = withInstaller({ runtimeClassName: 'gvisor', handler: 'runsc', overhead: { memory: '96Mi', cpu: '10m' } });
    const found = find(await render(values), 'RuntimeClass', 'gvisor');
    expect(found).toMatchObject({ handler: 'runsc', overhead: { podFixed: { memory: '96Mi', cpu: '10m' } } });
    expect(found).not.toHaveProperty('scheduling');
  });
});

/** The Pods that the restricted Pod Security Standard refuses, and why they are as they are. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  [NODE]: 'runsc keeps its state and its sockets for root alone, and what the installer writes has to be of root',
  [REMOVER]: 'it removes files of root',
};

describe('the restricted Pod Security Standard', () => {
  it.each([
    ['the installer', withInstaller({ restartContainerd: true }), [NODE]],
    ['the removal', remove({ restartContainerd: true }), [REMOVER]],
  ])('has these exceptions with %s, by their user and folders of the node alone', async (_, values, expected) => {
    const special = podTemplates(await render(values)).filter(([, { spec }]) =>
      /"hostPath"|"runAsUser":0|"runAsNonRoot":false/.test(JSON.stringify(spec)),
    );
    expect(special.map(([name]) => name)).toEqual(expected);
    for (const [name, { spec }] of special) {
      expect(EXCEPTIONS).toHaveProperty(name);
      expect(JSON.stringify(spec)).not.toMatch(/privileged|hostPID|hostNetwork|hostIPC|"add":|Unconfined/);
    }
  });
});

describe('the removal of gVisor', () => {
  it('is a DaemonSet on the same nodes, whose Pods are Ready when nothing is left', async () => {
    const values = { hibernation: { installer: { remove: true }, node: { nodeSelector: { 'example.com/sandboxes': 'true' } } } };
    const objects = await render(values);
    const pod = getPod(objects, REMOVER);
    expect(pod.spec).toMatchObject({ nodeSelector: { 'example.com/sandboxes': 'true' }, automountServiceAccountToken: false });
    expect(getInstaller(pod).args).toContain('remove');
    const [rest] = pod.spec.containers as unknown as readonly InstallerContainer[];
    expect(rest).toMatchObject({ args: ['rest'] });
    expect(rest).not.toHaveProperty('volumeMounts');
    expect(find(objects, 'ServiceAccount', REMOVER)).toMatchObject({ automountServiceAccountToken: false });
    expect(objects.filter(({ kind }) => kind === 'RuntimeClass')).toEqual([]);
  });

  it('has no more rights than the installation', async () => {
    const installer = { restartContainerd: true, containerd: { addImport: true } };
    const installing = getPod(await render(withInstaller(installer)), NODE);
    const removing = getPod(await render(remove(installer)), REMOVER);
    expect(listHostPaths(removing, getInstaller(removing))).toEqual(listHostPaths(installing, getInstaller(installing)));
    expect(getInstaller(removing).securityContext).toEqual(getInstaller(installing).securityContext);
    expect(removing.spec.securityContext).toEqual(installing.spec.securityContext);
  });
});

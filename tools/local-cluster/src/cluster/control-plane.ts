import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from '../binaries/ensure.ts';
import {
  listApiServerFlags,
  apiServiceIp,
  auditPolicy,
  listControllerManagerFlags,
  listEtcdFlags,
  listSchedulerFlags,
} from '../components/flags.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import type { CertificateRequest } from '../pki.ts';
import { issueCertificates } from '../pki.ts';
import type { ClusterChoices } from './choices.ts';
import type { Component } from './component.ts';
import { ensureComponent } from './component.ts';
import type { ClusterPaths } from './paths.ts';

/** What every component needs to start. */
export interface ClusterContext {
  paths: ClusterPaths;
  choices: ClusterChoices;
  bin: Binaries;
}

/** The settings in which the real node's control plane and the simulated one differ. */
export interface ControlPlanePlan {
  /** Where the API server listens and what it advertises to pods. */
  address: string;
  certificates: readonly CertificateRequest[];
  apiServerFlags: readonly string[];
}

/** Returns the URL of the API server. */
export function formatServerUrl(context: ClusterContext, address: string): string {
  return `https://${address}:${context.choices.ports.apiserver}`;
}

/** Returns the path of a component's kubeconfig. */
export function formatComponentKubeconfig(paths: ClusterPaths, certificate: string): string {
  return join(paths.pki, `${certificate}.kubeconfig`);
}

/** Issues certificates, starts etcd, API server, controller-manager and scheduler, and waits until all are healthy. */
export async function ensureControlPlane(context: ClusterContext, plan: ControlPlanePlan): Promise<void> {
  const { paths, choices } = context;
  await ensureCertificates(context, plan);
  const auditPolicyFile = join(paths.controlPlane, 'audit-policy.json');
  await mkdir(paths.controlPlane, { recursive: true, mode: 0o700 });
  await mkdir(paths.logs, { recursive: true });
  await writeFile(auditPolicyFile, auditPolicy);
  await ensureComponent(paths, buildEtcd(context));
  await ensureComponent(paths, {
    name: 'kube-apiserver',
    cwd: paths.controlPlane,
    argv: [
      context.bin('kube'),
      ...listApiServerFlags({
        pkiDir: paths.pki,
        port: choices.ports.apiserver,
        bindAddress: plan.address,
        audit: { policyFile: auditPolicyFile, logFile: paths.auditLog },
        serviceAccountAdmission: true,
        extra: plan.apiServerFlags,
      }),
    ],
    configuration: auditPolicy,
    probe: { kind: 'http', url: `${formatServerUrl(context, plan.address)}/readyz` },
  });
  await Promise.all([
    ensureComponent(paths, buildControllerManager(context)),
    ensureComponent(paths, buildScheduler(context)),
  ]);
}

function buildEtcd(context: ClusterContext): Component {
  const metrics = `http://127.0.0.1:${context.choices.ports.etcdMetrics}`;
  return {
    name: 'etcd',
    cwd: context.paths.controlPlane,
    argv: [context.bin('kube'), ...listEtcdFlags(), `--listen-metrics-urls=${metrics}`],
    probe: { kind: 'http', url: `${metrics}/health` },
  };
}

function buildControllerManager({ paths, choices, bin }: ClusterContext): Component {
  const securePort = choices.ports.controllerManager;
  const kubeconfig = formatComponentKubeconfig(paths, 'controller-manager');
  return {
    name: 'kube-controller-manager',
    cwd: paths.controlPlane,
    argv: [bin('kube'), ...listControllerManagerFlags({ kubeconfig, pkiDir: paths.pki, securePort })],
    probe: { kind: 'http', url: `https://127.0.0.1:${securePort}/healthz` },
  };
}

function buildScheduler({ paths, choices, bin }: ClusterContext): Component {
  const securePort = choices.ports.scheduler;
  const kubeconfig = formatComponentKubeconfig(paths, 'scheduler');
  return {
    name: 'kube-scheduler',
    cwd: paths.controlPlane,
    argv: [bin('kube'), ...listSchedulerFlags({ kubeconfig, pkiDir: paths.pki, securePort })],
    probe: { kind: 'http', url: `https://127.0.0.1:${securePort}/healthz` },
  };
}

/** Issues the certificates once, and again only when their addresses change. */
async function ensureCertificates(context: ClusterContext, plan: ControlPlanePlan): Promise<void> {
  const { paths, bin } = context;
  const server = formatServerUrl(context, plan.address);
  const certificates: CertificateRequest[] = [
    {
      name: 'apiserver',
      commonName: 'kube-apiserver',
      dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
      ips: ['127.0.0.1', apiServiceIp, plan.address],
    },
    { name: 'admin', commonName: 'admin', organizations: ['system:masters'] },
    { name: 'controller-manager', commonName: 'system:kube-controller-manager' },
    { name: 'scheduler', commonName: 'system:kube-scheduler' },
    ...plan.certificates,
  ];
  const request = { dir: paths.pki, keys: ['service-account'], certificates };
  const issued = join(paths.pki, 'issued.json');
  const wanted = JSON.stringify([server, request]);
  if ((await readFile(issued, 'utf8').catch(() => '')) === wanted) return;
  await issueCertificates(bin('pki'), request);
  for (const { name } of certificates) {
    await writeKubeconfig({
      path: formatComponentKubeconfig(paths, name),
      server,
      pkiDir: paths.pki,
      certificate: name,
    });
  }
  await writeKubeconfig({ path: paths.kubeconfig, server, pkiDir: paths.pki, certificate: 'admin' });
  await writeFile(issued, wanted);
}

import { defineResource } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import { z } from 'zod';

/** The group of OpenKruise Agents. */
export const KRUISE_GROUP = 'agents.kruise.io';

const define = (kind: string, plural: string) =>
  defineResource<KubeObject>({ group: KRUISE_GROUP, version: 'v1alpha1', kind, plural, namespaced: true });

/** The kinds that are translated. */
export const kruiseKinds = {
  SandboxTemplate: define('SandboxTemplate', 'sandboxtemplates'),
  SandboxSet: define('SandboxSet', 'sandboxsets'),
  Sandbox: define('Sandbox', 'sandboxes'),
  SandboxClaim: define('SandboxClaim', 'sandboxclaims'),
} as const;

/** Kinds without a counterpart, and what to use in their place. */
export const kruiseLeftovers = {
  Checkpoint: {
    resource: define('Checkpoint', 'checkpoints'),
    advice: 'memory does not move between the two: take a SandboxSnapshot',
  },
  PoolAutoscaler: {
    resource: define('PoolAutoscaler', 'poolautoscalers'),
    advice: 'set spec.autoscaling of the SandboxWarmPool',
  },
  TrafficPolicy: {
    resource: define('TrafficPolicy', 'trafficpolicies'),
    advice: 'set spec.networkPolicy of the SandboxTemplate',
  },
  SecurityProfile: {
    resource: define('SecurityProfile', 'securityprofiles'),
    advice: 'set spec.networkPolicy of the SandboxTemplate',
  },
} as const;

const text = z.string();
const texts = z.record(text, text);

const metadata = z.looseObject({
  name: text,
  namespace: text.default('default'),
  labels: texts.optional(),
  annotations: texts.optional(),
  ownerReferences: z.array(z.looseObject({ kind: text, name: text })).optional(),
});

const template = {
  template: z
    .looseObject({
      metadata: z.looseObject({ labels: texts.optional(), annotations: texts.optional() }).optional(),
      spec: z.looseObject({}),
    })
    .optional(),
  volumeClaimTemplates: z
    .array(
      z.looseObject({
        metadata: z
          .looseObject({ name: text.optional(), labels: texts.optional(), annotations: texts.optional() })
          .optional(),
        spec: z.looseObject({}),
      }),
    )
    .optional(),
  persistentContents: z.array(text).optional(),
};

const pausing = {
  templateRef: z.looseObject({ name: text, kind: text.optional() }).optional(),
  pauseStrategy: z.looseObject({ type: text.optional() }).optional(),
  runtimes: z.array(z.looseObject({ name: text })).optional(),
};

const amount = z.union([z.number(), text]);
const amounts = z.record(text, amount);
const pace = z.looseObject({ maxUnavailable: amount.optional() });

/** What is read of each kind. Everything else in `spec` is reported as lost. */
export const kruiseSchemas = {
  SandboxTemplate: z.looseObject({ metadata, spec: z.looseObject(template) }),
  SandboxSet: z.looseObject({
    metadata,
    spec: z.looseObject({
      ...template,
      ...pausing,
      replicas: z.number(),
      scaleStrategy: pace.optional(),
      updateStrategy: pace.optional(),
    }),
  }),
  Sandbox: z.looseObject({
    metadata,
    spec: z.looseObject({
      ...template,
      ...pausing,
      paused: z.boolean().optional(),
      shutdownTime: text.optional(),
      pauseTime: text.optional(),
    }),
  }),
  SandboxClaim: z.looseObject({
    metadata,
    spec: z.looseObject({
      templateName: text,
      replicas: z.number().optional(),
      shutdownTime: text.optional(),
      claimTimeout: text.optional(),
      ttlAfterCompleted: text.optional(),
      labels: texts.optional(),
      annotations: texts.optional(),
      envVars: texts.optional(),
      inplaceUpdate: z
        .looseObject({
          image: text.optional(),
          resources: z.looseObject({ requests: amounts.optional(), limits: amounts.optional() }).optional(),
        })
        .optional(),
      dynamicVolumesMount: z
        .array(
          z.looseObject({ pvName: text, mountPath: text, subPath: text.optional(), readOnly: z.boolean().optional() }),
        )
        .optional(),
      reserveFailedSandbox: z.boolean().optional(),
      createOnNoStock: z.boolean().optional(),
      waitReadyTimeout: text.optional(),
      skipInitRuntime: z.boolean().optional(),
    }),
    status: z.looseObject({ phase: text.optional() }).optional(),
  }),
} as const;

export type KruiseKind = keyof typeof kruiseKinds;
export type KruiseTemplate = z.infer<typeof kruiseSchemas.SandboxTemplate>;
export type KruiseSet = z.infer<typeof kruiseSchemas.SandboxSet>;
export type KruiseSandbox = z.infer<typeof kruiseSchemas.Sandbox>;
export type KruiseClaim = z.infer<typeof kruiseSchemas.SandboxClaim>;

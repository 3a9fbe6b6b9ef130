// The claim-controller process: binds SandboxClaims to Sandboxes and shows what became of them.
import { findProxyRule, readPodDefaults } from '@sandlot/blueprint';
import { main, runController } from '@sandlot/service';
import { claimSettings, findRuntimeAccess } from './wiring/config.ts';
import { addClaimController } from './controller.ts';

await main(claimSettings, (settings) =>
  runController({
    name: 'claim-controller',
    settings,
    build: (parts) =>
      addClaimController(parts, {
        concurrency: settings.CONCURRENCY,
        namespaces: settings.WATCH_NAMESPACES,
        writeBehindMs: settings.WRITE_BEHIND_WINDOW,
        recordsEvents: !settings.DISABLE_CLAIM_EVENTS,
        keepsUsage: settings.USAGE_ENABLED,
        runtime: findRuntimeAccess(settings),
        policy: {
          allowedLabelDomains: settings.ALLOWED_LABEL_DOMAINS,
          envsFromSecrets: settings.ENVS_FROM_SECRETS,
          envsNamespace: settings.ENVS_NAMESPACE,
          egressRules: {
            isAvailable: settings.EGRESS_PROOF_KEY !== undefined,
            allowsSecrets: settings.EGRESS_NAMESPACE_SECRETS,
          },
          persistentVolumes: settings.PERSISTENT_VOLUMES,
          podDefaults: readPodDefaults(settings),
          proxyRule: findProxyRule(settings),
        },
      }),
  }),
);

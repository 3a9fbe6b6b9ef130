/**
 * Decisions are pure: a decide file reaches, through whatever it imports, nothing that does I/O, keeps time or remembers.
 * Type imports are erased first (tsPreCompilationDeps is off), because a type does nothing at run time.
 */
const DECIDE = '^services/.*/decide[^/]*\\.ts$';
const PURE_LIBS = 'std|pacing|api-types|blueprint|tenancy';
const EFFECTFUL_MODULES =
  'child_process|cluster|dgram|dns|fs|http|http2|https|inspector|net|os|perf_hooks|process|readline|repl|stream|timers|tls|tty|worker_threads';
const KUBE_OBJECTS = 'kube/src/objects/';

module.exports = {
  forbidden: [
    {
      name: 'decisions-reach-only-pure-libraries',
      comment:
        'Of the libraries, a decision may use std, pacing (its table), api-types, blueprint, tenancy and @sandlot/kube/objects.',
      severity: 'error',
      from: { path: DECIDE },
      to: { path: `^libs/(?!(${PURE_LIBS})/|${KUBE_OBJECTS})`, reachable: true },
    },
    {
      name: 'decisions-reach-no-effect',
      comment: 'observe, apply, reconcile and the wiring are where a service reads, writes and remembers.',
      severity: 'error',
      from: { path: DECIDE },
      to: {
        path: [
          '^services/.*/(observe|apply|reconcile|controller|server|main|memory)[^/]*\\.ts$',
          '^services/[^/]+/src/wiring/',
        ],
        reachable: true,
      },
    },
    {
      name: 'decisions-reach-no-platform-module',
      comment: 'Files, sockets, processes and timers of Node are I/O. A hash is a pure function.',
      severity: 'error',
      from: { path: DECIDE },
      to: { path: `^(node:)?(${EFFECTFUL_MODULES})(/|$)`, reachable: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // cidr.ts is left out because it takes isIP, a pure function, from the module that also opens sockets.
    exclude: { path: '(^|/)(dist|coverage|\\.turbo|\\.sandlot)/|\\.test\\.ts$|/test/|^libs/std/src/cidr\\.ts$' },
    tsPreCompilationDeps: false,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};

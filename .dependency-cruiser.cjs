/** Layers point one way: services -> libs -> std. A service meets another only in the Kubernetes API. */
const SIBLINGS = ['telemetry', 'config', 'kube', 'bus', 'jobs'];
const notTests = '\\.test\\.ts$|/test/|/testkit/|-testkit/|/bench/|/generate/|/examples/';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'services-never-import-each-other',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
    },
    {
      name: 'libs-never-import-services',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(services|e2e)/' },
    },
    {
      name: 'only-tests-of-libs-and-services-use-tools',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: notTests },
      to: { path: '^tools/' },
    },
    {
      name: 'only-test-support-uses-testkits',
      severity: 'error',
      from: { path: '^(libs|services)/', pathNot: notTests },
      to: { path: '^libs/[a-z]+-testkit/' },
    },
    {
      name: 'kube-testkit-depends-on-kube-and-std',
      severity: 'error',
      from: { path: '^libs/kube-testkit/' },
      to: { path: '^libs/(?!std/|kube/|kube-testkit/)' },
    },
    { name: 'std-depends-on-nothing', severity: 'error', from: { path: '^libs/std/' }, to: { path: '^libs/(?!std/)' } },
    {
      name: 'pacing-depends-on-std-only',
      severity: 'error',
      from: { path: '^libs/pacing/' },
      to: { path: '^libs/(?!std/|pacing/)' },
    },
    ...SIBLINGS.map((lib) => ({
      name: `${lib}-depends-on-std-and-pacing-only`,
      severity: 'error',
      from: { path: `^libs/${lib}/`, pathNot: notTests },
      to: { path: `^libs/(?!std/|pacing/|${lib}/)` },
    })),
    {
      name: 'the-object-model-imports-nothing',
      severity: 'error',
      from: { path: '^libs/kube/src/objects/', pathNot: notTests },
      to: { pathNot: '^libs/kube/src/objects/' },
    },
    {
      name: 'api-types-depends-on-the-object-model-and-std',
      severity: 'error',
      from: { path: '^libs/api-types/' },
      to: { path: '^libs/(?!std/|kube/src/objects/|api-types/)' },
    },
    {
      name: 'blueprint-depends-on-api-types-the-object-model-and-std',
      severity: 'error',
      from: { path: '^libs/blueprint/' },
      to: { path: '^libs/(?!std/|kube/src/objects/|api-types/|blueprint/)' },
    },
    {
      name: 'tenancy-depends-on-api-types-config-kube-and-std',
      severity: 'error',
      from: { path: '^libs/tenancy/', pathNot: notTests },
      to: { path: '^libs/(?!std/|config/|kube/|api-types/|tenancy/)' },
    },
    {
      name: 'outbox-depends-on-bus-kube-and-std',
      severity: 'error',
      from: { path: '^libs/outbox/', pathNot: notTests },
      to: { path: '^libs/(?!std/|pacing/|kube/|bus/|outbox/)' },
    },
    {
      name: 'service-brings-libs-together-but-knows-no-kind',
      comment: 'its testkit stands in for controllers of other services, so it may know kinds',
      severity: 'error',
      from: { path: '^libs/service/' },
      to: { path: '^libs/(api-types|blueprint)/' },
    },
    {
      name: 'decisions-are-pure',
      comment: 'decide files import values only from std, the object model, api-types, blueprint and their own service',
      severity: 'error',
      from: { path: '^services/[^/]+/src/decide', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^(libs/(?!std/|pacing/|api-types/|blueprint/|kube/src/objects/)|node_modules/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    { name: 'the-old-nats-client-is-not-used', severity: 'error', from: {}, to: { path: 'node_modules/nats/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|coverage|\\.turbo|\\.sandlot)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};

import { describe, expect, it } from 'vitest';
import { labelValueProblem, findQualifiedNameProblem } from './label-syntax.ts';
import { DEFAULT_LABEL_DOMAINS, mergePodMetadata, findMetadataRefusal } from './metadata-policy.ts';

type StringMap = Record<string, string>;

function refusal(
  additional: { labels?: StringMap; annotations?: StringMap },
  template?: { labels?: StringMap; annotations?: StringMap },
): string | undefined {
  return findMetadataRefusal({ additional, template, allowedLabelDomains: DEFAULT_LABEL_DOMAINS });
}

describe('findMetadataRefusal of labels', () => {
  it.each([
    ['sandbox.users.io/user', 'alice'],
    ['team.sandbox.users.io/user', ''],
  ])('accepts %s=%s', (key, value) => {
    expect(refusal({ labels: { [key]: value } })).toBeUndefined();
  });

  it.each([
    [
      'team',
      'a',
      `label "team" must have a domain prefix (e.g. 'sandbox.users.io/my-label') to prevent opting into unintended policy domains`,
    ],
    ['example.com/team', 'a', 'label domain "example.com" is not in the allowlist'],
    ['notsandbox.users.io/team', 'a', 'label domain "notsandbox.users.io" is not in the allowlist'],
    [
      'app',
      'sandbox-router',
      'restricted system label value: "app"="sandbox-router" is not allowed in AdditionalPodMetadata',
    ],
    [
      'App',
      'Sandbox-Router',
      'restricted system label value: "App"="Sandbox-Router" is not allowed in AdditionalPodMetadata',
    ],
    ['agents.x-k8s.io/claim-uid', 'x', 'label domain "agents.x-k8s.io" is not in the allowlist'],
  ])('refuses %s=%s', (key, value, why) => {
    expect(refusal({ labels: { [key]: value } })).toBe(`failed to validate label "${key}": ${why}`);
  });

  it('refuses a malformed key, and a malformed value under its own text', () => {
    expect(refusal({ labels: { 'sandbox.users.io/-x': 'a' } })).toMatch(
      /^failed to validate label "sandbox.users.io\/-x": invalid label key: "sandbox.users.io\/-x": the name may hold only/,
    );
    expect(refusal({ labels: { 'sandbox.users.io/x': 'a b' } })).toMatch(
      /^failed to validate label "sandbox.users.io\/x": invalid label value: "a b" does not match allowed pattern: only letters/,
    );
  });

  it('uses the domains of the installation instead of the default', () => {
    const request = {
      additional: { labels: { 'acme.io/team': 'a' } },
      template: undefined,
      allowedLabelDomains: ['acme.io'],
    };
    expect(findMetadataRefusal(request)).toBeUndefined();
  });

  it('reports the first key in order, so that every pass reports the same', () => {
    expect(refusal({ labels: { zone: 'a', area: 'b' } })).toMatch(/^failed to validate label "area"/);
  });
});

describe('findMetadataRefusal of annotations', () => {
  it.each(['note', 'example.com/note', 'x-k8s.io/note', 'cluster-autoscaler.kubernetes.io/safe-to-evict'])(
    'accepts %s',
    (key) => {
      expect(refusal({ annotations: { [key]: 'any text at all' } })).toBeUndefined();
    },
  );

  it.each([
    'kubernetes.io/x',
    'foo.kubernetes.io/x',
    'cluster-autoscaler.kubernetes.io/other',
    'k8s.io/x',
    'agents.x-k8s.io/pod-name',
    'extensions.agents.x-k8s.io/x',
    'sandlot.dev/suspended-by',
  ])('refuses %s', (key) => {
    expect(refusal({ annotations: { [key]: 'a' } })).toBe(
      `failed to validate annotation "${key}": restricted system domain: "${key}" is not allowed in AdditionalPodMetadata`,
    );
  });

  it('refuses a malformed key', () => {
    expect(refusal({ annotations: { 'a/b/c': 'x' } })).toBe(
      'failed to validate annotation "a/b/c": invalid annotation key: "a/b/c": it has more than one slash',
    );
  });
});

describe('findMetadataRefusal against the template', () => {
  const labels = { 'sandbox.users.io/tier': 'gold' };

  it('accepts the same value, and a key of the template that is reserved', () => {
    expect(refusal({ labels }, { labels })).toBeUndefined();
  });

  it.each([
    ['label', { labels: { 'sandbox.users.io/tier': 'free' } }, { labels }],
    ['annotation', { annotations: { 'sandbox.users.io/tier': 'free' } }, { annotations: labels }],
  ])('refuses another value of a %s', (what, additional, template) => {
    expect(refusal(additional, template)).toBe(
      `metadata override conflict: ${what} "sandbox.users.io/tier" is defined in template with value "gold", but claim requests "free"`,
    );
  });
});

describe('mergePodMetadata', () => {
  it('puts the claim on top of the template and drops reserved keys of both', () => {
    const merged = mergePodMetadata(
      { labels: { app: 'x', 'sandlot.dev/warm-pool': 'y' }, annotations: { 'opentelemetry.io/trace-context': '{}' } },
      {
        labels: { 'sandbox.users.io/user': 'alice' },
        annotations: { note: 'a', 'opentelemetry.io/trace-context': '{}' },
      },
    );
    expect(merged).toEqual({ labels: { app: 'x', 'sandbox.users.io/user': 'alice' }, annotations: { note: 'a' } });
    expect(mergePodMetadata(undefined, undefined)).toEqual({ labels: {}, annotations: {} });
  });
});

describe('label syntax', () => {
  it.each(['a', 'A.b_c-d', 'example.com/a', '0', `${'a'.repeat(253)}/b`])('%s is a qualified name', (key) => {
    expect(findQualifiedNameProblem(key)).toBeUndefined();
  });

  it.each(['', '/a', 'a/', '-a', 'a-', 'Example.com/a', 'a b', 'a/b/c', 'a'.repeat(64), `${'a'.repeat(254)}/b`])(
    '%j is not',
    (key) => {
      expect(findQualifiedNameProblem(key)).toBeTypeOf('string');
    },
  );

  it('bounds a label value by 63 characters', () => {
    expect(labelValueProblem('a'.repeat(63))).toBeUndefined();
    expect(labelValueProblem('a'.repeat(64))).toBe('it is longer than 63 characters');
  });
});

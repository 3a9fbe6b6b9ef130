import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { decideImage, isRunningRequestedImage } from './decide-image.ts';
import { notebook, makePod } from '../../test/builders.ts';

const MARK = 'sandlot.dev/inplace-image';
const FROM = 'sandlot.dev/inplace-image-from';
const marked: Sandbox = notebook({ metadata: { annotations: { [MARK]: 'agent:2' } } });

function podWith(annotations: Record<string, string>, restartCount = 0): Pod {
  const pod = makePod(marked, { annotations });
  const others = { name: 'a-sidecar', restartCount: 9 };
  return { ...pod, status: { ...pod.status, containerStatuses: [others, { name: 'main', restartCount }] } };
}

describe('the image of a live Pod', () => {
  it.each([
    ['is left alone when no claim requested one', notebook(), {}, 0],
    ['is changed once a claim requests another one', marked, {}, 1],
    ['is changed again when the request changes', marked, { [MARK]: 'agent:1' }, 1],
    ['is left alone once it was changed', marked, { [MARK]: 'agent:2' }, 0],
  ] as const)('%s', (...[, sandbox, annotations, steps]) => {
    expect(decideImage(sandbox, podWith(annotations))).toHaveLength(steps);
  });

  it.each([
    ['counts as running without a request', notebook(), {}, 0, true],
    ['does not count before it was changed', marked, {}, 4, false],
    ['does not count before the container restarted', marked, { [MARK]: 'agent:2', [FROM]: '4' }, 4, false],
    ['counts once it restarted', marked, { [MARK]: 'agent:2', [FROM]: '4' }, 5, true],
    ['counts at once in a Pod that was created with it', marked, { [MARK]: 'agent:2' }, 0, true],
    ['does not count when the request has changed since', marked, { [MARK]: 'agent:1', [FROM]: '4' }, 5, false],
  ] as const)('%s', (...[, sandbox, annotations, restarts, wanted]) => {
    expect(isRunningRequestedImage(sandbox, podWith(annotations, restarts))).toBe(wanted);
  });
});

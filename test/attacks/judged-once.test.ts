// Whether a call changes nothing depends on what others change meanwhile: what was judged with its
// reply holds (L35, L40).
import { expect, test } from 'vitest';
import { findClaim } from '../../activities/calls/journal.ts';
import { executeCall, executeEarly, bench, callRun, request, simpleTool } from '../tools/support.ts';

function shifting({ safe }: { safe: boolean }) {
  let ran = 0;
  const tool = simpleTool({ safe: () => safe, call: async () => ({ content: `run ${++ran}` }) });
  const shared = bench([tool]);
  const claim = () => findClaim(shared.store, { session: shared.session, key: callRun().key });
  return { shared, claim, ran: () => ran };
}

test('a call that was let run beside others and would now change something is not run (L35)', async () => {
  const { shared, claim, ran } = shifting({ safe: false });
  const done = await executeCall(shared, request('simple'), callRun({ safe: true }));
  expect(done).toMatchObject({ outcome: { isError: true, log: { outcome: 'not_run' } } });
  expect(JSON.stringify(done)).toContain('Make the call again.');
  expect(ran()).toBe(0);
  expect(await claim()).toBeNull();
});

test('a call that was to be claimed is claimed though it would now change nothing (L40)', async () => {
  const { shared, claim, ran } = shifting({ safe: true });
  expect(await executeCall(shared, request('simple'), callRun({ safe: false }))).toMatchObject({
    outcome: { content: 'run 1' },
  });
  expect(ran()).toBe(1);
  expect(await claim()).not.toBeNull();
});

test('a call that began while the reply was streamed does not run once it would change something (L35)', async () => {
  const { shared, ran } = shifting({ safe: false });
  expect(await executeEarly(shared, request('simple'), { ...callRun(), id: 'early' })).toMatchObject({ kind: 'void' });
  expect(ran()).toBe(0);
});

test('the rule of a tool is asked once about a refused call, though an earlier attempt may have begun it (L33)', async () => {
  let asked = 0;
  const canUse = () => {
    asked += 1;
    return { kind: 'deny', why: 'not today' } as const;
  };
  const refusing = bench([simpleTool({ canUse })]);
  const done = await executeCall(refusing, request('simple'), callRun({ mayHaveBegun: true }));
  expect(done).toMatchObject({ outcome: { isError: true } });
  expect(asked).toBe(1);
});

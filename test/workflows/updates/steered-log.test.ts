// Who steered a session, from the signal or update to the entry in the transcript (O12).
import { expect, onTestFinished, test, vi } from 'vitest';
import { changesAction, optionsAction } from '../../../workflows/contract/steered.ts';
import { SteeredLog } from '../../../workflows/updates/steered-log.ts';

const told = (log: SteeredLog) => log.take().flatMap((append) => (append.kind === 'steered' ? [append.steered] : []));

test('what was done waits in order, with who did it, and is taken once (O12)', () => {
  const log = new SteeredLog();
  log.note({ action: 'topUp', limits: { maxTurns: 5 } }, { by: 'ana' });
  const carried = new SteeredLog(log.open);
  carried.note({ action: 'interrupt' }, undefined);
  expect(told(carried)).toEqual([
    { action: 'topUp', limits: { maxTurns: 5 }, at: expect.any(Number), by: 'ana' },
    { action: 'interrupt', at: expect.any(Number) },
  ]);
  expect(told(carried)).toEqual([]);
});

test('a flood keeps the newest, and the oldest of them says how many it stands after (O12)', () => {
  const log = new SteeredLog();
  for (let n = 1; n <= 1_000; n += 1) log.note({ action: 'topUp', limits: { maxTurns: n } }, { by: 'ana' });
  const kept = told(log);
  expect(kept.map(({ limits }) => limits?.maxTurns)).toEqual(Array.from({ length: 20 }, (_, at) => 981 + at));
  expect(kept.map(({ earlier }) => earlier)).toEqual([980, ...Array.from({ length: 19 }, () => undefined)]);
});

test.each([7, '', 'x'.repeat(201), { name: 'ana' }])('a name that will not do is left out: %j (O12)', (by) => {
  const log = new SteeredLog();
  log.note({ action: 'interrupt' }, { by });
  expect(told(log)).toEqual([{ action: 'interrupt', at: expect.any(Number) }]);
});

test('a cancel has the name that came before it; that of an agent is nobody’s, if none did (O12)', () => {
  const log = new SteeredLog();
  log.close({ isCancelled: true, isAgent: true });
  log.close({ isCancelled: false, isAgent: false });
  expect(told(log)).toEqual([]);
  log.close({ isCancelled: true, isAgent: false });
  expect(told(log)).toEqual([{ action: 'cancel', at: expect.any(Number) }]);
  log.announceCancel({ by: 'dee' });
  log.close({ isCancelled: true, isAgent: true });
  expect(told(log)).toMatchObject([{ action: 'cancel', by: 'dee' }]);
});

test('a cancel has its name also where the session continues as new in between, and is told as of when it came (L4 O12)', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const before = new SteeredLog();
  before.announceCancel({ by: 'ana' });
  const { announced } = before;
  const log = new SteeredLog([], announced);
  log.noteCancelled();
  const at = Date.now();
  // Stopping takes long.
  vi.setSystemTime(at + 61_000);
  expect(log.isClosing).toBe(false);
  log.close({ isCancelled: true, isAgent: false });
  expect(log.isClosing).toBe(true);
  expect(told(log)).toEqual([{ action: 'cancel', by: 'ana', at }]);
});

test('a cancel is nobody’s where the one who announced theirs did not get it through, or came later (O12)', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const log = new SteeredLog();
  log.announceCancel({ by: 'ana' });
  vi.setSystemTime(Date.now() + 61_000);
  log.noteCancelled();
  log.announceCancel({ by: 'ben' });
  log.close({ isCancelled: true, isAgent: false });
  expect(told(log)).toEqual([{ action: 'cancel', at: expect.any(Number) }]);
  const other = new SteeredLog();
  other.announceCancel({ by: 'ana' });
  other.noteCancelled();
  // Stopping takes long.
  vi.setSystemTime(Date.now() + 61_000);
  other.close({ isCancelled: true, isAgent: false });
  expect(told(other)).toMatchObject([{ action: 'cancel', by: 'ana' }]);
});

test('options are told with short values, never with variables of tools, and the others by name (O12)', () => {
  const rules = { allow: ['bash(git *)'], deny: ['write'] };
  const given = { model: 'm', permissionMode: 'plan', permissions: rules, maxTurns: null } as const;
  expect(optionsAction(given)).toEqual({ action: 'setOptions', changes: given });
  expect(optionsAction({ toolEnv: { TOKEN: 'secret' }, systemPrompt: 'x'.repeat(5_000), model: 'm' })).toEqual({
    action: 'setOptions',
    changes: { model: 'm' },
    untold: ['toolEnv', 'systemPrompt'],
  });
});

test('options that come with a message are told where they change something (O12)', () => {
  const now = { cwd: '/work', model: 'm', tags: { team: 'web' } };
  expect(changesAction({ cwd: '/work', tags: { team: 'web' }, maxTurns: null }, now)).toBeNull();
  const changes = { model: null, maxTurns: 3 };
  expect(changesAction({ cwd: '/work', ...changes }, now)).toEqual({ action: 'setOptions', changes });
});

test('what is no option is not told, for a flood of long names would be more than a step can carry (O12)', () => {
  const flood = Object.fromEntries([['x'.repeat(190_000), 1]]);
  expect(changesAction(flood, { cwd: '/work' })).toBeNull();
  expect(changesAction({ ...flood, model: 'm' }, { cwd: '/work' })).toEqual({
    action: 'setOptions',
    changes: { model: 'm' },
  });
});

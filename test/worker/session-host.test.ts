// A host is named by its configuration, by the machine's own id, or by one that its data folder
// keeps.
import { expect, test } from 'vitest';
import { machineId } from '../../system/process/identity.ts';
import { findSessionHost, readDrainPolicy, readWorkspaces } from '../../worker/config/session-host.ts';
import { tempDir } from '../support/temp-dir.ts';

const bucket = 's3://bucket/prefix';

test('a machine with a store of its own has no host, and nothing that is kept for one (W7)', () => {
  expect(findSessionHost({ PERDURE_HOST: 'one' }, '/a/store', '/nowhere')).toBeUndefined();
});

test('a host is called as PERDURE_HOST says, else known by its machine, over all data folders (W10)', () => {
  expect(findSessionHost({ PERDURE_HOST: ' pod-1 ' }, bucket, '/nowhere')).toEqual({ id: 'pod-1', name: 'pod-1' });
  const [one, two] = [tempDir(), tempDir()];
  const found = findSessionHost({}, bucket, one);
  expect(findSessionHost({}, bucket, one)).toEqual(found);
  if (machineId() !== null) expect(findSessionHost({}, bucket, two)).toEqual(found);
  expect(found?.id).toMatch(/^[0-9a-f]{16}$/);
});

test.each(['a b', '-x', 'x'.repeat(61), 'a/b', 'ä'])('PERDURE_HOST=%s is refused in one line (W10)', (name) => {
  expect(() => findSessionHost({ PERDURE_HOST: name }, bucket, '/nowhere')).toThrow(
    /^PERDURE_HOST is no name of a host: give/,
  );
});

test('PERDURE_ON_DRAIN lets sessions stay unless it says that they leave; anything else is refused in one line (D7)', () => {
  expect(['', ' leave ', 'stay'].map((value) => readDrainPolicy({ PERDURE_ON_DRAIN: value }))).toEqual([
    'stay',
    'leave',
    'stay',
  ]);
  expect(readDrainPolicy({})).toBe('stay');
  expect(() => readDrainPolicy({ PERDURE_ON_DRAIN: 'move' })).toThrow(
    /^PERDURE_ON_DRAIN is "move": give "stay" or "leave"$/,
  );
});

test('PERDURE_WORKSPACES is an absolute path, or is refused in one line', () => {
  expect(['', ' /workspaces/ '].map((value) => readWorkspaces({ PERDURE_WORKSPACES: value }))).toEqual([
    undefined,
    '/workspaces',
  ]);
  expect(() => readWorkspaces({ PERDURE_WORKSPACES: 'work' })).toThrow(
    /^PERDURE_WORKSPACES is "work": give an absolute path$/,
  );
});

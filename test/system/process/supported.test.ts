// A Node or a Temporal SDK that will not do is named with what to install.
import { expect, test } from 'vitest';
import { nodeProblem, peersProblem } from '../../../system/process/supported.ts';

test.each([
  ['18.20.8', 'it needs Node 20.19 or newer, and this is Node 18.20.8: use a newer Node'],
  ['20.18.1', 'it needs Node 20.19 or newer, and this is Node 20.18.1: use a newer Node'],
  ['20.19.0', undefined],
  ['24.1.0', undefined],
])('Node %s is refused with a sentence, or will do (Q1)', (version, said) => {
  expect(nodeProblem(version, '>=20.19')).toBe(said);
});

const wanted = { '@temporalio/client': '^1.24.0', '@temporalio/worker': '^1.24.0' };
const peer = (name: string, version: string, commonAt: string | null = '/p/common/package.json') => ({
  name: `@temporalio/${name}`,
  version,
  commonAt,
});

test('a Temporal package of a wrong version is named, with the command that installs the right one (Q1)', () => {
  const said = 'it needs @temporalio/worker ^1.24.0, and 1.23.0 is installed: npm install @temporalio/worker@^1.24.0';
  expect(peersProblem([peer('client', '1.24.2'), peer('worker', '1.23.0')], wanted)).toBe(said);
  expect(peersProblem([peer('client', '2.0.0')], wanted)).toMatch(/@temporalio\/client \^1.24.0, and 2.0.0/);
  expect(peersProblem([peer('client', '1.24.0'), peer('worker', '1.25.0')], wanted)).toBeUndefined();
});

test('two copies of the Temporal SDK are refused with both places (Q1)', () => {
  const said = peersProblem([peer('client', '1.24.0'), peer('worker', '1.24.0', '/p/worker/common')], wanted);
  expect(said).toMatch(/@temporalio\/common is there twice: @temporalio\/client uses \/p\/common.*`npm ls/);
});

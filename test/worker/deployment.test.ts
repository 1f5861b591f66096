// The build of a worker, as far as it goes without a server.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDeployment, requireOwnServer, versionOptions } from '../../worker/config/deployment.ts';
import { createWorker } from '../../worker/index.ts';
import { tempDir } from '../support/temp-dir.ts';

const of = (PERDURE_DEPLOYMENT: string, PERDURE_VERSIONING?: string) =>
  readDeployment({ PERDURE_DEPLOYMENT, PERDURE_VERSIONING });

test('without PERDURE_DEPLOYMENT a worker is unversioned, and histories name its code in a few characters (D5)', () => {
  expect([readDeployment({}), of(''), of(' ')]).toEqual([undefined, undefined, undefined]);
  const version = { deploymentName: '', buildId: '0.1.0+3f29c04e' };
  expect(versionOptions(undefined, version.buildId)).toEqual({
    workerDeploymentOptions: { version, useWorkerVersioning: false },
  });
});

test('a build is named with its deployment, and sessions move to the current one unless they are pinned (D5)', () => {
  expect(of(' agents:1.4.0+7 ')).toEqual({ name: 'agents', build: '1.4.0+7' });
  const behaviors = [of('agents:1'), of('agents:1', 'auto-upgrade'), of('agents:1', 'pinned')].map(
    (deployment) => versionOptions(deployment, '').workerDeploymentOptions,
  );
  const version = { deploymentName: 'agents', buildId: '1' };
  expect(behaviors.map((one) => one?.defaultVersioningBehavior)).toEqual(['AUTO_UPGRADE', 'AUTO_UPGRADE', 'PINNED']);
  expect(behaviors[0]).toMatchObject({ version, useWorkerVersioning: true });
});

test.each([
  ['agents', undefined],
  ['agents:', undefined],
  [':1', undefined],
  ['my.agents:1', undefined],
  ['agents:1:2', undefined],
  ['agents:a b', undefined],
  [`agents:${'1'.repeat(101)}`, undefined],
  ['agents:1', 'pined'],
  ['agents:1', 'toString'],
])('PERDURE_DEPLOYMENT=%s with PERDURE_VERSIONING=%s is refused in one line that shows a right one (D5)', (at, how) => {
  expect(() => of(at, how)).toThrow(/^PERDURE_DEPLOYMENT or PERDURE_VERSIONING is wrong: [^\n]*=agents:1\.4\.0$/);
});

test('how sessions move means nothing without a deployment (D5)', () => {
  expect(() => readDeployment({ PERDURE_VERSIONING: 'pinned' })).toThrow(/^PERDURE_VERSIONING means nothing without/);
});

test('on the embedded server a build is refused before anything is made, by name and by program (D5)', async () => {
  const needs = /^deployment agents:1, auto-upgrade needs a Temporal server of your own/;
  expect(() => requireOwnServer(of('agents:1'), true)).toThrow(needs);
  expect(requireOwnServer(of('agents:1'), false)).toEqual({ name: 'agents', build: '1' });
  const PERDURE_DATA = join(tempDir(), 'data');
  const open = (more: object, PERDURE_DEPLOYMENT?: string) =>
    createWorker({ ...more, env: { PERDURE_DATA, HOME: PERDURE_DATA, PERDURE_DEPLOYMENT }, log: () => {} });
  await expect(open({}, 'agents:1')).rejects.toThrow(needs);
  await expect(open({ deployment: { name: 'agents', build: '1' } })).rejects.toThrow(needs);
  await expect(open({ deployment: { name: 'a.b', build: '1' } })).rejects.toThrow(
    /^createWorker\(\) has a wrong `deployment`: the name/,
  );
  await expect(open({ deployment: { name: 'agents' } })).rejects.toThrow(/ wrong `deployment`: the build/);
  expect(existsSync(PERDURE_DATA)).toBe(false);
});

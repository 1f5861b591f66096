import { expect, test } from 'vitest';
import { findPlaces } from '../../../system/process/places.ts';

test('commands have caches of their own also where a variable has put those of the user', () => {
  const cachesOf = (env: Readonly<Record<string, string>>) =>
    findPlaces({ HOME: '/home/me', ...env }).caches.map(({ base, name }) => `${base}/${name}`);
  const usual = ['/home/me/.cargo/registry', '/home/me/.cargo/git', '/home/me/go/pkg', '/home/me/.gradle/caches'];
  expect(cachesOf({})).toEqual(expect.arrayContaining(usual));
  const moved = cachesOf({ CARGO_HOME: '/opt/cargo', GOPATH: '/opt/go', GRADLE_USER_HOME: 'relative' });
  expect(moved).toEqual(expect.arrayContaining(['/opt/cargo/registry', '/opt/cargo/git', '/opt/go/pkg', usual[3]]));
  expect(moved).not.toContain(usual[0]);
});

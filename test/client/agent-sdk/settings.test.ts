// Checks that no settings come from files, and that a mode that a workspace asks for is left out.
import { expect, test } from 'vitest';
import {
  filterEscalatingDefaultMode,
  resolveSettings,
  USAGE_LIMIT_ERROR_PREFIXES,
} from '../../../client/agent-sdk/index.ts';

test('no settings are in effect for a query, whatever sources a program names (Q7)', async () => {
  const resolved = await resolveSettings({ cwd: '/', settingSources: ['user', 'project'] });
  expect(resolved).toMatchObject({ effective: {}, provenance: {}, sources: [], machinePolicy: { didNotLoad: false } });
  expect(filterEscalatingDefaultMode(resolved)).toEqual({});
  expect(USAGE_LIMIT_ERROR_PREFIXES).toEqual([]);
});

test('a mode that allows more is taken from the user, and not from the workspace (Q7)', () => {
  const settings = { permissions: { defaultMode: 'acceptEdits' as const, allow: ['Read'] } };
  const of = (source: 'user' | 'project') =>
    filterEscalatingDefaultMode({ effective: settings, provenance: {}, sources: [{ source, settings }] });
  expect(of('project')).toEqual({ permissions: { allow: ['Read'] } });
  expect(of('user')).toEqual(settings);
});

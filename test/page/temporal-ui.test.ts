// Where the page finds Temporal's own UI.
import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import type { OpenedServer } from '../../client/runtime/open-server.ts';
import { pagePorts } from '../../page/ports.ts';
import { memoryStore } from '../support/memory-store.ts';

function openedWith(ui: string | null) {
  let now = ui;
  const opened = {
    temporal: { client: new Client({ connection: Connection.lazy() }) },
    target: { namespace: 'a b' },
    sessions: {},
    store: memoryStore(),
    embedded: { ui: () => now },
  };
  return { opened: opened as unknown as OpenedServer, become: (other: string | null) => (now = other) };
}

const OWN = 'http://127.0.0.1:21734';
const NAMED = { PERDURE_TEMPORAL_UI: 'https://ui.example/base/' };

test('sessions lead to the UI of the embedded server for as long as it has one', () => {
  const { opened, become } = openedWith(OWN);
  const { temporalUi } = pagePorts(opened, {});
  expect(temporalUi('s/1')).toBe(`${OWN}/namespaces/a%20b/workflows/s%2F1`);
  become(null);
  expect(temporalUi('s/1')).toBeNull();
});

test('a UI that the environment names comes first', () => {
  const { opened } = openedWith(OWN);
  expect(pagePorts(opened, NAMED).temporalUi('s-1')).toBe('https://ui.example/base/namespaces/a%20b/workflows/s-1');
});

test('a page for other machines leads to no UI of this machine, but to one that is named', () => {
  const { opened } = openedWith(OWN);
  expect(pagePorts(opened, {}, { hosted: true }).temporalUi('s-1')).toBeNull();
  expect(pagePorts(opened, NAMED, { hosted: true }).temporalUi('s-1')).toMatch(/^https:\/\/ui\.example\//);
});

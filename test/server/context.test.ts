// Long conversations on a real server: what is taken out of view, and what stays in it.
import { describe, expect, test } from 'vitest';
import { reply, text, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type Harness } from '../support/harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';

const WINDOW = 16_000;
const FACT = 'The password of the vault is heliotrope.';
const model = { 'claude-sonnet-': { window: WINDOW, maxOutput: 8_000, price: null } };

async function withFiles(h: Harness): Promise<Harness> {
  fillWorkspace(h.cwd);
  return h;
}

describe('a conversation that needs many windows', () => {
  test('completes after twenty of them, with the facts of its prompt still in view (L5 L9 L10)', async () => {
    let read = 0;
    let characters = 0;
    const script = (request: ParsedRequest): Reply => {
      if (asksForSummary(request)) return reply('Files were read.');
      const view = JSON.stringify(request.messages);
      if (!view.includes(FACT)) return reply('I no longer know the password.');
      if (characters > 20 * WINDOW * 4) return reply('The password is heliotrope.');
      read += 1;
      characters += 14_000;
      return reply([text(`Reading, time ${read}.`), toolUse('read', { path: 'large.txt', offset: 1, limit: 200 })]);
    };
    const h = await withFiles(await harness({ script, worker: { config: { models: model } } }));
    const session = await h.open(`${FACT} Read the file many times.`, { maxTurns: 1_000, tools: ['read'] });
    const ended = await session.ended(1);
    expect(ended.terminal).toEqual({ reason: 'completed' });
    const entries = await session.entries();
    const boundaries = entries.filter((entry) => entry.kind === 'boundary');
    expect(boundaries.length).toBeGreaterThan(5);
    for (const { before, after } of boundaries) expect(after).toBeLessThan(before);
    const largest = Math.max(...h.bodies().map((body) => JSON.stringify(body).length));
    expect(largest / 4).toBeLessThan(WINDOW * 1.2);
    expect(h.model.problems).toEqual([]);
    expect(JSON.stringify(entries.findLast((entry) => entry.kind === 'reply'))).toContain('heliotrope');
  });
});

describe('snip', () => {
  test('what is named leaves the view with the next turn and stays in the transcript (L7)', async () => {
    const look = reply([toolUse('read', { path: 'a.txt' })]);
    const h = await withFiles(await harness({ script: [reply('Ask me.'), look, reply('Done.')] }));
    const session = await h.open('The secret word is heliotrope.');
    await session.ended(1);
    const before = await session.entries();
    const at = before.findIndex((entry) => entry.kind === 'user');
    await session.handle.signal(SIGNALS.snip, { entries: [at] });
    await session.send('What is the word?');
    await session.ended(2);
    expect(JSON.stringify(h.bodies()[0])).toContain('heliotrope');
    expect(JSON.stringify(h.bodies()[1])).not.toContain('heliotrope');
    expect(JSON.stringify(await session.entries())).toContain('heliotrope');
    expect(h.model.problems).toEqual([]);
  });
});

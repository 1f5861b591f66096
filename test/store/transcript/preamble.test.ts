// Changes of the system prompt and the tools are told from one request to the next.
import type { Tool } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { tellPreamble } from '../../../store/transcript/preamble.ts';
import { project } from '../../../store/view/project.ts';
import { reply, textBlock, user } from '../../support/transcript.ts';

const tool = (name: string, input: object = {}, description = name): Tool => ({
  name,
  description,
  input_schema: { type: 'object', properties: input },
});
const part = (name: string, text: string) => ({ name, text });
const system = [part('the instructions', 'Be kind.'), part('the date', 'Date: 1')];
const tools = [tool('look'), tool('touch', { at: { type: 'string' } })];

/** The entries after each of `wanted` in turn, with a reply between two. */
function told(...wanted: readonly Parameters<typeof tellPreamble>[1][]): readonly (readonly Entry[])[] {
  const entries: Entry[] = [user('Go.')];
  return wanted.map((one) => {
    const added = tellPreamble(entries, one).told;
    entries.push(...added, reply([textBlock('Yes.')]));
    return added;
  });
}

describe('the system prompt and the tools', () => {
  test('are taken up by the first request, and nothing is told while they stay (L58)', () => {
    const [first, second] = told({ system, tools }, { system, tools });
    expect(first).toEqual([{ kind: 'epoch', why: 'first', system, tools }]);
    expect(second).toEqual([]);
  });

  test('that change in a part are told by that part alone, once, and again when it changes back (L58)', () => {
    const later = [system[0]!, part('the date', 'Date: 2')];
    const [, second, third, fourth] = told(
      { system, tools },
      { system: later, tools },
      { system: later, tools },
      { system, tools },
    );
    expect(second).toMatchObject([
      { notice: { kind: 'preamble_changed', parts: [part('the date', 'Date: 2')], ended: [] } },
    ]);
    expect(third).toEqual([]);
    expect(fourth).toMatchObject([{ notice: { parts: [part('the date', 'Date: 1')] } }]);
  });

  test('that lose a part say that it no longer holds (L58)', () => {
    const [, second] = told({ system, tools }, { system: system.slice(0, 1), tools });
    expect(second).toMatchObject([{ notice: { parts: [], ended: ['the date'] } }]);
  });

  test('keep a tool that is gone, which is told, as is that it is back (L44)', () => {
    const [, second, third, fourth] = told(
      { system, tools },
      { system, tools: tools.slice(0, 1) },
      { system, tools: tools.slice(0, 1) },
      { system, tools },
    );
    expect(second).toMatchObject([{ notice: { toolsGone: ['touch'], toolsBack: [] } }]);
    expect(third).toEqual([]);
    expect(fourth).toMatchObject([{ notice: { toolsGone: [], toolsBack: ['touch'] } }]);
  });

  test('are told again where the notice that told them is snipped (L7 L58)', () => {
    const telling = { bySystem: true, bringsTools: true } as const;
    const entries: Entry[] = [user('Go.'), ...tellPreamble([user('Go.')], { system, tools }, { telling }).told];
    const more = { system, tools: [...tools, tool('aim')] };
    const { told: news } = tellPreamble(entries, more, { telling });
    expect(news).toMatchObject([{ notice: { toolsNew: [{ name: 'aim' }] } }]);
    const after: Entry[] = [...entries, reply([textBlock('Yes.')]), ...news, reply([textBlock('Yes.')])];
    expect(tellPreamble(after, more, { telling }).told).toEqual([]);
    expect(tellPreamble([...after, { kind: 'snip', entries: [3] }], more, { telling }).told).toEqual(news);
  });

  test('are sent anew when a tool came or takes other inputs, and not for other words about one (L44)', () => {
    const [, described, came, changed] = told(
      { system, tools },
      { system, tools: [tools[0]!, tool('touch', { at: { type: 'string' } }, 'Other words.')] },
      { system, tools: [...tools, tool('aim')] },
      { system, tools: [...tools, tool('aim', { far: { type: 'boolean' } })] },
    );
    expect(described).toEqual([]);
    expect(came).toMatchObject([{ kind: 'epoch', why: 'tools', tools: { length: 3 } }]);
    expect(changed).toMatchObject([{ kind: 'epoch', why: 'tools' }]);
  });

  test('are sent anew after a boundary, and changes that were told before it are not shown again (L5)', () => {
    const changed = { system: [system[0]!, part('the date', 'Date: 2')], tools };
    const before: Entry[] = [user('Go.'), ...tellPreamble([], { system, tools }).told, reply([textBlock('Yes.')])];
    before.push(...tellPreamble(before, changed).told, user('More.'), reply([textBlock('Done.')]));
    expect(JSON.stringify(project(before, new Map()))).toContain('Date: 2');
    before.push({ kind: 'boundary', trigger: 'auto', summary: 'All.', prompts: [], from: 2, before: 2, after: 1 });
    const epoch = tellPreamble(before, changed).told;
    expect(epoch).toMatchObject([{ kind: 'epoch', why: 'compacted', system: changed.system }]);
    expect(JSON.stringify(project([...before, ...epoch], new Map()))).not.toContain('Date: 2');
  });

  test('of a session whose release had no epochs are taken up as they are now (L59)', () => {
    const entries: Entry[] = [user('Go.'), reply([textBlock('Yes.')])];
    expect(tellPreamble(entries, { system, tools }).told).toMatchObject([{ kind: 'epoch', why: 'older' }]);
  });

  test('are sent anew, without earlier thinking, when the API has dropped some for what stands before it (L59)', () => {
    const dropped = [{ type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'prefix_binding_mismatch' }];
    const entries: Entry[] = [user('Go.'), ...tellPreamble([], { system, tools }).told];
    const answer = reply([textBlock('Yes.')]);
    entries.push({ ...answer, message: { ...answer.message, input_transformations: dropped } as never });
    expect(tellPreamble(entries, { system, tools }).told).toMatchObject([{ kind: 'epoch', why: 'refused' }]);
  });
});

// What is told of changes in a message of the role system: with more weight than a user's words,
// and with the tools themselves, which come and go without a change of what stands before the
// messages (L44 L58).
import type { PreambleChanged } from '../../workflows/contract/activities.ts';
import type { Telling } from './preamble.ts';
import type { Entry } from '../log/entries.ts';
import { preambleChanged } from '../view/notices.ts';

export type ToldChange = Extract<Entry, { kind: 'notice' }> & { readonly notice: PreambleChanged };

export function isChange(entry: Entry): entry is ToldChange {
  return entry.kind === 'notice' && entry.notice.kind === 'preamble_changed';
}

/** How a change is told to a model that takes `telling`: as it was told when it was new. */
export function tellingBy({ by }: PreambleChanged, { bySystem, bringsTools }: Telling): Telling {
  if (!bySystem || by === 'user') return {};
  return { bySystem, ...(bringsTools && by !== 'system' && { bringsTools }) };
}

/** Empty where nothing is left to say. */
export function systemBlocks(notice: PreambleChanged, { bringsTools }: Telling): readonly object[] {
  const words = preambleChanged({ ...notice, parts: notice.parts.filter(({ foreign }) => !foreign) }, !bringsTools);
  const said = words === '' ? [] : [{ type: 'text', text: words }];
  if (!bringsTools) return said;
  const { toolsGone, toolsBack, toolsNew = [] } = notice;
  const reference = (name: string) => ({ type: 'tool_reference', name });
  return [
    ...said,
    ...toolsNew.map((definition) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } })),
    ...toolsBack.map((name) => ({ type: 'tool_addition', tool: reference(name) })),
    ...toolsGone.map((name) => ({ type: 'tool_removal', tool: reference(name) })),
  ];
}

/** What others say is never said with the weight of a system message: the user's message has it. */
export function foreignWords({ parts }: PreambleChanged): string {
  const foreign = parts.filter((part) => part.foreign);
  return preambleChanged({ kind: 'preamble_changed', parts: foreign, ended: [], toolsGone: [], toolsBack: [] });
}

/** Whether the messages of a request bring or take tools. */
export function changesTools(messages: readonly { readonly role: string; readonly content: unknown }[]): boolean {
  return messages.some(
    ({ role, content }) =>
      role === 'system' &&
      Array.isArray(content) &&
      (content as readonly { readonly type: string }[]).some(({ type }) => type.startsWith('tool_')),
  );
}

// Messages of the role system, with more weight than a user's words: those that the agent's owner
// has sent (G46), and changes of the preamble, with the tools themselves, which come and go without
// a change of it (L44 L58).
import type { PreambleChanged } from '../../workflows/contract/activities.ts';
import type { Telling } from './preamble.ts';
import type { Entry } from '../log/entries.ts';
import { describePreambleChange } from '../view/notices.ts';

type ToldChange = Extract<Entry, { kind: 'notice' }> & { readonly notice: PreambleChanged };

export function isChange(entry: Entry): entry is ToldChange {
  return entry.kind === 'notice' && entry.notice.kind === 'preamble_changed';
}

/** Tells whether the model reads this as it reads its system prompt, for good. */
export function isSystemMessage(entry: Entry): boolean {
  return entry.kind === 'notice' && entry.notice.kind === 'system_message';
}

/** Returns how a change is told to a model that takes `telling`: as it was told when it was new. */
export function chooseTelling({ by }: PreambleChanged, { bySystem, bringsTools }: Telling): Telling {
  if (!bySystem || by === 'user') return {};
  return { bySystem, ...(bringsTools && by !== 'system' && { bringsTools }) };
}

/** Returns the blocks that tell of a change; empty where nothing is left to say. */
export function systemBlocks(notice: PreambleChanged, { bringsTools }: Telling): readonly object[] {
  const words = describePreambleChange(
    { ...notice, parts: notice.parts.filter(({ foreign }) => !foreign) },
    !bringsTools,
  );
  const blocks = words === '' ? [] : [{ type: 'text', text: words }];
  if (!bringsTools) return blocks;
  const { toolsGone, toolsBack, toolsNew = [] } = notice;
  const reference = (name: string) => ({ type: 'tool_reference', name });
  return [
    ...blocks,
    ...toolsNew.map((definition) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } })),
    ...toolsBack.map((name) => ({ type: 'tool_addition', tool: reference(name) })),
    ...toolsGone.map((name) => ({ type: 'tool_removal', tool: reference(name) })),
  ];
}

/**
 * Returns foreign words of a change. They never get the weight of a system message: the user's
 * message has them.
 */
export function foreignWords({ parts }: PreambleChanged): string {
  const foreign = parts.filter((part) => part.foreign);
  return describePreambleChange({ kind: 'preamble_changed', parts: foreign, ended: [], toolsGone: [], toolsBack: [] });
}

type SentMessage = { readonly role: string; readonly content: unknown };

/** Tells whether messages of a request bring or take tools. */
export function changesTools(messages: readonly SentMessage[]): boolean {
  return messages.some(
    ({ role, content }) => role === 'system' && blocksIn(content).some(({ type }) => type.startsWith('tool_')),
  );
}

/**
 * Tells whether the summary that a request begins with brings or takes tools, for the messages that
 * it stands for. The API reads and repeats its changes as it does those of messages.
 */
export function hasSummarisedChanges([first]: readonly SentMessage[]): boolean {
  const [block] = blocksIn(first?.content);
  return block?.type === 'compaction' && (block.tool_changes?.length ?? 0) > 0;
}

type SentBlock = { readonly type: string; readonly tool_changes?: readonly unknown[] | null };

function blocksIn(content: unknown): readonly SentBlock[] {
  return Array.isArray(content) ? (content as readonly SentBlock[]) : [];
}
